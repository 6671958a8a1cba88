//! One HTTP request and its answer.
//!
//! In: a head and a body, however they were read; outcomes of handlers; time; visits to the
//! [`Endpoint`]. Out: the head and the body of the answer, and events. It works behind any HTTP
//! stack; [`Connection`](super::Connection) is for those who have a socket alone.
//!
//! | request | state | leaves by |
//! |---|---|---|
//! | refused by a step; a notification | answered | |
//! | modern, or of a legacy client without a session | `Alone`: a machine of its own | its answer, a disconnect |
//! | of a session, GET, DELETE, `subscriptions/listen` | `Waiting` for a visit | the visit |
//! | in a session | `Reading` a stream of the endpoint's | the end of the stream, a disconnect |
//! | `subscriptions/listen` | `Listening` | its result, a disconnect |
//!
//! The answer is `application/json` if the first thing to say is the response, and a stream of
//! events as soon as anything precedes it, or after `Limits::keep_alive` of silence.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

mod answer;
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
use super::config::Sessions;
use super::listeners::ListenerId;
use super::refused::Refused;
use super::sessions::{RequestContext, StreamCursor};
use crate::error::UsageError;
use crate::frame::http1::{Head, ResponseHead};
use crate::headers::MirroredHeaders;
use crate::message::RequestId;
use crate::message::{self, Incoming, Message};
use crate::negotiate::{self, Opened, Route};
use crate::server::{
    self, Declaration, MessageSource, Notification, Outcome, Reply, ReplyId, Server, ServerAction,
    ServerEvent, StreamId,
};
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

use answer::Answer;
use wanted::Wanted;

/// One HTTP request and its answer.
#[derive(Debug)]
pub struct Exchange {
    config: Arc<Config>,
    state: State,
    answer: Answer,
    /// True if there is more to read from the endpoint than was taken.
    more: bool,
    /// True if the client is gone.
    gone: bool,
}

#[derive(Debug)]
enum State {
    /// All is said, or will be with what is queued.
    Answered,
    /// A machine of its own answers.
    Alone(Box<Server>),
    /// The endpoint is to be asked.
    Waiting(Box<Wanted>),
    /// The endpoint has the answer, or will have it.
    Reading(StreamCursor),
    /// The endpoint has the changes.
    Listening { server: Box<Server>, listener: ListenerId },
}

impl Exchange {
    /// Begins an exchange with what has been read of the request.
    pub fn new(
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        head: &Head,
        body: &Bytes,
    ) -> Self {
        match admit(config, head) {
            Ok(admitted) => Self::admitted(now, declaration, config, admitted, head, body),
            Err(refused) => Self::refused(config, refused),
        }
    }

    /// One that is over: the answer to a head that no body could mend.
    pub(crate) fn refused(config: &Arc<Config>, refused: Box<Refused>) -> Self {
        let mut exchange = Self::begin(Instant::NEVER, config, super::refused::Cors::default());
        exchange.answer.refuse(refused);
        exchange
    }

    /// One whose body the server has no room for.
    pub(super) fn refused_full(config: &Arc<Config>, admitted: &Admitted) -> Self {
        Self::refused(config, admitted.refuse_full(config))
    }

    /// One whose head is good.
    pub(crate) fn admitted(
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        admitted: Admitted,
        head: &Head,
        body: &Bytes,
    ) -> Self {
        let Admitted { method, caller, cors } = admitted;
        let mut exchange = Self::begin(now + config.server.limits.keep_alive, config, cors);
        match method {
            Method::Post => exchange.post(now, declaration, head, body, caller),
            Method::Get => {
                let last_event_id = head.field("last-event-id");
                let last_event_id = last_event_id.map(String::from_utf8_lossy);
                let last_event_id = last_event_id.map(alloc::borrow::Cow::into_owned);
                exchange.want(Wanted::Get { caller, last_event_id });
            }
            Method::Delete => exchange.want(Wanted::Delete { caller }),
        }
        exchange
    }

    fn begin(silent_until: Instant, config: &Arc<Config>, cors: super::refused::Cors) -> Self {
        Self {
            config: config.clone(),
            state: State::Answered,
            answer: Answer::new(silent_until, cors),
            more: false,
            gone: false,
        }
    }

    fn want(&mut self, wanted: Wanted) {
        self.state = State::Waiting(Box::new(wanted));
    }

    /// The address of the client, which limits per holder count by. To be set before the first
    /// visit; without it, and without a principal, the client has no limit of its own.
    pub fn set_peer(&mut self, peer: IpAddr) {
        if let State::Waiting(wanted) = &mut self.state {
            wanted.set_peer(peer);
        }
    }

    /// The steps json, shape and era.
    fn post(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        head: &Head,
        body: &Bytes,
        caller: RequestContext,
    ) {
        let incoming = match message::parse(body, &self.config.server.limits) {
            Ok(incoming) => incoming,
            Err(malformed) => {
                let id = malformed.id.filter(|_| malformed.answerable);
                return self.answer.error(
                    caller.version.spoken(caller.session),
                    id,
                    &malformed.error,
                );
            }
        };
        let policy = self.config.policy();
        let opened =
            if caller.version.is_modern() { Opened::ModernExchange } else { Opened::Exchange };
        let (kind, claim) = server::facts(&incoming);
        let row = negotiate::classify(opened, policy, kind, claim);
        match row.map_or(Route::Drop, |row| row.then) {
            Route::Drop => self.answer.accept(),
            Route::Modern => self.modern(now, declaration, head, incoming, caller),
            Route::Legacy if self.config.sessions == Sessions::Stateless => {
                self.stateless(now, declaration, incoming, caller);
            }
            Route::Legacy => self.want(Wanted::Post { caller, incoming }),
            Route::Reject(refusal) => {
                let (id, error) = server::refusal(refusal, policy, incoming);
                self.answer.error(caller.version.spoken(caller.session), id, &error);
            }
        }
    }

    fn modern(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        head: &Head,
        incoming: Incoming,
        caller: RequestContext,
    ) {
        let RequestContext { principal, extensions, .. } = caller;
        let version = || ProtocolVersion::LATEST_MODERN;
        if self.lacks_scopes(declaration, version, &incoming, &extensions) {
            return;
        }
        if let Incoming::Message(Message::Request(request)) = &incoming
            && matches!(request.method, message::Method::Listen)
        {
            let head = Box::new(head.clone());
            return self.want(Wanted::Listen { incoming, head, principal, peer: None });
        }
        if let Incoming::Message(Message::Notification(_)) = &incoming {
            self.answer.accept();
        }
        let config = self.config.server.share();
        let mut server = Box::new(Server::exchange(declaration.clone(), config, principal));
        server.set_extensions(extensions);
        let mirrored = MirroredHeaders::of_raw(head.raw_fields());
        let source = MessageSource::modern(&mirrored, self.config.policy());
        server.handle_message_from(now, incoming, source);
        self.state = State::Alone(server);
    }

    /// A legacy client's request that stands alone.
    fn stateless(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        incoming: Incoming,
        caller: RequestContext,
    ) {
        self.answer.era = Era::Legacy;
        let version = match caller.version.legacy() {
            // "the server SHOULD assume protocol version 2025-03-26"
            Ok(version) => version.unwrap_or(ProtocolVersion::V2025_03_26),
            Err(error) => {
                let id = server::request_id(&incoming);
                return self.answer.error(ProtocolVersion::LATEST_LEGACY, id, &error);
            }
        };
        if self.lacks_scopes(declaration, || version, &incoming, &caller.extensions) {
            return;
        }
        if let Incoming::Message(Message::Notification(_) | Message::Response(_)) = &incoming {
            self.answer.accept();
        }
        let config = self.config.server.share();
        let declaration = declaration.clone();
        let server = Server::stateless(declaration, config, caller.principal, &incoming, version);
        let mut server = Box::new(server);
        server.set_extensions(caller.extensions);
        server.handle_message_from(now, incoming, MessageSource::legacy(Some(StreamId(1))));
        self.state = State::Alone(server);
    }

    /// The client is gone. A modern request is cancelled by that; one of a session is not. A visit
    /// is due afterwards, if [`Exchange::needs_endpoint`] says so.
    pub fn handle_disconnect(&mut self, now: Instant) {
        self.gone = true;
        self.answer.close();
        match &mut self.state {
            // "Disconnection SHOULD NOT be interpreted as the client cancelling its request."
            State::Alone(_) if self.answer.era == Era::Legacy => {}
            State::Alone(server) => server.handle_disconnect(now),
            // What it wants, it wants to be told.
            State::Waiting(wanted)
                if matches!(**wanted, Wanted::Listen { .. } | Wanted::Get { .. }) =>
            {
                self.state = State::Answered;
            }
            // Of the endpoint's; a visit takes it back.
            State::Answered | State::Waiting(_) | State::Reading(_) | State::Listening { .. } => {}
        }
    }

    /// The server is to stop: its own handlers get `Limits::drain`. A visit may be due.
    pub fn shutdown(&mut self, now: Instant) {
        match &mut self.state {
            State::Alone(server) => {
                self.answer.waiting = server.only_call().cloned().map(Box::new);
                server.handle_eof(now);
            }
            State::Waiting(wanted) => self.answer.waiting = wanted.request_id().map(Box::new),
            // The endpoint knows which request it is.
            State::Reading(_) => self.more = true,
            State::Answered | State::Listening { .. } => {}
        }
    }

    /// There is no time left: what is not answered is not going to be.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.answer.give_up();
        self.gone = true;
        match &mut self.state {
            State::Alone(server) | State::Listening { server, .. } => server.handle_disconnect(now),
            State::Waiting(_) => self.state = State::Answered,
            State::Answered | State::Reading(_) => {}
        }
    }

    /// Answers a request that does not [belong to a session](Reply::is_shared). Another answer is
    /// dropped.
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        if let State::Alone(server) = &mut self.state {
            server.respond(now, reply, outcome);
        }
    }

    /// Tells the client about such a request; see [`Server::notify`].
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

    /// It is `now`; due deadlines take effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let State::Alone(server) = &mut self.state {
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

    /// The next action, unless it begins an answer in one piece: [`Exchange::take_whole`] has that.
    #[inline]
    pub fn poll_part(&mut self) -> Option<ExchangeAction> {
        if self.answer.is_empty()
            && let Some(event) = self.act()
        {
            return Some(ExchangeAction::Event(event));
        }
        self.answer.pop()
    }

    /// The answer, head and body, if it is in one piece and no action comes before it: its length is
    /// known, so that it needs no chunks.
    #[inline]
    pub fn take_whole(&mut self) -> Option<(ResponseHead, Option<Bytes>)> {
        self.answer.take_whole()
    }

    /// Latest time for the next call of [`Exchange::handle_timeout`]; `None` without a deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let server = match &self.state {
            State::Alone(server) => server.poll_timeout(),
            State::Answered | State::Waiting(_) | State::Reading(_) | State::Listening { .. } => {
                None
            }
        };
        server.into_iter().chain(self.answer.poll_timeout()).min()
    }

    /// The id that the client has given to a request of this exchange's own; see
    /// [`Server::request_id`].
    pub fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        let (State::Alone(server) | State::Listening { server, .. }) = &self.state else {
            return None;
        };
        server.request_id(about)
    }

    /// Returns whether all is said and done.
    pub fn is_over(&self) -> bool {
        self.answer.is_over()
            && self.answer.is_empty()
            && !self.needs_endpoint()
            && !matches!(self.state, State::Alone(_) | State::Reading(_) | State::Listening { .. })
    }

    /// Returns whether it has a stream that answers no request.
    pub(super) fn only_listens(&self) -> bool {
        match &self.state {
            State::Listening { .. } => true,
            State::Reading(place) => place.is_common(),
            State::Answered | State::Alone(_) | State::Waiting(_) => false,
        }
    }

    /// Returns whether the client's going away cancels what is in flight, as it does for modern
    /// ones.
    pub(super) fn ends_with_input(&self) -> bool {
        match &self.state {
            State::Alone(_) => self.answer.era == Era::Modern,
            State::Listening { .. } => true,
            State::Waiting(wanted) => matches!(**wanted, Wanted::Listen { .. }),
            State::Answered | State::Reading(_) => false,
        }
    }

    /// Takes the actions of its own machine, until there is something to take here, or an event.
    fn act(&mut self) -> Option<ServerEvent> {
        let (State::Alone(server) | State::Listening { server, .. }) = &mut self.state else {
            return None;
        };
        let mut happened = None;
        while self.answer.is_empty() && happened.is_none() {
            match server.poll_action() {
                None => break,
                Some(ServerAction::Send { message, step, .. }) => self.answer.say(&message, step),
                Some(ServerAction::Unanswered(_)) => self.answer.end(),
                Some(ServerAction::Event(ServerEvent::Closed)) => {}
                Some(ServerAction::Event(event)) => happened = Some(event),
                Some(ServerAction::Close) => {
                    self.answer.give_up();
                    // A listener is the endpoint's as well, until a visit ends it.
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
