//! HTTP on sockets: on both kinds of runtime, and behind axum.

use std::io;
use std::net::TcpListener;
use std::process::ExitCode;

use mcp_tests::http::{self, Check, Stop};
use mcp_tests::http_client::{self, Script};
use mcp_tokio::{Catalog, Client, HttpClientConfig, HttpConfig, connect_http, serve_http_until};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let sockets: &[(_, http::Serve)] =
        &[("current_thread", on_one_thread), ("multi_thread", on_threads)];
    let clients: &[(_, http_client::Meet)] =
        &[("current_thread", meets_on_one_thread), ("multi_thread", meets_on_threads)];
    http::main(sockets, STACKS, clients, cfg!(feature = "tls"))
}

#[cfg(feature = "tower")]
const STACKS: &[(&str, http::Serve)] = &[("axum", behind_axum)];
#[cfg(not(feature = "tower"))]
const STACKS: &[(&str, http::Serve)] = &[];

fn on_one_thread(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    serve(&mut Builder::new_current_thread(), listener, catalog, config, stop)
}

fn on_threads(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    serve(Builder::new_multi_thread().worker_threads(4), listener, catalog, config, stop)
}

fn serve(
    runtime: &mut Builder,
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    runtime.enable_all().build()?.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        serve_http_until(listener, catalog, config, stop).await
    })
}

#[cfg(feature = "tower")]
fn behind_axum(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all().build()?.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mcp = mcp_tokio::HttpService::new(catalog, config);
        let app = axum::Router::new().route_service("/mcp", mcp.clone());
        let stop = async move {
            stop.await;
            mcp.shutdown();
        };
        axum::serve(listener, app).with_graceful_shutdown(stop).await
    })
}

fn meets_on_one_thread(client: Client, config: HttpClientConfig, script: Script) -> Check {
    meets(&mut Builder::new_current_thread(), client, config, script)
}

fn meets_on_threads(client: Client, config: HttpClientConfig, script: Script) -> Check {
    meets(Builder::new_multi_thread().worker_threads(2), client, config, script)
}

fn meets(runtime: &mut Builder, client: Client, config: HttpClientConfig, script: Script) -> Check {
    let connecting = async move { connect_http(&client, config).await };
    runtime.enable_all().build()?.block_on(script(Box::pin(connecting)))
}
