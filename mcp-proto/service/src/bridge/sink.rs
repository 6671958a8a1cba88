//! Receiver of the events of a client, in place of callbacks.

use mcp_proto::Instant;
use mcp_proto::client::{Client, ClientEvent};

/// Receiver of the events of a client, in place of callbacks of an application.
pub(crate) trait EventSink: Send + Sync {
    /// Handles an event.
    fn handle_event(&self, now: Instant, event: ClientEvent, client: &mut Client);

    /// Executes the actions that the handled events have caused.
    fn flush(self: alloc::sync::Arc<Self>);

    /// Applies the deadlines that are due at `now`.
    fn handle_timeout(&self, now: Instant, client: &mut Client);

    /// Time by which [`EventSink::handle_timeout`] must be called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Handles the end of the client.
    fn handle_end(&self);
}
