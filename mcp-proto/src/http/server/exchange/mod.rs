//! One HTTP request and its answer.
//!
//! In: a head and a body, from any reader; outcomes of handlers; time; visits to the [`Endpoint`].
//! Out: the head and the body of the answer, and events. An exchange works behind any HTTP stack.
//! [`Connection`](super::Connection) is for programs that have only a socket.
//!
//! | request | state | leaves by |
//! |---|---|---|
//! | refused by a step; a notification | answered | |
//! | modern, or of a legacy client without a session | `Alone`: a machine of its own | its answer, a disconnect |
//! | of a session, GET, DELETE, `subscriptions/listen` | `Waiting` for a visit | the visit |
//! | in a session | `Reading` a stream of the endpoint's | the end of the stream, a disconnect |
//! | GET of a session | `Reading` the stream of the session | its end, a disconnect, the end of its token |
//! | `subscriptions/listen` | `Listening` | its result, a disconnect, the end of its token |
//!
//! The answer is `application/json` if the response is the first message. The answer is a stream of
//! events if another message precedes the response, or after `Limits::keep_alive` of silence.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

mod answer;
mod post;
mod request_cache;
mod scopes;
mod visit;
mod wanted;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::net::IpAddr;

use bytes::Bytes;

use super::Config;
use super::action::ExchangeAction;
use super::admit::{Admitted, Method, admit};
use super::listeners::ListenerId;
use super::refused::ImmediateAnswer;
use super::sessions::StreamCursor;
use super::unsent::Unsent;
use crate::error::UsageError;
use crate::frame::http1::{Head, ResponseHead};
use crate::message::RequestId;
use crate::server::{
    Declaration, Notification, Outcome, Reply, ReplyId, Server, ServerAction, ServerEvent,
};
use crate::time::Instant;
use crate::version::Era;

use answer::Answer;
pub use request_cache::RequestCache;
use wanted::Wanted;

/// One HTTP request and its answer.
#[derive(Debug)]
pub struct Exchange {
    config: Arc<Config>,
    state: State,
    answer: Answer,
    /// True if a visit is due: the endpoint has more messages than were taken, its end begins, or
    /// the token has expired.
    visit_due: bool,
    /// Time at which a stream that only listens ends: that of the client's token.
    listens_until: Instant,
    /// True if the endpoint does not serve the requested subscription: another server does, or the
    /// subscription is refused.
    is_forwarded: bool,
    /// True if nobody reads the answer any more.
    gone: bool,
}

#[derive(Debug)]
enum State {
    /// The answer is complete, or is complete once the queue is sent.
    Answered,
    /// A machine that belongs only to this exchange answers.
    Alone(Box<Server>),
    /// The exchange must visit the endpoint.
    Waiting(Box<Wanted>),
    /// The endpoint has the answer, or will have it.
    Reading(StreamCursor),
    /// The endpoint collects the changes.
    Listening { server: Box<Server>, listener: ListenerId },
}

impl Exchange {
    /// Begins an exchange with the head and the body of a request.
    pub fn new(
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        head: &Head,
        body: &Bytes,
    ) -> Self {
        let cache = &mut RequestCache::default();
        match admit(config, head) {
            Ok(admitted) => Self::admitted(now, declaration, config, admitted, head, body, cache),
            Err(answer) => Self::immediate(config, answer),
        }
    }

    /// Creates a complete exchange, which needs only the head of a request.
    pub(crate) fn immediate(config: &Arc<Config>, answer: Box<ImmediateAnswer>) -> Self {
        let mut exchange = Self::begin(Instant::NEVER, config, super::refused::Cors::default());
        exchange.answer.set_immediate(answer);
        exchange
    }

    /// Creates an exchange that refuses a request whose body does not fit into the server's memory.
    pub(super) fn refused_full(config: &Arc<Config>, admitted: &Admitted) -> Self {
        Self::immediate(config, admitted.refuse_full(config))
    }

    /// Creates the exchange of a request whose head passed every step.
    pub(crate) fn admitted(
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        admitted: Admitted,
        head: &Head,
        body: &Bytes,
        cache: &mut RequestCache,
    ) -> Self {
        let Admitted { method, context, cors } = admitted;
        let mut exchange = Self::begin(now + config.server.limits.keep_alive, config, cors);
        match method {
            Method::Post => exchange.post(now, declaration, head, body, context, cache),
            Method::Get => {
                // A stream of events begins with an empty id, so a client that always sends its
                // last one has not received any.
                let last_event_id = head.field("last-event-id").filter(|id| !id.is_empty());
                let last_event_id =
                    last_event_id.map(|id| String::from_utf8_lossy(id).into_owned());
                exchange.want(Wanted::Get { context, last_event_id });
            }
            Method::Delete => exchange.want(Wanted::Delete { context }),
        }
        exchange
    }

    fn begin(silent_until: Instant, config: &Arc<Config>, cors: super::refused::Cors) -> Self {
        Self {
            config: config.clone(),
            state: State::Answered,
            answer: Answer::new(silent_until, cors),
            visit_due: false,
            listens_until: Instant::NEVER,
            is_forwarded: false,
            gone: false,
        }
    }

    fn want(&mut self, request: Wanted) {
        self.state = State::Waiting(Box::new(request));
    }

    /// Sets the address of the client. Limits per holder count by this address. Set it before the
    /// first visit. Without an address and without a principal, the client has no limit of its own.
    pub fn set_peer(&mut self, peer: IpAddr) {
        if let State::Waiting(request) = &mut self.state {
            request.set_peer(peer);
        }
    }

    /// Handles a disconnect of the client. A modern request is cancelled; a request of a session is
    /// not. A visit is due afterwards if [`Exchange::needs_endpoint`] returns true.
    pub fn handle_disconnect(&mut self, now: Instant) {
        self.gone = true;
        self.answer.close();
        match &mut self.state {
            // "Disconnection SHOULD NOT be interpreted as the client cancelling its request."
            State::Alone(_) if self.answer.era == Era::Legacy => {}
            State::Alone(server) => server.handle_disconnect(now),
            // These requests only open a stream to the client; without a client there is nothing to
            // do.
            State::Waiting(request)
                if matches!(**request, Wanted::Listen { .. } | Wanted::Get { .. }) =>
            {
                self.state = State::Answered;
            }
            // The endpoint owns this state; a visit cleans up there.
            State::Answered | State::Waiting(_) | State::Reading(_) | State::Listening { .. } => {}
        }
    }

    /// Handles a disconnect that came before a modern request began: no handler gets the request.
    pub(super) fn drop_unstarted(&mut self, now: Instant) {
        self.handle_disconnect(now);
        self.state = State::Answered;
    }

    /// Returns whether this is a modern request that has no answer. A notification was accepted at
    /// once.
    pub(super) fn is_unstarted(&self) -> bool {
        self.ends_with_input() && !self.answer.is_over()
    }

    /// Starts the shutdown of the server: the handlers of this exchange get `Limits::drain`. A
    /// visit may be due.
    pub fn shutdown(&mut self, now: Instant) {
        match &mut self.state {
            State::Alone(server) => {
                self.answer.waiting = server.only_call().cloned().map(Box::new);
                server.handle_eof(now);
            }
            State::Waiting(request) => self.answer.waiting = request.request_id().map(Box::new),
            // The next visit gets the request from the endpoint.
            State::Reading(_) => self.visit_due = true,
            State::Answered | State::Listening { .. } => {}
        }
    }

    /// Ends the exchange at the end of the drain time: unanswered requests are abandoned.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.answer.give_up(!matches!(self.state, State::Waiting(_)));
        self.gone = true;
        match &mut self.state {
            State::Alone(server) | State::Listening { server, .. } => server.handle_disconnect(now),
            State::Waiting(_) => self.state = State::Answered,
            State::Answered | State::Reading(_) => {}
        }
    }

    /// Answers a request that does not [belong to a session](Reply::is_shared). Drops the answer to
    /// any other request.
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        if let State::Alone(server) | State::Listening { server, .. } = &mut self.state {
            server.respond(now, reply, outcome);
        }
    }

    /// Sends a notification about a request that this exchange answers itself; see
    /// [`Server::notify`].
    pub fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        match &mut self.state {
            State::Alone(server) => server.notify(now, about, notification),
            State::Answered | State::Waiting(_) | State::Reading(_) | State::Listening { .. } => {
                Err(UsageError::NotInFlight)
            }
        }
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let has_expired = self.listening_end().is_some_and(|end| end <= now);
        if let State::Alone(server) = &mut self.state
            && has_expired
        {
            // Another server serves this subscription. Without a result, the client opens the
            // stream again, with another token.
            self.listens_until = Instant::NEVER;
            if self.answer.is_undecided() {
                self.answer.stream(None);
            }
            self.answer.end();
            server.handle_disconnect(now);
        } else {
            self.visit_due |= has_expired;
        }
        if let State::Alone(server) | State::Listening { server, .. } = &mut self.state {
            server.handle_timeout(now);
            if self.answer.is_empty()
                && let Some(event) = self.act()
            {
                self.answer.event(event);
            }
        }
        let Self { state, answer, config, .. } = self;
        let priming_id = match state {
            State::Reading(place) => place.priming(place.after()),
            State::Answered | State::Alone(_) | State::Waiting(_) | State::Listening { .. } => None,
        };
        answer.keep_alive(now, config.server.limits.keep_alive, priming_id.as_deref());
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ExchangeAction> {
        self.poll_part().or_else(|| self.answer.pop_whole())
    }

    /// The next action, unless it begins an answer in one piece; take that with
    /// [`Exchange::take_whole`].
    #[inline]
    pub fn poll_part(&mut self) -> Option<ExchangeAction> {
        if self.answer.is_empty()
            && let Some(event) = self.act()
        {
            return Some(ExchangeAction::Event(event));
        }
        self.answer.pop()
    }

    /// Takes the answer, head and body, if it is in one piece and no action precedes it. The length
    /// of such an answer is known, so no chunked coding is needed.
    #[inline]
    pub fn take_whole(&mut self) -> Option<(ResponseHead, Option<Bytes>)> {
        let (head, message) = self.take_unsent()?;
        Some((head, message.map(Unsent::into_text)))
    }

    /// Takes the body of an answer whose head is
    /// [`json_head`](crate::frame::http1::json_head), if no action precedes it.
    #[inline]
    pub(super) fn take_json(&mut self) -> Option<Unsent> {
        self.answer.take_json()
    }

    /// Does the same as [`Exchange::take_whole`], without encoding the body.
    #[inline]
    pub(super) fn take_unsent(&mut self) -> Option<(ResponseHead, Option<Unsent>)> {
        self.answer.take_whole()
    }

    /// Latest time for the next call of [`Exchange::handle_timeout`]; `None` without a deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let server = match &self.state {
            State::Alone(server) | State::Listening { server, .. } => server.poll_timeout(),
            State::Answered | State::Waiting(_) | State::Reading(_) => None,
        };
        server.into_iter().chain(self.answer.poll_timeout()).chain(self.listening_end()).min()
    }

    /// Time at which the stream is to end with its token, unless that is already due.
    fn listening_end(&self) -> Option<Instant> {
        let ends = self.listens_until != Instant::NEVER && !self.visit_due;
        (ends && self.only_listens()).then_some(self.listens_until)
    }

    /// The id that the client has given to a request that this exchange answers itself; see
    /// [`Server::request_id`].
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        let (State::Alone(server) | State::Listening { server, .. }) = &self.state else {
            return None;
        };
        server.request_id(about)
    }

    /// Returns whether the exchange is complete.
    pub fn is_over(&self) -> bool {
        self.answer.is_over()
            && self.answer.is_empty()
            && !self.needs_endpoint()
            && !matches!(self.state, State::Alone(_) | State::Reading(_) | State::Listening { .. })
    }

    /// Returns whether the exchange has a machine of its own, or gets one by its visit.
    pub(crate) fn has_machine(&self) -> bool {
        match &self.state {
            State::Alone(_) | State::Listening { .. } => true,
            State::Waiting(request) => matches!(**request, Wanted::Listen { .. }),
            State::Answered | State::Reading(_) => false,
        }
    }

    /// Returns whether the exchange has a stream that answers no request.
    pub(super) fn only_listens(&self) -> bool {
        match &self.state {
            State::Listening { .. } => true,
            State::Reading(place) => place.is_common(),
            State::Alone(_) => self.is_forwarded,
            State::Answered | State::Waiting(_) => false,
        }
    }

    /// Returns whether a disconnect of the client cancels the request in flight, as for modern
    /// requests.
    pub(super) fn ends_with_input(&self) -> bool {
        match &self.state {
            State::Alone(_) => self.answer.era == Era::Modern,
            State::Listening { .. } => true,
            State::Waiting(request) => matches!(**request, Wanted::Listen { .. }),
            State::Answered | State::Reading(_) => false,
        }
    }

    /// Takes the actions of the exchange's own machine, until the answer has output or an event
    /// appears.
    fn act(&mut self) -> Option<ServerEvent> {
        let (State::Alone(server) | State::Listening { server, .. }) = &mut self.state else {
            return None;
        };
        let mut happened = None;
        while self.answer.is_empty() && happened.is_none() {
            match server.poll_action() {
                None => break,
                Some(ServerAction::Send { message, step, .. }) => self.answer.send(message, step),
                Some(ServerAction::Unanswered(_)) => self.answer.end(),
                Some(ServerAction::Event(ServerEvent::Closed)) => {}
                Some(ServerAction::Event(event)) => happened = Some(event),
                Some(ServerAction::Close) => {
                    self.answer.give_up(true);
                    // A listener stays at the endpoint until a visit removes it there.
                    if let State::Alone(_) = self.state {
                        self.state = State::Answered;
                    }
                    return None;
                }
            }
        }
        if self.answer.is_over() && server.is_idle() && matches!(self.state, State::Alone(_)) {
            self.state = State::Answered;
        }
        happened
    }
}
