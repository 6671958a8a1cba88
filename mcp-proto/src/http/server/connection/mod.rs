//! One socket of a server: HTTP/1.1 requests in a row, each an [`Exchange`](super::Exchange).
//!
//! In: bytes, split anywhere; outcomes of handlers; time; visits to the endpoint. Out: bytes to
//! write, events, and the end of the connection.
//!
//! | state | input | then |
//! |---|---|---|
//! | `Between` requests | a head | `Body`; bytes after the request wait until it is answered |
//! | | `Limits::head_timeout` after its first byte | 408, `Lingering` |
//! | | `Limits::connection_idle_timeout` without one; the end of input | closed |
//! | | a head whose token must be verified | `Verifying` |
//! | `Verifying` | a checked token; `Limits::verify_timeout`, the shutdown (503) | as after a head |
//! | `Body` | the rest of it | `Answering` |
//! | | `Limits::body_timeout` | 408, `Lingering` |
//! | any of these | invalid HTTP, or too much of it ([`Refusal`](crate::frame::http1::Refusal)) | its status, `Lingering` |
//! | `Answering` | the end of the answer | `Between`, or closed if either side said so |
//! | | the end of input, also before | a modern request is cancelled; a legacy one is answered, then closed |
//! | `Lingering` | bytes | dropped: a socket with unread input might lose the answer when it closes |
//! | | the end of input, `Limits::drain` | closed |
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

mod visit;

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::net::IpAddr;

use bytes::Bytes;

use super::admit::{Admitted, admit_with};
use super::intake::Intake;
use super::outgoing::OutgoingBytes;
use super::refused::ImmediateAnswer;
use super::request::{Activity, ReceivedBody, Request, State, Untaken, Unverified};
use super::watch::{ConnectionTimer, Watch};
use super::{Config, Exchange, ExchangeAction, RequestCache};
use crate::error::UsageError;
use crate::frame::http1::{CONTINUE, Framing, Head, Incoming, RequestKind, ResponseHead};
use crate::machine::{Action, Machine};
use crate::message::RequestId;
use crate::resource_server::{TokenRefusal, Verification, VerifiedToken};
use crate::server::{Declaration, Notification, Outcome, Reply, ReplyId, ServerEvent};
use crate::time::Instant;

/// One socket of a server; the module documentation has its states.
#[derive(Debug)]
pub struct Connection {
    declaration: Arc<Declaration>,
    config: Arc<Config>,
    peer: Option<IpAddr>,
    reader: Intake,
    cache: RequestCache,
    state: State,
    phase: Phase,
    now: Instant,
    watch: Watch,
    out: OutgoingBytes,
    /// Event that is reported after `out` is taken. Boxed, since there is rarely one.
    event: Option<Box<ServerEvent>>,
    /// The number of tokens that needed a verification so far.
    verifications: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// No more requests are read.
    Ending,
    /// Nothing more is read; the connection closes after its answer.
    Gone,
    Closed,
}

impl Connection {
    /// A connection accepted at `now`, from which no bytes were read yet.
    pub fn new(now: Instant, declaration: Arc<Declaration>, config: Arc<Config>) -> Self {
        Self {
            reader: Intake::new(&config.server),
            watch: Watch::new(now, &config.server.limits),
            declaration,
            config,
            peer: None,
            cache: RequestCache::default(),
            state: State::Between,
            phase: Phase::Open,
            now,
            out: OutgoingBytes::default(),
            event: None,
            verifications: 0,
        }
    }

    /// Sets the address of the client; see [`Exchange::set_peer`](super::Exchange::set_peer).
    pub fn set_peer(&mut self, peer: IpAddr) {
        self.peer = Some(peer);
    }

    /// Replaces the declaration for later requests.
    pub fn declare(&mut self, declaration: Arc<Declaration>) {
        self.declaration = declaration;
    }

    /// Answers a request; see [`Exchange::respond`](super::Exchange::respond).
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        if let Some(exchange) = self.state.exchange_mut() {
            exchange.respond(now, reply, outcome);
        }
    }

    /// Sends a notification about a request to the client; see
    /// [`Exchange::notify`](super::Exchange::notify).
    pub fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        let exchange = self.state.exchange_mut().ok_or(UsageError::NotInFlight)?;
        exchange.notify(now, about, notification)
    }

    /// Shuts down: requests in flight get `Limits::drain`, and no more requests are read. A request
    /// whose token is being verified is answered with 503.
    pub fn shutdown(&mut self, now: Instant) {
        self.now = now;
        self.resume(|_| true, Err(TokenRefusal::unavailable()));
        if let Some(exchange) = self.state.exchange_mut() {
            exchange.shutdown(now);
        }
        if self.phase != Phase::Open {
            return;
        }
        self.phase = Phase::Ending;
        self.watch.drain_until(now + self.config.server.limits.drain);
        if !matches!(self.state, State::Answering(_) | State::Lingering) {
            self.phase = Phase::Gone;
        }
    }

    /// Takes the next verification of a token, with its number; see [`Config::protect`]. Pass
    /// number and result to [`Connection::handle_verified`]. A later verification replaces an
    /// earlier one.
    pub fn poll_verification(&mut self) -> Option<(u64, Verification)> {
        self.state.take_verification()
    }

    /// Returns whether a token is being verified.
    pub fn is_verifying(&self) -> bool {
        matches!(self.state, State::Verifying(_))
    }

    /// Handles the result of a verification. A result that no request waits for is ignored.
    pub fn handle_verified(&mut self, now: Instant, number: u64, verified: VerifiedToken) {
        self.now = now;
        self.resume(|unverified| unverified.number == number, verified);
    }

    /// Handles a failed write: the client is gone. A visit may be due before the connection closes.
    pub fn handle_disconnect(&mut self, now: Instant) {
        self.now = now;
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Gone;
        self.out.clear();
        match self.state.exchange_mut() {
            Some(exchange) => exchange.handle_disconnect(now),
            None => self.state = State::Between,
        }
    }

    /// The id that the client has given to a request in flight.
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.state.exchange()?.request_id(about)
    }

    /// The use of the connection, for a driver that must choose a connection to close.
    pub fn activity(&self) -> Activity {
        self.state.activity()
    }

    /// Reads requests until one needs an answer.
    fn read(&mut self) {
        while self.phase == Phase::Open
            && let State::Between | State::Body(_) = self.state
            && let Some(incoming) = self.reader.poll()
        {
            match incoming {
                Incoming::Head { head, expects_continue, keep_alive, .. } => {
                    self.handle_head(head, expects_continue, keep_alive);
                }
                Incoming::Body(data) => {
                    if let State::Body(request) = &mut self.state {
                        request.add(data);
                    }
                }
                Incoming::End => {
                    if let State::Body(request) =
                        core::mem::replace(&mut self.state, State::Between)
                    {
                        self.handle_request(*request);
                    }
                }
                Incoming::Refused(refusal) => {
                    self.refuse(refusal.status(), &refusal.to_string());
                }
                Incoming::Truncated | Incoming::Closed => self.phase = Phase::Gone,
            }
        }
        self.charge();
        self.watch();
    }

    /// Charges the bytes that were read, and refuses the request if they do not fit into
    /// `Limits::max_endpoint_bytes`.
    fn charge(&mut self) {
        if self.reader.charge(self.state.read()).is_ok() {
            return;
        }
        match core::mem::replace(&mut self.state, State::Between) {
            State::Body(request) => {
                self.state = State::Answering(request.refuse_full(&self.config));
            }
            State::Between | State::Verifying(_) | State::Answering(_) | State::Lingering => {
                self.refuse(503, &self.config.server.endpoint_full().to_string());
            }
        }
    }

    fn handle_head(&mut self, head: Head, expects_continue: bool, keep_alive: bool) {
        if self.config.verifier.is_some()
            && let Some(verification) = self.config.verification(&head)
        {
            self.verifications = self.verifications.wrapping_add(1);
            let (number, verification) = (self.verifications, Some(Untaken(verification)));
            let unverified =
                Unverified { head, expects_continue, keep_alive, number, verification };
            return self.state = State::Verifying(Box::new(unverified));
        }
        let admitted = self.cache.admit(&self.config, &head, self.reader.repetition());
        self.handle_admitted(head, admitted, expects_continue, keep_alive);
    }

    /// Continues with the request whose token was verified, if `matches` accepts that request.
    fn resume(&mut self, matches: impl FnOnce(&Unverified) -> bool, verified: VerifiedToken) {
        let Some(unverified) = self.state.take_unverified(matches) else { return };
        let Unverified { head, expects_continue, keep_alive, .. } = *unverified;
        let admitted = admit_with(&self.config, &head, Some(verified));
        self.handle_admitted(head, admitted, expects_continue, keep_alive);
        self.read();
    }

    fn handle_admitted(
        &mut self,
        head: Head,
        admitted: Result<Admitted, Box<ImmediateAnswer>>,
        expects_continue: bool,
        keep_alive: bool,
    ) {
        let mut kind = RequestKind::new(&head, keep_alive);
        // The client may or may not send the body, so it is unknown where the next request begins.
        let waits_in_vain = expects_continue && admitted.is_err();
        if waits_in_vain {
            kind.keep_alive = false;
        } else if expects_continue {
            self.out.bytes.extend_from_slice(CONTINUE);
        }
        // Most bodies arrive together with their heads.
        let whole = if waits_in_vain { None } else { self.reader.take_body() };
        let is_read = waits_in_vain || whole.is_some();
        let body = whole.map_or(ReceivedBody::EMPTY, ReceivedBody::One);
        let request = Request { head, kind, admitted, body };
        if is_read {
            self.handle_request(request);
        } else {
            self.state = State::Body(Box::new(request));
        }
    }

    /// Answers a request that was read completely.
    fn handle_request(&mut self, request: Request) {
        let _ = self.reader.charge(None);
        let Self { now, declaration, config, peer, cache, .. } = self;
        self.state = State::Answering(request.answer(*now, declaration, config, *peer, cache));
        // The input may have ended while a token was verified, or an earlier request answered.
        if self.reader.has_ended()
            && let Some(exchange) = self.state.exchange_mut()
            && exchange.is_unstarted()
        {
            // The answers to earlier requests are still sent.
            exchange.drop_unstarted(self.now);
            self.phase = Phase::Gone;
        }
    }

    /// Refuses input that is not a valid request, and stops reading.
    fn refuse(&mut self, status: u16, why: &str) {
        let mut head = ResponseHead::new(status);
        if let State::Body(request) = &self.state {
            request.cors().add_to(&mut head);
        }
        self.out.refuse(head, why);
        self.linger();
    }

    fn linger(&mut self) {
        self.state = State::Lingering;
        let _ = self.reader.charge(None);
        self.watch();
    }

    /// Sets the deadline of the current state.
    fn watch(&mut self) {
        let wait = self.state.wait(self.reader.is_in_head(), &self.config.server.limits);
        self.watch.set(self.now, wait);
    }

    /// Encodes the available part of the answer, up to an event, which it returns.
    fn encode(&mut self) -> Option<ServerEvent> {
        while self.event.is_none() && !self.out.is_full() {
            let State::Answering(answering) = &mut self.state else { return None };
            match answering.exchange.poll_part() {
                Some(ExchangeAction::Head(head)) => {
                    answering.begin(&head, self.phase == Phase::Open, &mut self.out.bytes);
                }
                Some(ExchangeAction::Data(data)) => answering.data(&data, &mut self.out.bytes),
                Some(ExchangeAction::End) => answering.end(&mut self.out.bytes),
                Some(ExchangeAction::Event(event)) => return Some(event),
                None if answering.send_whole(self.phase == Phase::Open, &mut self.out.bytes) => {}
                None if answering.is_over() => self.finish_request(),
                None => return None,
            }
        }
        None
    }

    /// Ends a request that was answered.
    fn finish_request(&mut self) {
        let State::Answering(answering) = &self.state else { return };
        let framed = answering.framing.as_ref().is_some_and(Framing::keeps_alive);
        let goes_on = answering.kind.keep_alive && framed && self.phase == Phase::Open;
        if goes_on {
            self.state = State::Between;
            self.read();
        } else if self.phase == Phase::Open && self.reader.is_in_body() {
            self.linger();
        } else {
            self.state = State::Between;
            self.phase = Phase::Gone;
        }
    }
}

impl Machine for Connection {
    type Event = ServerEvent;

    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        self.now = now;
        if self.phase == Phase::Open && !matches!(self.state, State::Lingering) {
            self.reader.push(data);
            self.read();
        }
    }

    fn handle_eof(&mut self, now: Instant) {
        if self.phase == Phase::Closed {
            return;
        }
        self.now = now;
        self.reader.end();
        match &mut self.state {
            State::Lingering => self.phase = Phase::Gone,
            State::Answering(answering) if answering.exchange.ends_with_input() => {
                self.handle_disconnect(now);
            }
            State::Between | State::Verifying(_) | State::Body(_) | State::Answering(_) => {
                self.read();
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.phase == Phase::Closed {
            return;
        }
        self.now = now;
        if let Some(exchange) = self.state.exchange_mut() {
            exchange.handle_timeout(now);
        }
        while let Some(reason) = self.watch.expire(now) {
            match reason {
                ConnectionTimer::Idle | ConnectionTimer::Linger => self.phase = Phase::Gone,
                ConnectionTimer::Head => {
                    self.refuse(408, "the head took longer than Limits::head_timeout");
                }
                ConnectionTimer::Verdict => self.resume(|_| true, Err(TokenRefusal::unavailable())),
                ConnectionTimer::Body => {
                    self.refuse(408, "the body took longer than Limits::body_timeout");
                }
                ConnectionTimer::Drain => match self.state.exchange_mut() {
                    Some(exchange) => exchange.give_up(now),
                    None => self.phase = Phase::Gone,
                },
            }
        }
    }

    fn poll_action(&mut self) -> Option<Action<ServerEvent>> {
        let event = self.encode();
        if let Some(bytes) = self.out.take() {
            self.event = event.map(Box::new).or_else(|| self.event.take());
            return Some(Action::Transmit(bytes));
        }
        if let Some(event) = event.or_else(|| self.event.take().map(|event| *event)) {
            return Some(Action::Event(event));
        }
        if self.phase == Phase::Gone && !matches!(self.state, State::Answering(_)) {
            self.phase = Phase::Closed;
            return Some(Action::Close);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.phase == Phase::Closed {
            return None;
        }
        let exchange = self.state.exchange().and_then(Exchange::poll_timeout);
        let own = self.watch.poll_timeout();
        Some(exchange.map_or(own, |at| at.min(own))).filter(|at| *at != Instant::NEVER)
    }

    fn wants_read(&self) -> bool {
        match (self.phase, &self.state) {
            // After the end of input the connection may stay open for an answer.
            (Phase::Open, _) if self.reader.has_ended() => false,
            (Phase::Open, State::Answering(_) | State::Verifying(_)) => self.reader.wants_ahead(),
            (Phase::Open, State::Between | State::Body(_) | State::Lingering) => true,
            (Phase::Ending | Phase::Gone | Phase::Closed, _) => false,
        }
    }
}
