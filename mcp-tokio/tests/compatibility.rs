//! Every cell of the compatibility matrix, over real pipes.

#![expect(clippy::expect_used, reason = "a test that cannot go on ends")]

use std::process::ExitCode;

use mcp_tests::compatibility::{self, Met};
use mcp_tokio::{Client, Command, connect_command};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    compatibility::main(connect)
}

fn connect(client: &Client, command: Command) -> Met {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        // What is asked for meanwhile waits, and what comes of it tells more than this.
        let (_, met) = tokio::join!(connect_command(client, command), compatibility::meet(client));
        client.close().await;
        met
    })
}
