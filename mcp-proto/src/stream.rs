//! The binding to a byte stream, independent of its framing.
//!
//! In: bytes, split anywhere. Out: bytes to write, and events for the application. A [`Connection`]
//! is a [`Framing`] around a server or a client (a [`Side`]); it has no queue of its own. The
//! module [`stdio`](crate::stdio) has the framing of the specification, and the loop of a driver.
//!
//! | the framing finds | the side gets |
//! |---|---|
//! | the text of a message | the message, or the error of the JSON in it |
//! | [`FramingError`] | the error, and the id if the beginning of the text tells it |
//!
//! A transport over another byte stream is another [`Framing`]. The guide has an example with a
//! length before each message.
//!
//! [Specification: Custom Transports](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-transports)

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use bytes::{Bytes, BytesMut};

use crate::client::{self, Client, ClientEvent};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::machine::{Action, Binding, Machine};
use crate::message::{self, Incoming, Malformed, MessageReader, Outgoing};
use crate::server::{self, Declaration, Server, ServerEvent};
use crate::time::{Duration, Instant};

/// A `Transmit` is emitted once this many bytes are encoded. Later messages stay unencoded, and
/// keep sharing the buffers of the declaration. A result of at least this length is transmitted
/// without a copy. The copy would stay allocated, so that messages of 64 MB in a row peaked at four
/// times their size. Law: the parts are the whole message (a test in `message/outgoing.rs`).
const TRANSMIT: usize = 64 * 1024;

/// The time for which a framing keeps the memory of a long message for the next one. With it,
/// echoes of 64 MB in a row cause half as many page faults, which were half of their CPU time.
const MEMORY_KEPT: Duration = Duration::from_millis(20);

/// The most characters of a text that is not JSON in the error about it.
const FOREIGN_OUTPUT: usize = 80;

/// A framing of messages in a stream of bytes.
///
/// A framing buffers at most one message, of limited length.
pub trait Framing {
    /// A framing at the beginning of a stream.
    fn new(limits: &Limits) -> Self;

    /// Handles the next bytes of the stream, after [`Framing::next_message`] has returned `None`.
    fn push(&mut self, data: Bytes);

    /// The JSON text of the next message; `None` if more bytes are needed.
    fn next_message(&mut self) -> Option<Result<Bytes, FramingError>>;

    /// Handles the end of the stream, and returns the message that the remaining bytes form, if
    /// any.
    fn finish(&mut self) -> Option<Result<Bytes, FramingError>>;

    /// Returns whether the framing keeps memory of a long message for the next one. The connection
    /// releases it 20 ms after the message, or after its answer is written. False by default.
    fn keeps_memory(&self) -> bool {
        false
    }

    /// Releases the memory that [`Framing::keeps_memory`] reports.
    fn release_memory(&mut self) {}

    /// Appends a message to `out`; `text` appends the JSON text of the message.
    fn write(out: &mut BytesMut, text: impl FnOnce(&mut BytesMut));

    /// Returns whether [`Framing::write`] leaves `part` unchanged at any position in a text, and
    /// adds only bytes that do not depend on the text. A long part of this kind is transmitted
    /// separately, without a copy. False by default.
    fn leaves_unchanged(part: &[u8]) -> bool {
        let _ = part;
        false
    }
}

/// A message that a [`Framing`] could not read completely.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FramingError {
    /// The beginning of its text, which may contain the id for the answer; may be empty.
    pub beginning: Bytes,
    /// The error, such as [`ProtocolError::InvalidFrame`].
    pub error: ProtocolError,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl core::error::Error for FramingError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// A machine of messages: one side of a conversation, without bytes.
///
/// The implementations are `server::Server` and `client::Client`.
pub trait Side {
    /// Events for the application.
    type Event;

    /// True if the peer is a server, which must print only messages to its standard output.
    const PEER_IS_SERVER: bool;

    /// The limits for reading messages.
    fn limits(&self) -> &Limits;

    /// Handles a message of the peer.
    fn handle_message(&mut self, now: Instant, incoming: Incoming);

    /// Handles input of the peer that is not a message.
    fn handle_malformed(&mut self, now: Instant, malformed: Malformed);

    /// Handles the end of the peer's output.
    fn handle_eof(&mut self, now: Instant);

    /// Handles the deadlines that are due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// The next action, if it is a message.
    fn poll_send(&mut self) -> Option<Outgoing>;

    /// The next action, if it is not a message.
    fn poll_event(&mut self) -> Option<Action<Self::Event>>;

    /// Time by which [`Side::handle_timeout`] must be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether the driver should read more messages.
    fn wants_read(&self) -> bool;
}

/// Implements [`Side`] for a machine with methods of the same names.
macro_rules! side {
    ($machine:ty, $event:ty, $peer_is_server:literal) => {
        impl Side for $machine {
            type Event = $event;

            const PEER_IS_SERVER: bool = $peer_is_server;

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

side!(Client, ClientEvent, true);
side!(Server, ServerEvent, false);

/// One side of a conversation on a byte stream.
#[derive(Debug)]
pub struct Connection<S, F> {
    side: S,
    framing: F,
    reader: MessageReader,
    out: BytesMut,
    /// A part of the last message that is transmitted separately, and its place in `out`.
    long: Option<(usize, Bytes)>,
    /// Bytes of answers that have been encoded.
    answered: usize,
    kept: KeptMemory,
}

/// The time for which the framing keeps memory.
#[derive(Clone, Copy, Debug)]
enum KeptMemory {
    /// It keeps none.
    None,
    /// Until this time.
    Until(Instant),
    /// Until all output is written, and [`MEMORY_KEPT`] longer.
    UntilWritten,
}

impl<F: Framing> Connection<Client, F> {
    /// A client of a server that is not started yet; call [`Connection::handle_opened`] first.
    pub fn client(config: client::Config) -> Self {
        Self::new(Client::new(config))
    }

    /// Handles the start of the server, the first time or after [`ClientEvent::Reopen`]; see
    /// [`Client::handle_opened`]. Drops unprocessed input of an earlier stream.
    pub fn handle_opened(&mut self, now: Instant) {
        self.framing = F::new(self.side.limits());
        self.side.handle_opened(now);
    }

    /// The total number of transmitted bytes of answers to the server; it wraps around. The
    /// application limits its own requests, but answers have no such limit.
    pub fn answered_bytes(&self) -> usize {
        self.answered
    }
}

impl<F: Framing> Connection<Server, F> {
    /// A server for the peer of a stream from which no bytes were read yet.
    pub fn server(declaration: Arc<Declaration>, config: server::Config) -> Self {
        Self::new(Server::new(declaration, config))
    }

    /// Starts the shutdown of the server: no more input is read, an incomplete message is dropped,
    /// and requests in flight get `Limits::drain` to be answered.
    pub fn shutdown(&mut self, now: Instant) {
        self.side.handle_eof(now);
    }
}

impl<S: Side, F: Framing> Connection<S, F> {
    fn new(side: S) -> Self {
        let framing = F::new(side.limits());
        let reader = MessageReader::default();
        let out = BytesMut::new();
        Self { side, framing, reader, out, long: None, answered: 0, kept: KeptMemory::None }
    }

    /// Reports whether output waits to be written. Memory of a long message is kept meanwhile; see
    /// [`Framing::keeps_memory`]. A driver need not call this.
    pub fn handle_writing(&mut self, now: Instant, writes: bool) {
        self.kept = match self.kept {
            KeptMemory::Until(_) if writes => KeptMemory::UntilWritten,
            KeptMemory::UntilWritten if !writes => KeptMemory::Until(now + MEMORY_KEPT),
            same @ (KeptMemory::None | KeptMemory::Until(_) | KeptMemory::UntilWritten) => same,
        };
    }

    fn release_time(&self) -> Option<Instant> {
        if let KeptMemory::Until(at) = self.kept { Some(at) } else { None }
    }

    fn handle_message(&mut self, now: Instant, message: Result<Bytes, FramingError>) {
        let limits = self.side.limits();
        let parsed = match message {
            Ok(text) => match self.reader.read(&text, limits) {
                Err(malformed) if S::PEER_IS_SERVER => Err(with_foreign_output(malformed, &text)),
                read => read,
            },
            Err(FramingError { beginning, error }) => {
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
        let long = message.long_members(TRANSMIT).filter(|members| F::leaves_unchanged(members));
        if let Some(members) = long {
            let mut at = 0;
            F::write(&mut self.out, |out| at = message.write_around(&members, out));
            self.answered = self.answered.wrapping_add(members.len());
            self.long = Some((at, members));
        } else {
            F::write(&mut self.out, |out| message.write(out));
        }
        if message.is_answer() {
            self.answered = self.answered.wrapping_add(self.out.len() - start);
        }
    }

    /// The next encoded bytes: up to a part that is transmitted separately, then this part.
    fn transmit(&mut self) -> Bytes {
        match &mut self.long {
            Some((at @ 1.., _)) => self.out.split_to(core::mem::take(at)).freeze(),
            Some(_) => self.long.take().map_or_else(Bytes::new, |(_, part)| part),
            None => self.out.split().freeze(),
        }
    }
}

/// The machine queues its actions until they are polled, so a command sends nothing at once.
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
        if let KeptMemory::None = self.kept
            && self.framing.keeps_memory()
        {
            self.kept = KeptMemory::Until(now + MEMORY_KEPT);
        }
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(message) = self.framing.finish() {
            self.handle_message(now, message);
        }
        self.side.handle_eof(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.release_time().is_some_and(|at| at <= now) {
            self.kept = KeptMemory::None;
            self.framing.release_memory();
        }
        self.side.handle_timeout(now);
    }

    fn poll_action(&mut self) -> Option<Action<S::Event>> {
        while self.long.is_none()
            && self.out.len() < TRANSMIT
            && let Some(message) = self.side.poll_send()
        {
            self.encode(&message);
        }
        if self.out.is_empty() {
            return self.side.poll_event();
        }
        Some(Action::Transmit(self.transmit()))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.side.poll_timeout().into_iter().chain(self.release_time()).min()
    }

    fn wants_read(&self) -> bool {
        self.side.wants_read()
    }
}

/// Replaces the error for a text of a server that is not JSON, and does not begin like a message.
fn with_foreign_output(malformed: Malformed, text: &[u8]) -> Malformed {
    let is_foreign = matches!(malformed.error, ProtocolError::Syntax { .. })
        && !text.trim_ascii_start().starts_with(b"{");
    if !is_foreign {
        return malformed;
    }
    let text = String::from_utf8_lossy(text).chars().take(FOREIGN_OUTPUT).collect();
    Malformed { error: ProtocolError::ForeignOutput { text }, ..malformed }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use super::*;

    #[test]
    fn error_of_a_framing_has_the_text_of_its_source() {
        let error = ProtocolError::InvalidFrame { reason: "no length".into() };
        let framing = FramingError { beginning: Bytes::new(), error };
        let source = framing.source().unwrap();
        assert!(source.is::<ProtocolError>());
        assert_eq!(alloc::format!("{framing}"), alloc::format!("{source}"));
    }
}
