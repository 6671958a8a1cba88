//! A client without async, which lists the tools of a server: `std::process`, two threads, one
//! loop.
//!
//! ```sh
//! cargo build -p mcp-proto --example sync
//! cargo run -p mcp-proto --example client -- target/debug/examples/sync stdio
//! ```
//!
//! prints `a server of 2026-07-28`, and `echo: Echoes its message`.

use std::error::Error;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant as Clock};

use mcp_proto::client::{CallOptions, ClientEvent, Config, Listing};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, ListToolsResult};
use mcp_proto::{Action, Binding, Bytes, Instant, Machine};

#[expect(clippy::disallowed_methods, reason = "the clock is the driver's part")]
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is of interest")]
fn main() -> Result<(), Box<dyn Error>> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let [program, arguments @ ..] = &command[..] else {
        return Err("usage: client PROGRAM [ARGUMENTS...]".into());
    };
    let start = || Server::start(Command::new(program).args(arguments));
    let clock = Clock::now();
    let now = || Instant::ZERO + clock.elapsed();

    let mut client = Connection::client(Config::new(Implementation::new("sync", "1.0.0")));
    let mut server = start()?;
    client.handle_opened(now());
    client.with(now(), |client| client.list(now(), Listing::Tools, CallOptions::default()))?;
    loop {
        while let Some(action) = client.poll_action() {
            match action {
                Action::Transmit(bytes) => server.write(&bytes),
                Action::Event(event) => match event {
                    ClientEvent::Connected(found) => {
                        writeln!(io::stdout(), "a server of {}", found.version)?;
                    }
                    ClientEvent::Response { result, .. } => {
                        print_tools(&result?.decode()?)?;
                        client.with(now(), |client| client.close(now()));
                    }
                    // Some legacy servers exit at a modern message.
                    ClientEvent::Reopen => {
                        server = start()?;
                        client.handle_opened(now());
                    }
                    ClientEvent::Closed(Some(error)) => return Err(error.into()),
                    _ => {}
                },
                Action::Close => return server.end(),
            }
        }
        let due = client.poll_timeout().map(|at| at.duration_since(now()));
        match server.output.recv_timeout(due.unwrap_or(Duration::MAX)) {
            Ok(chunk) => client.handle_bytes(now(), chunk),
            Err(RecvTimeoutError::Timeout) => client.handle_timeout(now()),
            Err(RecvTimeoutError::Disconnected) => client.handle_eof(now()),
        }
    }
}

fn print_tools(list: &ListToolsResult) -> io::Result<()> {
    for tool in &list.tools {
        let description = tool.description.as_deref().unwrap_or_default();
        writeln!(io::stdout(), "{}: {description}", tool.name)?;
    }
    Ok(())
}

/// A server in a process of its own. A thread reads what it writes.
struct Server {
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<Bytes>,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take();
        let mut stdout = process.stdout.take().ok_or("no standard output")?;
        let (sender, output) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender
                    .send(Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default()))
                    .is_err()
                {
                    return;
                }
            }
        });
        Ok(Self { process, input, output })
    }

    /// A server that does not read any more is about to say so by ending its output.
    fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    /// Ends its input, and lets it end.
    fn end(mut self) -> Result<(), Box<dyn Error>> {
        drop(self.input.take());
        self.process.wait()?;
        Ok(())
    }
}
