//! A server without an operating system, at a serial line:
//!
//! ```sh
//! cargo build --release --target x86_64-unknown-none    # an image for QEMU, `-kernel`
//! cargo run                                             # on a host: serves standard input
//! ./check                                               # tests it, and prints its size
//! ```
//!
//! `tests/platforms/run bare-metal` boots the image, and talks to it in each revision.
//!
//! The server uses only `core`, `alloc` and [`heap`]. `Config::limits` keeps a peer from filling
//! the heap.

#![no_std]

extern crate alloc;

pub mod heap;

use alloc::boxed::Box;
use alloc::format;
use core::error::Error;

use mcp_proto::server::{self, Config, Outcome, Registry, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Action, Binding, Bytes, ErrorData, Instant, Json, Limits, Machine};

/// Byte that ends a conversation: ^D, which no message contains. A serial line has no end of file.
pub const END: u8 = 0x04;

/// Handlers answer at once, and nothing else waits, so that no time passes.
const NOW: Instant = Instant::ZERO;

/// A server at a serial line. It serves one conversation after the other.
pub struct Server {
    registry: Registry<Handler>,
    connection: Connection<server::Server>,
}

impl Server {
    /// A server that waits for its first conversation. Fails if its tools are declared wrongly.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let registry = registry()?;
        let connection = Connection::server(registry.declaration(), config());
        Ok(Self { registry, connection })
    }

    /// Takes what the line has received, in pieces of any size. The answers are written piece by
    /// piece.
    pub fn handle_bytes(&mut self, received: &[u8], mut write: impl FnMut(&[u8])) {
        for piece in received.split_inclusive(|byte| *byte == END) {
            let message = piece.strip_suffix(&[END]).unwrap_or(piece);
            self.connection.handle_bytes(NOW, Bytes::copy_from_slice(message));
            if message.len() < piece.len() {
                self.connection.handle_eof(NOW);
            }
            self.answer(&mut write);
        }
    }

    fn answer(&mut self, write: &mut impl FnMut(&[u8])) {
        while let Some(action) = self.connection.poll_action() {
            match action {
                Action::Transmit(bytes) => write(&bytes),
                Action::Event(ServerEvent::Request(request)) => {
                    let outcome = call(self.registry.handler(request.handler), &request.arguments);
                    self.connection.with(NOW, |server| server.respond(NOW, request.reply, outcome));
                }
                Action::Event(_) => {}
                Action::Close => {
                    self.connection = Connection::server(self.registry.declaration(), config());
                }
            }
        }
    }
}

/// Bounds that fit the heap.
fn config() -> Config {
    let mut limits = Limits::default();
    limits.max_line_bytes = 2 * 1024;
    limits.max_batch_bytes = 2 * 1024;
    limits.max_client_bytes = 512;
    limits.max_id_bytes = 128;
    limits.max_in_flight = 8;
    limits.max_in_flight_bytes = 4 * 1024;
    limits.max_subscriptions = 4;
    limits.max_subscription_bytes = 1024;
    let mut config = Config::default();
    config.limits = limits;
    config
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
