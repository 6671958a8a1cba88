//! HTTP on sockets, on async-std and on smol.

use std::io;
use std::net::TcpListener;
use std::process::ExitCode;

use futures_lite::future::or;
use mcp_async_std::{
    Catalog, Client, HttpClientConfig, HttpConfig, connect_http, run_http, serve_http_on,
};
use mcp_tests::http::{self, Check, Stop};
use mcp_tests::http_client::{self, Script};

fn main() -> ExitCode {
    let clients: &[(_, http_client::Meet)] =
        &[("async_std", meets_on_async_std), ("smol", meets_on_smol)];
    http::main(
        &[("async_std", on_async_std), ("smol", on_smol)],
        &[],
        clients,
        cfg!(feature = "tls"),
    )
}

fn on_async_std(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    let spawn = |future| drop(async_std::task::spawn(future));
    async_std::task::block_on(serve_http_on(listener, catalog, config, spawn, stop))
}

fn on_smol(
    listener: TcpListener,
    catalog: Catalog,
    config: HttpConfig,
    stop: Stop,
) -> io::Result<()> {
    let spawn = |future| smol::spawn(future).detach();
    smol::block_on(serve_http_on(listener, catalog, config, spawn, stop))
}

fn meets_on_async_std(client: Client, config: HttpClientConfig, script: Script) -> Check {
    let connecting = async move { connect_http(&client, config).await };
    async_std::task::block_on(script(Box::pin(connecting)))
}

/// No part of async-std runs.
fn meets_on_smol(client: Client, config: HttpClientConfig, script: Script) -> Check {
    let connecting = async move {
        let (driven, (tells, told)) = (client.clone(), smol::channel::bounded(1));
        let driving = async move {
            if let Err(error) = run_http(&driven, config).await {
                let _ = tells.send(error).await;
            }
        };
        smol::spawn(driving).detach();
        let connected = async { client.connected().await.map_err(io::Error::other) };
        let failed = async {
            match told.recv().await {
                Ok(error) => Err(error),
                Err(_) => std::future::pending().await,
            }
        };
        or(connected, failed).await
    };
    smol::block_on(script(Box::pin(connecting)))
}
