//! Received part of an answer: its status, and the body as text or as events.
//!
//! In: the head and pieces of the body. Out: texts of messages; at the end without a response, the
//! way in which the exchange broke.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use bytes::{Buf, Bytes};

use super::answer::Class;
use super::resume::Break;
use crate::challenge::Unauthorized;
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::error::ProtocolError;
use crate::frame::http1::StatusHead;
use crate::frame::number;
use crate::frame::sse::{self, EventReader};
use crate::http::media;
use crate::json::BYTE_ORDER_MARK;
use crate::time::Duration;

/// The most characters of the reason of a 401 or 403; every call that waits gets a copy.
const MAX_REASON_CHARS: usize = 4096;

/// The head of an answer, and the part of its body that the client reads.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    unauthorized: Option<Unauthorized>,
    reading: BodyReading,
}

/// The part of a body that the client reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WantedBody {
    /// A message, or events.
    Message,
    /// Events, or the reason of a 401 without a challenge.
    Events,
    Nothing,
}

#[derive(Debug)]
enum BodyReading {
    /// A message, or a reason.
    Text(Vec<u8>),
    /// A message that is too long.
    TooLong,
    /// A message in this content coding.
    Encoded(String),
    Events(Box<EventReader>),
    Nothing,
}

impl Answer {
    pub(super) fn new(head: &StatusHead, wanted: WantedBody, max_sse_event_bytes: usize) -> Self {
        let status = head.status();
        let content_type = head.field("Content-Type").unwrap_or_default();
        // 204 has no body.
        let may_have_events = Class::of(status) == Class::Success && status != 204;
        let encoding = encoding(head);
        let has_events =
            may_have_events && encoding.is_none() && media::is(content_type, media::EVENTS);
        let challenges = head.all("WWW-Authenticate");
        let unauthorized =
            matches!(status, 401 | 403).then(|| Unauthorized::new(status, challenges));
        let is_bare = unauthorized.as_ref().is_some_and(is_bare);
        let reading = match (wanted, encoding) {
            (WantedBody::Message | WantedBody::Events, _) if has_events => {
                BodyReading::Events(Box::new(EventReader::new(max_sse_event_bytes)))
            }
            (WantedBody::Message, Some(encoding)) => BodyReading::Encoded(encoding),
            (WantedBody::Message, None) => BodyReading::Text(Vec::new()),
            (WantedBody::Events, None) if is_bare => BodyReading::Text(Vec::new()),
            (WantedBody::Events | WantedBody::Nothing, _) => BodyReading::Nothing,
        };
        Self { status, unauthorized, reading }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn has_events(&self) -> bool {
        matches!(self.reading, BodyReading::Events(_))
    }

    /// Returns whether the body may say that the session is lost.
    pub(super) fn has_reason(&self) -> bool {
        matches!(self.reading, BodyReading::Text(_))
            && self.unauthorized.as_ref().is_some_and(is_bare)
    }

    /// Returns whether this is a 401 or 403.
    pub(super) fn is_refusal(&self) -> bool {
        self.unauthorized.is_some()
    }

    /// The error for a body whose message cannot be read.
    pub(super) fn fault(&self) -> Option<ProtocolError> {
        match &self.reading {
            BodyReading::Encoded(encoding) => {
                Some(ProtocolError::ContentEncoding { encoding: encoding.clone() })
            }
            BodyReading::Text(_)
            | BodyReading::TooLong
            | BodyReading::Events(_)
            | BodyReading::Nothing => None,
        }
    }

    /// Adds a piece of the body.
    pub(super) fn push(&mut self, data: Bytes, max_line_bytes: usize) {
        match &mut self.reading {
            BodyReading::Text(text) if text.len().saturating_add(data.len()) > max_line_bytes => {
                self.reading = BodyReading::TooLong;
            }
            BodyReading::Text(text) => text.extend_from_slice(&data),
            BodyReading::Events(events) => events.push(data),
            BodyReading::TooLong | BodyReading::Encoded(_) | BodyReading::Nothing => {}
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<sse::Incoming> {
        match &mut self.reading {
            BodyReading::Events(events) => events.poll(),
            BodyReading::Text(_)
            | BodyReading::TooLong
            | BodyReading::Encoded(_)
            | BodyReading::Nothing => None,
        }
    }

    /// The text of the whole body without a byte order mark, unless it is a stream of events.
    pub(super) fn take_text(&mut self) -> Bytes {
        match &mut self.reading {
            BodyReading::Text(text) => {
                let mut text = Bytes::from(mem::take(text));
                if text.starts_with(BYTE_ORDER_MARK) {
                    text.advance(BYTE_ORDER_MARK.len());
                }
                text
            }
            BodyReading::TooLong
            | BodyReading::Encoded(_)
            | BodyReading::Events(_)
            | BodyReading::Nothing => Bytes::new(),
        }
    }

    /// Stores the reason in the body of a 401 or 403.
    pub(super) fn explain(&mut self, message: &str) {
        if let Some(unauthorized) = &mut self.unauthorized {
            unauthorized.message = Some(message.chars().take(MAX_REASON_CHARS).collect());
        }
    }

    /// Stores the reason why the sign-in failed.
    #[cfg(feature = "auth")]
    pub(super) fn with_sign_in(mut self, reason: Option<String>) -> Self {
        if let Some(unauthorized) = &mut self.unauthorized {
            unauthorized.sign_in = reason;
        }
        self
    }

    /// The error that follows from only the head.
    pub(super) fn into_error(self) -> CallError {
        let status = self.status;
        self.unauthorized.map_or(CallError::Http { status }, CallError::Unauthorized)
    }

    /// Returns whether this is the refusal, with this body, of a Rust server (rmcp before 1.0) that
    /// does not know the session.
    fn is_lost_session(&self, text: &[u8]) -> bool {
        text.trim_ascii() == b"Unauthorized: Session not found"
            && self.unauthorized.as_ref().is_some_and(is_bare)
    }

    /// Describes an answer that has ended without the response; `fault` is the error in its
    /// messages, and `text` is its body.
    pub(super) fn into_break(
        self,
        fault: Option<ProtocolError>,
        text: &[u8],
        max_line_bytes: usize,
    ) -> (Break, Refusal, CallError) {
        let status = self.status;
        let broke = if self.has_events() { Break::Ended } else { Break::of(status) };
        if let BodyReading::TooLong = self.reading {
            let error = CallError::Protocol(ProtocolError::BodyTooLong { max_line_bytes });
            return (broke, Refusal::Unavailable, error);
        }
        match fault {
            _ if self.is_lost_session(text) => {
                (Break::NotFound, Refusal::NoSession, self.into_error())
            }
            _ if self.unauthorized.is_some() => (broke, Refusal::Unavailable, self.into_error()),
            Some(fault) if Class::of(status) == Class::Success => {
                (broke, Refusal::Unavailable, CallError::Protocol(fault))
            }
            Some(_) | None => (broke, Refusal::of_status(status, text), self.into_error()),
        }
    }
}

/// Returns whether this is a 401 without a challenge. A 401 that requires authentication has a
/// challenge: the server "MUST send a WWW-Authenticate header field" (RFC 9110, section 15.5.2).
fn is_bare(unauthorized: &Unauthorized) -> bool {
    unauthorized.status == 401 && unauthorized.challenges.is_empty()
}

/// The time for which a server that is too busy wants no other request, if it names the time in
/// seconds. The client has no clock for a date.
///
/// [RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)
pub(super) fn retry_after(head: &StatusHead) -> Option<Duration> {
    if !matches!(head.status(), 429 | 503) {
        return None;
    }
    number(head.field("Retry-After")?).map(Duration::from_secs)
}

/// The content coding of an answer, if it is not `identity`, the only coding that the client
/// accepts.
fn encoding(head: &StatusHead) -> Option<String> {
    let coding = media::content_coding(head.field("Content-Encoding")?)?;
    Some(String::from_utf8_lossy(coding).chars().take(100).collect())
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use super::super::{Client, Config};
    use crate::client;
    use crate::limits::MAX_MESSAGE_BYTES;
    use crate::types::Implementation;
    use crate::url::Url;

    #[test]
    fn answer_beyond_32_bits_is_too_long_whatever_its_limit() {
        let mut config = client::Config::new(Implementation::new("a", "1"));
        config.limits.max_line_bytes = usize::MAX;
        config.limits.max_sse_event_bytes = usize::MAX;
        let url = Url::parse("http://localhost/mcp").unwrap();
        let client = Client::new(Config::new(url, config), Box::new(|| [0; 16]));
        let limits = client.limits();
        let read = [limits.max_line_bytes, limits.max_sse_event_bytes];
        assert_eq!(read, [MAX_MESSAGE_BYTES; 2]);
    }
}
