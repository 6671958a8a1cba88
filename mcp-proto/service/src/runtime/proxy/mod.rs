//! Proxies of clients: the same on all runtimes.
//!
//! In: the settings of a client, the URL of a server, a connection to a proxy. Out: the proxy for the
//! URL, and a tunnel to the server. Without the feature `proxy` there is none.

#[cfg(not(feature = "proxy"))]
mod nothing;
#[cfg(feature = "proxy")]
mod tunnel;

#[cfg(not(feature = "proxy"))]
pub(super) use nothing::{Proxies, Proxy, tunnel};
#[cfg(feature = "proxy")]
pub(super) use tunnel::tunnel;

#[cfg(feature = "proxy")]
pub(super) use crate::client::{Proxies, Proxy};

#[cfg(feature = "proxy")]
impl Proxies {
    /// The proxies of a client.
    pub(super) fn of(config: &crate::HttpClientConfig) -> Self {
        config.proxies.clone().unwrap_or_else(Self::from_env)
    }
}
