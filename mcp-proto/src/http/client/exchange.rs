//! What is out: requests of HTTP, and what has come of their answers.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Request;
use super::refresh::{Refresh, Sent};
use super::resume;
use super::session::SessionId;
use crate::challenge::Unauthorized;
use crate::error::ProtocolError;
use crate::frame::sse::{self, EventReader};
use crate::http::Url;
use crate::message::RequestId;
use crate::time::Duration;
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
    /// A JSON-RPC notification or response. The one that begins a session has others wait.
    Message { begins: bool, serial: u64 },
    /// What a legacy server says by itself.
    Listen { stream: Streaming, serial: u64 },
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

/// How far a stream of events has come, over all that it was read from.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// The last id.
    last: Option<Bytes>,
    pub(super) retry: Option<Duration>,
    /// How often it was opened again in vain.
    pub(super) tries: u32,
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
            Self::Message { .. } | Self::Listen { .. } | Self::Delete => false,
        }
    }

    /// The legacy session that it belongs to.
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Call(asked) if asked.era == Era::Legacy && asked.method != "initialize" => {
                Some(asked.serial)
            }
            // Before it was open, there may just be no such stream.
            Self::Listen { stream, serial } if stream.was_open => Some(*serial),
            Self::Message { serial, .. } => Some(*serial),
            Self::Call(_) | Self::Refresh(_) | Self::Listen { .. } | Self::Delete => None,
        }
    }

    pub(super) fn stream(&mut self) -> Option<&mut Streaming> {
        match self {
            Self::Call(asked) => Some(&mut asked.stream),
            Self::Listen { stream, .. } => Some(stream),
            Self::Refresh(_) | Self::Message { .. } | Self::Delete => None,
        }
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

    /// How long to wait before it is opened again.
    pub(super) fn delay(&self, random: u8) -> Duration {
        resume::delay(self.tries, self.retry, random)
    }

    /// Takes note of an event.
    pub(super) fn see(&mut self, event: &sse::Event) {
        if !event.data.is_empty() || event.id != self.last {
            self.tries = 0;
        }
        // It is kept for long, and what it is a slice of is not.
        if event.id != self.last {
            self.last = event.id.as_ref().map(|id| Bytes::copy_from_slice(id));
        }
    }
}
