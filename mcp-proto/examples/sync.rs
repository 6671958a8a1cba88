//! A server without async: only `std`, plain functions, one loop.
//!
//! ```sh
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run -p mcp-proto --example sync stdio
//! ```
//!
//! prints `{"jsonrpc":"2.0","id":1,"result":{}}`. It serves the same tool as the adapters' `echo`,
//! to clients of both eras, until its standard input ends.

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
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
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: sync stdio".into());
    }
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
    let input = read_on_a_thread();
    loop {
        while let Some(action) = connection.poll_action() {
            match action {
                Action::Transmit(bytes) => io::stdout().write_all(&bytes)?,
                Action::Event(ServerEvent::Request(request)) => {
                    let outcome = call(registry.handler(request.handler), &request.arguments);
                    connection.with(now(), |server| server.respond(now(), request.reply, outcome));
                }
                Action::Event(_) => {}
                Action::Close => return io::stdout().flush(),
            }
        }
        io::stdout().flush()?;
        let wait = connection.poll_timeout().map(|at| at.duration_since(now()));
        match input.recv_timeout(wait.unwrap_or(time::Duration::MAX)) {
            Ok(chunk) => connection.handle_bytes(now(), chunk?),
            Err(RecvTimeoutError::Timeout) => connection.handle_timeout(now()),
            // All requests are answered by now: `Close` comes next. With handlers that answer
            // later, wait here for their answers, at most until `poll_timeout`.
            Err(RecvTimeoutError::Disconnected) => connection.handle_eof(now()),
        }
    }
}

fn call(handler: Option<&Handler>, arguments: &Json) -> Outcome {
    let result = handler.map(|handler| Json::encode(&handler(arguments)));
    match result {
        Some(Ok(result)) => Outcome::Complete(result),
        _ => Outcome::Error(ErrorData::internal("the handler has no result")),
    }
}

/// Chunks of standard input; a blocking read has no deadline, a channel does.
fn read_on_a_thread() -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let chunk = match io::stdin().read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    Ok(buffer.get(..count).map(Bytes::copy_from_slice).unwrap_or_default())
                }
                Err(error) => Err(error),
            };
            if sender.send(chunk).is_err() {
                return;
            }
        }
    });
    receiver
}
