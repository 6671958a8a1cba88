//! One suite for what every adapter does on standard input and output, in real processes.
//!
//! A server serves [`everything`](crate::everything) on standard input and output. The program that
//! runs the suite starts itself again, with an environment variable that says which server to be.
//! Nothing here sleeps: every wait is for something that the server does, and a server that keeps
//! one waiting for too long is killed.

mod conversations;
mod fifos;
mod life;
mod load;
mod server;
mod streams;

use std::env;
use std::error::Error;
use std::io;

use libtest_mimic::{Failed, Trial};

/// Environment variable with the name of the function that is to serve.
pub(crate) const SERVER: &str = "MCP_TEST_SERVER";

/// Environment variable of a server whose tool `program` starts a program with the standard streams
/// of the server. At its end the server writes a line to its standard output.
pub(crate) const PROGRAM: &str = "MCP_TEST_PROGRAM";

/// Function that serves on standard input and output.
pub type Serve = fn() -> io::Result<()>;

type Check = Result<(), Box<dyn Error>>;
type Named = (&'static str, fn(&str) -> Check);

/// Serves, if this process was started for that.
pub fn serve(servers: &[(&'static str, Serve)]) -> Option<io::Result<()>> {
    let wanted = env::var(SERVER).ok()?;
    servers.iter().find(|(name, _)| *name == wanted).map(|(_, serve)| serve())
}

/// The tests of one server.
pub fn trials(server: &'static str) -> Vec<Trial> {
    let mut trials = conversations::trials(server);
    let checks = life::CHECKS.into_iter().chain(load::CHECKS).chain(fifos::CHECKS);
    for (name, check) in checks {
        trials.push(trial(server, name, move || check(server)));
    }
    trials
}

fn trial(server: &str, name: &str, check: impl FnOnce() -> Check + Send + 'static) -> Trial {
    Trial::test(format!("{server}::stdio::{name}"), move || check().map_err(Failed::from))
}
