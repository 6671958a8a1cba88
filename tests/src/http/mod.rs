//! One suite for what every adapter does over HTTP, on real sockets.
//!
//! The test of an adapter is its `main`, without the harness:
//!
//! ```no_run
//! # use mcp_proto::http::Config;
//! # use mcp_proto::service::Catalog;
//! # use mcp_tests::http::Stop;
//! # use std::io;
//! # use std::net::TcpListener;
//! # fn serve(_: TcpListener, _: Catalog, _: Config, _: Stop) -> io::Result<()> { Ok(()) }
//! # use std::process::ExitCode;
//! fn main() -> ExitCode {
//!     mcp_tests::http::main(&[("current_thread", serve)], &[], &[], false)
//! }
//! ```
//!
//! Each function serves a catalog at a listener until it is told to stop, and returns when all is
//! over. What clients do is tested in [`http_client`]. Nothing here sleeps: every wait is for something that the server does, or that a handler
//! of the suite reports; one that takes too long fails.

mod checks;
mod client;
mod end;
mod server;

use std::error::Error;
use std::io;
use std::net::TcpListener;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use mcp_proto::http::Config;
use mcp_proto::service::Catalog;

use crate::compatibility;
use crate::http_client::{self, Meet};

pub use client::{Client, Response};
pub use server::{Server, Stop};

/// What serves at a listener.
pub type Serve = fn(TcpListener, Catalog, Config, Stop) -> io::Result<()>;

/// What came of a check.
pub type Check = Result<(), Box<dyn Error>>;

type Named = (&'static str, fn(Serve) -> Check);

/// Runs the suite for each of the named functions: those that accept connections themselves, and
/// those where another HTTP stack does; and for each way to drive a
/// client, with TLS or without.
pub fn main(
    sockets: &[(&'static str, Serve)],
    stacks: &[(&'static str, Serve)],
    clients: &[(&'static str, Meet)],
    has_tls: bool,
) -> ExitCode {
    let mut trials = Vec::new();
    for (name, serve) in sockets.iter().chain(stacks).copied() {
        trials.extend(
            checks::CHECKS.iter().chain(end::CHECKS).map(|check| trial(name, serve, *check)),
        );
    }
    for (name, serve) in sockets.iter().copied() {
        trials.extend(end::OF_SOCKETS.iter().map(|check| trial(name, serve, *check)));
    }
    if let Some((_, serve)) = sockets.first() {
        for (name, meet) in clients.iter().copied() {
            trials.extend(http_client::trials(name, *serve, meet, has_tls));
        }
    }
    if let Some((_, meet)) = clients.first() {
        for (name, serve) in stacks.iter().copied() {
            trials.extend(compatibility::over_http(name, serve, *meet));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, serve: Serve, (check, run): Named) -> Trial {
    Trial::test(format!("{name}::{check}"), move || run(serve).map_err(Failed::from))
}
