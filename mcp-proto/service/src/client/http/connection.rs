//! One connection to a server, with one request at a time.
//!
//! In: a request, and bytes of the socket. Out: the head, the body and the end of the response, or
//! a failure. Reads and writes are concurrent: a server may respond before it has read the whole
//! request, and close the connection then.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker, ready};
use std::io;

use bytes::Bytes;

use super::super::super::drive::is_gone;
use super::super::super::output::Output;
use super::super::super::wire::Wire;
use crate::Socket;
use mcp_proto::Instant;
use mcp_proto::Limits;
use mcp_proto::frame::http1::{IncomingResponse, ResponseReader, StatusHead};
use mcp_proto::http::client::Request;
use mcp_proto::internals::LastRequest;

/// Room for a usual head, in bytes.
const HEAD: usize = 512;

/// The longest body, in bytes, that is written in one buffer with its head.
const SHORT: usize = 16 * 1024;

pub(super) struct Connection {
    socket: Box<dyn Socket>,
    reader: ResponseReader,
    output: Output,
    write_state: WriteState,
    /// True if the connection has served an earlier request.
    is_reused: bool,
    /// True if bytes were received since the request.
    is_answered: bool,
    wire: Option<Wire>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteState {
    /// All output was written and flushed.
    Flushed,
    Buffered,
    /// The server has closed its reading half.
    Closed,
}

/// Part of a response, or its failure.
pub(super) enum ResponseEvent {
    Head(StatusHead),
    Body(Bytes),
    End,
    Failed(Failure),
}

/// The reason why there is no complete response.
pub(super) struct Failure {
    pub(super) reason: String,
    /// The connection was reused and no byte of the response was received: usually the server
    /// closed the idle connection before the request arrived.
    pub(super) is_stale: bool,
    /// The request was not completely written, so the server cannot have received all of it.
    pub(super) is_cut: bool,
    /// No byte of the request was written.
    pub(super) is_unsent: bool,
}

impl Failure {
    /// A failure before any byte of the request was written.
    pub(super) fn unsent(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_stale: false, is_cut: false, is_unsent: true }
    }
}

impl Connection {
    pub(super) fn new(socket: Box<dyn Socket>, limits: &Limits, wire: Option<Wire>) -> Self {
        Self {
            socket,
            reader: ResponseReader::new(limits),
            output: Output::default(),
            write_state: WriteState::Flushed,
            is_reused: false,
            is_answered: false,
            wire,
        }
    }

    /// Sends a request to a host; `last` is the last request of the client.
    pub(super) fn send(
        &mut self,
        now: Instant,
        request: &Request,
        host: &str,
        last: &mut LastRequest,
    ) -> Result<(), Failure> {
        let Request { method, target, fields, body, .. } = request;
        let unsent = |reason: &dyn core::fmt::Display| {
            Failure::unsent(format!("the request cannot be sent: {reason}"))
        };
        let length = u64::try_from(body.len()).ok().filter(|_| *method == "POST");
        let fields = fields.iter().map(|(name, value)| (&**name, value.as_bytes()));
        // A buffer that grows line by line would cost 4,000 instructions more.
        let mut text = Vec::with_capacity(HEAD + body.len().min(SHORT));
        last.write([method, target, host], fields, length, &mut text)
            .map_err(|refusal| unsent(&refusal))?;
        self.reader.expect(method).map_err(|error| unsent(&error))?;
        if body.len() <= SHORT {
            text.extend_from_slice(body);
            self.write(now, text.into());
        } else {
            self.write(now, text.into());
            self.write(now, body.clone());
        }
        Ok(())
    }

    fn write(&mut self, now: Instant, bytes: Bytes) {
        if let Some(wire) = &mut self.wire {
            wire.sent(now, bytes.clone());
        }
        self.output.push(bytes);
    }

    /// Returns the next part of the response.
    pub(super) fn poll(&mut self, now: Instant, context: &mut Context<'_>) -> Poll<ResponseEvent> {
        loop {
            if let Some(incoming) = self.reader.poll() {
                return Poll::Ready(self.response_event(incoming));
            }
            if let Poll::Ready(Err(error)) = self.poll_write(context) {
                // A response that the server has sent before may still arrive.
                if !is_gone(&error) {
                    return Poll::Ready(ResponseEvent::Failed(self.failure(error.to_string())));
                }
                self.write_state = WriteState::Closed;
            }
            match ready!(self.socket.poll_read(context)) {
                Ok(data) if data.is_empty() => {
                    if let Some(wire) = &mut self.wire {
                        wire.ended(now);
                    }
                    self.reader.end();
                }
                Ok(data) => {
                    self.is_answered = true;
                    if let Some(wire) = &mut self.wire {
                        wire.received(now, data.clone());
                    }
                    self.reader.push(data);
                }
                Err(error) => {
                    return Poll::Ready(ResponseEvent::Failed(self.failure(error.to_string())));
                }
            }
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.write_state == WriteState::Closed {
            return Poll::Ready(Ok(()));
        }
        while self.output.waiting() > 0 {
            match ready!(self.socket.poll_write(context, self.output.front()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                count => self.output.advance(count),
            }
            self.write_state = WriteState::Buffered;
        }
        if self.write_state == WriteState::Buffered {
            ready!(self.socket.poll_flush(context))?;
            self.write_state = WriteState::Flushed;
        }
        Poll::Ready(Ok(()))
    }

    fn response_event(&mut self, incoming: IncomingResponse) -> ResponseEvent {
        match incoming {
            IncomingResponse::Head { head, .. } => ResponseEvent::Head(head),
            IncomingResponse::Body(data) => ResponseEvent::Body(data),
            IncomingResponse::End => {
                self.is_reused = true;
                self.is_answered = false;
                ResponseEvent::End
            }
            IncomingResponse::Refused(refusal) => {
                ResponseEvent::Failed(self.failure(format!("the answer cannot be read: {refusal}")))
            }
            IncomingResponse::Truncated => ResponseEvent::Failed(
                self.failure("the connection has ended in the middle of the answer"),
            ),
            IncomingResponse::Closed => {
                ResponseEvent::Failed(self.failure("the connection has ended without an answer"))
            }
        }
    }

    fn failure(&self, reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            is_stale: self.is_reused && !self.is_answered,
            is_cut: self.output.waiting() > 0,
            is_unsent: false,
        }
    }

    /// Returns whether the connection is ready for another request.
    pub(super) fn is_idle(&self) -> bool {
        let is_written = self.output.waiting() == 0 && self.write_state == WriteState::Flushed;
        is_written && self.reader.is_idle()
    }

    /// Returns whether the server has sent nothing since the last response, and has not closed the
    /// connection.
    pub(super) fn is_silent(&mut self) -> bool {
        self.socket.poll_read(&mut Context::from_waker(Waker::noop())).is_pending()
            && self.socket.is_quiet()
    }
}
