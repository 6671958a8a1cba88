//! Call in flight: a JSON-RPC request, and the position in the stream of its answer.
//!
//! In: the events on the stream. Out: the event to resume from.

use alloc::borrow::Cow;

use bytes::Bytes;

use super::Fields;
use super::action::is_value;
use super::backoff::Backoff;
use super::reading::{Answer, retry_after};
use super::resume::Break;
use super::session::SessionId;
use crate::error::ProtocolError;
use crate::frame::http1::StatusHead;
use crate::frame::sse;
use crate::message::{Outgoing, RequestId};
use crate::time::{Duration, Instant};
use crate::version::Era;

/// The longest event id that is sent back to the server.
const MAX_EVENT_ID: usize = 1024;

/// A JSON-RPC request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) method: Cow<'static, str>,
    pub(super) era: Era,
    /// Serial number of the session that the call belongs to.
    pub(super) serial: u64,
    pub(super) stream: Streaming,
    /// The first request, kept for a tool call of a modern server and for `initialize`.
    pub(super) sent: Option<Sent>,
    /// True if the headers of an earlier attempt were refused.
    pub(super) is_second: bool,
    /// True for a subscription without a timeout, and for one that is renewed: the head of the
    /// answer must come within a minute. A server that hangs would end no stream.
    pub(super) must_begin: bool,
    /// Fault in the answer so far.
    pub(super) fault: Option<ProtocolError>,
    /// Session id in the answer to `initialize`.
    pub(super) session_id: Option<SessionId>,
}

/// A request as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) message: Outgoing,
    /// The headers that mirror arguments.
    pub(super) headers: Fields,
}

/// Position in a stream of events, over all exchanges that it was read from.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The last event id.
    last: Option<Bytes>,
    pub(super) backoff: Backoff,
    /// True if the stream was ever open.
    pub(super) was_open: bool,
    /// True if the last event was too long to be read.
    has_skipped_last: bool,
}

impl Call {
    /// Returns whether the call stays open after an answer with this status.
    pub(super) fn outlives(&self, status: u16, is_error: bool) -> bool {
        let broke = Break::of(status);
        // An accepted call stays open: the server only refuses the GET for the rest of the answer.
        let is_accepted = self.era == Era::Legacy && self.is_resumed();
        // A server that is down does not end a subscription that it had accepted.
        let is_subscribed = self.method == "subscriptions/listen" && self.stream.was_open;
        is_subscribed && is_error && broke == Break::Unavailable
            || is_accepted && matches!(broke, Break::Unavailable | Break::Conflict)
    }

    /// Handles the head of the answer.
    pub(super) fn handle_head(&mut self, now: Instant, head: &StatusHead, answer: &Answer) {
        if let Some(fault) = answer.fault() {
            self.fault = Some(fault);
        }
        self.stream.handle_head(now, head, answer.has_events());
        if self.method == "initialize"
            && let Some(id) = head.field("Mcp-Session-Id").and_then(SessionId::read)
        {
            self.session_id = Some(id);
        }
    }

    /// Records an event that is too long to be read, which may be the response.
    pub(super) fn skip_event(&mut self, fault: ProtocolError) {
        self.fault = Some(fault);
        self.stream.has_skipped_last = true;
    }

    /// Returns whether a GET may bring the rest of the answer after this break. A stream that ended
    /// with an event that is too long would end with the same event again.
    pub(super) fn may_resume(&self, broke: Break) -> bool {
        let has_skipped_response = self.stream.has_skipped_last && broke == Break::Ended;
        self.era == Era::Legacy && self.is_resumed() && !has_skipped_response
    }

    /// Returns whether there is an event id to resume from. If so, a GET requests the rest of the
    /// answer after the first stream has ended.
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
            must_begin: false,
            fault: None,
            session_id: None,
        }
    }
}

impl Streaming {
    /// The id to resume from.
    pub(super) fn last_id(&self) -> Option<&str> {
        let id = self.last.as_ref().filter(|id| !id.is_empty())?;
        core::str::from_utf8(id).ok().filter(|id| is_value(id) && id.trim() == *id)
    }

    /// Handles the head of an answer: the server accepts the stream, or refuses it for some time.
    pub(super) fn handle_head(&mut self, now: Instant, head: &StatusHead, has_events: bool) {
        if has_events {
            self.open(now);
        } else if let Some(delay) = retry_after(head) {
            self.backoff.refuse(delay);
        }
    }

    /// Records that the server has accepted the stream.
    pub(super) fn open(&mut self, now: Instant) {
        self.was_open = true;
        self.has_skipped_last = false;
        self.backoff.open(now);
    }

    /// Drops the last id, which the server does not know.
    pub(super) fn clear_id(&mut self) {
        self.last = None;
    }

    /// Sets the delay that the server requests before the stream is reopened.
    pub(super) fn set_retry(&mut self, retry: Duration) {
        self.backoff.set_retry(retry);
    }

    /// Records an event.
    pub(super) fn record_event(&mut self, event: &sse::Event) {
        self.has_skipped_last = false;
        // Each exchange has a new reader. Without an id, "the last event ID it received" came on an
        // earlier exchange.
        let new_id = event.id.as_ref().filter(|id| self.last.as_ref() != Some(*id));
        if !event.data.is_empty() || new_id.is_some() {
            self.backoff.succeed();
        }
        // The id is kept for long, so it must not keep its whole buffer alive. A longer id is not
        // sent back.
        if let Some(id) = new_id {
            let is_short = id.len() <= MAX_EVENT_ID;
            self.last = is_short.then(|| Bytes::copy_from_slice(id));
        }
    }
}
