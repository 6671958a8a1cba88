//! What is out: requests of HTTP, and what has come of their answers.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use super::backoff::Backoff;
use super::connections::Share;
use super::delivery::Delivery;
use super::session::SessionId;
use super::{Fields, Request};
use crate::challenge::Unauthorized;
use crate::error::ProtocolError;
use crate::frame::sse::{self, EventReader};
use crate::http::Url;
use crate::message::{Outgoing, RequestId, Response};
use crate::time::{Duration, Instant};
use crate::version::Era;

/// The longest event id that is given back.
const MAX_EVENT_ID: usize = 1024;

/// A request that is out, and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Until the head of the answer has come.
    pub(super) request: Option<Request>,
    pub(super) redirects: u8,
    /// Where it has been redirected to for the time being.
    pub(super) moved: Option<Url>,
    pub(super) purpose: Purpose,
    pub(super) answer: Option<Answer>,
    /// Whether the answer has ended, and is being read.
    pub(super) has_ended: bool,
}

/// What a request is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A JSON-RPC request, or the rest of the answer to it.
    Call(Box<Asked>),
    /// The tools of a server that has refused the headers of a call.
    Refresh(Box<Refresh>),
    /// A JSON-RPC notification or response.
    Message(Box<Delivery>),
    /// The GET of a legacy session; the listener owns its state.
    Listen,
    /// Nothing any more: its head has said all.
    Rest,
    /// The end of a session.
    Delete,
}

/// A JSON-RPC request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    pub(super) method: Cow<'static, str>,
    pub(super) era: Era,
    /// The session that it belongs to.
    pub(super) serial: u64,
    pub(super) stream: Streaming,
    /// The call of a tool of a modern server, as it was sent the first time.
    pub(super) sent: Option<Sent>,
    /// Whether its headers were refused before.
    pub(super) is_second: bool,
    /// What was wrong with what has come.
    pub(super) fault: Option<ProtocolError>,
    /// What the answer to `initialize` calls the session.
    pub(super) session_id: Option<SessionId>,
}

/// A call of a tool that waits for its schema.
#[derive(Debug)]
pub(super) struct Refresh {
    pub(super) asked: Asked,
    pub(super) call: Sent,
    /// How the call was refused, and with which status.
    pub(super) refusal: (Response, u16),
    /// The request for a page of the list.
    pub(super) id: RequestId,
    pub(super) pages: usize,
}

/// The call of a tool as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) message: Outgoing,
    /// The headers that repeat arguments.
    pub(super) headers: Fields,
}

/// An exchange that is attempted again after a while.
#[derive(Debug)]
pub(super) struct Sleeper {
    pub(super) waking: Waking,
    /// Whether other credentials may end the wait.
    pub(super) is_unauthorized: bool,
}

/// What is attempted again.
#[derive(Debug)]
pub(super) enum Waking {
    /// The stream of a call.
    Call(Box<Asked>),
    Message(Box<Delivery>),
}

/// How far a stream of events has come, over all that it was read from.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The last id.
    last: Option<Bytes>,
    pub(super) backoff: Backoff,
    /// Whether it was ever open.
    pub(super) was_open: bool,
}

/// What has come of an answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) unauthorized: Option<Unauthorized>,
    pub(super) reading: Reading,
}

#[derive(Debug)]
pub(super) enum Reading {
    /// A message.
    Text(Vec<u8>),
    /// A message that is too long.
    TooLong,
    Events(Box<EventReader>),
    /// Nothing that matters.
    Nothing,
}

impl Exchange {
    pub(super) fn new(request: Request, purpose: Purpose) -> Self {
        let (redirects, moved, answer, has_ended) = (0, None, None, false);
        Self { request: Some(request), redirects, moved, purpose, answer, has_ended }
    }
}

impl Purpose {
    /// Whether it is the request with this id.
    pub(super) fn asks(&self, id: &RequestId) -> bool {
        match self {
            Self::Call(asked) => asked.id == *id,
            Self::Refresh(refresh) => refresh.asked.id == *id,
            Self::Message(_) | Self::Listen | Self::Rest | Self::Delete => false,
        }
    }

    /// Whether it answers the request with this id and no other.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        match self {
            Self::Message(delivery) => delivery.answers(id),
            Self::Call(_) | Self::Refresh(_) | Self::Listen | Self::Rest | Self::Delete => false,
        }
    }

    /// Whether it is a message without a response.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_))
    }

    /// The share of connections that it belongs to.
    pub(super) fn share(&self) -> Share {
        match self {
            Self::Call(asked) if asked.method == "subscriptions/listen" => Share::Stream,
            Self::Listen => Share::Stream,
            Self::Call(_) | Self::Refresh(_) => Share::Call,
            Self::Message(_) | Self::Rest | Self::Delete => Share::Message,
        }
    }

    /// The message, if it is for one.
    pub(super) fn into_delivery(self) -> Option<Delivery> {
        match self {
            Self::Message(delivery) => Some(*delivery),
            Self::Call(_) | Self::Refresh(_) | Self::Listen | Self::Rest | Self::Delete => None,
        }
    }

    /// The legacy session that it belongs to.
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Call(asked) if asked.era == Era::Legacy && asked.method != "initialize" => {
                Some(asked.serial)
            }
            Self::Message(delivery) => Some(delivery.serial),
            // The listener decides what a 404 to its GET means.
            Self::Call(_) | Self::Refresh(_) | Self::Listen | Self::Rest | Self::Delete => None,
        }
    }
}

impl Waking {
    /// Whether it is the request with this id.
    pub(super) fn asks(&self, id: &RequestId) -> bool {
        matches!(self, Self::Call(asked) if asked.id == *id)
    }

    /// Whether it is a message without a response.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_))
    }

    /// The message, if it is one.
    pub(super) fn into_delivery(self) -> Option<Delivery> {
        match self {
            Self::Message(delivery) => Some(*delivery),
            Self::Call(_) => None,
        }
    }

    /// Whether it answers the request with this id and no other.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        matches!(self, Self::Message(delivery) if delivery.answers(id))
    }
}

impl Asked {
    /// Whether what is out is a GET for the rest of an answer, once it is over.
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
        core::str::from_utf8(id).ok().filter(|id| super::action::is_value(id))
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
