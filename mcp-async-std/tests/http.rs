//! HTTP on sockets, on async-std and on smol.

use std::io;
use std::net::TcpListener;
use std::process::ExitCode;

use mcp_async_std::{Catalog, HttpConfig, serve_http_on};
use mcp_tests::http::{self, Stop};

fn main() -> ExitCode {
    http::main(&[("async_std", on_async_std), ("smol", on_smol)], &[])
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
