//! The stream of an HTTP request of a legacy client: what is said on it, and who reads it.
//!
//! In: messages of the session's machine. Out: events with numbers, to whoever is attached; the
//! same again to a client that comes back and says which one it had last. A stream keeps as many
//! as `Limits::max_replay_events` allows, and all of a session together no more bytes than
//! `Limits::max_replay_bytes`; [`Replay`] says which go first.
//!
//! [Specification: Resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)

use alloc::string::String;

use bytes::Bytes;

use super::replay::{Event, Replay, Resumed};
use crate::limits::Limits;
use crate::message::RequestId;
use crate::time::Instant;

#[derive(Debug)]
pub(super) struct Stream<W> {
    /// The request that its answer ends it for; `None` for a batch, and for the stream of a GET.
    pub(super) request: Option<RequestId>,
    replay: Replay,
    /// True if all is said.
    finished: bool,
    /// True if whoever reads it is to go away, and to come back.
    polls: bool,
    reader: Option<StreamReader<W>>,
    /// Until when it is kept, once all is said and nobody reads it: `Limits::replay_timeout` after
    /// the last time that something happened.
    kept_until: Instant,
}

#[derive(Debug)]
struct StreamReader<W> {
    number: u64,
    wake: W,
    woken: bool,
}

/// Next item for a reader.
#[derive(Debug)]
pub(in super::super) enum Next {
    Event {
        data: Bytes,
        /// Of the answer: its status, should it be all that is said.
        status: Option<u16>,
    },
    /// Nothing, until the reader is woken.
    Nothing,
    /// The reader is to go away, and to come back later.
    Poll,
    /// Nothing will come any more, or somebody else reads it.
    End,
    /// The session has ended.
    Gone,
}

impl<W: Clone> Stream<W> {
    pub(super) fn new(request: Option<RequestId>) -> Self {
        Self {
            request,
            replay: Replay::default(),
            finished: false,
            polls: false,
            reader: None,
            kept_until: Instant::NEVER,
        }
    }

    /// Says something, unless all is said. Returns who is to be woken, and how many events that
    /// nobody has taken had to go.
    pub(super) fn say(&mut self, now: Instant, event: Event, limits: &Limits) -> (Option<W>, u64) {
        if self.finished {
            return (None, 0);
        }
        self.finished = event.kind.status().is_some();
        self.kept_until = now + limits.replay_timeout;
        self.replay.push(event, limits.max_replay_bytes);
        let mut lost = 0;
        while self.replay.len() > limits.max_replay_events
            && let Some(was_taken) = self.forget_one()
        {
            lost += u64::from(!was_taken);
        }
        (self.wake(), lost)
    }

    /// Forgets the event that is missed least, if there is one; never the answer. Returns whether
    /// somebody had taken it.
    pub(super) fn forget_one(&mut self) -> Option<bool> {
        self.replay.forget_one()
    }

    /// Says something for the last time, whatever was said before.
    pub(super) fn reopen(&mut self, now: Instant, event: Event, limits: &Limits) -> Option<W> {
        self.finished = false;
        self.say(now, event, limits).0
    }

    /// Nothing will be said any more. Returns who is to be woken.
    pub(super) fn finish(&mut self, now: Instant, limits: &Limits) -> Option<W> {
        self.finished = true;
        self.kept_until = now + limits.replay_timeout;
        self.wake()
    }

    /// Its reader is to go away, and to come back. Returns who is to be woken.
    pub(super) fn poll(&mut self) -> Option<W> {
        self.polls = self.reader.is_some();
        self.wake()
    }

    /// A reader of this number reads it from now on, in place of whoever did. Returns who is to be
    /// woken.
    pub(super) fn attach(&mut self, number: u64, wake: W) -> Option<W> {
        let before = self.wake();
        self.polls = false;
        self.reader = Some(StreamReader { number, wake, woken: false });
        before
    }

    /// A reader goes away. Returns whether it was there, and not replaced by another one.
    pub(super) fn detach(&mut self, now: Instant, reader: u64, limits: &Limits) -> bool {
        let reads = self.reader.as_ref().is_some_and(|current| current.number == reader);
        if reads {
            self.reader = None;
            self.polls = false;
            self.kept_until = now + limits.replay_timeout;
        }
        reads
    }

    /// What a reader finds behind the event `after`, and the number of that event.
    pub(super) fn next(&mut self, reader: u64, after: u64) -> (u64, Next) {
        match &mut self.reader {
            Some(current) if current.number == reader => current.woken = false,
            Some(_) | None => return (after, Next::End),
        }
        if let Some((number, Event { data, kind })) = self.replay.take(after) {
            return (number, Next::Event { data, status: kind.status() });
        }
        let next = match (self.finished, self.polls) {
            (true, _) => Next::End,
            (false, true) => Next::Poll,
            (false, false) => Next::Nothing,
        };
        (after, next)
    }

    /// The answer, if nothing else is kept of what is behind the event `after`. The stream is of no
    /// use then.
    pub(super) fn take_whole(&mut self, reader: u64, after: u64) -> Option<(u16, Bytes)> {
        let reads = self.reader.as_ref().is_some_and(|current| current.number == reader);
        if reads { self.replay.take_answer(after) } else { None }
    }

    /// Whether a reader that has the event `after` misses something that it needs.
    pub(super) fn resumes(&self, after: u64) -> Resumed {
        self.replay.resumes(after)
    }

    /// Forgets what was said. Returns how many events nobody had taken.
    pub(super) fn forget_events(&mut self) -> u64 {
        self.replay.clear()
    }

    pub(super) fn count(&self) -> u64 {
        self.replay.count()
    }

    /// The event before the first one that is kept and that nobody has taken.
    pub(super) fn before_untaken(&self) -> u64 {
        self.replay.before_untaken()
    }

    /// The bytes of the events that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.replay.bytes()
    }

    /// The same, with those that are too long to be kept.
    pub(super) fn held(&self) -> usize {
        self.replay.held()
    }

    /// Returns whether a reader that is there has not taken all.
    pub(super) fn is_awaited(&self) -> bool {
        self.reader.is_some() && self.replay.has_untaken()
    }

    /// Returns whether nothing was said on it, and more is to be.
    pub(super) fn is_silent(&self) -> bool {
        !self.finished && self.replay.count() == 0
    }

    /// When something was said on it, or a reader went away, at the latest.
    pub(super) fn touched(&self) -> Instant {
        self.kept_until
    }

    /// Returns whether there are events to forget.
    pub(super) fn can_forget(&self) -> bool {
        self.replay.can_forget()
    }

    /// Returns whether an event waits for a reader that is gone, and is too long to be kept.
    pub(super) fn is_stranded(&self) -> bool {
        self.reader.is_none() && self.replay.has_passing()
    }

    pub(super) fn is_read(&self) -> bool {
        self.reader.is_some()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Until when it is kept: for ever, unless all is said and nobody reads it.
    pub(super) fn kept_until(&self) -> Instant {
        if self.finished && self.reader.is_none() { self.kept_until } else { Instant::NEVER }
    }

    /// Who is to be woken, unless it was and has not looked.
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

/// The stream and the number of an event; `None` if it has no such name.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    let stream = stream.parse().ok()?;
    let number = number.parse().ok()?;
    (event_id(stream, number) == id).then_some((stream, number))
}
