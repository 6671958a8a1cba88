//! Every cell of the compatibility matrix, over real pipes.

use std::process::ExitCode;

use futures_lite::future::zip;
use mcp_async_std::{Client, Command, connect_command};
use mcp_tests::compatibility::{self, Met};

fn main() -> ExitCode {
    compatibility::main(connect)
}

fn connect(client: &Client, command: Command) -> Met {
    async_std::task::block_on(async {
        // What is asked for meanwhile waits, and what comes of it tells more than this.
        let (_, met) = zip(connect_command(client, command), compatibility::meet(client)).await;
        client.close().await;
        met
    })
}
