//! Visits of an exchange to the endpoint.

use alloc::boxed::Box;

use super::super::endpoint::Endpoint;
use super::super::sessions::{LastItem, Next, PostOutcome, RequestContext, StreamCursor};
use super::super::shares::Holder;
use super::scopes::sender;
use super::wanted::Wanted;
use super::{Exchange, State};
use crate::error::ProtocolError;
use crate::frame::http1::Head;
use crate::headers::MirroredHeaders;
use crate::message::Incoming;
use crate::resource_server::Claims;
use crate::server::{Extensions, MessageSource, Outcome, Peer, Reply, Server, request_id};
use crate::time::{Duration, Instant};
use crate::version::{Era, ProtocolVersion};

/// The most bytes that one visit takes.
const VISIT: usize = 256 * 1024;

/// The shortest time for which a stream listens. A client that opens it again with a token in the
/// leeway of its end would otherwise do so without a pause.
const MIN_LISTENING: Duration = Duration::from_secs(60);

impl Exchange {
    /// Returns whether a visit is due, in addition to the visits that the endpoint wakes for.
    pub fn needs_endpoint(&self) -> bool {
        match &self.state {
            State::Waiting(_) => true,
            State::Reading(_) => self.visit_due || self.gone,
            // The machine may have ended the subscription by itself, as it does if no task is
            // found.
            State::Listening { .. } => self.gone || self.visit_due || self.answer.is_over(),
            State::Answered | State::Alone(_) => false,
        }
    }

    /// Visits the endpoint, which wakes `me` when another visit is due, in place of the handle of
    /// an earlier visit. A visit is allowed at any time. The caller takes the actions of the
    /// exchange and of the endpoint afterwards. Do not visit while the client does not read and the
    /// exchange still has output: the messages stay queued at the endpoint.
    pub fn visit<W: Clone>(&mut self, now: Instant, endpoint: &mut Endpoint<W>, me: &W) {
        match core::mem::replace(&mut self.state, State::Answered) {
            State::Waiting(request) => {
                self.ask(now, endpoint, me, &request);
                // No other visit follows for a client that is gone.
                if let State::Reading(place) = &self.state
                    && self.gone
                {
                    endpoint.leave(now, place, false);
                    self.state = State::Answered;
                }
            }
            State::Reading(place) if self.gone => endpoint.leave(now, &place, false),
            State::Reading(place) => self.read(now, endpoint, me, place, true),
            State::Listening { listener, .. } if self.gone => endpoint.listeners.remove(listener),
            State::Listening { server, listener } if self.answer.is_over() => {
                endpoint.listeners.remove(listener);
                self.state = State::Alone(server);
            }
            State::Listening { mut server, listener } => {
                let mut pending = endpoint.listeners.take(listener, me);
                if now >= self.listens_until && pending.changes.is_empty() {
                    // A result would end the subscription. A client whose stream breaks off opens
                    // it again, with a new token.
                    endpoint.listeners.remove(listener);
                    return self.answer.end();
                }
                server.adopt(&endpoint.declaration);
                while let Some(change) = pending.changes.pop_first() {
                    // The endpoint has checked that the change is declared.
                    let _ = server.publish(now, &change);
                }
                if pending.ends {
                    endpoint.listeners.remove(listener);
                    server.handle_eof(now);
                    self.state = State::Alone(server);
                } else {
                    self.state = State::Listening { server, listener };
                }
            }
            state @ (State::Answered | State::Alone(_)) => self.state = state,
        }
        endpoint.make_room(now);
    }

    /// Visits the endpoint with the outcome of a request: does the same as [`Endpoint::respond`]
    /// and then [`Exchange::visit`]. If the exchange waits for this answer, it costs less.
    pub fn visit_with<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        me: &W,
        reply: Reply,
        outcome: Outcome,
    ) {
        let mut reader = None;
        if let State::Reading(place) = &self.state
            && self.answer.is_undecided()
            && !self.gone
        {
            reader = Some(place);
        }
        let Endpoint { sessions, queue, .. } = &mut *endpoint;
        match sessions.respond(now, reply, outcome, reader, queue) {
            Some((status, message)) => {
                self.visit_due = false;
                self.state = State::Answered;
                self.answer.finish(status, message, None);
                endpoint.make_room(now);
            }
            None => self.visit(now, endpoint, me),
        }
    }

    fn ask<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        me: &W,
        request: &Wanted,
    ) {
        if endpoint.closing {
            let id = request.request_id();
            let version = ProtocolVersion::LATEST_LEGACY;
            return self.answer.error(version, id, &ProtocolError::ShuttingDown);
        }
        let Endpoint { declaration, sessions, queue, .. } = &mut *endpoint;
        match request {
            Wanted::Post { context, incoming } => {
                self.answer.era = Era::Legacy;
                let RequestContext { principal, extensions, .. } = context;
                let caller = || match sessions.client_of(context) {
                    Some(client) => Peer { extensions: extensions.clone(), ..client.clone() },
                    None => sender(sessions.revision_of(context), principal.as_ref(), extensions),
                };
                if self.lacks_scopes(declaration, incoming, extensions, caller) {
                    return;
                }
                match sessions.post(now, declaration, context, incoming, me, queue) {
                    Ok(PostOutcome::Accepted) => self.answer.accept(),
                    Ok(PostOutcome::Answered { status, message }) => {
                        self.answer.finish(status, message, None);
                    }
                    Ok(PostOutcome::Asked(place)) => self.read(now, endpoint, me, place, false),
                    Ok(PostOutcome::Pending(place)) => self.state = State::Reading(place),
                    Ok(PostOutcome::Opened(place)) => {
                        self.answer.session = Some(place.session_id());
                        self.read(now, endpoint, me, place, false);
                    }
                    Err((id, error)) => {
                        self.answer.error(sessions.revision_of(context), id, &error);
                    }
                }
            }
            Wanted::Get { context, last_event_id } => {
                match sessions.get(now, context, last_event_id.as_deref(), me, queue) {
                    Ok(place) => self.open_stream(now, endpoint, me, place, &context.extensions),
                    Err(error) => self.answer.error(sessions.revision_of(context), None, &error),
                }
            }
            Wanted::Delete { context } => match sessions.delete(now, context, queue) {
                Ok(()) => self.answer.done(),
                Err(error) => self.answer.error(sessions.revision_of(context), None, &error),
            },
            Wanted::Listen { incoming, head, principal, extensions, peer } => {
                let holder = Holder::new(&self.config, principal.as_ref(), *peer);
                let (config, principal) = (self.config.server.share(), principal.clone());
                let mut server = Server::modern_exchange(declaration.clone(), config, principal);
                server.set_extensions(extensions.clone());
                self.listen_until(now, extensions);
                self.listen(now, endpoint, (me, holder), Box::new(server), incoming, head);
            }
        }
    }

    /// Begins the stream of a GET.
    fn open_stream<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        me: &W,
        place: StreamCursor,
        extensions: &Extensions,
    ) {
        self.listen_until(now, extensions);
        self.answer.stream(place.priming(place.after()).as_deref());
        self.read(now, endpoint, me, place, false);
    }

    /// Sets the end of a stream that only listens: that of the client's token.
    fn listen_until(&mut self, now: Instant, extensions: &Extensions) {
        let time_left = extensions.get::<Claims>().and_then(|claims| claims.time_left);
        let end = time_left.map(|time_left| now + time_left.max(MIN_LISTENING));
        self.listens_until = end.unwrap_or(Instant::NEVER);
    }

    fn listen<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        (me, holder): (&W, Holder),
        mut server: Box<Server>,
        incoming: &Incoming,
        head: &Head,
    ) {
        let id = request_id(incoming);
        let mirrored = MirroredHeaders::of_raw(head.raw_fields());
        let source = MessageSource::modern(&mirrored, self.config.policy(), None);
        server.handle_message_from(now, incoming, source);
        let Some(filter) = server.filter() else {
            self.is_forwarded = true;
            self.state = State::Alone(server);
            return;
        };
        let limits = &self.config.server.limits;
        let (actions, admitted) = endpoint.listeners.admit(now, &holder, &filter, limits);
        endpoint.queue.extend(actions);
        match admitted {
            Ok(()) => {
                let listener = endpoint.listeners.add(me.clone(), holder, filter);
                self.state = State::Listening { server, listener };
            }
            // The machine has already acknowledged the request; dropping the machine drops the
            // acknowledgement.
            Err(error) => self.answer.error(ProtocolVersion::LATEST_MODERN, id, &error),
        }
    }

    /// Takes the available events of a stream; `waited` is true if the exchange had to wait for
    /// events.
    fn read<W: Clone>(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<W>,
        me: &W,
        mut place: StreamCursor,
        waited: bool,
    ) {
        self.visit_due = false;
        if self.answer.is_undecided()
            && let Some((status, message)) = endpoint.sessions.take_whole(now, &place)
        {
            return self.answer.finish(status, message, None);
        }
        if endpoint.closing {
            self.answer.waiting = endpoint.sessions.request(&place).map(Box::new);
        }
        let mut taken = 0;
        loop {
            if taken >= VISIT {
                self.visit_due = true;
                break;
            }
            let before = place.after();
            match endpoint.sessions.next(&mut place, me) {
                Next::Nothing => break,
                Next::Event { message, status: Some(status) } => {
                    self.answer.finish(status, message, Some(place.event_id()));
                    return endpoint.leave(now, &place, false);
                }
                Next::Event { message, status: None } => {
                    taken += message.len();
                    let first = place.priming(before);
                    self.answer.send_event(Some(place.event_id()), message, first.as_deref());
                }
                Next::Poll => {
                    let retry = self.config.server.limits.retry;
                    self.answer.retry(retry, place.priming(before).as_deref());
                    return endpoint.leave(now, &place, false);
                }
                next @ (Next::End | Next::Cancelled) => {
                    let is_cut_off = endpoint.closing && matches!(next, Next::End);
                    // A request may be cancelled before it arrives. A batch may have no request.
                    let waited = waited || endpoint.sessions.request(&place).is_some();
                    self.end_stream(is_cut_off, waited);
                    return endpoint.leave(now, &place, true);
                }
                Next::Gone(last) => return self.end_with_session(last, waited),
            }
        }
        if place.is_common() && now >= self.listens_until {
            self.answer.end();
            return endpoint.leave(now, &place, false);
        }
        endpoint.sessions.count(&place);
        self.state = State::Reading(place);
    }

    /// Ends the answer, since the session has ended. A handler may have the request: a client that
    /// is sent 404 would send it again.
    fn end_with_session(&mut self, last: Option<LastItem>, waited: bool) {
        let version = ProtocolVersion::LATEST_LEGACY;
        match last {
            Some(LastItem::Answer { status, message }) => self.answer.finish(status, message, None),
            Some(LastItem::CutOff(id)) => self.answer.error(version, id, &ProtocolError::CutOff),
            Some(LastItem::End) => self.end_stream(false, waited),
            None if self.answer.is_undecided() => {
                self.answer.error(version, None, &ProtocolError::SessionNotFound);
            }
            None => self.answer.end(),
        }
    }

    fn end_stream(&mut self, is_cut_off: bool, waited: bool) {
        // A session that ends with its server sends nothing more about a request.
        if is_cut_off {
            return self.answer.give_up(true);
        }
        // "If the input is a JSON-RPC request, the server MUST either return
        // `Content-Type: text/event-stream` […] or `application/json`"; a cancelled request has
        // no answer.
        if waited && self.answer.is_undecided() {
            self.answer.stream(None);
        }
        self.answer.end();
    }
}
