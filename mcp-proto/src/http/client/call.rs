//! Call in flight: a JSON-RPC request, and how far the stream of its answer has come.
//!
//! In: the events on the stream. Out: the event to resume from.

use alloc::borrow::Cow;

use bytes::Bytes;

use super::Fields;
use super::action::is_value;
use super::backoff::Backoff;
use super::resume::Break;
use super::session::SessionId;
use crate::error::ProtocolError;
use crate::frame::sse;
use crate::message::{Outgoing, RequestId};
use crate::time::{Duration, Instant};
use crate::version::Era;

/// The longest event id that is given back.
const MAX_EVENT_ID: usize = 1024;

/// A JSON-RPC request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) method: Cow<'static, str>,
    pub(super) era: Era,
    /// The session that it belongs to.
    pub(super) serial: u64,
    pub(super) stream: Streaming,
    /// The call of a tool of a modern server, as it was sent the first time.
    pub(super) sent: Option<Sent>,
    /// True if its headers were refused before.
    pub(super) is_second: bool,
    /// What was wrong with what has come.
    pub(super) fault: Option<ProtocolError>,
    /// What the answer to `initialize` calls the session.
    pub(super) session_id: Option<SessionId>,
}

/// The call of a tool as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) message: Outgoing,
    /// The headers that repeat arguments.
    pub(super) headers: Fields,
}

/// How far a stream of events has come, over all that it was read from.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The last id.
    last: Option<Bytes>,
    pub(super) backoff: Backoff,
    /// True if it was ever open.
    pub(super) was_open: bool,
}

impl Call {
    /// Returns whether an answer with this status, an error or not, leaves it open.
    pub(super) fn outlives(&self, status: u16, is_error: bool) -> bool {
        let broke = Break::of(status);
        // A server that is down does not end a subscription that it has accepted.
        let is_subscribed = self.method == "subscriptions/listen" && self.stream.was_open;
        // Nor does it end a call that it has accepted: it refuses the GET for the rest of the answer.
        let is_accepted = self.era == Era::Legacy && self.is_resumed();
        is_subscribed && is_error && broke == Break::Unavailable
            || is_accepted && matches!(broke, Break::Unavailable | Break::Conflict)
    }

    /// Returns whether what is out is a GET for the rest of an answer, once it is over.
    pub(super) fn is_resumed(&self) -> bool {
        self.stream.last_id().is_some()
    }

    pub(super) fn new(id: RequestId, method: Cow<'static, str>) -> Self {
        Self {
            id,
            method,
            era: Era::Legacy,
            serial: 0,
            stream: Streaming::default(),
            sent: None,
            is_second: false,
            fault: None,
            session_id: None,
        }
    }
}

impl Streaming {
    /// The id to resume from.
    pub(super) fn last_id(&self) -> Option<&str> {
        let id = self.last.as_ref().filter(|id| !id.is_empty() && id.len() <= MAX_EVENT_ID)?;
        core::str::from_utf8(id).ok().filter(|id| is_value(id))
    }

    /// The server has accepted it.
    pub(super) fn open(&mut self, now: Instant) {
        self.was_open = true;
        self.backoff.open(now);
    }

    /// The server does not know the last id.
    pub(super) fn forget_id(&mut self) {
        self.last = None;
    }

    /// The server says how long to wait before it is opened again.
    pub(super) fn set_retry(&mut self, retry: Duration) {
        self.backoff.set_retry(retry);
    }

    /// Takes note of an event.
    pub(super) fn see(&mut self, event: &sse::Event) {
        if !event.data.is_empty() || event.id != self.last {
            self.backoff.succeed();
        }
        // It is kept for long, and what it is a slice of is not.
        if event.id != self.last {
            self.last = event.id.as_ref().map(|id| Bytes::copy_from_slice(id));
        }
    }
}
