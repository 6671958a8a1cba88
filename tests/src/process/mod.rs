//! One suite for what every adapter does on standard input and output, in real processes.
//!
//! The test of an adapter is its `main`, without the harness:
//!
//! ```no_run
//! # fn serve() -> std::io::Result<()> { Ok(()) }
//! # use std::process::ExitCode;
//! fn main() -> ExitCode {
//!     mcp_tests::process::main(&[("current_thread", serve)])
//! }
//! ```
//!
//! Each function serves [`everything`](crate::everything) on standard input and output. Started
//! by hand, the program runs the suite; the suite starts the program again with an environment
//! variable that says which function to call. Nothing here sleeps: every wait is for something
//! that the server does, and a server that keeps one waiting for too long is killed.

mod conversations;
mod life;
mod load;
mod server;
mod streams;

use std::env;
use std::error::Error;
use std::io;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// Which function is to serve.
const SERVER: &str = "MCP_TEST_SERVER";

/// What serves on standard input and output.
pub type Serve = fn() -> io::Result<()>;

type Check = Result<(), Box<dyn Error>>;
type Named = (&'static str, fn(&str) -> Check);

/// Serves, or runs the suite for each of the named functions.
pub fn main(servers: &[(&'static str, Serve)]) -> ExitCode {
    let wanted = env::var(SERVER).ok();
    if let Some((_, serve)) = servers.iter().find(|(name, _)| Some(*name) == wanted.as_deref()) {
        return match serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let arguments = Arguments::from_args();
    let trials = servers.iter().flat_map(|(name, _)| trials(name)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(server: &'static str) -> Vec<Trial> {
    let mut trials = conversations::trials(server);
    for (name, check) in life::CHECKS.into_iter().chain(load::CHECKS) {
        trials.push(trial(server, name, move || check(server)));
    }
    trials
}

fn trial(server: &str, name: &str, check: impl FnOnce() -> Check + Send + 'static) -> Trial {
    Trial::test(format!("{server}::{name}"), move || check().map_err(Failed::from))
}
