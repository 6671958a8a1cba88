//! `ResponseReader`: one connection of a client, read side.

use core::fmt;

use bytes::Bytes;

use super::body::{BodyDecoder, BodyKind, Piece};
use super::bounds::Bounds;
use super::buffer::Buffer;
use super::last_head::LastHead;
use super::refusal::Refusal;
use super::scan::Scan;
use super::status::{ResponseParts, StatusHead};
use crate::limits::Limits;

/// The maximum number of interim responses before a response.
const MAX_INTERIM: usize = 16;

/// Item read by a [`ResponseReader`].
///
/// A response is `Head`, any number of `Body`, `End`. `Refused`, `Truncated` and `Closed` end the
/// connection: nothing follows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IncomingResponse {
    /// The beginning of a response.
    Head {
        /// Status and fields.
        head: StatusHead,
        /// Framing of the body.
        body: BodyKind,
        /// True if the connection may serve another request after the `End`. If not, later input is
        /// dropped.
        keep_alive: bool,
    },
    /// Data of the body, never empty: a slice of the input.
    Body(Bytes),
    /// The response is complete.
    End,
    /// The response cannot be read, or was not requested: close.
    Refused(Refusal),
    /// The input ended in the middle of a response.
    Truncated,
    /// The input ended without any bytes after the last response: the server may not have read the
    /// current request.
    Closed,
}

/// Error if no response can be expected on a connection: a response is in progress, unrequested
/// bytes have arrived, or the connection has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotIdle;

/// Splits the bytes of one connection into responses, each to an announced request.
///
/// The caller takes items with `poll`. The reader keeps only data that was not polled, and an
/// incomplete item. The caller must limit the length of a body.
#[derive(Debug)]
pub struct ResponseReader {
    bounds: Bounds,
    buffer: Buffer,
    last_head: LastHead<ResponseParts>,
    state: ResponseState,
    /// True if the input has ended.
    ended: bool,
}

#[derive(Debug)]
enum ResponseState {
    /// Between two responses; none is expected.
    Idle,
    /// Before a head or in it.
    Head {
        scan: Scan,
        /// True if the response answers a HEAD.
        to_head: bool,
        /// Number of interim responses received.
        interim: usize,
    },
    /// In a body.
    Body { body: BodyDecoder, keep_alive: bool },
    /// After the last response.
    Last,
    /// After the end.
    Over,
}

impl ResponseReader {
    /// A reader for a connection on which nothing was sent. The reader uses only the limits
    /// [`max_head_bytes`](Limits::max_head_bytes) and [`max_fields`](Limits::max_fields).
    pub fn new(limits: &Limits) -> Self {
        let bounds = Bounds { max_body_bytes: u64::MAX, ..Bounds::new(limits) };
        Self {
            bounds,
            buffer: Buffer::new(),
            last_head: LastHead::new(""),
            state: ResponseState::Idle,
            ended: false,
        }
    }

    /// Announces a request with this method, whose response is expected.
    ///
    /// # Errors
    ///
    /// Fails, and changes nothing, unless the connection [is idle](Self::is_idle).
    pub fn expect(&mut self, method: &str) -> Result<(), NotIdle> {
        if !self.is_idle() {
            return Err(NotIdle);
        }
        let to_head = method == "HEAD";
        self.state = ResponseState::Head { scan: Scan::default(), to_head, interim: 0 };
        Ok(())
    }

    /// Adds the next bytes of the connection.
    pub fn push(&mut self, data: Bytes) {
        match self.state {
            ResponseState::Last | ResponseState::Over => {}
            ResponseState::Idle | ResponseState::Head { .. } | ResponseState::Body { .. }
                if self.ended => {}
            ResponseState::Idle | ResponseState::Head { .. } | ResponseState::Body { .. } => {
                self.buffer.push(data);
            }
        }
    }

    /// Handles the end of the input.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Takes the next item. Returns `None` if more bytes are needed, or after the last item.
    pub fn poll(&mut self) -> Option<IncomingResponse> {
        match self.read() {
            Ok(Some(incoming)) => Some(incoming),
            Ok(None) if self.ended => self.finish(),
            Ok(None) => None,
            Err(refusal) => {
                self.stop(ResponseState::Over);
                Some(IncomingResponse::Refused(refusal))
            }
        }
    }

    /// Returns whether a request may be sent: no response is in progress, no unrequested bytes have
    /// arrived, and the connection continues.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, ResponseState::Idle) && self.buffer.len() == 0 && !self.ended
    }

    /// Returns whether a response is expected whose head was not polled yet.
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, ResponseState::Head { .. })
    }

    /// Returns whether a head was polled, but not yet its `End`.
    pub fn is_in_body(&self) -> bool {
        matches!(self.state, ResponseState::Body { .. })
    }

    /// Number of bytes received and not yet polled. After [`poll`](Self::poll) has returned `None`,
    /// this is less than [`Limits::max_head_bytes`](crate::Limits::max_head_bytes) or 1 KiB.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn read(&mut self) -> Result<Option<IncomingResponse>, Refusal> {
        match &mut self.state {
            ResponseState::Idle if self.buffer.len() > 0 => Err(Refusal::Unexpected),
            ResponseState::Head { .. } => self.read_head(),
            ResponseState::Body { body, keep_alive } => {
                match body.next(&mut self.buffer, &self.bounds)? {
                    None => Ok(None),
                    Some(Piece::Data(data)) => Ok(Some(IncomingResponse::Body(data))),
                    Some(Piece::End) => {
                        if *keep_alive {
                            self.state = ResponseState::Idle;
                        } else {
                            self.stop(ResponseState::Last);
                        }
                        Ok(Some(IncomingResponse::End))
                    }
                }
            }
            ResponseState::Idle | ResponseState::Last | ResponseState::Over => Ok(None),
        }
    }

    /// Reads a head, and skips the interim ones before it.
    fn read_head(&mut self) -> Result<Option<IncomingResponse>, Refusal> {
        let ResponseState::Head { scan, to_head, interim } = &mut self.state else {
            return Ok(None);
        };
        loop {
            let parsed = self.last_head.next(scan, &mut self.buffer, &self.bounds)?;
            let Some(parsed) = parsed else { return Ok(None) };
            match parsed.own.status {
                101 => return Err(Refusal::SwitchingProtocols),
                100..=199 if *interim >= MAX_INTERIM => return Err(Refusal::TooManyInterim),
                100..=199 => {
                    *interim += 1;
                    *scan = Scan::default();
                    self.buffer.skip(parsed.end);
                }
                status => {
                    let is_bare = *to_head || matches!(status, 204 | 304);
                    let body = if is_bare { BodyKind::None } else { parsed.body };
                    let keep_alive = parsed.keep_alive && body != BodyKind::Close;
                    let head = parsed.take(&mut self.buffer);
                    self.state = ResponseState::Body { body: BodyDecoder::new(body), keep_alive };
                    return Ok(Some(IncomingResponse::Head { head, body, keep_alive }));
                }
            }
        }
    }

    /// Final item at the end of the input.
    fn finish(&mut self) -> Option<IncomingResponse> {
        let (end, state) = match self.state {
            ResponseState::Over => return None,
            ResponseState::Body { body: BodyDecoder::Close, .. } => {
                (IncomingResponse::End, ResponseState::Last)
            }
            ResponseState::Head { interim: 0, .. } if self.buffer.len() == 0 => {
                (IncomingResponse::Closed, ResponseState::Over)
            }
            ResponseState::Head { .. } | ResponseState::Body { .. } => {
                (IncomingResponse::Truncated, ResponseState::Over)
            }
            ResponseState::Idle | ResponseState::Last => {
                (IncomingResponse::Closed, ResponseState::Over)
            }
        };
        self.stop(state);
        Some(end)
    }

    fn stop(&mut self, state: ResponseState) {
        self.state = state;
        self.buffer = Buffer::new();
    }
}

impl fmt::Display for NotIdle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is not between two responses, or has ended")
    }
}

impl core::error::Error for NotIdle {}
