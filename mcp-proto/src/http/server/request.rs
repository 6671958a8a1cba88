//! Requests of a connection that are being read, verified or answered.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::admit::Admitted;
use super::proxies::client_address;
use super::refused::{Cors, ImmediateAnswer};
use super::watch::ConnectionTimer;
use super::{Config, Exchange, RequestCache};
use crate::budget::SMALL;
use crate::frame::http1::{Framing, Head, RequestKind, ResponseHead, json_head};
use crate::limits::Limits;
use crate::resource_server::Verification;
use crate::server::Declaration;
use crate::time::{Duration, Instant};

/// More bytes than most heads of answers have.
const HEAD: usize = 256;

/// A request that is being read.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) head: Head,
    pub(super) kind: RequestKind,
    pub(super) admitted: Result<Admitted, Box<ImmediateAnswer>>,
    pub(super) body: ReceivedBody,
}

/// A request whose token is being verified.
#[derive(Debug)]
pub(super) struct Unverified {
    pub(super) head: Head,
    pub(super) expects_continue: bool,
    pub(super) keep_alive: bool,
    pub(super) number: u64,
    /// The verification, until the driver takes it.
    pub(super) verification: Option<Untaken>,
}

/// A verification that the driver has not taken.
pub(super) struct Untaken(pub(super) Verification);

impl fmt::Debug for Untaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Untaken")
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) exchange: Exchange,
    pub(super) kind: RequestKind,
    /// The framing of the body, set once the head is sent.
    pub(super) framing: Option<Framing>,
    pub(super) ended: bool,
}

/// State of a connection; [`Connection`](super::Connection) documents the states.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a connection stays where it is, and is mostly used again"
)]
pub(super) enum State {
    Between,
    /// The token of a request is being verified, and its body is not read.
    Verifying(Box<Unverified>),
    Body(Box<Request>),
    Answering(Answering),
    Lingering,
}

impl State {
    /// The exchange of the request that is being answered.
    pub(super) fn exchange(&self) -> Option<&Exchange> {
        if let Self::Answering(answering) = self { Some(&answering.exchange) } else { None }
    }

    /// Mutable access to the exchange of the request that is being answered.
    pub(super) fn exchange_mut(&mut self) -> Option<&mut Exchange> {
        if let Self::Answering(answering) = self { Some(&mut answering.exchange) } else { None }
    }

    /// The length of the body so far, and of a long head; `None` if nothing is being read.
    pub(super) fn read(&self) -> Option<usize> {
        match self {
            Self::Body(request) => Some(request.body.len().saturating_add(counted(&request.head))),
            Self::Verifying(unverified) => Some(counted(&unverified.head)),
            Self::Between => Some(0),
            Self::Answering(_) | Self::Lingering => None,
        }
    }

    /// The timer of the state and its length; `is_in_head` is true if part of a head was read.
    pub(super) fn wait(
        &self,
        is_in_head: bool,
        limits: &Limits,
    ) -> Option<(ConnectionTimer, Duration)> {
        match self {
            Self::Between if is_in_head => Some((ConnectionTimer::Head, limits.head_timeout)),
            Self::Between => Some((ConnectionTimer::Idle, limits.connection_idle_timeout)),
            Self::Verifying(_) => Some((ConnectionTimer::Verdict, limits.verify_timeout)),
            Self::Body(_) => Some((ConnectionTimer::Body, limits.body_timeout)),
            Self::Answering(_) => None,
            Self::Lingering => Some((ConnectionTimer::Linger, limits.drain)),
        }
    }

    /// Takes the verification of a token and its number, once.
    pub(super) fn take_verification(&mut self) -> Option<(u64, Verification)> {
        let Self::Verifying(unverified) = self else { return None };
        let Untaken(verification) = unverified.verification.take()?;
        Some((unverified.number, verification))
    }

    /// Takes the request whose token was verified, if `matches` accepts the request.
    pub(super) fn take_unverified(
        &mut self,
        matches: impl FnOnce(&Unverified) -> bool,
    ) -> Option<Box<Unverified>> {
        match core::mem::replace(self, Self::Between) {
            Self::Verifying(unverified) if matches(&unverified) => Some(unverified),
            state @ (Self::Between
            | Self::Verifying(_)
            | Self::Body(_)
            | Self::Answering(_)
            | Self::Lingering) => {
                *self = state;
                None
            }
        }
    }

    /// The current use of the connection.
    pub(super) fn activity(&self) -> Activity {
        match self {
            Self::Between | Self::Lingering => Activity::Idle,
            Self::Verifying(_) | Self::Body(_) => Activity::Receiving,
            Self::Answering(answering) => answering.activity(),
        }
    }
}

/// The use of a connection, ordered by how much the client misses the connection if it ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// The connection waits for a request.
    Idle,
    /// The connection verifies the token of a request, or reads the body.
    Receiving,
    /// The connection has a stream that answers no request.
    Streaming,
    /// The connection still has to answer a request.
    Answering,
}

/// The received part of a body. A body that arrives in one piece is not copied.
#[derive(Debug)]
pub(crate) enum ReceivedBody {
    One(Bytes),
    More(BytesMut),
}

impl Request {
    /// Adds bytes of the body. Ignores them if the head was refused.
    pub(super) fn add(&mut self, data: Bytes) {
        if self.admitted.is_ok() {
            self.body.add(data);
        }
    }

    /// Refuses the request before its whole body is read. The connection ends with the answer.
    pub(super) fn refuse_full(self, config: &Arc<Config>) -> Answering {
        let answer = match self.admitted {
            Ok(admitted) => admitted.refuse_full(config),
            Err(answer) => answer,
        };
        let exchange = Exchange::immediate(config, answer);
        let kind = RequestKind { keep_alive: false, ..self.kind };
        Answering { exchange, kind, framing: None, ended: false }
    }

    /// Returns the exchange that answers the request.
    pub(super) fn answer(
        self,
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        peer: Option<IpAddr>,
        cache: &mut RequestCache,
    ) -> Answering {
        let Self { head, kind, admitted, body } = self;
        let mut exchange = match admitted {
            Err(answer) => Exchange::immediate(config, answer),
            Ok(admitted) => {
                let body = body.into_bytes();
                Exchange::admitted(now, declaration, config, admitted, &head, &body, cache)
            }
        };
        if let Some(peer) = peer {
            exchange.set_peer(client_address(&config.trusted_proxies, peer, &head));
        }
        Answering { exchange, kind, framing: None, ended: false }
    }

    /// CORS headers of the answer.
    pub(super) fn cors(&self) -> &Cors {
        match &self.admitted {
            Ok(admitted) => &admitted.cors,
            Err(answer) => &answer.cors,
        }
    }
}

impl Answering {
    fn activity(&self) -> Activity {
        if self.exchange.only_listens() { Activity::Streaming } else { Activity::Answering }
    }

    /// Sends the head; `stays` is true if the connection may serve another request.
    pub(super) fn begin(&mut self, head: &ResponseHead, stays: bool, out: &mut Vec<u8>) {
        // Room for the head and a whole body, so that the buffer does not grow.
        let body = head.length.and_then(|length| usize::try_from(length).ok());
        out.reserve(body.unwrap_or(0).saturating_add(HEAD));
        self.kind.keep_alive &= stays;
        self.framing = Some(head.encode(self.kind, out));
    }

    /// Sends a piece of the body.
    pub(super) fn data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if let Some(framing) = &mut self.framing {
            framing.data(data, out);
        }
    }

    /// Sends an answer in one piece, if there is one; `stays` is as for [`Answering::begin`].
    pub(super) fn send_whole(&mut self, stays: bool, out: &mut Vec<u8>) -> bool {
        let message = if let Some(message) = self.exchange.take_json() {
            self.kind.keep_alive &= stays;
            self.framing = Some(json_head(message.len(), self.kind, out));
            Some(message)
        } else if let Some((head, message)) = self.exchange.take_unsent() {
            self.begin(&head, stays, out);
            message
        } else {
            return false;
        };
        match (message, &mut self.framing) {
            (Some(message), Some(Framing::Length(left))) => {
                message.write(out);
                *left = 0;
            }
            (Some(message), _) => self.data(&message.into_text(), out),
            (None, _) => {}
        }
        self.end(out);
        true
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(framing) = &mut self.framing {
            framing.end(out);
        }
        self.ended = true;
    }

    /// Returns whether the answer is complete and no visit to the endpoint is due.
    pub(super) fn is_over(&self) -> bool {
        let visits = self.exchange.needs_endpoint();
        (self.ended && !visits) || self.exchange.is_over()
    }
}

/// The bytes of a head that count against `Limits::max_endpoint_bytes` until the request is read.
pub(super) fn counted(head: &Head) -> usize {
    let length = head.text().len();
    if length > SMALL { length } else { 0 }
}

impl ReceivedBody {
    pub(crate) const EMPTY: Self = Self::One(Bytes::new());

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(bytes) => bytes.len(),
            Self::More(bytes) => bytes.len(),
        }
    }

    pub(crate) fn add(&mut self, mut data: impl Buf) {
        match self {
            Self::One(first) if first.is_empty() => *first = data.copy_to_bytes(data.remaining()),
            Self::One(first) => {
                let mut more = BytesMut::with_capacity(first.len() + data.remaining());
                more.extend_from_slice(first);
                more.put(data);
                *self = Self::More(more);
            }
            Self::More(more) => more.put(data),
        }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::One(bytes) => bytes,
            Self::More(bytes) => bytes.freeze(),
        }
    }
}
