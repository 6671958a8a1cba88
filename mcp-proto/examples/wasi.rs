//! A server in a WASI sandbox, which has no threads: one loop that only waits for standard input.
//!
//! ```sh
//! cargo build -p mcp-proto --example wasi --target wasm32-wasip1
//! wasmtime target/wasm32-wasip1/debug/examples/wasi.wasm
//! ```
//!
//! `tests/platforms/run wasi` runs it in Node's WASI. The program works on other systems as well,
//! as long as handlers answer at once: it does not wake up at a deadline. The example `sync` does.

use std::io::{self, Read, Write};
use std::time;

use mcp_proto::server::{Config, Outcome, Registry, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Action, Binding, Bytes, ErrorData, Instant, Json, Machine};

type Handler = fn(&Json) -> CallToolResult;

#[derive(serde::Deserialize)]
struct Echo {
    message: String,
}

fn echo(arguments: &Json) -> CallToolResult {
    match arguments.decode::<Echo>() {
        Ok(echo) => CallToolResult::text(echo.message),
        Err(error) => CallToolResult::error(error.to_string()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema =
        r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;
    let tool = Tool::new("echo", Json::parse(schema)?).description("Echoes its message");
    let mut registry = Registry::new(Implementation::new("echo", env!("CARGO_PKG_VERSION")));
    registry.add_tool(tool, echo as Handler)?;
    serve(&registry)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the clock is the driver's part")]
fn serve(registry: &Registry<Handler>) -> io::Result<()> {
    let start = time::Instant::now();
    let now = || Instant::ZERO + start.elapsed();
    let mut connection = Connection::server(registry.declaration(), Config::default());
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer)? {
            0 => connection.handle_eof(now()),
            count => {
                let chunk = buffer.get(..count).map(Bytes::copy_from_slice).unwrap_or_default();
                connection.handle_bytes(now(), chunk);
            }
        }
        while let Some(action) = connection.poll_action() {
            match action {
                Action::Transmit(bytes) => output.write_all(&bytes)?,
                Action::Event(ServerEvent::Request(request)) => {
                    let outcome = call(registry.handler(request.handler), &request.arguments);
                    connection.with(now(), |server| server.respond(now(), request.reply, outcome));
                }
                Action::Event(_) => {}
                Action::Close => return output.flush(),
            }
        }
        output.flush()?;
    }
}

fn call(handler: Option<&Handler>, arguments: &Json) -> Outcome {
    let result = handler.map(|handler| Json::encode(&handler(arguments)));
    match result {
        Some(Ok(result)) => Outcome::Complete(result),
        _ => Outcome::Error(ErrorData::internal("the handler has no result")),
    }
}
