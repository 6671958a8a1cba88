//! One suite for what every adapter does over HTTP, on real sockets.
//!
//! A server serves a catalog at a listener until it is told to stop, and returns when all is over.
//! What clients do is tested in [`http_client`](crate::http_client). Nothing here sleeps: every
//! wait is for something that the server does, or that a handler of the suite reports; one that
//! takes too long fails.

mod checks;
mod client;
mod end;
mod protected;
mod server;

use std::error::Error;
use std::io;
use std::net::TcpListener;

use libtest_mimic::{Failed, Trial};
use mcp_proto::http::Config;
use mcp_service::Catalog;

pub use client::{Client, Response};
pub use server::{Server, Stop};

/// Function that serves at a listener.
pub type Serve = fn(TcpListener, Catalog, Config, Stop) -> io::Result<()>;

/// Result of a check.
pub type Check = Result<(), Box<dyn Error>>;

type Named = (&'static str, fn(Serve) -> Check);

/// The tests of a server that accepts connections itself.
pub fn trials(name: &str, serve: Serve) -> Vec<Trial> {
    let of_sockets = end::OF_SOCKETS.iter().map(|check| trial(name, serve, *check));
    trials_of_stack(name, serve).into_iter().chain(of_sockets).collect()
}

/// The tests of a server for which another HTTP stack does.
pub fn trials_of_stack(name: &str, serve: Serve) -> Vec<Trial> {
    let checks = checks::CHECKS.iter().chain(end::CHECKS).chain(protected::CHECKS);
    checks.map(|check| trial(name, serve, *check)).collect()
}

fn trial(name: &str, serve: Serve, (check, run): Named) -> Trial {
    Trial::test(format!("{name}::http::{check}"), move || run(serve).map_err(Failed::from))
}
