//! `RequestReader`: one connection, read side.

use bytes::Bytes;

use super::body::{BodyDecoder, Piece};
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::incoming::Incoming;
use super::last_head::{HeadRepetition, LastHead};
use super::parse::RequestParts;
use super::refusal::Refusal;
use super::scan::Scan;
use crate::limits::Limits;

/// Splits the bytes of one connection into requests.
///
/// The caller takes items with `poll`; data after a request stays buffered until then. A caller
/// that does not poll between `End` and its answer therefore answers requests in order. The caller
/// must stop reading while [`buffered`](Self::buffered) is large.
#[derive(Debug)]
pub struct RequestReader {
    bounds: Bounds,
    buffer: Buffer,
    pub(super) last_head: LastHead<RequestParts>,
    state: ReaderState,
    /// True if the input has ended.
    ended: bool,
}

#[derive(Debug)]
enum ReaderState {
    /// Before a request, and before the empty line that may precede it.
    Idle,
    /// In a head, or right before it.
    Head(Scan),
    /// In a body.
    Body { body: BodyDecoder, keep_alive: bool },
    /// After the last request.
    Last,
    /// After the end.
    Over,
}

impl RequestReader {
    /// A reader for a connection without input so far.
    pub fn new(limits: &Limits) -> Self {
        Self::with_varying(limits, "")
    }

    /// A reader for requests in whose heads the value of a field varies, as that of a session on
    /// the connection of a gateway. `name` is in lower case. The field must not frame the request.
    ///
    /// Heads that differ in that value are not parsed again. If they were, a call in one of several
    /// sessions on such a connection would cost 27 % more.
    pub(crate) fn with_varying(limits: &Limits, name: &'static str) -> Self {
        Self {
            bounds: Bounds::new(limits),
            buffer: Buffer::new(),
            last_head: LastHead::new(name),
            state: ReaderState::Idle,
            ended: false,
        }
    }

    /// Adds the next bytes of the connection.
    pub fn push(&mut self, data: Bytes) {
        match self.state {
            ReaderState::Last | ReaderState::Over => {}
            ReaderState::Idle | ReaderState::Head(_) | ReaderState::Body { .. } if self.ended => {}
            ReaderState::Idle | ReaderState::Head(_) | ReaderState::Body { .. } => {
                self.buffer.push(data);
            }
        }
    }

    /// Handles the end of the input.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Takes the next item. Returns `None` if more bytes are needed, or after the last item.
    pub fn poll(&mut self) -> Option<Incoming> {
        match self.read() {
            Ok(Some(incoming)) => Some(incoming),
            Ok(None) if self.ended => self.finish(),
            Ok(None) => None,
            Err(refusal) => {
                self.stop(ReaderState::Over);
                Some(Incoming::Refused(refusal))
            }
        }
    }

    /// Takes the body of a request whose head was polled, if the whole body has arrived; the
    /// request is complete then. Otherwise poll the body.
    pub(crate) fn take_body(&mut self) -> Option<Bytes> {
        let ReaderState::Body { body, keep_alive } = &self.state else { return None };
        let data = body.take_whole(&mut self.buffer, &self.bounds)?;
        let keep_alive = *keep_alive;
        self.complete(keep_alive);
        Some(data)
    }

    /// The relation of the last head to the one that is kept.
    pub(crate) fn repetition(&self) -> HeadRepetition {
        self.last_head.repetition()
    }

    /// Returns whether the reader is between two requests, without bytes of the next one.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, ReaderState::Idle | ReaderState::Head(_)) && self.buffer.len() == 0
    }

    /// Returns whether part of a head has arrived, or a complete head that was not polled.
    pub fn is_in_head(&self) -> bool {
        matches!(self.state, ReaderState::Idle | ReaderState::Head(_)) && self.buffer.len() > 0
    }

    /// Returns whether a head was polled, but not yet its `End`.
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, ReaderState::Body { .. })
    }

    /// Returns whether the input has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Number of bytes received and not yet polled. After [`poll`](Self::poll) has returned `None`,
    /// this is less than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes) or 1 KiB.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn read(&mut self) -> Result<Option<Incoming>, Refusal> {
        if let ReaderState::Idle = self.state {
            // "a server that is expecting to receive and parse a request-line SHOULD ignore at
            // least one empty line (CRLF) received prior to the request-line" (RFC 9112, 2.2)
            match self.buffer.bytes() {
                [] | [b'\r'] => return Ok(None),
                [b'\r', b'\n', ..] => self.buffer.skip(2),
                _ => {}
            }
            self.state = ReaderState::Head(Scan::default());
        }
        match &mut self.state {
            ReaderState::Head(scan) => {
                let parsed = self.last_head.next(scan, &mut self.buffer, &self.bounds)?;
                let Some(parsed) = parsed else { return Ok(None) };
                let body = BodyDecoder::new(parsed.body);
                let keep_alive = parsed.keep_alive;
                self.state = ReaderState::Body { body, keep_alive };
                Ok(Some(parsed.take(&mut self.buffer)))
            }
            ReaderState::Body { body, keep_alive } => {
                match body.next(&mut self.buffer, &self.bounds)? {
                    None => Ok(None),
                    Some(Piece::Data(data)) => Ok(Some(Incoming::Body(data))),
                    Some(Piece::End) => {
                        let keep_alive = *keep_alive;
                        self.complete(keep_alive);
                        Ok(Some(Incoming::End))
                    }
                }
            }
            ReaderState::Idle | ReaderState::Last | ReaderState::Over => Ok(None),
        }
    }

    fn complete(&mut self, keep_alive: bool) {
        if keep_alive {
            self.state = ReaderState::Idle;
        } else {
            self.stop(ReaderState::Last);
        }
    }

    /// Final item at the end of the input.
    fn finish(&mut self) -> Option<Incoming> {
        let end = match self.state {
            ReaderState::Over => return None,
            ReaderState::Last => Incoming::Closed,
            ReaderState::Idle | ReaderState::Head(_) if self.buffer.len() == 0 => Incoming::Closed,
            ReaderState::Idle | ReaderState::Head(_) | ReaderState::Body { .. } => {
                Incoming::Truncated
            }
        };
        self.stop(ReaderState::Over);
        Some(end)
    }

    fn stop(&mut self, state: ReaderState) {
        self.state = state;
        self.buffer = Buffer::new();
    }
}
