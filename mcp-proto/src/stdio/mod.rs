//! The binding to a byte stream: a pipe to a child process, a socket, a buffer.
//!
//! In: bytes, split anywhere. Out: bytes to write, and what the application is to know. A
//! [`Connection`] is a [`LineReader`] in front of a server or a client and an encoder behind it; it
//! has no queue of its own.
//!
//! The loop of a driver:
//!
//! ```
//! # use mcp_proto::{Action, Binding, Machine, server::{Outcome, Registry, ServerEvent}, stdio::Connection};
//! # use mcp_proto::{Bytes, Instant, Json, types::Implementation};
//! # let registry: Registry<fn(&Json) -> Outcome> = Registry::new(Implementation::new("x", "1"));
//! # let mut input = [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..]].into_iter();
//! # let mut output = Vec::new();
//! # let now = || Instant::ZERO;
//! let mut connection = Connection::server(registry.declaration(), Default::default());
//! 'conversation: loop {
//!     while let Some(action) = connection.poll_action() {
//!         match action {
//!             Action::Transmit(bytes) => output.extend_from_slice(&bytes),
//!             Action::Event(ServerEvent::Request(request)) => {
//!                 let handler = registry.handler(request.handler).expect("it is registered");
//!                 let outcome = handler(&request.arguments);
//!                 connection.with(now(), |server| server.respond(now(), request.reply, outcome));
//!             }
//!             Action::Event(_) => {}
//!             Action::Close => break 'conversation,
//!         }
//!     }
//!     match input.next() {
//!         Some(chunk) => connection.handle_bytes(now(), Bytes::copy_from_slice(chunk)),
//!         None => connection.handle_eof(now()),
//!     }
//! }
//! # assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
//! ```
//!
//! [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)

mod client;
mod server;

use bytes::{Bytes, BytesMut};

use crate::error::ProtocolError;
use crate::frame::{Line, LineReader, write_line};
use crate::limits::Limits;
use crate::machine::{Action, Binding, Machine};
use crate::message::{self, Incoming, Malformed, Outgoing};
use crate::time::Instant;

/// As many bytes make a `Transmit` worth handing on; what waits behind it stays shared with the
/// declaration until its turn.
const TRANSMIT: usize = 64 * 1024;

/// A machine of messages: one side of a conversation, without bytes.
///
/// The two are `server::Server` and `client::Client`.
pub trait Side {
    /// What the application is told.
    type Event;

    /// The bounds that messages are read by.
    fn limits(&self) -> &Limits;

    /// The peer sent a message.
    fn handle_message(&mut self, now: Instant, incoming: Incoming);

    /// The peer sent something that is no message.
    fn handle_malformed(&mut self, now: Instant, malformed: Malformed);

    /// The peer sends nothing more.
    fn handle_eof(&mut self, now: Instant);

    /// It is `now`; due deadlines take effect.
    fn handle_timeout(&mut self, now: Instant);

    /// The next action, if it is to send a message.
    fn poll_send(&mut self) -> Option<Outgoing>;

    /// The next action, if it is not to send a message.
    fn poll_event(&mut self) -> Option<Action<Self::Event>>;

    /// When [`Side::handle_timeout`] is to be called at the latest.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether more messages are wanted.
    fn wants_read(&self) -> bool;
}

/// One side of a conversation on a byte stream.
#[derive(Debug)]
pub struct Connection<S> {
    side: S,
    lines: LineReader,
    out: BytesMut,
    /// How many bytes of answers have been encoded.
    answered: usize,
}

impl<S: Side> Connection<S> {
    fn new(side: S) -> Self {
        let lines = LineReader::new(side.limits().max_line_bytes);
        Self { side, lines, out: BytesMut::new(), answered: 0 }
    }

    fn handle_line(&mut self, now: Instant, line: &Line) {
        let limits = self.side.limits();
        let parsed = match line {
            Line::Complete(text) => message::parse(text, limits),
            Line::TooLong(beginning) => {
                let Limits { max_line_bytes, .. } = *limits;
                let error = ProtocolError::LineTooLong { max_line_bytes };
                Err(message::unreadable(beginning, limits, error))
            }
        };
        match parsed {
            Ok(incoming) => self.side.handle_message(now, incoming),
            Err(malformed) => self.side.handle_malformed(now, malformed),
        }
    }

    fn encode(&mut self, message: &Outgoing) {
        let start = self.out.len();
        message.write(&mut self.out);
        write_line(&mut self.out, start);
        if message.is_answer() {
            self.answered = self.answered.wrapping_add(self.out.len() - start);
        }
    }
}

/// The machine keeps its actions until they are taken, so that there is nothing to carry at once.
impl<S: Side> Binding for Connection<S> {
    type Machine = S;

    fn machine(&self) -> &S {
        &self.side
    }

    fn with<T>(&mut self, _now: Instant, command: impl FnOnce(&mut S) -> T) -> T {
        command(&mut self.side)
    }
}

impl<S: Side> Machine for Connection<S> {
    type Event = S::Event;

    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        self.lines.push(data);
        while let Some(line) = self.lines.next_line() {
            self.handle_line(now, &line);
        }
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(line) = self.lines.finish() {
            self.handle_line(now, &line);
        }
        self.side.handle_eof(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.side.handle_timeout(now);
    }

    fn poll_action(&mut self) -> Option<Action<S::Event>> {
        while self.out.len() < TRANSMIT
            && let Some(message) = self.side.poll_send()
        {
            self.encode(&message);
        }
        if self.out.is_empty() {
            return self.side.poll_event();
        }
        Some(Action::Transmit(self.out.split().freeze()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.side.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.side.wants_read()
    }
}
