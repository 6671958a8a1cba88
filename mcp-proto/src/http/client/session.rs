//! Session of a legacy server, and the messages that wait until the server has accepted its start.
//!
//! In: the id from the server; `notifications/initialized`, sent and accepted; messages. Out: the
//! fields of the session, and messages to send.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | none | perhaps the id from the answer to `initialize` | `notifications/initialized` is sent |
//! | starting | the version, the messages that wait | `notifications/initialized` is accepted, or fails |
//! | open | the version | 404, another `initialize`, the end of the connection |
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

use alloc::collections::VecDeque;
use alloc::string::String;
use core::{fmt, mem};

use super::Fields;
use crate::headers;
use crate::message::{Outgoing, RequestId};
use crate::version::ProtocolVersion;

/// The longest session id that the client accepts, in bytes. An id may be a JSON Web Token; common
/// servers do not accept longer fields in requests.
const MAX_ID: usize = 8 * 1024;

/// A session, which has no id if the server has no sessions.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: Option<SessionId>,
    /// The negotiated version, once `notifications/initialized` is sent.
    version: Option<ProtocolVersion>,
    /// Serial number, which distinguishes the session from earlier ones.
    serial: u64,
    /// Messages that wait until `notifications/initialized` is accepted.
    held: Option<VecDeque<Outgoing>>,
    /// The number of messages among `held` that have no response.
    unaccepted: usize,
}

/// A session that is over.
#[derive(Debug)]
pub(super) struct EndedSession {
    pub(super) serial: u64,
    /// True if `notifications/initialized` was sent.
    pub(super) has_begun: bool,
    /// The messages that were not sent.
    pub(super) unsent: VecDeque<Outgoing>,
}

/// Session id from a server; secret like a password.
#[derive(Clone)]
pub(super) struct SessionId(String);

impl Session {
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Returns whether the server knows of this session.
    pub(super) fn is_some(&self) -> bool {
        self.id.is_some() || self.version.is_some()
    }

    /// The number of waiting messages without a response.
    pub(super) fn unaccepted(&self) -> usize {
        self.unaccepted
    }

    /// Stores the id from the answer to `initialize`.
    pub(super) fn set_id(&mut self, id: Option<SessionId>) {
        self.id = id;
    }

    /// Records that `notifications/initialized` is sent.
    pub(super) fn start(&mut self, version: Option<ProtocolVersion>) {
        self.held = Some(VecDeque::new());
        self.unaccepted = 0;
        self.version = version;
    }

    /// Queues a message while the session starts; otherwise returns the message.
    pub(super) fn hold(&mut self, message: Outgoing) -> Option<Outgoing> {
        let Some(held) = &mut self.held else { return Some(message) };
        // This session has not sent anything yet that could be cancelled.
        let is_void = matches!(
            &message,
            Outgoing::Notification { method, .. } if method == "notifications/cancelled"
        );
        if !is_void {
            let is_request = matches!(message, Outgoing::Request { .. });
            self.unaccepted += usize::from(!is_request);
            held.push_back(message);
        }
        None
    }

    pub(super) fn withdraw(&mut self, wanted: &RequestId) {
        if let Some(held) = &mut self.held {
            held.retain(|message| !matches!(message, Outgoing::Request { id, .. } if id == wanted));
        }
    }

    /// Returns the waiting messages on the first call. Called when `notifications/initialized` was
    /// accepted, or has failed.
    pub(super) fn open(&mut self) -> Option<VecDeque<Outgoing>> {
        self.unaccepted = 0;
        self.held.take()
    }

    /// Ends the session; the next one has this serial.
    pub(super) fn end(&mut self, serial: u64) -> EndedSession {
        let ended = mem::replace(self, Self { serial, ..Self::default() });
        let unsent = ended.held.unwrap_or_default();
        EndedSession { serial: ended.serial, has_begun: ended.version.is_some(), unsent }
    }

    /// Adds the fields that each request in this session has.
    pub(super) fn write(&self, fields: &mut Fields) {
        if let Some(version) = self.version {
            fields.push((headers::PROTOCOL_VERSION.into(), version.as_str().into()));
        }
        if let Some(id) = &self.id {
            id.write(fields);
        }
    }
}

impl SessionId {
    /// Reads the value of `Mcp-Session-Id`, which is visible ASCII.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let is_id =
            !value.is_empty() && value.len() <= MAX_ID && value.iter().all(u8::is_ascii_graphic);
        is_id.then(|| Self(String::from_utf8_lossy(value).into()))
    }

    pub(super) fn write(&self, fields: &mut Fields) {
        fields.push(("Mcp-Session-Id".into(), self.0.clone().into()));
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
