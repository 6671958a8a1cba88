//! A session of a legacy client: a machine, and its streams.
//!
//! In: messages of the client, outcomes of handlers, time. Out: events on streams, readers to wake,
//! and events for the application.
//!
//! Messages about a request are sent on the stream of its POST. All other messages are sent on the
//! stream of the GET, number 0. While the GET stream has no reader, its messages are stored there.
//! Changes are stored in the machine, which merges repeated ones.

use super::super::action::{EndpointAction, Queue};
use super::super::status;
use super::super::unsent::Unsent;
use super::early_cancellations::EarlyCancellations;
use super::replay::{EventKind, ReplayEvent};
use super::standing::{BudgetShare, HolderListing, Use};
use super::stream::{Next, Stream};
use super::streams::{GET_STREAM, Streams};
use crate::limits::Limits;
use crate::message::{ErrorData, Incoming, Outgoing};
use crate::server::{
    CancelCause, Extensions, MessageSource, Server, ServerAction, ServerEvent, StreamId,
    cancelled_id, request_id,
};
use crate::time::{Duration, Instant};
use crate::version::{Era, ProtocolVersion};

/// Idle time after which a session frees memory that it does not need.
const IDLE_DELAY: Duration = Duration::from_secs(1);

/// The most unread bytes of events to which a notification is added while the endpoint has no room
/// for new work.
const MAX_UNREAD_IF_TIGHT: usize = 16 * 1024;

/// A stream and a reader of it that never exist: readers count from 1.
pub(super) const NO_READER: (u64, u64) = (GET_STREAM, 0);

#[derive(Debug)]
pub(super) struct Session<W> {
    pub(super) server: Server,
    pub(super) streams: Streams<W>,
    /// Number of the last stream, without the GET stream.
    last_stream: u64,
    early_cancellations: EarlyCancellations,
    /// Number of readers so far. A reader's number may outlive its stream, so no number is used
    /// twice.
    readers: u64,
    /// Time of the client's last activity, or of its last request in flight.
    used: Instant,
    /// True if the client has used the session since `initialize`.
    begun: bool,
    /// True if the session has freed the memory that it does not need.
    has_shrunk: bool,
    /// Time of the session's next check; see `Schedule`.
    pub(super) scheduled: Instant,
    /// Memory of the session after its last event; see `SessionBytes`.
    pub(super) budget_share: BudgetShare,
    pub(super) listing: HolderListing,
    /// True if the session is one of the `Subscribers`.
    pub(super) is_subscriber: bool,
}

impl<W: Clone> Session<W> {
    pub(super) fn new(now: Instant, server: Server, listing: HolderListing) -> Self {
        Self {
            server,
            streams: Streams::default(),
            last_stream: 0,
            early_cancellations: EarlyCancellations::default(),
            readers: 0,
            used: now,
            begun: false,
            has_shrunk: false,
            scheduled: Instant::NEVER,
            budget_share: BudgetShare::NONE,
            listing,
            is_subscriber: false,
        }
    }

    /// Handles a message that is answered on a stream of its own, which `me` reads. Returns the
    /// stream and the reader.
    pub(super) fn handle_on_stream(
        &mut self,
        now: Instant,
        incoming: &Incoming,
        extensions: Extensions,
        me: &W,
        queue: &mut Queue<W>,
    ) -> (u64, u64) {
        self.last_stream += 1;
        let stream = self.last_stream;
        let id = request_id(incoming);
        let is_cancelled = id.as_ref().is_some_and(|id| self.early_cancellations.begin(now, id));
        let reader = self.next_reader();
        self.streams.open(stream, id, Some((reader, me.clone())));
        let source = MessageSource::legacy(Some(StreamId(stream)));
        self.handle(now, incoming, extensions, source);
        if is_cancelled {
            self.cancel(incoming);
        }
        self.act(now, queue);
        (stream, reader)
    }

    /// Cancels a request that the client has cancelled before.
    #[cold]
    fn cancel(&mut self, incoming: &Incoming) {
        if let Some(id) = request_id(incoming) {
            self.server.abandon(&id, CancelCause::Client(None));
        }
    }

    /// The number for the next reader.
    pub(super) fn next_reader(&mut self) -> u64 {
        self.readers += 1;
        self.readers
    }

    /// Handles a message that gets no answer.
    pub(super) fn handle_without_answer(
        &mut self,
        now: Instant,
        incoming: &Incoming,
        extensions: Extensions,
        queue: &mut Queue<W>,
    ) {
        if let Some(id) = cancelled_id(incoming).filter(|id| !self.server.has_in_flight(id)) {
            self.early_cancellations.cancel(now, &id);
        }
        self.handle(now, incoming, extensions, MessageSource::legacy(None));
        self.act(now, queue);
        self.shrink_if_idle();
    }

    /// Handles a message with the values for its handlers.
    fn handle(
        &mut self,
        now: Instant,
        incoming: &Incoming,
        extensions: Extensions,
        source: MessageSource<'_, '_>,
    ) {
        self.server.set_extensions(extensions);
        self.server.handle_message_from(now, incoming, source);
        self.server.set_extensions(Extensions::default());
    }

    /// Frees memory at once if the session is idle.
    pub(super) fn shrink_if_idle(&mut self) {
        if self.server.is_idle() {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        self.has_shrunk = true;
        self.server.shrink();
        self.streams.shrink();
    }

    /// Records that the client has used the session.
    pub(super) fn begin(&mut self, now: Instant) {
        self.begun = true;
        self.used = now;
    }

    /// Carries out the machine's actions.
    pub(super) fn act(&mut self, now: Instant, queue: &mut Queue<W>) {
        self.act_for(now, NO_READER, queue);
    }

    /// Carries out the machine's actions. If this reader waits for the first event of this stream,
    /// and the event is an answer, removes the stream and returns the answer. Through the stream, a
    /// call over HTTP costs 3 % more.
    pub(super) fn act_for(
        &mut self,
        now: Instant,
        (awaited, reader): (u64, u64),
        queue: &mut Queue<W>,
    ) -> Option<(u16, Unsent)> {
        let mut whole = None;
        let has_get_reader = self.streams.get(GET_STREAM).is_some_and(Stream::is_read);
        loop {
            let server = &mut self.server;
            let action = if has_get_reader { server.poll_action() } else { server.poll_queued() };
            let Some(action) = action else { break };
            match action {
                ServerAction::Send { message, stream, step } => {
                    let status = step.map_or(200, |step| status(step, Era::Legacy));
                    let stream = stream.map_or(GET_STREAM, |stream| stream.0);
                    let kind = kind(&message, status);
                    let message = Unsent::new(message);
                    let waits = |found: &Stream<W>| stream == awaited && found.waits(reader);
                    if kind.status().is_some() && self.streams.get(stream).is_some_and(waits) {
                        self.streams.remove(stream);
                        whole = Some((status, message));
                    } else {
                        self.push_event(now, stream, ReplayEvent { message, kind }, queue);
                    }
                }
                ServerAction::Unanswered(stream) => {
                    let (limits, cancelled) = (self.server.limits(), self.server.is_open());
                    let finish =
                        |stream: &mut Stream<W>| stream.finish_unanswered(now, limits, cancelled);
                    let wake = self.streams.change(stream.0, finish);
                    queue.extend(wake.flatten().map(EndpointAction::Wake));
                }
                ServerAction::Event(ServerEvent::Closed) | ServerAction::Close => {}
                ServerAction::Event(event) => queue.push_back(EndpointAction::Event(event)),
            }
        }
        self.used = now;
        self.has_shrunk = false;
        self.forget_streams(now, queue);
        whole
    }

    /// Does the same as [`Self::act`], without recording a use of the session by the client.
    pub(super) fn act_quietly(&mut self, now: Instant, queue: &mut Queue<W>) {
        let used = self.used;
        self.act(now, queue);
        self.used = used;
    }

    /// Frees memory, if the session was idle for a moment.
    pub(super) fn shrink_if_due(&mut self, now: Instant) {
        if self.shrink_time() <= now {
            self.shrink();
        }
    }

    fn shrink_time(&self) -> Instant {
        if self.has_shrunk { Instant::NEVER } else { self.used + IDLE_DELAY }
    }

    fn push_event(&mut self, now: Instant, stream: u64, event: ReplayEvent, queue: &mut Queue<W>) {
        if event.kind == EventKind::Notification && !self.has_room_for(&event.message) {
            return report_lost(1, queue);
        }
        if stream == GET_STREAM {
            self.streams.open_get_stream();
        }
        let limits = self.server.limits();
        let pushed = self.streams.change(stream, |stream| {
            let (wake, lost) = stream.push_event(now, event, limits);
            (wake, lost, stream.has_unread_oversized())
        });
        let Some((wake, lost, has_unread_oversized)) = pushed else { return };
        if let Some(wake) = wake {
            queue.push_back(EndpointAction::Wake(wake));
        }
        let count = lost + self.streams.make_room(limits.max_replay_bytes);
        report_lost(count, queue);
        if has_unread_oversized {
            self.release(now, stream, queue);
        }
    }

    /// Returns whether a notification may be stored. Events for a connected reader are never
    /// dropped to make room, so a client that does not read gets no more of them.
    fn has_room_for(&self, notification: &Unsent) -> bool {
        self.streams.awaited() <= MAX_UNREAD_IF_TIGHT || self.server.has_room(notification.len())
    }

    /// Drops the events that are too long to be kept, if their reader is gone.
    fn release(&mut self, now: Instant, number: u64, queue: &mut Queue<W>) {
        if !self.streams.get(number).is_some_and(Stream::has_unread_oversized) {
            return;
        }
        let dropped = self.streams.change(number, Stream::forget_oversized);
        let (count, has_answer) = dropped.unwrap_or_default();
        report_lost(count, queue);
        if has_answer {
            self.answer_lost(now, number, TOO_LONG, queue);
        }
    }

    /// The session's share of the endpoint's budget.
    pub(super) fn budget_share(&self) -> BudgetShare {
        let work = self.server.session_bytes().saturating_add(self.streams.awaited());
        let (replay, since) = self.streams.replay();
        BudgetShare { work, replay, since }
    }

    /// Drops the events kept for resumption on the stream with the oldest last event. An answer is
    /// dropped with its stream.
    pub(super) fn forget_oldest(&mut self, now: Instant, queue: &mut Queue<W>) {
        report_lost(self.streams.forget_oldest(), queue);
        self.forget_streams(now, queue);
    }

    /// The next item for a reader of a stream; see [`Stream::next`].
    pub(super) fn next_event(
        &mut self,
        number: u64,
        reader: u64,
        after: u64,
        wake: &W,
    ) -> Option<(u64, Next)> {
        let limits = self.server.limits();
        self.streams.change(number, |stream| stream.next(reader, after, wake, limits))
    }

    /// Detaches the reader of a stream. If the reader has received everything, the stream is
    /// dropped.
    pub(super) fn detach(
        &mut self,
        now: Instant,
        stream: u64,
        reader: u64,
        has_received_all: bool,
        queue: &mut Queue<W>,
    ) {
        let limits = self.server.limits();
        let left = self.streams.change(stream, |left| {
            // A replaced reader has not received the events that the current reader waits for.
            let lost = left.detach(now, reader, limits);
            (lost.is_some() && has_received_all && left.is_finished(), lost.unwrap_or(0))
        });
        if let Some((is_done, lost)) = left {
            report_lost(lost, queue);
            if is_done {
                self.streams.remove(stream);
            } else {
                self.release(now, stream, queue);
                self.forget_streams(now, queue);
            }
        }
        self.used = now;
    }

    /// Drops the events of a stream whose answer cannot reach the client, and answers with an
    /// error.
    pub(super) fn give_up(&mut self, now: Instant, number: u64, queue: &mut Queue<W>) {
        let Some(stream) = self.streams.get(number) else { return };
        let id = stream.request.clone();
        self.streams.change(number, Stream::forget_events);
        self.answer_lost(now, number, LOST, queue);
        if let Some(id) = id {
            self.server.abandon(&id, CancelCause::Disconnected);
            self.act(now, queue);
        }
    }

    /// Sends an error in place of the answer.
    fn answer_lost(&mut self, now: Instant, number: u64, why: &'static str, queue: &mut Queue<W>) {
        let Some(stream) = self.streams.get(number) else { return };
        let answer =
            Outgoing::Error { id: stream.request.clone(), error: ErrorData::internal(why) };
        let kind = EventKind::Answer { status: 200 };
        let event = ReplayEvent { message: Unsent::new(answer), kind };
        let limits = self.server.limits();
        let wake = self.streams.change(number, |stream| stream.reopen(now, event, limits));
        queue.extend(wake.flatten().map(EndpointAction::Wake));
    }

    /// Ends all streams, and wakes their readers.
    pub(super) fn finish_streams(&mut self, now: Instant, queue: &mut Queue<W>) {
        let woken = self.streams.finish(now, self.server.limits());
        queue.extend(woken.map(EndpointAction::Wake));
    }

    /// Drops streams that were kept for long enough, and the oldest ones above the limit.
    fn forget_streams(&mut self, now: Instant, queue: &mut Queue<W>) {
        let lost = self.streams.forget(now, self.server.limits().max_replay_bytes);
        report_lost(lost, queue);
    }

    /// Kind of use, and the time of the last use; `None` with a request in flight, or with an
    /// answer that its reader has not taken.
    pub(super) fn last_use(&self) -> Option<(Use, Instant)> {
        let is_idle = self.server.is_idle() && !self.streams.owes_answer();
        let is_read = || self.streams.is_read() || self.streams.keeps_answer();
        is_idle.then(|| (if is_read() { Use::Read } else { Use::Idle }, self.used))
    }

    /// Time at which the session expires unless it is used. A session whose `initialize` was
    /// answered with an error ends at once.
    pub(super) fn ends(&self) -> Instant {
        let Limits { session_idle_timeout, session_init_timeout, .. } = *self.server.limits();
        // A connected client, or a request in flight, keeps the session open.
        match (self.streams.is_read() || !self.server.is_idle(), self.begun) {
            (true, _) => Instant::NEVER,
            (false, _) if self.version().is_none() => self.used,
            (false, true) => self.used + session_idle_timeout,
            (false, false) => self.used + session_init_timeout,
        }
    }

    /// Time of the session's next deadline.
    pub(super) fn due(&self) -> Instant {
        let due = self.server.poll_timeout().unwrap_or(Instant::NEVER);
        due.min(self.shrink_time()).min(self.streams.kept_until()).min(self.ends())
    }

    pub(super) fn set_used(&mut self, used: Instant) {
        self.used = used;
    }

    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.server.session_version()
    }
}

/// Reports messages that no reader had taken, if there are any.
pub(super) fn report_lost<W>(count: u64, queue: &mut Queue<W>) {
    if count > 0 {
        queue.push_back(EndpointAction::Event(ServerEvent::MessagesLost { count }));
    }
}

/// Error text for a request if its answer, or a request to the client before it, is lost.
const LOST: &str = "what came before this was not kept for long enough";

/// Error text for a request whose answer no reader took.
const TOO_LONG: &str = "nobody read the answer, which is longer than Limits::max_replay_bytes \
                        and so was not kept; stay connected until it has come";

/// The kind of event for a message; `status` is that of an answer.
fn kind(message: &Outgoing, status: u16) -> EventKind {
    match message {
        Outgoing::Result { .. } | Outgoing::Error { .. } | Outgoing::Batch(_) => {
            EventKind::Answer { status }
        }
        Outgoing::Request { .. } => EventKind::Request,
        Outgoing::Notification { .. } => EventKind::Notification,
    }
}
