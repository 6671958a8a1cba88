//! Standard input and output.

use std::io;
use std::process::ExitCode;

use mcp_tests::{everything, process};

fn main() -> ExitCode {
    process::main(&[("async_std", || {
        let registry = everything::registry().map_err(io::Error::other)?;
        async_std::task::block_on(mcp_async_std::serve_stdio(registry))
    })])
}
