//! The suite of all adapters: on smol, on async-std, and on threads that are neither.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

use mcp_async_std::{
    Bridge, BridgeConfig, BridgeTarget, Catalog, Client, Command, Config, HttpClientConfig,
    HttpConfig, ServerInfo, bridge, connect, connect_command, connect_http, serve, serve_http_on,
    serve_stdio,
};
use mcp_service::Spawned;
use mcp_tests::http::Stop;
use mcp_tests::runtimes::{self, Adapter, Runtime, Suite};
use smol::io::split;
use smol::{Async, future};

fn main() -> ExitCode {
    let suites = [
        Suite::of::<FuturesIo, Smol>(),
        Suite::of::<FuturesIo, AsyncStd>(),
        Suite::of::<FuturesIo, Threads>(),
    ];
    runtimes::main(&suites, &[])
}

struct Smol;

impl Runtime for Smol {
    const NAME: &'static str = "smol";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }

    fn spawn(future: Spawned) {
        smol::spawn(future).detach();
    }
}

struct AsyncStd;

impl Runtime for AsyncStd {
    const NAME: &'static str = "async_std";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        async_std::task::block_on(future)
    }

    fn spawn(future: Spawned) {
        drop(async_std::task::spawn(future));
    }
}

/// Each future on a thread of its own, which does nothing but to poll it.
struct Threads;

impl Runtime for Threads {
    const NAME: &'static str = "threads";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        future::block_on(future)
    }

    fn spawn(future: Spawned) {
        thread::spawn(|| future::block_on(future));
    }
}

struct FuturesIo;

impl Adapter for FuturesIo {
    const HAS_TLS: bool = cfg!(feature = "tls");

    async fn serve(stream: UnixStream, catalog: Catalog, config: Config) -> io::Result<()> {
        let stream = Async::new(stream)?;
        serve(catalog, config, &stream, &stream).await
    }

    async fn serve_stdio(catalog: Catalog) -> io::Result<()> {
        serve_stdio(catalog).await
    }

    async fn serve_http<R: Runtime>(
        listener: TcpListener,
        catalog: Catalog,
        config: HttpConfig,
        stop: Stop,
    ) -> io::Result<()> {
        serve_http_on(listener, catalog, config, R::spawn, stop).await
    }

    fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge {
        bridge(target, config)
    }

    async fn connect(client: Client, stream: UnixStream) -> io::Result<ServerInfo> {
        let (reader, writer) = split(Async::new(stream)?);
        connect(&client, reader, writer).await
    }

    async fn connect_command(client: Client, command: Command) -> io::Result<ServerInfo> {
        connect_command(&client, command).await
    }

    async fn connect_http(client: Client, config: HttpClientConfig) -> io::Result<ServerInfo> {
        connect_http(&client, config).await
    }
}
