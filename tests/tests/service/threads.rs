//! Threads that the system cannot start.

use std::env;
use std::future::poll_fn;
use std::io;
use std::process::Command;
use std::thread;

use mcp_service::auth::{Consent, Loopback};
use mcp_service::runtime::{BlockingReader, BlockingWriter, unblock};
use mcp_service::{Reader, Writer};

use crate::sign_in::block_on;

/// The variable that makes the test below the process without threads.
const WITHOUT_THREADS: &str = "MCP_TEST_WITHOUT_THREADS";

#[test]
#[cfg_attr(not(target_pointer_width = "64"), ignore = "a stack of 1 PiB needs 64 bits")]
fn thread_that_cannot_be_started_is_an_error() {
    if env::var_os(WITHOUT_THREADS).is_some() {
        return fail_to_start_threads();
    }
    let name = "threads::thread_that_cannot_be_started_is_an_error";
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--quiet", "--test-threads=1"])
        .env(WITHOUT_THREADS, "1")
        // No address space has room for such a stack.
        .env("RUST_MIN_STACK", (1_u64 << 50).to_string())
        .status();
    assert!(status.unwrap().success());
}

fn fail_to_start_threads() {
    thread::Builder::new().spawn(|| ()).unwrap_err();
    block_on(unblock(|| Ok(()))).unwrap_err();
    let mut reader = BlockingReader::new(io::empty());
    block_on(poll_fn(|context| reader.poll_read(context))).unwrap_err();
    let mut writer = BlockingWriter::new(io::sink());
    block_on(poll_fn(|context| writer.poll_write(context, b"x"))).unwrap_err();
    let prepared = block_on(Loopback::new().prepare("http://127.0.0.1/callback", None));
    assert!(prepared.is_err());
}
