//! Common interface of the machines on a transport, for drivers, simulation and replay.
//!
//! A message machine (`server::Server`, `client::Client`) has the methods for its application. A
//! binding carries the messages on a transport, and gives access to these methods by [`Binding`].
//! So each method is written only once, in the machine.

use bytes::Bytes;

use crate::time::Instant;

/// Output of a machine on a byte stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action<E> {
    /// Write these bytes, after all earlier ones. Never empty; adjacent ones may be joined.
    Transmit(Bytes),
    /// Report an event to the application.
    Event(E),
    /// Close the stream once everything is written; nothing follows.
    Close,
}

/// A protocol machine on a byte stream.
///
/// A driver passes in the bytes that it reads, the end of input, and the time at [`poll_timeout`].
/// After each input, and after each command, it polls actions until there are none. It does not
/// read while [`wants_read`] is false, but one more chunk is still accepted. The `handle_*` methods
/// never fail: a fault of the peer is answered, or becomes an event.
///
/// [`poll_timeout`]: Machine::poll_timeout
/// [`wants_read`]: Machine::wants_read
pub trait Machine {
    /// Events for the application.
    type Event;

    /// Handles `data` from the peer; it may be split anywhere.
    fn handle_bytes(&mut self, now: Instant, data: Bytes);

    /// Handles the end of the peer's output.
    fn handle_eof(&mut self, now: Instant);

    /// Handles the deadlines that are due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// The next action.
    fn poll_action(&mut self) -> Option<Action<Self::Event>>;

    /// Time by which [`Machine::handle_timeout`] must be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether the driver should read.
    fn wants_read(&self) -> bool;
}

/// A message machine that is bound to a transport.
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

    /// Read access to the machine.
    fn machine(&self) -> &Self::Machine;

    /// Runs a command on the machine, at `now`. The binding transports the resulting messages; poll
    /// its actions afterwards, as after every input.
    ///
    /// `command` is for the methods of an application. Only the binding passes inputs of the peer
    /// and polls actions.
    fn with<T>(&mut self, now: Instant, command: impl FnOnce(&mut Self::Machine) -> T) -> T;
}
