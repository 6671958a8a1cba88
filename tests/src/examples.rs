//! Paths of the crates' examples, for tests that run them.

use std::path::PathBuf;
use std::{env, io};

/// Path of an example. `cargo test` of its package has built it; that of a single test has not.
///
/// Fails with the command that builds it, if it is not there.
pub fn path(package: &str, example: &str) -> io::Result<PathBuf> {
    let test = env::current_exe()?;
    let folder = test.ancestors().nth(2).unwrap_or(&test);
    let program = folder.join("examples").join(example).with_extension(env::consts::EXE_EXTENSION);
    if program.exists() {
        return Ok(program);
    }
    let missing = format!("first: cargo build -p {package} --all-features --example {example}");
    Err(io::Error::new(io::ErrorKind::NotFound, missing))
}
