//! Proxies of clients: the same on all runtimes.
//!
//! In: the settings of a client, the URL of a server, a connection to a proxy. Out: the proxy for
//! the URL, and a tunnel to the server. Without the feature `proxy` there is none.

#[cfg(not(feature = "proxy"))]
mod nothing;
#[cfg(feature = "proxy")]
mod tunnel;

#[cfg(not(feature = "proxy"))]
pub(super) use nothing::{NoProxies as Proxies, NoProxy as Proxy, proxies_of, tunnel};
#[cfg(feature = "proxy")]
pub(super) use tunnel::tunnel;

#[cfg(feature = "proxy")]
pub(super) use crate::client::{Proxies, Proxy};

/// The proxies of a client.
#[cfg(feature = "proxy")]
pub(super) fn proxies_of(config: &crate::HttpClientConfig) -> Proxies {
    config.proxies.clone().unwrap_or_else(Proxies::from_env)
}
