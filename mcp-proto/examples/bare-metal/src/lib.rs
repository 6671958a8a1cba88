//! A server without an operating system: a buffer in, its answers out.
//!
//! ```sh
//! cargo run                                             # on a host: prints the answer
//! cargo build --release --target x86_64-unknown-none    # where there is nothing
//! ./check                                               # tests both, and says how large it is
//! ```
//!
//! There is nothing here but `core`, `alloc` and [`heap`]. Each buffer is a conversation of its
//! own, and when it is over the heap is empty.

#![no_std]

extern crate alloc;

pub mod heap;

use alloc::boxed::Box;
use alloc::format;
use core::error::Error;

use mcp_proto::server::{Config, Outcome, Registry, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Action, Binding, Bytes, ErrorData, Instant, Json, Machine};

/// Serves what is in a buffer: messages, each on a line. The answers are written piece by piece.
///
/// Fails if the server is declared wrongly, and never because of what is in the buffer.
pub fn serve(input: &[u8], mut write: impl FnMut(&[u8])) -> Result<(), Box<dyn Error>> {
    // Handlers answer at once, so that no time passes.
    let now = Instant::ZERO;
    let registry = registry()?;
    let mut connection = Connection::server(registry.declaration(), Config::default());
    connection.handle_bytes(now, Bytes::copy_from_slice(input));
    connection.handle_eof(now);
    while let Some(action) = connection.poll_action() {
        match action {
            Action::Transmit(bytes) => write(&bytes),
            Action::Event(ServerEvent::Request(request)) => {
                let outcome = call(registry.handler(request.handler), &request.arguments);
                connection.with(now, |server| server.respond(now, request.reply, outcome));
            }
            Action::Event(_) | Action::Close => {}
        }
    }
    Ok(())
}

type Handler = fn(&Json) -> CallToolResult;

#[derive(serde::Deserialize)]
struct Add {
    a: i32,
    b: i32,
}

fn add(arguments: &Json) -> CallToolResult {
    match arguments.decode::<Add>() {
        Ok(Add { a, b }) => CallToolResult::text(format!("{}", i64::from(a) + i64::from(b))),
        Err(error) => CallToolResult::error(format!("{error}")),
    }
}

fn registry() -> Result<Registry<Handler>, Box<dyn Error>> {
    let schema = concat!(
        r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"#,
        r#""required":["a","b"]}"#,
    );
    let tool = Tool::new("add", Json::parse(schema)?).description("Adds two numbers");
    let mut registry = Registry::new(Implementation::new("bare-metal", "1.0.0"));
    registry.add_tool(tool, add as Handler)?;
    Ok(registry)
}

fn call(handler: Option<&Handler>, arguments: &Json) -> Outcome {
    let result = handler.map(|handler| Json::encode(&handler(arguments)));
    match result {
        Some(Ok(result)) => Outcome::Complete(result),
        _ => Outcome::Error(ErrorData::internal("the handler has no result")),
    }
}
