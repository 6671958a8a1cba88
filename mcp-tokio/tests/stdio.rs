//! Standard input and output, on both kinds of runtime.

use std::io;
use std::process::ExitCode;

use mcp_tests::{everything, process};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    process::main(&[
        ("current_thread", || serve(&mut Builder::new_current_thread())),
        ("multi_thread", || serve(Builder::new_multi_thread().worker_threads(4))),
    ])
}

fn serve(runtime: &mut Builder) -> io::Result<()> {
    let registry = everything::registry().map_err(io::Error::other)?;
    runtime.enable_all().build()?.block_on(mcp_tokio::serve_stdio(registry))
}
