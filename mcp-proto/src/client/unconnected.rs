//! A client that was connected and is not: from a lost session, era or stream to the next attempt.
//!
//! In: refused requests, lost sessions, failed negotiations, the end of a byte stream under a
//! [`Restart`] policy. Out: what `recovery::TABLE` says: another negotiation at the rate of its
//! [`Pace`](super::recovery::Pace); `Disconnected` if that fails, or may not begin yet.
//!
//! | state | input | then |
//! |---|---|---|
//! | connected | a refusal that the table recovers from, a lost session | negotiating; unconnected, if no attempt may begin yet |
//! | connected | a refusal of a call that was sent in the other era | the call is sent again, or fails |
//! | negotiating again | failure | unconnected: calls that wait fail with its reason |
//! | connected or negotiating, over a byte stream | the end of the stream | unconnected, under a restart policy |
//! | unconnected | a call; the time of the next attempt if something waits | negotiating; over a byte stream `Reopen` |
//! | unconnected | a call whose time ends before the next attempt may begin | the call fails with the last reason |
//! | unconnected | `retry_at_once`: another field, such as a token | the next attempt begins |
//!
//! Subscriptions stay wanted throughout: each is a call that waits, whose time never ends.

use super::connect_error::ConnectError;
use crate::time::Instant;
use crate::version::Era;

/// When a server over a byte stream, such as a child process, is started again after it has ended.
/// Over HTTP there is nothing to start: a client over HTTP always connects again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Restart {
    /// Never: the end of the stream closes the client.
    #[default]
    Never,
    /// With the next call, or at once if subscriptions are wanted.
    OnCall,
    /// At once.
    Always,
}

/// A connection that is lost.
#[derive(Clone, Debug)]
pub(super) struct Unconnected {
    /// When the next attempt may begin.
    pub(super) not_before: Instant,
    /// Why the connection was lost, or why the last attempt has failed.
    pub(super) error: ConnectError,
    /// The era that the server belonged to.
    pub(super) era: Era,
}
