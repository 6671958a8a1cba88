//! The client's side of a byte stream.

use super::{Connection, Side};
use crate::client::{Client, ClientEvent, Config};
use crate::frame::LineReader;
use crate::limits::Limits;
use crate::machine::Action;
use crate::message::{Incoming, Malformed, Outgoing};
use crate::time::Instant;

impl Connection<Client> {
    /// A client of a server that is yet to be started: [`Connection::handle_opened`] comes first.
    pub fn client(config: Config) -> Self {
        Self::new(Client::new(config))
    }

    /// The server is there, for the first time or after [`ClientEvent::Reopen`]; see
    /// [`Client::handle_opened`]. What came over a stream before is forgotten.
    pub fn handle_opened(&mut self, now: Instant) {
        self.lines = LineReader::new(self.side.limits().max_line_bytes);
        self.side.handle_opened(now);
    }

    /// The number of bytes of answers to the server that have been transmitted in all; it wraps
    /// around. The application bounds what it asks of a server; answers have no such bound.
    pub fn answered_bytes(&self) -> usize {
        self.answered
    }
}

impl Side for Client {
    type Event = ClientEvent;

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

    fn poll_event(&mut self) -> Option<Action<ClientEvent>> {
        self.poll_event()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_read(&self) -> bool {
        self.wants_read()
    }
}
