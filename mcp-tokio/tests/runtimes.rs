//! The suite of all adapters, on both kinds of runtime; and HTTP behind axum.

#![expect(clippy::expect_used, reason = "a test that cannot go on ends")]

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use mcp_service::Spawned;
use mcp_tests::http::{Serve, Stop};
use mcp_tests::runtimes::{self, Adapter, Runtime, Suite};
use mcp_tokio::{
    Bridge, BridgeConfig, BridgeTarget, Catalog, Client, Command, Config, HttpClientConfig,
    HttpConfig, ServerInfo, bridge, connect, connect_command, connect_http, serve,
    serve_http_until, serve_stdio,
};
use tokio::io::split;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let suites = [Suite::of::<Tokio, CurrentThread>(), Suite::of::<Tokio, MultiThread>()];
    runtimes::main(&suites, STACKS)
}

struct CurrentThread;

impl Runtime for CurrentThread {
    const NAME: &'static str = "current_thread";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        block_on(&mut Builder::new_current_thread(), future)
    }

    fn spawn(future: Spawned) {
        drop(tokio::spawn(future));
    }
}

struct MultiThread;

impl Runtime for MultiThread {
    const NAME: &'static str = "multi_thread";

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        block_on(Builder::new_multi_thread().worker_threads(4), future)
    }

    fn spawn(future: Spawned) {
        drop(tokio::spawn(future));
    }
}

fn block_on<T>(runtime: &mut Builder, future: impl Future<Output = T>) -> T {
    runtime.enable_all().build().expect("a runtime").block_on(future)
}

struct Tokio;

impl Adapter for Tokio {
    const HAS_TLS: bool = cfg!(feature = "tls");

    async fn serve(stream: UnixStream, catalog: Catalog, config: Config) -> io::Result<()> {
        let (reader, writer) = split(of_std(stream)?);
        serve(catalog, config, reader, writer).await
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
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        serve_http_until(listener, catalog, config, stop).await
    }

    fn bridge(target: BridgeTarget, config: BridgeConfig) -> Bridge {
        bridge(target, config)
    }

    async fn connect(client: Client, stream: UnixStream) -> io::Result<ServerInfo> {
        let (reader, writer) = split(of_std(stream)?);
        connect(&client, reader, writer).await
    }

    async fn connect_command(client: Client, command: Command) -> io::Result<ServerInfo> {
        connect_command(&client, command).await
    }

    async fn connect_http(client: Client, config: HttpClientConfig) -> io::Result<ServerInfo> {
        connect_http(&client, config).await
    }
}

fn of_std(stream: UnixStream) -> io::Result<tokio::net::UnixStream> {
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

#[cfg(feature = "tower")]
const STACKS: &[(&str, Serve)] = &[("axum", behind_axum)];
#[cfg(not(feature = "tower"))]
const STACKS: &[(&str, Serve)] = &[];

#[cfg(feature = "tower")]
fn behind_axum(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    MultiThread::block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let metadata = config.resource.as_ref().map(|it| it.metadata_path().to_owned());
        let mcp = mcp_tokio::HttpService::new(catalog, config);
        let mut app = axum::Router::new().route_service("/mcp", mcp.clone());
        if let Some(path) = metadata {
            app = app.route_service(&path, mcp.clone());
        }
        let finished = mcp.clone();
        let stop = async move {
            stop.await;
            mcp.shutdown();
        };
        let served = axum::serve(listener, app).with_graceful_shutdown(stop).await;
        finished.finish().await;
        served
    })
}
