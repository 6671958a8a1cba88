//! The kept events of one stream, for a reader that has not connected yet or reconnects.
//!
//! In: events of the stream; reads by a reader; orders to make room. Out: the event after a given
//! number; the number of events that were lost.
//!
//! Events are dropped in this order if there is no room:
//!
//! | event | goes | a reader that misses it |
//! |---|---|---|
//! | notification | first, the oldest before the others | goes on; the loss is counted |
//! | request to the client | once no notification is left | gets an error for an answer |
//! | answer | with its stream, never before | gets an error for an answer |
//! | any that is longer than `Limits::max_replay_bytes` | as soon as a reader has taken it, or is gone | as above |

use alloc::collections::VecDeque;

use super::super::unsent::Unsent;

/// An event of a stream.
#[derive(Clone, Debug)]
pub(super) struct ReplayEvent {
    pub(super) message: Unsent,
    pub(super) kind: EventKind,
}

/// The kind of an event, which decides what the client loses with the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventKind {
    Notification,
    /// A request to the client; the server waits for its response.
    Request,
    /// The answer, which ends the stream. Holds the HTTP status for the case that the answer is the
    /// only event.
    Answer {
        status: u16,
    },
}

impl EventKind {
    pub(super) fn status(self) -> Option<u16> {
        match self {
            Self::Answer { status } => Some(status),
            Self::Notification | Self::Request => None,
        }
    }
}

/// Result of resuming a stream after the last event that a reader has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resumed {
    Exactly,
    /// Notifications are lost. Holds the number of lost events that a reader had taken before.
    Without(u64),
    /// A request or the answer is lost, perhaps with notifications. Holds the number of lost events
    /// that a reader had taken before.
    Broken(u64),
    /// The stream never had such an event.
    Never,
}

/// The kept events of one stream.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The newest event, if it is kept. Most streams have no other event.
    newest: Option<StoredEvent>,
    /// The earlier events that are kept, with their numbers, which start at 1.
    older: VecDeque<StoredEvent>,
    /// The bytes of events that are kept after a reader has taken them.
    bytes: usize,
    /// The bytes of events that are dropped once a reader has taken them.
    oversized: usize,
    /// Number of events so far.
    count: u64,
    /// The number of the last event that a reader has taken.
    taken: u64,
    /// The number of the last lost request or answer.
    broken: u64,
}

#[derive(Debug)]
struct StoredEvent {
    number: u64,
    event: ReplayEvent,
    /// True if the event is kept after a reader has taken it.
    stays: bool,
}

impl Replay {
    /// Adds an event. An event longer than `max_bytes` is dropped once a reader has taken it.
    pub(super) fn push(&mut self, event: ReplayEvent, max_bytes: usize) {
        let length = event.message.len();
        let stays = length <= max_bytes;
        let total = if stays { &mut self.bytes } else { &mut self.oversized };
        *total = total.saturating_add(length);
        self.count += 1;
        let kept = StoredEvent { number: self.count, event, stays };
        if let Some(before) = self.newest.replace(kept) {
            self.older.push_back(before);
        }
    }

    /// The first event after number `after`, with its number.
    pub(super) fn after(&self, after: u64) -> Option<(u64, &ReplayEvent)> {
        let at = self.older.partition_point(|kept| kept.number <= after);
        let kept = self.older.get(at).or(self.newest.as_ref());
        kept.filter(|kept| kept.number > after).map(|kept| (kept.number, &kept.event))
    }

    /// Takes the first event after number `after` for a reader.
    pub(super) fn take(&mut self, after: u64) -> Option<(u64, ReplayEvent)> {
        let (number, event) = self.after(after)?;
        let event = event.clone();
        self.taken = self.taken.max(number);
        if self.oversized > 0 {
            self.remove_oversized(|kept| kept.number == number);
        }
        Some((number, event))
    }

    /// Takes the answer for a reader, if nothing else is kept after number `after`.
    pub(super) fn take_answer(&mut self, after: u64) -> Option<(u16, Unsent)> {
        let is_next =
            self.count > after && self.older.back().is_none_or(|kept| kept.number <= after);
        let kept = self.newest.take_if(|kept| is_next && kept.event.kind.status().is_some())?;
        self.subtract(&kept);
        Some((kept.event.kind.status()?, kept.event.message))
    }

    /// Encodes all events, since no reader is there to take them.
    pub(super) fn encode(&mut self) {
        let all = self.older.iter_mut().chain(&mut self.newest);
        all.for_each(|kept| kept.event.message.encode());
    }

    /// Drops the oldest notification, or the oldest request if there is no notification, but never
    /// the answer. Returns whether a reader had taken the event.
    pub(super) fn forget_one(&mut self) -> Option<bool> {
        let find = |kind| move |kept: &StoredEvent| kept.event.kind == kind && kept.stays;
        let notification = find(EventKind::Notification);
        let request = find(EventKind::Request);
        let kept = self.remove(notification).or_else(|| self.remove(request))?;
        if kept.event.kind == EventKind::Request {
            self.broken = self.broken.max(kept.number);
        }
        Some(kept.number <= self.taken)
    }

    /// Drops the oldest notification that a reader has taken, if there is one, as
    /// [`Self::forget_one`] does.
    pub(super) fn forget_taken(&mut self) -> Option<bool> {
        let mut taken = self.older.iter().take_while(|kept| kept.number <= self.taken);
        let at = taken.position(|kept| kept.event.kind == EventKind::Notification && kept.stays)?;
        let kept = self.older.remove(at)?;
        self.subtract(&kept);
        Some(true)
    }

    /// Returns whether [`Self::forget_one`] finds an event to drop.
    pub(super) fn can_forget(&self) -> bool {
        self.all().any(|kept| kept.stays && kept.event.kind.status().is_none())
    }

    /// Drops all events. Returns how many of them no reader had taken.
    pub(super) fn clear(&mut self) -> u64 {
        let untaken = self.all().filter(|kept| kept.number > self.taken).count() as u64;
        let essential = |kept: &&StoredEvent| kept.event.kind != EventKind::Notification;
        let broken = self.all().filter(essential).map(|kept| kept.number).max();
        self.broken = self.broken.max(broken.unwrap_or(0));
        self.newest = None;
        self.older = VecDeque::new();
        self.bytes = 0;
        self.oversized = 0;
        untaken
    }

    /// Frees the memory of dropped events.
    pub(super) fn shrink(&mut self) {
        self.older.shrink_to_fit();
    }

    /// Drops the events that are too long to be kept. Returns how many of them no reader had taken,
    /// and whether the answer is one of them.
    pub(super) fn forget_all_oversized(&mut self) -> (u64, bool) {
        let (mut untaken, mut has_answer) = (0, false);
        while let Some(kept) = self.remove_oversized(|_| true) {
            untaken += u64::from(kept.number > self.taken);
            has_answer |= kept.event.kind.status().is_some();
        }
        (untaken, has_answer)
    }

    /// Result of resuming after the event number `after`.
    pub(super) fn resumes(&self, after: u64) -> Resumed {
        if after > self.count {
            return Resumed::Never;
        }
        // Events that no reader had taken were counted when they were dropped.
        let missing = self.missing(after, self.taken);
        let answer = self.newest.as_ref().filter(|kept| kept.event.kind.status().is_some());
        if self.broken > after && answer.is_none() {
            Resumed::Broken(missing)
        } else if self.missing(after, self.count) > 0 {
            Resumed::Without(missing)
        } else {
            Resumed::Exactly
        }
    }

    /// The number before the first kept event that no reader has taken.
    pub(super) fn before_untaken(&self) -> u64 {
        self.after(self.taken).map_or(self.count, |(number, _)| number - 1)
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The bytes of events that are kept after a reader has taken them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes of all events in memory.
    pub(super) fn held(&self) -> usize {
        self.bytes.saturating_add(self.oversized)
    }

    /// Returns whether there are events that no reader has taken.
    pub(super) fn has_untaken(&self) -> bool {
        self.newest.as_ref().or(self.older.back()).is_some_and(|kept| kept.number > self.taken)
    }

    /// Returns whether there is an event that is too long to be kept after a read.
    pub(super) fn has_oversized(&self) -> bool {
        self.oversized > 0
    }

    /// Number of kept events.
    pub(super) fn len(&self) -> usize {
        self.older.len() + usize::from(self.newest.is_some())
    }

    fn all(&self) -> impl Iterator<Item = &StoredEvent> {
        self.older.iter().chain(&self.newest)
    }

    /// Number of events after `after`, up to `last`, that are not kept.
    fn missing(&self, after: u64, last: u64) -> u64 {
        let there = self.all().filter(|kept| kept.number > after && kept.number <= last);
        last.saturating_sub(after).saturating_sub(there.count() as u64)
    }

    /// Removes the first such event that is too long to be kept.
    fn remove_oversized(&mut self, finds: impl Fn(&StoredEvent) -> bool) -> Option<StoredEvent> {
        let kept = self.remove(|kept| !kept.stays && finds(kept))?;
        if kept.event.kind != EventKind::Notification {
            self.broken = self.broken.max(kept.number);
        }
        Some(kept)
    }

    fn remove(&mut self, finds: impl Fn(&StoredEvent) -> bool) -> Option<StoredEvent> {
        let kept = match self.older.iter().position(&finds) {
            Some(at) => self.older.remove(at),
            None => self.newest.take_if(|kept| finds(kept)),
        }?;
        self.subtract(&kept);
        Some(kept)
    }

    fn subtract(&mut self, kept: &StoredEvent) {
        let total = if kept.stays { &mut self.bytes } else { &mut self.oversized };
        *total = total.saturating_sub(kept.event.message.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::message::{ErrorData, Outgoing, RequestId};

    #[test]
    fn oversized_events_go_alone() {
        let mut replay = Replay::default();
        let notification = Unsent::new(Outgoing::notification("n", Json::EMPTY_OBJECT));
        let id = Some(RequestId::number(1));
        let error = ErrorData::internal("short");
        let answer = Unsent::new(Outgoing::Error { id, error });
        let too_long = notification.len() - 1;
        replay.push(ReplayEvent { message: notification, kind: EventKind::Notification }, too_long);
        let kind = EventKind::Answer { status: 200 };
        replay.push(ReplayEvent { message: answer, kind }, usize::MAX);
        assert_eq!(replay.forget_all_oversized(), (1, false));
        assert_eq!((replay.len(), replay.after(0).map(|(number, _)| number)), (1, Some(2)));
        assert_eq!(replay.resumes(0), Resumed::Without(0));
    }
}
