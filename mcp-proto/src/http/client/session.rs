//! Session of a legacy server.
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

use alloc::collections::VecDeque;
use alloc::string::String;
use core::fmt;

use crate::message::Outgoing;
use crate::version::ProtocolVersion;

/// The longest id of a session that is taken.
const MAX_ID: usize = 1024;

/// A session, if the server has them: without one it has no id.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: Option<SessionId>,
    /// What was negotiated, once it has begun.
    pub(super) version: Option<ProtocolVersion>,
    /// Tells it from earlier ones.
    pub(super) serial: u64,
    /// What waits for `notifications/initialized` to be accepted.
    pub(super) held: Option<VecDeque<Outgoing>>,
}

/// What a server calls a session: as good as a password.
#[derive(Clone)]
pub(super) struct SessionId(pub(super) String);

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Whether this may be the id of a session: visible ASCII.
pub(super) fn is_id(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= MAX_ID && text.iter().all(u8::is_ascii_graphic)
}
