//! One suite for what the clients of every adapter do over HTTP, on real sockets.
//!
//! In: how an adapter serves, and how it drives a client. Out: tests, which the suite of servers
//! runs beside its own. Nothing here sleeps: every wait is for something that the other side does,
//! or for a deadline of the client's.

mod calls;
mod ends;
mod proxy;
mod refusals;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "proxy")]
mod tunnels;
mod without_tls;

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;

use libtest_mimic::{Failed, Trial};
use mcp_proto::client::{self, Negotiation, ServerInfo};
use mcp_proto::http::{Config, Sessions};
use mcp_proto::types::Implementation;
use mcp_proto::{EraPolicy, ProtocolVersion};
use mcp_service::{Client, HttpClientConfig};

use crate::compatibility;
use crate::everything;
use crate::http::{Check, Serve, Server};
pub use proxy::Proxy;
#[cfg(feature = "tls")]
pub use tls::{Certified, Gate};

/// Runs a script in a runtime, with a client that is yet to be connected by `connect_http` or what
/// is like it.
pub type Meet = fn(Client, HttpClientConfig, Script) -> Check;

/// Script of a check, for a client that is connecting.
pub type Script = Box<dyn FnOnce(Connecting) -> Running>;

/// A client that is being connected.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<ServerInfo>>>>;

/// A script that is running.
pub type Running = Pin<Box<dyn Future<Output = Check>>>;

/// Kind of server and kind of client in a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Modern,
    ModernStateless,
    ModernOff,
    Legacy,
    LegacyStateless,
}

const ALL: &[Mode] =
    &[Mode::Modern, Mode::ModernStateless, Mode::ModernOff, Mode::Legacy, Mode::LegacyStateless];
/// Those in which a server may ask its client.
const ASKING: &[Mode] = &[Mode::Modern, Mode::ModernStateless, Mode::ModernOff, Mode::Legacy];
const ERAS: &[Mode] = &[Mode::Modern, Mode::Legacy];
const MODERN: &[Mode] = &[Mode::Modern];
const LEGACY: &[Mode] = &[Mode::Legacy];

#[cfg(feature = "tls")]
const WITH_TLS: &[Named] = tls::CHECKS;
#[cfg(not(feature = "tls"))]
const WITH_TLS: &[Named] = without_tls::UNTESTED;

#[cfg(feature = "proxy")]
const PROXIED: &[&[Named]] = tunnels::CHECKS;
#[cfg(not(feature = "proxy"))]
const PROXIED: &[&[Named]] = &[];

type Named = (&'static str, &'static [Mode], fn(Site) -> Check);

/// Server and client of a check.
#[derive(Clone, Copy)]
struct Site {
    serve: Serve,
    meet: Meet,
    mode: Mode,
}

/// The tests of one way to drive a client, with TLS or without: with it they need the feature
/// `tls`.
pub fn trials(name: &str, serve: Serve, meet: Meet, has_tls: bool) -> Vec<Trial> {
    let mut trials = Vec::new();
    let tls = if has_tls { WITH_TLS } else { without_tls::CHECKS };
    let checks = calls::CHECKS.iter().chain(ends::CHECKS).chain(refusals::CHECKS).chain(tls);
    let checks = checks.chain(PROXIED.iter().copied().flatten());
    for (check, modes, run) in checks {
        for mode in *modes {
            let site = Site { serve, meet, mode: *mode };
            let name = format!("{name}::http_client::{check}::{mode:?}");
            trials.push(Trial::test(name, move || run(site).map_err(Failed::from)));
        }
    }
    trials.extend(compatibility::over_http(name, serve, meet));
    trials
}

impl Site {
    /// The settings of the server.
    fn config(self) -> Config {
        let mut config = Config::default();
        config.sessions = match self.mode {
            Mode::Modern | Mode::Legacy => Sessions::Stateful,
            Mode::ModernStateless | Mode::LegacyStateless => Sessions::Stateless,
            Mode::ModernOff => Sessions::Off,
        };
        config.server.era_policy = EraPolicy::Auto;
        config
    }

    /// A server with the tools `echo` and `wait`.
    fn server(self) -> Result<Server, Box<dyn Error>> {
        Server::start(self.serve, self.config())
    }

    /// The same at a listener.
    fn server_at(self, listener: TcpListener) -> Result<Server, Box<dyn Error>> {
        Server::start_at(listener, self.serve, self.config())
    }

    /// A server with something of everything.
    fn everything(self) -> Result<Server, Box<dyn Error>> {
        Server::of(everything::registry()?, self.serve, self.config())
    }

    fn is_legacy(self) -> bool {
        matches!(self.mode, Mode::Legacy | Mode::LegacyStateless)
    }

    fn version(self) -> ProtocolVersion {
        if self.is_legacy() {
            ProtocolVersion::LATEST_LEGACY
        } else {
            ProtocolVersion::LATEST_MODERN
        }
    }

    fn client(self) -> Client {
        let mut config = client::Config::new(Implementation::new("suite", "1"));
        if self.is_legacy() {
            config.negotiation = Negotiation::Legacy;
        }
        Client::new(config)
    }

    /// Connects the client to a server, runs the script, and closes the client.
    fn meet<F>(
        self,
        client: &Client,
        address: SocketAddr,
        script: impl FnOnce(Client) -> F + 'static,
    ) -> Check
    where
        F: Future<Output = Check> + 'static,
    {
        let (version, given) = (self.version(), client.clone());
        self.meet_with(client, to(address)?, move |server| async move {
            assert_eq!(server?.version, version);
            script(given.clone()).await?;
            given.close().await;
            Ok(())
        })
    }

    /// Runs the script with what came of connecting the client.
    fn meet_with<F>(
        self,
        client: &Client,
        config: HttpClientConfig,
        script: impl FnOnce(io::Result<ServerInfo>) -> F + 'static,
    ) -> Check
    where
        F: Future<Output = Check> + 'static,
    {
        let run = |server: Connecting| Box::pin(async { script(server.await).await }) as Running;
        (self.meet)(client.clone(), config, Box::new(run))
    }
}

/// The settings of a client for the server at an address.
fn to(address: SocketAddr) -> Result<HttpClientConfig, Box<dyn Error>> {
    Ok(HttpClientConfig::parse(&format!("http://{address}/mcp"))?)
}
