//! Events of a client that go to a bridge, in place of the functions of an application.

use mcp_proto::Instant;
use mcp_proto::client::{Client, ClientEvent};

/// Takes the events of a client in place of the functions of an application.
pub(crate) trait EventSink: Send + Sync {
    /// Something has happened.
    fn handle_event(&self, now: Instant, event: ClientEvent, client: &mut Client);

    /// All that has happened so far is handled.
    fn flush(self: alloc::sync::Arc<Self>);

    /// It is `now`; due deadlines take effect.
    fn handle_timeout(&self, now: Instant, client: &mut Client);

    /// The latest time for the next call of [`EventSink::handle_timeout`].
    fn poll_timeout(&self) -> Option<Instant>;

    /// Nobody drives the client any more.
    fn handle_end(&self);
}
