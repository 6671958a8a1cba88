//! Sessions of legacy clients over HTTP: their beginning and their end.
//!
//! In: POST, GET and DELETE of legacy clients, outcomes of handlers, time. Out: the answer to each
//! request, or a position in a [`Stream`](stream::Stream) from which the exchange reads the answer.
//!
//! | request | session | answer |
//! |---|---|---|
//! | `initialize` | none | a new session, if the machine answers with a result; with too many, another one ends ([`tenants`]) |
//! | | any | 400 -32600; 404 if it is unknown |
//! | another POST | none | 400 -32600 |
//! | | unknown, ended, another principal's | 404 |
//! | | live | requests: their stream; notifications and responses: 202 |
//! | GET | live | the stream of what belongs to no request, or that of `Last-Event-ID` |
//! | DELETE | live | 204; the session ends, and with it its requests: an error, but not 404 |
//!
//! [Specification: Session Management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management)

mod clients;
mod directory;
mod early_cancellations;
mod kept_streams;
mod outside;
mod replay;
mod request_context;
mod schedule;
mod session;
mod session_bytes;
mod standing;
mod stream;
mod streams;
mod subscribers;
mod tenants;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::Config;
use super::action::{EndpointAction, Queue};
use super::shares::Holder;
use super::unsent::Unsent;
use crate::error::{ProtocolError, UsageError};
use crate::message::{Incoming, Message, RequestId};
use crate::server::{
    self, Declaration, Notification, Outcome, Reply, ReplyId, Server, is_initialize, request_id,
};
use crate::time::Instant;
use crate::version::{EraPolicy, ProtocolVersion};

use directory::Directory;
use replay::Resumed;
pub(super) use request_context::{
    Field, PostOutcome, RequestContext, SessionHeader, StreamCursor, VersionHeader,
};
use request_context::{check_version, differs};
use schedule::Schedule;
use session::{NO_READER, Session, report_lost};
use standing::HolderListing;
pub(super) use stream::{LastItem, Next};
use stream::{Stream, parse_event_id};
use streams::GET_STREAM;

/// The sessions of an endpoint.
#[expect(clippy::struct_field_names, reason = "they are its sessions")]
pub(super) struct Sessions<W> {
    config: Arc<Config>,
    /// The settings of the sessions' machines.
    server: Arc<server::Config>,
    sessions: Directory<W>,
    schedule: Schedule,
    dropped_replies: u64,
}

impl<W: Clone> Sessions<W> {
    pub(super) fn new(config: Arc<Config>, ids: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        let server =
            server::Config { era_policy: EraPolicy::LegacyOnly, ..(*config.server).clone() };
        Self {
            schedule: Schedule::new(&server),
            config,
            server: Arc::new(server),
            sessions: Directory::new(ids),
            dropped_replies: 0,
        }
    }

    /// Handles a message of a client. An error has the id for its response.
    pub(super) fn post(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        context: &RequestContext,
        incoming: &Incoming,
        me: &W,
        queue: &mut Queue<W>,
    ) -> Result<PostOutcome, (Option<RequestId>, ProtocolError)> {
        let opens = is_initialize(incoming);
        if opens && context.session == SessionHeader::Absent {
            return self.open(now, declaration, context, incoming, me, queue);
        }
        let (key, session) = match self.sessions.of_context(context, self.serves_modern()) {
            Err(error @ ProtocolError::SessionNotFound) => return Err((None, error)),
            Err(error) => return Err((request_id(incoming), error)),
            Ok(_) if opens => {
                return Err((request_id(incoming), ProtocolError::UnexpectedInitialize));
            }
            Ok(found) => found,
        };
        if let Err(error) = check_version(session, context, queue) {
            return Err((request_id(incoming), error));
        }
        session.begin(now);
        let posted = match incoming {
            Incoming::Message(Message::Notification(_) | Message::Response(_)) => {
                session.handle_without_answer(now, incoming, context.extensions.clone(), queue);
                PostOutcome::Accepted
            }
            Incoming::Message(Message::Request(_)) | Incoming::Batch(_) => {
                let priming = session.version().is_some_and(ProtocolVersion::has_polling);
                let (stream, reader) =
                    session.handle_on_stream(now, incoming, context.extensions.clone(), me, queue);
                let place = StreamCursor { session: key, stream, reader, after: 0, priming };
                let is_silent = session.streams.get(stream).is_some_and(Stream::is_silent);
                if is_silent { PostOutcome::Pending(place) } else { PostOutcome::Asked(place) }
            }
        };
        self.schedule.plan(session);
        Ok(posted)
    }

    /// Handles an `initialize` without a session.
    fn open(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        context: &RequestContext,
        incoming: &Incoming,
        me: &W,
        queue: &mut Queue<W>,
    ) -> Result<PostOutcome, (Option<RequestId>, ProtocolError)> {
        let id = request_id(incoming);
        if let Some(error) = differs(context, incoming) {
            return Err((id, error));
        }
        let holder = Holder::new(&self.config, context.principal.as_ref(), context.peer);
        let Self { schedule, sessions, config, .. } = self;
        let admitted = schedule.holders.admit(now, &holder, &config.server.limits, sessions, queue);
        let ends = admitted.map_err(|error| (id.clone(), error))?;
        let (queued, config) = (queue.len(), self.server.clone());
        let principal = context.principal.clone();
        let server = Server::for_session(declaration.clone(), config, principal);
        let mut session = Box::new(Session::new(now, server, HolderListing::new(holder)));
        let (stream, reader) =
            session.handle_on_stream(now, incoming, context.extensions.clone(), me, queue);
        let Some(version) = session.version() else {
            return match session.next_event(stream, reader, 0, me) {
                Some((_, Next::Event { message, status })) => {
                    Ok(PostOutcome::Answered { status: status.unwrap_or(400), message })
                }
                _ => Err((id, ProtocolError::BeforeInitialize { serves_modern: false })),
            };
        };
        self.check_room(&session, queue, queued).map_err(|error| (id, error))?;
        session.shrink_if_idle();
        if let Some(ends) = ends {
            self.end(now, ends, queue);
        }
        let key = self.sessions.mint();
        self.schedule.holders.enter(&mut session);
        self.schedule.plan(&mut session);
        self.sessions.insert(key, session);
        let priming = version.has_polling();
        Ok(PostOutcome::Opened(StreamCursor { session: key, stream, reader, after: 0, priming }))
    }

    /// Handles a GET: the client wants to read a stream.
    pub(super) fn get(
        &mut self,
        now: Instant,
        context: &RequestContext,
        last_event_id: Option<&str>,
        me: &W,
        queue: &mut Queue<W>,
    ) -> Result<StreamCursor, ProtocolError> {
        let (key, session) = self.sessions.of_context(context, self.serves_modern())?;
        check_version(session, context, queue)?;
        let (number, after) = match last_event_id {
            None => (GET_STREAM, None),
            Some(id) => {
                let (stream, after) = parse_event_id(id).ok_or(ProtocolError::UnknownEvent)?;
                (stream, Some(after))
            }
        };
        if number == GET_STREAM {
            session.streams.open_get_stream();
        }
        let reader = session.next_reader();
        let stream = session.streams.get(number).ok_or(ProtocolError::UnknownEvent)?;
        let mut after = after.unwrap_or(stream.before_untaken());
        let resumed = stream.resumes(after);
        let count = match resumed {
            Resumed::Never => return Err(ProtocolError::UnknownEvent),
            Resumed::Exactly => 0,
            Resumed::Without(count) | Resumed::Broken(count) => count,
        };
        report_lost(count, queue);
        let said = stream.count();
        let woken = session.streams.change(number, |stream| stream.attach(reader, me.clone()));
        queue.extend(woken.flatten().map(EndpointAction::Wake));
        if matches!(resumed, Resumed::Broken(_)) && number != GET_STREAM {
            after = said;
            session.give_up(now, number, queue);
        }
        // The session now has a reader for its notifications.
        session.act(now, queue);
        session.begin(now);
        self.schedule.plan(session);
        let priming = session.version().is_some_and(ProtocolVersion::has_polling);
        Ok(StreamCursor { session: key, stream: number, reader, after, priming })
    }

    /// Handles a DELETE: the client ends its session.
    pub(super) fn delete(
        &mut self,
        now: Instant,
        context: &RequestContext,
        queue: &mut Queue<W>,
    ) -> Result<(), ProtocolError> {
        let (_, session) = self.sessions.of_context(context, self.serves_modern())?;
        check_version(session, context, queue)?;
        let scope = session.server.scope();
        self.end(now, scope, queue);
        Ok(())
    }

    /// Takes the answer for a reader, if it is in one piece. The reader is detached then.
    pub(super) fn take_whole(&mut self, now: Instant, at: &StreamCursor) -> Option<(u16, Unsent)> {
        let session = self.sessions.get_mut(&at.session)?;
        let whole = session.streams.take_whole(at.stream, at.reader, at.after)?;
        session.set_used(now);
        self.schedule.plan(session);
        Some(whole)
    }

    /// The next event for a reader, which is `me` from now on.
    pub(super) fn next(&mut self, place: &mut StreamCursor, me: &W) -> Next {
        let Some(session) = self.sessions.get_mut(&place.session) else {
            return Next::Gone(self.sessions.take_last(place));
        };
        let next = session.next_event(place.stream, place.reader, place.after, me);
        let Some((number, next)) = next else { return Next::Gone(None) };
        place.after = number;
        next
    }

    /// Updates the byte counts after a reader has taken events.
    pub(super) fn count(&mut self, place: &StreamCursor) {
        if let Some(session) = self.sessions.get_mut(&place.session) {
            self.schedule.kept.note(session);
        }
    }

    /// See [`Directory::request`].
    pub(super) fn request(&self, place: &StreamCursor) -> Option<RequestId> {
        self.sessions.request(place)
    }

    /// Detaches a reader. If the reader has received everything, the stream is dropped.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        place: &StreamCursor,
        has_received_all: bool,
        queue: &mut Queue<W>,
    ) {
        if let Some(session) = self.sessions.get_mut(&place.session) {
            session.detach(now, place.stream, place.reader, has_received_all, queue);
            self.schedule.plan(session);
        } else {
            self.sessions.take_last(place);
        }
    }

    /// Answers a request. Returns the answer if `reader` reads it, and in one piece. The reader is
    /// detached then.
    pub(super) fn respond(
        &mut self,
        now: Instant,
        reply: Reply,
        outcome: Outcome,
        reader: Option<&StreamCursor>,
        queue: &mut Queue<W>,
    ) -> Option<(u16, Unsent)> {
        let Self { sessions, schedule, dropped_replies, .. } = self;
        let Some((key, session)) = sessions.keyed(reply.id().scope()) else {
            *dropped_replies = dropped_replies.saturating_add(1);
            return None;
        };
        let before = session.server.dropped_replies();
        session.server.respond(now, reply, outcome);
        let dropped = session.server.dropped_replies() - before;
        let reader = reader.filter(|reader| reader.session == key);
        let reader = reader.map_or(NO_READER, |reader| (reader.stream, reader.reader));
        let whole = session.act_for(now, reader, queue);
        schedule.plan(session);
        *dropped_replies = dropped_replies.saturating_add(dropped);
        whole
    }

    pub(super) fn notify(
        &mut self,
        now: Instant,
        about: ReplyId,
        notification: Notification,
        queue: &mut Queue<W>,
    ) -> Result<(), UsageError> {
        let session = self.sessions.of(about).ok_or(UsageError::NotInFlight)?;
        session.server.notify(now, about, notification)?;
        session.act(now, queue);
        self.schedule.kept.note(session);
        Ok(())
    }

    /// Asks the client of a request to poll for the answer.
    pub(super) fn close_stream(
        &mut self,
        about: ReplyId,
        queue: &mut Queue<W>,
    ) -> Result<(), UsageError> {
        let session = self.sessions.of(about).ok_or(UsageError::NotInFlight)?;
        let stream = session.server.stream_of(about).ok_or(UsageError::NotInFlight)?;
        if session.version().is_some_and(ProtocolVersion::has_polling) {
            let woken = session.streams.change(stream.0, Stream::poll);
            queue.extend(woken.flatten().map(EndpointAction::Wake));
        }
        Ok(())
    }

    /// Id of a request that still waits for its handler, otherwise `None`.
    pub(super) fn request_id(&self, about: ReplyId) -> Option<&RequestId> {
        self.sessions.of_request(about)?.server.request_id(about)
    }

    pub(super) fn is_owed(&self, about: ReplyId) -> bool {
        self.sessions.is_owed(about)
    }

    /// Starts the shutdown: no more messages are read, and requests in flight get `Limits::drain`.
    pub(super) fn shutdown(&mut self, now: Instant, queue: &mut Queue<W>) {
        for session in self.sessions.iter_mut() {
            session.server.handle_eof(now);
            session.act(now, queue);
            let limits = session.server.limits();
            let wake = session.streams.change(GET_STREAM, |stream| stream.finish(now, limits));
            queue.extend(wake.flatten().map(EndpointAction::Wake));
            self.schedule.plan(session);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, queue: &mut Queue<W>) {
        while let Some(scope) = self.schedule.expire(now) {
            let Some(session) = self.sessions.of_scope(scope) else { continue };
            session.scheduled = Instant::NEVER;
            if session.ends() <= now {
                self.end(now, scope, queue);
                continue;
            }
            session.server.handle_timeout(now);
            session.act_quietly(now, queue);
            // This must follow everything that uses the session. Otherwise its deadline stays due,
            // and the session is checked for ever.
            session.shrink_if_due(now);
            self.schedule.plan(session);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.next()
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn dropped_replies(&self) -> u64 {
        self.dropped_replies
    }

    /// Ends a session and all its streams.
    fn end(&mut self, now: Instant, scope: usize, queue: &mut Queue<W>) {
        let Some(mut session) = self.sessions.remove(scope) else { return };
        self.schedule.leave(&mut session);
        session.server.handle_disconnect(now);
        session.act(now, queue);
        session.finish_streams(now, queue);
    }

    /// Drops events that are kept for resumption, the oldest first, until the rest fits.
    pub(super) fn make_room(&mut self, now: Instant, queue: &mut Queue<W>) {
        let Self { schedule, sessions, .. } = self;
        let mut excess = schedule.kept.excess();
        while let Some(scope) = excess
            && let Some(session) = sessions.of_scope(scope)
        {
            session.forget_oldest(now, queue);
            schedule.plan(session);
            excess = schedule.kept.excess_and_more();
        }
    }

    /// The revision of errors for a client: that of its session, or the one that its head names.
    pub(super) fn revision_of(&mut self, context: &RequestContext) -> ProtocolVersion {
        let found = self.sessions.of_context(context, self.serves_modern());
        let version = found.ok().and_then(|(_, session)| session.version());
        version.or_else(|| context.version.legacy().ok()?).unwrap_or(ProtocolVersion::LATEST_LEGACY)
    }

    fn serves_modern(&self) -> bool {
        self.config.policy() != EraPolicy::LegacyOnly
    }
}

impl<W> fmt::Debug for Sessions<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("config", &self.config).finish_non_exhaustive()
    }
}
