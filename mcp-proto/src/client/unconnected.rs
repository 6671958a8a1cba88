//! A client without its earlier connection: from a lost session, era or stream to the next attempt.
//!
//! In: refused requests, lost sessions, failed negotiations, the end of a byte stream under a
//! [`Restart`] policy. Out: the moves of `recovery::TABLE`. Another negotiation begins at the rate
//! of its [`ReconnectRate`](super::recovery::ReconnectRate). `Disconnected` follows if the
//! negotiation fails, or may not begin yet.
//!
//! | state | input | then |
//! |---|---|---|
//! | connected | a refusal that the table recovers from, a lost session | negotiating; unconnected, if no attempt may begin yet |
//! | connected | a refusal of a call that was sent in the other era | the call is sent again, or fails |
//! | connected | a lost session, the third one in a row that was soon lost, and without a result | unconnected: calls that wait fail with its reason |
//! | negotiating again | failure | the same; on a byte stream the other calls end |
//! | connected or negotiating, over a byte stream | the end of the stream | unconnected, under a restart policy |
//! | unconnected | a call; the time of the next attempt if something waits, or a bridge has subscriptions | negotiating; over a byte stream `Reopen` |
//! | unconnected | a call whose time ends before the next attempt may begin | the call fails with the last reason |
//! | unconnected | `retry_at_once`: another field, such as a token | the next attempt begins |
//!
//! Subscriptions stay requested throughout: each is a waiting call without a timeout.

use super::connect_error::ConnectError;
use crate::time::Instant;
use crate::version::Era;

/// Restart policy for a server over a byte stream that has ended, such as a child process. Over
/// HTTP there is nothing to start: a client over HTTP always connects again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Restart {
    /// Never: the end of the stream closes the client.
    #[default]
    Never,
    /// With the next call, or at once if there are subscriptions.
    OnCall,
    /// At once.
    Always,
}

/// A lost connection.
#[derive(Clone, Debug)]
pub(super) struct Unconnected {
    /// Earliest time of the next attempt.
    pub(super) not_before: Instant,
    /// The reason of the lost connection, or of the last failed attempt.
    pub(super) error: ConnectError,
    /// The era that the server belonged to.
    pub(super) era: Era,
}
