//! Verbs of the machines on a transport, for drivers, simulation and replay.
//!
//! A machine of messages (`server::Server`, `client::Client`) has the verbs of its application. A
//! binding carries its messages on a transport and gives access to those verbs by [`Binding`], so
//! that a verb is written once, in the machine.

use bytes::Bytes;

use crate::time::Instant;

/// What a machine on a byte stream wants done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action<E> {
    /// Write these bytes, after all that came before. Never empty; adjacent ones may be joined.
    Transmit(Bytes),
    /// Tell the application.
    Event(E),
    /// Close the stream once everything is written; nothing follows.
    Close,
}

/// A protocol machine on a byte stream.
///
/// A driver passes in what it reads, the end of input, and the time when [`poll_timeout`] says
/// so; after each of these, and after each command, it takes actions until there are none. It
/// does not read while [`wants_read`] is false; one more chunk is accepted all the same. The
/// `handle_*` never fail: what a peer does wrong is answered, or becomes an event.
///
/// [`poll_timeout`]: Machine::poll_timeout
/// [`wants_read`]: Machine::wants_read
pub trait Machine {
    /// What the application is told.
    type Event;

    /// The peer sent `data`; how a stream is split never matters.
    fn handle_bytes(&mut self, now: Instant, data: Bytes);

    /// The peer sends nothing more.
    fn handle_eof(&mut self, now: Instant);

    /// It is `now`; due deadlines take effect.
    fn handle_timeout(&mut self, now: Instant);

    /// The next action.
    fn poll_action(&mut self) -> Option<Action<Self::Event>>;

    /// When [`Machine::handle_timeout`] is to be called at the latest.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether the driver should read.
    fn wants_read(&self) -> bool;
}

/// A machine of messages, bound to a transport.
///
/// ```
/// use mcp_proto::client::{CallOptions, Client, Config};
/// use mcp_proto::types::Implementation;
/// use mcp_proto::{Binding, Instant, Json, stdio::Connection};
///
/// let mut connection = Connection::client(Config::new(Implementation::new("app", "1.0.0")));
/// let now = Instant::ZERO;
/// let params = Json::parse(r#"{"name":"add"}"#)?;
/// let call = connection
///     .with(now, |client| client.call(now, "tools/call", params, CallOptions::default()))?;
/// assert!(connection.machine().server().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Binding {
    /// The machine: `server::Server` or `client::Client`.
    type Machine;

    /// The machine, to look at.
    fn machine(&self) -> &Self::Machine;

    /// Gives commands to the machine, at `now`. The binding carries what comes of them; take its
    /// actions afterwards, as after every input.
    ///
    /// `command` is for the verbs of an application. Inputs from the peer, and actions, are the
    /// binding's to pass on.
    fn with<T>(&mut self, now: Instant, command: impl FnOnce(&mut Self::Machine) -> T) -> T;
}
