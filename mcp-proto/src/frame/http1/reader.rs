//! `RequestReader`: one connection, read side.

use bytes::Bytes;

use super::body::{Body, Piece};
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::incoming::Incoming;
use super::parse::Parsed;
use super::refusal::Refusal;
use super::scan::Scan;
use crate::limits::Limits;

/// Takes the bytes of one connection apart into requests.
///
/// It is pulled: what follows a request waits until it is polled for, so that a caller that stops
/// to poll between `End` and the next `Head` answers requests in order. Not to read more while
/// [`buffered`](Self::buffered) is large is up to the caller.
#[derive(Debug)]
pub struct RequestReader {
    bounds: Bounds,
    buffer: Buffer,
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
    Body { body: Body, keep_alive: bool },
    /// Behind the last request.
    Last,
    /// Behind the end.
    Over,
}

impl RequestReader {
    /// A reader for a connection of which nothing has come.
    pub fn new(limits: &Limits) -> Self {
        Self {
            bounds: Bounds::new(limits),
            buffer: Buffer::new(),
            state: ReaderState::Idle,
            ended: false,
        }
    }

    /// Takes the next bytes of the connection.
    pub fn push(&mut self, data: Bytes) {
        match self.state {
            ReaderState::Last | ReaderState::Over => {}
            ReaderState::Idle | ReaderState::Head(_) | ReaderState::Body { .. } if self.ended => {}
            ReaderState::Idle | ReaderState::Head(_) | ReaderState::Body { .. } => {
                self.buffer.push(data);
            }
        }
    }

    /// The input has ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Takes out the next item. Returns `None` if more bytes are needed, or after the last item.
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

    /// The body of a request whose head was polled, if all of it has come; the request is complete
    /// then. Else it is to be polled.
    pub(crate) fn take_body(&mut self) -> Option<Bytes> {
        let ReaderState::Body { body, keep_alive } = &self.state else { return None };
        let data = body.take_whole(&mut self.buffer, &self.bounds)?;
        let keep_alive = *keep_alive;
        self.complete(keep_alive);
        Some(data)
    }

    /// Returns whether it is between two requests, and nothing of the next one has come.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, ReaderState::Idle | ReaderState::Head(_)) && self.buffer.len() == 0
    }

    /// Returns whether a part of a head has come, or the whole of it and it was not polled.
    pub fn is_in_head(&self) -> bool {
        matches!(self.state, ReaderState::Idle | ReaderState::Head(_)) && self.buffer.len() > 0
    }

    /// Returns whether a head was polled whose `End` was not.
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, ReaderState::Body { .. })
    }

    /// Returns whether the input has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Number of bytes received and not yet polled. After [`poll`](Self::poll) has returned `None`,
    /// less than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes) or 1 KiB.
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
                let Some(parsed) = scan.next::<Parsed>(&mut self.buffer, &self.bounds)? else {
                    return Ok(None);
                };
                let body = Body::new(parsed.body);
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

    /// A request is complete.
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

    /// Nothing is read any more.
    fn stop(&mut self, state: ReaderState) {
        self.state = state;
        self.buffer = Buffer::new();
    }
}
