//! The binding to a byte stream, whatever marks the ends of messages in it.
//!
//! In: bytes, split anywhere. Out: bytes to write, and events for the application. A [`Connection`]
//! is a [`Framing`] around a server or a client (a [`Side`]); it has no queue of its own. The module
//! [`stdio`](crate::stdio) has the framing of the specification, and the loop of a driver.
//!
//! | the framing finds | the side gets |
//! |---|---|
//! | the text of a message | the message, or the error of the JSON in it |
//! | [`Unframed`] | the error, and the id if the beginning of the text tells it |
//!
//! A transport over another byte stream is another [`Framing`]; the guide has one whose messages
//! follow their length.
//!
//! [Specification: Custom Transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports)

use alloc::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::client::{self, Client, ClientEvent};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::machine::{Action, Binding, Machine};
use crate::message::{self, Incoming, Malformed, Outgoing};
use crate::server::{self, Declaration, Server, ServerEvent};
use crate::time::Instant;

/// As many bytes make a `Transmit` worth handing on; what waits behind it stays shared with the
/// declaration until its turn.
const TRANSMIT: usize = 64 * 1024;

/// A way to mark in a stream of bytes where messages begin and end.
///
/// A framing buffers no more than one message, of a length that it bounds.
pub trait Framing {
    /// A framing at the beginning of a stream.
    fn new(limits: &Limits) -> Self;

    /// Takes the next bytes of the stream; [`Framing::next_message`] has returned `None` before.
    fn push(&mut self, data: Bytes);

    /// The JSON text of the next message; `None` if more bytes are needed.
    fn next_message(&mut self) -> Option<Result<Bytes, Unframed>>;

    /// The stream has ended: what is left in it.
    fn finish(&mut self) -> Option<Result<Bytes, Unframed>>;

    /// Appends a message to `out`; `text` appends the JSON text of the message.
    fn write(out: &mut BytesMut, text: impl FnOnce(&mut BytesMut));
}

/// A message that a [`Framing`] could not read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unframed {
    /// The beginning of its text, in which the id to answer is looked for; may be empty.
    pub beginning: Bytes,
    /// The error, such as [`ProtocolError::InvalidFrame`].
    pub error: ProtocolError,
}

/// A machine of messages: one side of a conversation, without bytes.
///
/// The two are `server::Server` and `client::Client`.
pub trait Side {
    /// Events for the application.
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

    /// Returns whether more messages are wanted.
    fn wants_read(&self) -> bool;
}

/// Makes a machine a [`Side`], by the methods of the same names that the machine has.
macro_rules! side {
    ($machine:ty, $event:ty) => {
        impl Side for $machine {
            type Event = $event;

            fn limits(&self) -> &Limits {
                self.limits()
            }

            fn handle_message(&mut self, now: Instant, incoming: Incoming) {
                self.handle_message(now, incoming);
            }

            fn handle_malformed(&mut self, now: Instant, malformed: Malformed) {
                self.handle_malformed(now, malformed);
            }

            fn handle_eof(&mut self, now: Instant) {
                self.handle_eof(now);
            }

            fn handle_timeout(&mut self, now: Instant) {
                self.handle_timeout(now);
            }

            fn poll_send(&mut self) -> Option<Outgoing> {
                self.poll_send()
            }

            fn poll_event(&mut self) -> Option<Action<$event>> {
                self.poll_event()
            }

            fn poll_timeout(&self) -> Option<Instant> {
                self.poll_timeout()
            }

            fn wants_read(&self) -> bool {
                self.wants_read()
            }
        }
    };
}

side!(Client, ClientEvent);
side!(Server, ServerEvent);

/// One side of a conversation on a byte stream.
#[derive(Debug)]
pub struct Connection<S, F> {
    side: S,
    framing: F,
    out: BytesMut,
    /// How many bytes of answers have been encoded.
    answered: usize,
}

impl<F: Framing> Connection<Client, F> {
    /// A client of a server that is yet to be started: [`Connection::handle_opened`] comes first.
    pub fn client(config: client::Config) -> Self {
        Self::new(Client::new(config))
    }

    /// The server is there, for the first time or after [`ClientEvent::Reopen`]; see
    /// [`Client::handle_opened`]. What came over a stream before is forgotten.
    pub fn handle_opened(&mut self, now: Instant) {
        self.framing = F::new(self.side.limits());
        self.side.handle_opened(now);
    }

    /// The number of bytes of answers to the server that have been transmitted in all; it wraps
    /// around. The application bounds what it asks of a server; answers have no such bound.
    pub fn answered_bytes(&self) -> usize {
        self.answered
    }
}

impl<F: Framing> Connection<Server, F> {
    /// A server for the peer at the other end of a stream that is yet to be read.
    pub fn server(declaration: Arc<Declaration>, config: server::Config) -> Self {
        Self::new(Server::new(declaration, config))
    }

    /// The server is to stop: nothing more is read, the beginning of a message is dropped, and
    /// requests in flight get `Limits::drain` to be answered.
    pub fn shutdown(&mut self, now: Instant) {
        self.side.handle_eof(now);
    }
}

impl<S: Side, F: Framing> Connection<S, F> {
    fn new(side: S) -> Self {
        let framing = F::new(side.limits());
        Self { side, framing, out: BytesMut::new(), answered: 0 }
    }

    fn handle_message(&mut self, now: Instant, message: Result<Bytes, Unframed>) {
        let limits = self.side.limits();
        let parsed = match message {
            Ok(text) => message::parse(&text, limits),
            Err(Unframed { beginning, error }) => {
                Err(message::unreadable(&beginning, limits, error))
            }
        };
        match parsed {
            Ok(incoming) => self.side.handle_message(now, incoming),
            Err(malformed) => self.side.handle_malformed(now, malformed),
        }
    }

    fn encode(&mut self, message: &Outgoing) {
        let start = self.out.len();
        F::write(&mut self.out, |out| message.write(out));
        if message.is_answer() {
            self.answered = self.answered.wrapping_add(self.out.len() - start);
        }
    }
}

/// The machine keeps its actions until they are taken, so that there is nothing to carry at once.
impl<S: Side, F: Framing> Binding for Connection<S, F> {
    type Machine = S;

    fn machine(&self) -> &S {
        &self.side
    }

    fn with<T>(&mut self, _now: Instant, command: impl FnOnce(&mut S) -> T) -> T {
        command(&mut self.side)
    }
}

impl<S: Side, F: Framing> Machine for Connection<S, F> {
    type Event = S::Event;

    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        self.framing.push(data);
        while let Some(message) = self.framing.next_message() {
            self.handle_message(now, message);
        }
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(message) = self.framing.finish() {
            self.handle_message(now, message);
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
