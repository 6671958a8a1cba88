//! The program `mcp`, run as users run it: against servers in processes of their own and over HTTP,
//! with its output pinned and times masked; and against what is no server at all.
//!
//! The test starts itself as a server; see `server`.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod bridge;
mod call;
#[cfg(unix)]
mod environment;
#[cfg(unix)]
mod hostile;
mod hosts;
#[cfg(unix)]
mod interrupted;
#[cfg(feature = "jwt")]
mod issuer;
mod lists;
mod login;
mod more;
mod odd;
mod pantry;
mod probe;
mod proxied;
mod record;
mod refused;
mod replay;
mod run;
mod scratch;
mod server;
mod tasks;
#[cfg(unix)]
mod terminal;
mod wrong;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A test, and its name.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    if let Some(served) = server::serve_if_told() {
        return served;
    }
    #[cfg(unix)]
    let unix = [interrupted::ALL, environment::ALL, terminal::ALL, hostile::ALL].concat();
    #[cfg(not(unix))]
    let unix: Vec<Test> = Vec::new();
    #[cfg(feature = "jwt")]
    let issuer = issuer::ALL;
    #[cfg(not(feature = "jwt"))]
    let issuer: &[Test] = &[];
    let lists = [issuer, bridge::ALL, probe::ALL, lists::ALL, more::ALL, tasks::ALL].concat();
    let lists = [&lists, proxied::ALL, odd::ALL, refused::ALL].concat();
    let all =
        [&lists, call::ALL, record::ALL, login::ALL, replay::ALL, wrong::ALL, hosts::ALL, &unix]
            .concat();
    let trial = |(name, test): Test| {
        Trial::test(name.trim_start_matches("cli::"), move || {
            test();
            Ok(())
        })
    };
    let trials = all.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The tests of a file by their names.
macro_rules! all {
    ($($name:ident),* $(,)?) => {
        pub(crate) const ALL: &[crate::Test] =
            &[$((concat!(module_path!(), "::", stringify!($name)), $name)),*];
    };
}
pub(crate) use all;
