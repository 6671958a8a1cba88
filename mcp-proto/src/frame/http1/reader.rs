//! `RequestReader`: one connection, read side.

use bytes::Bytes;

use super::body::{Body, BodyKind, Piece};
use super::buffer::Buffer;
use super::head::Head;
use super::parse::Parsed;
use super::refusal::Refusal;
use super::scan::Scan;
use crate::limits::Limits;

/// What a [`RequestReader`] found.
///
/// A request is `Head`, any number of `Body`, `End`. `Refused`, `Truncated` and `Closed` end the
/// connection: nothing comes behind them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// The beginning of a request.
    Head {
        /// Method, target and fields.
        head: Head,
        /// How the body is framed.
        body: BodyKind,
        /// Whether the client may wait for [`CONTINUE`](super::CONTINUE) before it sends the body.
        /// That is of no use once some of the body has come.
        expects_continue: bool,
        /// Whether the connection may serve another request. If not, what follows this one is
        /// dropped.
        keep_alive: bool,
    },
    /// Data of the body, never empty: a slice of what came.
    Body(Bytes),
    /// The request is complete.
    End,
    /// The request cannot be served: answer with its status and close.
    Refused(Refusal),
    /// The input ended in the middle of a request.
    Truncated,
    /// The input ended between two requests.
    Closed,
}

/// Takes the bytes of one connection apart into requests.
///
/// It is pulled: what follows a request waits until it is polled for, so that a caller that stops
/// to poll between `End` and the next `Head` answers requests in order. Not to read more while
/// [`buffered`](Self::buffered) is large is up to the caller.
#[derive(Debug)]
pub struct RequestReader {
    bounds: Bounds,
    buffer: Buffer,
    state: State,
    /// Whether the input has ended.
    ended: bool,
}

/// The least bound of a head. The first bytes of a start line are checked before its length, so that
/// with a smaller bound the refusal would depend on how many bytes have come.
const MIN_HEAD_BYTES: usize = 64;

/// The limits that concern HTTP.
#[expect(clippy::struct_field_names, reason = "they are named as in Limits")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) max_head_bytes: usize,
    pub(super) max_fields: usize,
    pub(super) max_body_bytes: u64,
}

#[derive(Debug)]
enum State {
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
            state: State::Idle,
            ended: false,
        }
    }

    /// Takes the next bytes of the connection.
    pub fn push(&mut self, data: Bytes) {
        match self.state {
            State::Last | State::Over => {}
            State::Idle | State::Head(_) | State::Body { .. } if self.ended => {}
            State::Idle | State::Head(_) | State::Body { .. } => self.buffer.push(data),
        }
    }

    /// The input has ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// What comes next; `None` if more bytes are needed, or nothing will come.
    pub fn poll(&mut self) -> Option<Incoming> {
        match self.read() {
            Ok(Some(incoming)) => Some(incoming),
            Ok(None) if self.ended => self.finish(),
            Ok(None) => None,
            Err(refusal) => {
                self.stop(State::Over);
                Some(Incoming::Refused(refusal))
            }
        }
    }

    /// The body of a request whose head was polled, if all of it has come; the request is complete
    /// then. Else it is to be polled.
    pub(crate) fn take_body(&mut self) -> Option<Bytes> {
        let State::Body { body, keep_alive } = &self.state else { return None };
        let data = body.take_whole(&mut self.buffer, &self.bounds)?;
        let keep_alive = *keep_alive;
        self.complete(keep_alive);
        Some(data)
    }

    /// Whether it is between two requests, and nothing of the next one has come.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle | State::Head(_)) && self.buffer.len() == 0
    }

    /// Whether a part of a head has come, or the whole of it and it was not polled.
    pub fn is_in_head(&self) -> bool {
        matches!(self.state, State::Idle | State::Head(_)) && self.buffer.len() > 0
    }

    /// Whether a head was polled whose `End` was not.
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, State::Body { .. })
    }

    /// Whether the input has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// How many bytes have come and were not polled. Once it was polled to `None` they are less
    /// than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes) or 1 KiB.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn read(&mut self) -> Result<Option<Incoming>, Refusal> {
        if let State::Idle = self.state {
            // "a server that is expecting to receive and parse a request-line SHOULD ignore at
            // least one empty line (CRLF) received prior to the request-line" (RFC 9112, 2.2)
            match self.buffer.bytes() {
                [] | [b'\r'] => return Ok(None),
                [b'\r', b'\n', ..] => self.buffer.skip(2),
                _ => {}
            }
            self.state = State::Head(Scan::default());
        }
        match &mut self.state {
            State::Head(scan) => {
                let Some(parsed) = scan.next::<Parsed>(&mut self.buffer, &self.bounds)? else {
                    return Ok(None);
                };
                let (body, keep_alive) = (Body::new(parsed.body), parsed.keep_alive);
                self.state = State::Body { body, keep_alive };
                Ok(Some(parsed.take(&mut self.buffer)))
            }
            State::Body { body, keep_alive } => match body.next(&mut self.buffer, &self.bounds)? {
                None => Ok(None),
                Some(Piece::Data(data)) => Ok(Some(Incoming::Body(data))),
                Some(Piece::End) => {
                    let keep_alive = *keep_alive;
                    self.complete(keep_alive);
                    Ok(Some(Incoming::End))
                }
            },
            State::Idle | State::Last | State::Over => Ok(None),
        }
    }

    /// A request is complete.
    fn complete(&mut self, keep_alive: bool) {
        if keep_alive {
            self.state = State::Idle;
        } else {
            self.stop(State::Last);
        }
    }

    /// What the end of the input means.
    fn finish(&mut self) -> Option<Incoming> {
        let end = match self.state {
            State::Over => return None,
            State::Last => Incoming::Closed,
            State::Idle | State::Head(_) if self.buffer.len() == 0 => Incoming::Closed,
            State::Idle | State::Head(_) | State::Body { .. } => Incoming::Truncated,
        };
        self.stop(State::Over);
        Some(end)
    }

    /// Nothing is read any more.
    fn stop(&mut self, state: State) {
        self.state = state;
        self.buffer = Buffer::new();
    }
}

impl Bounds {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_head_bytes: limits.max_head_bytes.clamp(MIN_HEAD_BYTES, usize::from(u16::MAX)),
            max_fields: limits.max_fields,
            max_body_bytes: limits.max_body_bytes as u64,
        }
    }

    pub(super) fn body_too_long(&self) -> Refusal {
        let max_body_bytes = usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX);
        Refusal::BodyTooLong { max_body_bytes }
    }
}
