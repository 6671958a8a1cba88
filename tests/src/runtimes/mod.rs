//! One suite for what every adapter does, on every runtime that it is for.
//!
//! In: what an adapter exports, as an [`Adapter`], and on what it runs, as [`Runtime`]s. Out: for
//! each of them the tests of streams, of standard input and output, of HTTP, of clients over HTTP,
//! and of the compatibility matrix. The test of an adapter is its `main`, without the harness:
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     runtimes::main(&[Suite::of::<AsyncStd, Smol>(), Suite::of::<AsyncStd, AnyExecutor>()], &[])
//! }
//! ```

mod bridges;
mod commands;
mod streams;

use std::env;
use std::future::Future;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use mcp_proto::Json;
use mcp_proto::client::ServerInfo;
use mcp_proto::http;
use mcp_proto::server::Config;
use mcp_proto::types::Tool;
use mcp_service::runtime::BridgeTarget;
use mcp_service::{
    Bridge, BridgeConfig, Catalog, Client, Command, Handler, HttpClientConfig, Registry, Spawned,
};

use crate::compatibility::{self, Connect, Met, meet_meanwhile};
use crate::http::{Check, Serve, Stop};
use crate::http_client::{self, Meet, Script};
use crate::{everything, process};

/// Something that futures run on.
pub trait Runtime: 'static {
    /// As the tests call it.
    const NAME: &'static str;

    /// Runs a future to its end.
    fn block_on<T>(future: impl Future<Output = T>) -> T;

    /// Runs a future to its end somewhere, while this one goes on.
    fn spawn(future: Spawned);
}

/// Functions that an adapter exports.
pub trait Adapter: 'static {
    /// True if clients go to `https` URLs.
    const HAS_TLS: bool;

    /// True if SIGINT and SIGTERM end `serve_stdio`.
    const HAS_SIGNALS: bool = true;

    /// `serve`.
    fn serve(
        stream: UnixStream,
        catalog: Catalog,
        config: Config,
    ) -> impl Future<Output = io::Result<()>>;

    /// `serve_stdio`.
    fn serve_stdio(catalog: Catalog) -> impl Future<Output = io::Result<()>>;

    /// `serve_http`, until it is told to stop.
    fn serve_http<R: Runtime>(
        listener: TcpListener,
        catalog: Catalog,
        config: http::Config,
        stop: Stop,
    ) -> impl Future<Output = io::Result<()>>;

    /// `bridge`.
    fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge;

    /// `connect`.
    fn connect(client: Client, stream: UnixStream) -> impl Future<Output = io::Result<ServerInfo>>;

    /// `connect_command`.
    fn connect_command(
        client: Client,
        command: Command,
    ) -> impl Future<Output = io::Result<ServerInfo>>;

    /// `connect_http`.
    fn connect_http(
        client: Client,
        config: HttpClientConfig,
    ) -> impl Future<Output = io::Result<ServerInfo>>;
}

/// An adapter on a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    name: &'static str,
    serve: fn(UnixStream, Catalog, Config) -> io::Result<()>,
    serve_stdio: process::Serve,
    serve_http: Serve,
    bridge: fn(BridgeTarget, BridgeConfig, UnixStream) -> io::Result<()>,
    bridge_http: fn(BridgeTarget, BridgeConfig, TcpListener, Stop) -> io::Result<()>,
    meet: fn(Client, UnixStream, Script) -> Check,
    connect_command: fn(Client, Command) -> io::Result<ServerInfo>,
    with_command: fn(Client, Command, Script) -> Check,
    meet_command: Connect,
    meet_http: Meet,
    has_tls: bool,
    has_signals: bool,
}

impl Suite {
    /// This adapter on this runtime.
    #[must_use]
    pub fn of<A: Adapter, R: Runtime>() -> Self {
        Self {
            name: R::NAME,
            serve: |stream, catalog, config| R::block_on(A::serve(stream, catalog, config)),
            serve_stdio: || {
                let mut registry = everything::registry().map_err(io::Error::other)?;
                if env::var_os(process::PROGRAM).is_none() {
                    return R::block_on(A::serve_stdio(registry.into()));
                }
                add_program(&mut registry)?;
                R::block_on(A::serve_stdio(registry.into()))?;
                writeln!(io::stdout(), "served")
            },
            serve_http: |listener, catalog, config, stop| {
                R::block_on(A::serve_http::<R>(listener, catalog, config, stop))
            },
            bridge: |target, config, stream| {
                R::block_on(async {
                    let bridge = A::bridge(target, config);
                    let served = A::serve(stream, bridge.catalog(), Config::default()).await;
                    bridge.close().await;
                    served
                })
            },
            bridge_http: |target, config, listener, stop| {
                R::block_on(async {
                    let bridge = A::bridge(target, config);
                    let config = http::Config::default();
                    let served = A::serve_http::<R>(listener, bridge.catalog(), config, stop).await;
                    bridge.close().await;
                    served
                })
            },
            meet: |client, stream, script| {
                R::block_on(async { script(Box::pin(A::connect(client, stream))).await })
            },
            connect_command: |client, command| R::block_on(A::connect_command(client, command)),
            with_command: |client, command, script| {
                let connecting = Box::pin(A::connect_command(client, command));
                R::block_on(async { script(connecting).await })
            },
            meet_command: meet_command::<A, R>,
            meet_http: |client, config, script| {
                R::block_on(async { script(Box::pin(A::connect_http(client, config))).await })
            },
            has_tls: A::HAS_TLS,
            has_signals: A::HAS_SIGNALS,
        }
    }

    fn trials(self) -> Vec<Trial> {
        let Self { name, serve_http, meet_http, has_tls, .. } = self;
        let mut trials = streams::trials(self);
        trials.extend(commands::trials(self));
        let is_possible = |trial: &Trial| self.has_signals || !trial.name().contains("::sig");
        trials.extend(process::trials(name).into_iter().filter(is_possible));
        trials.extend(crate::http::trials(name, serve_http));
        trials.extend(http_client::trials(name, serve_http, meet_http, has_tls));
        trials.extend(compatibility::over_pipes(name, self.meet_command));
        trials
    }
}

/// Adds a tool that prints, and starts a program with the standard streams of this process.
fn add_program(registry: &mut Registry<Handler>) -> io::Result<()> {
    let schema = Json::parse(r#"{"type":"object"}"#).map_err(io::Error::other)?;
    let program = |_: Json, _| async {
        if writeln!(io::stdout(), "printed by the handler").is_err() {
            return "it cannot print";
        }
        let mut command = std::process::Command::new("sh");
        let status =
            command.args(["-c", "echo printed by the program; test ! -p /dev/stdin"]).status();
        if status.is_ok_and(|it| it.success()) { "ran" } else { "it has the input of the server" }
    };
    let added = registry.add_tool(Tool::new("program", schema), Handler::tool(program));
    added.map(drop).map_err(io::Error::other)
}

fn meet_command<A: Adapter, R: Runtime>(client: &Client, command: Command) -> Met {
    let connecting = Box::pin(A::connect_command(client.clone(), command));
    R::block_on(meet_meanwhile(connecting, client))
}

/// Runs all suites, and the tests of servers for which another HTTP stack accepts connections, with
/// the clients of the first suite. In a child process of a test it is the server instead.
pub fn main(suites: &[Suite], stacks: &[(&'static str, Serve)]) -> ExitCode {
    let servers: Vec<_> = suites.iter().map(|suite| (suite.name, suite.serve_stdio)).collect();
    if let Some(served) = process::serve(&servers).or_else(compatibility::serve) {
        return match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let mut trials: Vec<Trial> = suites.iter().flat_map(|suite| suite.trials()).collect();
    // They take long, and one runtime is enough for what does not depend on it.
    trials.extend(suites.first().into_iter().flat_map(|suite| bridges::trials(*suite)));
    for (name, serve) in stacks {
        trials.extend(crate::http::trials_of_stack(name, *serve));
        if let Some(suite) = suites.first() {
            trials.extend(compatibility::over_http(name, *serve, suite.meet_http));
        }
    }
    let mut arguments = Arguments::from_args();
    // Most trials wait for a peer or a timer, and few use a core meanwhile.
    arguments.test_threads.get_or_insert(16);
    libtest_mimic::run(&arguments, trials).exit_code()
}
