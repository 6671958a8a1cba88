//! The stream of an HTTP request of a legacy client: its events and its reader.
//!
//! In: messages of the session's machine. Out: numbered events for the attached reader. A client
//! that reconnects with the number of its last event gets the later events again. A stream keeps at
//! most `Limits::max_replay_events` events, and up to 2,048 that an attached reader has not taken.
//! All streams of a session together keep at most `Limits::max_replay_bytes`. [`Replay`] defines
//! the order in which events are dropped.
//!
//! [Specification: Resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)

use alloc::string::String;

use super::super::unsent::Unsent;
use super::replay::{Replay, ReplayEvent, Resumed};
use crate::limits::Limits;
use crate::message::RequestId;
use crate::time::Instant;

/// The most events that an attached reader has not taken. A turn of a service may add 1,024
/// notifications of handlers, and as many changes, before the reader takes any.
const MAX_UNREAD: usize = 2048;

#[derive(Debug)]
pub(super) struct Stream<W> {
    /// The request whose response ends this stream. `None` for a batch, and for the GET stream.
    pub(super) request: Option<RequestId>,
    replay: Replay,
    finished: bool,
    /// True if the client has cancelled the request, so that no answer follows.
    cancelled: bool,
    reader: Option<StreamReader<W>>,
    /// Time until which the stream is kept once it is complete and has no reader:
    /// `Limits::replay_timeout` after its last use.
    kept_until: Instant,
}

#[derive(Debug)]
struct StreamReader<W> {
    number: u64,
    wake: W,
    woken: bool,
    /// True if the reader must disconnect and reconnect later.
    polls: bool,
}

impl<W> StreamReader<W> {
    fn new(number: u64, wake: W) -> Self {
        Self { number, wake, woken: false, polls: false }
    }
}

/// Next item for a reader.
#[derive(Debug)]
pub(in super::super) enum Next {
    Event {
        message: Unsent,
        /// The HTTP status of an answer, for the case that the answer is the only event.
        status: Option<u16>,
    },
    /// No event, until the reader is woken.
    Nothing,
    /// The reader must disconnect and reconnect later.
    Poll,
    /// No more events follow, or another reader has replaced this one.
    End,
    /// No more events follow, since the client has cancelled the request.
    Cancelled,
    /// The session has ended. Holds the last item, if the stream is that of a request.
    Gone(Option<LastItem>),
}

/// The last item for a reader whose session has ended.
#[derive(Debug)]
pub(in super::super) enum LastItem {
    /// The answer, which was ready before the session ended.
    Answer { status: u16, message: Unsent },
    /// No answer. Holds the id of the request; `None` for a batch.
    CutOff(Option<RequestId>),
    /// The stream was complete: the client has cancelled the request.
    End,
}

impl<W: Clone> Stream<W> {
    /// A stream without events; `reader` is its reader with a number.
    pub(super) fn new(request: Option<RequestId>, reader: Option<(u64, W)>) -> Self {
        Self {
            request,
            replay: Replay::default(),
            finished: false,
            cancelled: false,
            reader: reader.map(|(number, wake)| StreamReader::new(number, wake)),
            kept_until: Instant::NEVER,
        }
    }

    /// Adds an event, unless the stream is complete. Returns the reader to wake, and the number of
    /// events that were dropped before a reader took them.
    pub(super) fn push_event(
        &mut self,
        now: Instant,
        mut event: ReplayEvent,
        limits: &Limits,
    ) -> (Option<W>, u64) {
        if self.finished {
            return (None, 0);
        }
        self.finished = event.kind.status().is_some();
        self.kept_until = now + limits.replay_timeout;
        if self.reader.is_none() || self.replay.len() >= limits.max_replay_events {
            event.message.encode();
        }
        self.replay.push(event, limits.max_replay_bytes);
        let lost = self.forget_excess(limits);
        (self.wake(), lost)
    }

    /// Drops events above the limit. Returns how many of them no reader had taken.
    fn forget_excess(&mut self, limits: &Limits) -> u64 {
        let mut lost = 0;
        while self.replay.len() > limits.max_replay_events {
            let was_taken = match self.reader {
                Some(_) if self.replay.len() <= MAX_UNREAD => self.replay.forget_taken(),
                Some(_) | None => self.forget_one(),
            };
            let Some(was_taken) = was_taken else { break };
            lost += u64::from(!was_taken);
        }
        lost
    }

    /// Drops the least important event, if there is one, but never the answer. Returns whether a
    /// reader had taken the event.
    pub(super) fn forget_one(&mut self) -> Option<bool> {
        self.replay.forget_one()
    }

    /// Adds a last event, even if the stream was complete.
    pub(super) fn reopen(
        &mut self,
        now: Instant,
        event: ReplayEvent,
        limits: &Limits,
    ) -> Option<W> {
        self.finished = false;
        self.push_event(now, event, limits).0
    }

    /// Completes the stream without an answer: the client has cancelled the request, or the server
    /// stops. Returns the reader to wake.
    pub(super) fn finish_unanswered(
        &mut self,
        now: Instant,
        limits: &Limits,
        cancelled: bool,
    ) -> Option<W> {
        self.cancelled = cancelled;
        self.finish(now, limits)
    }

    /// Completes the stream. Returns the reader to wake.
    pub(super) fn finish(&mut self, now: Instant, limits: &Limits) -> Option<W> {
        self.finished = true;
        self.kept_until = now + limits.replay_timeout;
        self.wake()
    }

    /// The reader, and its last item at the end of the session. An answer after events that the
    /// reader has not taken is dropped, since the client may be slow to read these events.
    pub(super) fn take_last(&mut self) -> Option<(u64, LastItem)> {
        let reader = self.reader.as_ref()?.number;
        let replay = &mut self.replay;
        let answer = replay.take_answer(replay.before_untaken()).or_else(|| replay.take_answer(0));
        let last = match answer {
            Some((status, message)) => LastItem::Answer { status, message },
            None if self.finished && !self.replay.has_untaken() => LastItem::End,
            None => LastItem::CutOff(self.request.clone()),
        };
        Some((reader, last))
    }

    /// Asks the reader to disconnect and to reconnect later. Returns the reader to wake.
    pub(super) fn poll(&mut self) -> Option<W> {
        if let Some(reader) = &mut self.reader {
            reader.polls = true;
        }
        self.wake()
    }

    /// Attaches the reader with this number in place of an earlier reader. Returns the earlier
    /// reader to wake.
    pub(super) fn attach(&mut self, number: u64, wake: W) -> Option<W> {
        let before = self.wake();
        self.reader = Some(StreamReader::new(number, wake));
        before
    }

    /// Detaches a reader. Returns the number of events that were dropped before a reader took them;
    /// `None` if another reader had replaced this one.
    pub(super) fn detach(&mut self, now: Instant, reader: u64, limits: &Limits) -> Option<u64> {
        if !self.has_reader(reader) {
            return None;
        }
        self.reader = None;
        self.replay.encode();
        self.kept_until = now + limits.replay_timeout;
        Some(self.forget_excess(limits))
    }

    /// The next item for a reader after the event `after`, and the number of that event. If there
    /// is none, the next event wakes `wake`.
    pub(super) fn next(
        &mut self,
        reader: u64,
        after: u64,
        wake: &W,
        limits: &Limits,
    ) -> (u64, Next) {
        let current = match &mut self.reader {
            Some(current) if current.number == reader => current,
            Some(_) | None => return (after, Next::End),
        };
        current.woken = false;
        if let Some((number, ReplayEvent { message, kind })) = self.replay.take(after) {
            self.forget_excess(limits);
            return (number, Next::Event { message, status: kind.status() });
        }
        let next = match (self.finished, current.polls) {
            (true, _) if self.cancelled => Next::Cancelled,
            (true, _) => Next::End,
            (false, true) => Next::Poll,
            (false, false) => {
                current.wake = wake.clone();
                Next::Nothing
            }
        };
        (after, next)
    }

    /// Takes the answer, if nothing else is kept after the event `after`. The caller then drops the
    /// stream.
    pub(super) fn take_whole(&mut self, reader: u64, after: u64) -> Option<(u16, Unsent)> {
        if self.has_reader(reader) { self.replay.take_answer(after) } else { None }
    }

    /// Returns whether this reader waits for the first event.
    pub(super) fn waits(&self, reader: u64) -> bool {
        self.is_silent() && self.has_reader(reader)
    }

    /// Checks whether a reader that has the event `after` misses events that it needs.
    pub(super) fn resumes(&self, after: u64) -> Resumed {
        self.replay.resumes(after)
    }

    /// Drops all events. Returns how many of them no reader had taken.
    pub(super) fn forget_events(&mut self) -> u64 {
        self.replay.clear()
    }

    /// Frees the memory of dropped events.
    pub(super) fn shrink(&mut self) {
        self.replay.shrink();
    }

    /// See [`Replay::forget_all_oversized`].
    pub(super) fn forget_oversized(&mut self) -> (u64, bool) {
        self.replay.forget_all_oversized()
    }

    pub(super) fn count(&self) -> u64 {
        self.replay.count()
    }

    /// The number before the first kept event that no reader has taken.
    pub(super) fn before_untaken(&self) -> u64 {
        self.replay.before_untaken()
    }

    /// The bytes of events that are kept after a read.
    pub(super) fn bytes(&self) -> usize {
        self.replay.bytes()
    }

    /// The bytes of all events, also of those that are too long to be kept.
    pub(super) fn held(&self) -> usize {
        self.replay.held()
    }

    /// Returns whether a reader is attached and has not taken all events.
    pub(super) fn is_awaited(&self) -> bool {
        self.reader.is_some() && self.replay.has_untaken()
    }

    /// Returns whether there are events that no reader has taken, of a call that was not cancelled.
    pub(super) fn has_untaken(&self) -> bool {
        !self.cancelled && self.replay.has_untaken()
    }

    /// Returns whether a reader is attached and has not taken the answer.
    pub(super) fn owes_answer(&self) -> bool {
        self.finished && self.is_awaited()
    }

    /// Returns whether the stream had no event yet and is not complete.
    pub(super) fn is_silent(&self) -> bool {
        !self.finished && self.replay.count() == 0
    }

    /// Returns whether there are events that can be dropped.
    pub(super) fn can_forget(&self) -> bool {
        self.replay.can_forget()
    }

    /// Returns whether an event that is too long to be kept waits for a reader that is gone.
    pub(super) fn has_unread_oversized(&self) -> bool {
        self.reader.is_none() && self.replay.has_oversized()
    }

    pub(super) fn is_read(&self) -> bool {
        self.reader.is_some()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Time until which the stream is kept once it is complete and has no reader:
    /// `Limits::replay_timeout` after the last event or the last reader's end.
    pub(super) fn kept_until(&self) -> Instant {
        self.kept_until
    }

    /// Returns whether the attached reader has this number.
    fn has_reader(&self, number: u64) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.number == number)
    }

    /// Handle of the reader to wake, unless the reader was woken and has not read since.
    fn wake(&mut self) -> Option<W> {
        let reader = self.reader.as_mut().filter(|reader| !reader.woken)?;
        reader.woken = true;
        Some(reader.wake.clone())
    }
}

/// Id of an event: its stream and its number, separated by a dash.
pub(super) fn event_id(stream: u64, number: u64) -> String {
    alloc::format!("{stream}-{number}")
}

/// The stream and the number in an event id; `None` if the id is invalid.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    let stream = stream.parse().ok()?;
    let number = number.parse().ok()?;
    (event_id(stream, number) == id).then_some((stream, number))
}
