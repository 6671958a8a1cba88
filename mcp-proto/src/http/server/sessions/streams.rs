//! The streams of a session, and the sums over all of them.
//!
//! In: streams that open, change and end. Out: a stream by its number, the bytes of all streams,
//! and the time at which the next stream is dropped. Each change of one stream updates the sums. So
//! a call looks only at its own stream, however many other streams wait for answers.

use super::super::unsent::Unsent;
use super::kept_streams::{KeptShare, KeptStreams};
use super::stream::{LastItem, Stream};
use crate::limits::Limits;
use crate::message::RequestId;
use crate::seq_map::SeqMap;
use crate::time::Instant;

/// The number of the GET stream.
pub(super) const GET_STREAM: u64 = 0;

/// The most complete streams that are kept for clients that missed the answer.
const MAX_FINISHED: usize = 16;

/// The last use of events that are kept for ever, since `NEVER` means that no event is kept.
const LAST: Instant = Instant::from_micros(u64::MAX - 1);

/// The streams of a session.
#[derive(Debug)]
pub(super) struct Streams<W> {
    streams: SeqMap<Stream<W>>,
    sums: Sums,
}

#[derive(PartialEq, Eq, Debug, Default)]
struct Sums {
    /// The number of streams that have a reader.
    read: u32,
    /// The bytes of events for attached readers.
    awaited: usize,
    /// All other events, and the streams that expire.
    kept: KeptStreams,
}

/// The share of one stream in the sums.
#[derive(Clone, Copy)]
struct StreamShare {
    read: u32,
    awaited: usize,
    kept: KeptShare,
}

impl<W> Default for Streams<W> {
    fn default() -> Self {
        Self { streams: SeqMap::default(), sums: Sums::default() }
    }
}

impl<W: Clone> Streams<W> {
    /// Opens a stream for a request, with its reader and the reader's number, if it has one.
    pub(super) fn open(
        &mut self,
        number: u64,
        request: Option<RequestId>,
        reader: Option<(u64, W)>,
    ) {
        // There are no events yet.
        self.sums.read = self.sums.read.saturating_add(reader.is_some().into());
        self.streams.insert(number, Stream::new(request, reader));
    }

    /// Opens the GET stream, unless it is open.
    pub(super) fn open_get_stream(&mut self) {
        if self.streams.get(GET_STREAM).is_none() {
            self.open(GET_STREAM, None, None);
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<&Stream<W>> {
        self.streams.get(number)
    }

    /// Changes a stream with `f`, and updates the sums.
    pub(super) fn change<R>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut Stream<W>) -> R,
    ) -> Option<R> {
        self.streams.get_mut(number).map(|stream| self.sums.change(number, stream, change))
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(stream) = self.streams.remove(number) {
            self.sums.subtract(number, StreamShare::of(&stream));
        }
    }

    /// Takes the answer and removes its stream, if nothing else is kept after the event `after`;
    /// see [`Stream::take_whole`].
    pub(super) fn take_whole(
        &mut self,
        number: u64,
        reader: u64,
        after: u64,
    ) -> Option<(u16, Unsent)> {
        let stream = self.streams.get_mut(number)?;
        let before = StreamShare::of(stream);
        let whole = stream.take_whole(reader, after)?;
        self.sums.subtract(number, before);
        self.streams.remove(number);
        Some(whole)
    }

    /// Completes all streams. Returns the readers to wake.
    pub(super) fn finish(&mut self, now: Instant, limits: &Limits) -> impl Iterator<Item = W> {
        let Self { streams, sums } = self;
        streams.iter_mut().filter_map(move |(number, stream)| {
            sums.change(number, stream, |stream| stream.finish(now, limits))
        })
    }

    /// Drops the oldest events, notifications first, of the streams that keep the most, until all
    /// streams together keep `max_bytes`. Returns how many of the events no reader had taken.
    pub(super) fn make_room(&mut self, max_bytes: usize) -> u64 {
        let mut lost = 0;
        if self.sums.awaited.saturating_add(self.sums.kept.bytes()) <= max_bytes {
            return lost;
        }
        while self.kept() > max_bytes {
            let older = self.streams.iter().filter(|(_, stream)| stream.can_forget());
            let longest = older.max_by_key(|(_, stream)| stream.bytes());
            let Some((number, _)) = longest else { break };
            let Some(was_taken) = self.change(number, Stream::forget_one).flatten() else { break };
            lost += u64::from(!was_taken);
        }
        lost
    }

    /// Drops the events kept for resumption on the stream with the oldest last event. An answer is
    /// dropped with its stream. Returns how many of the events no reader had taken.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        let Some((_, oldest)) = self.sums.kept.first_replayable() else { return 0 };
        let count = self.change(oldest, Stream::forget_events);
        if self.get(oldest).is_some_and(expires) {
            self.remove(oldest);
        }
        count.unwrap_or(0)
    }

    /// Drops streams that were kept for long enough. If there are too many, or if they keep more
    /// than `max_bytes`, drops those that were used first, and answers that no reader has taken
    /// last. Returns how many events of those no reader had taken.
    pub(super) fn forget(&mut self, now: Instant, max_bytes: usize) -> u64 {
        let mut lost = 0;
        if self.sums.kept.first_expiring().is_none() {
            return lost;
        }
        let (mut count, mut bytes) = self.expiring();
        while let Some((until, first)) = self.sums.kept.first_expiring() {
            let is_late = until <= now;
            let victim = if is_late {
                first
            } else if count > MAX_FINISHED || count > 1 && bytes > max_bytes {
                let mut streams = self.sums.kept.expiring();
                streams.find(|number| !self.has_untaken(*number)).unwrap_or(first)
            } else {
                break;
            };
            count -= 1;
            bytes -= self.get(victim).map_or(0, Stream::bytes);
            if !is_late && self.has_untaken(victim) {
                lost += self.change(victim, Stream::forget_events).unwrap_or(0);
            }
            self.remove(victim);
        }
        lost
    }

    /// The number of streams that expire, and the bytes of events that they keep after a read.
    fn expiring(&self) -> (usize, usize) {
        let streams = self.sums.kept.expiring().filter_map(|number| self.get(number));
        streams.fold((0, 0), |(count, bytes), stream| (count + 1, bytes + stream.bytes()))
    }

    /// Returns whether a stream has events that no reader has taken.
    fn has_untaken(&self, number: u64) -> bool {
        self.get(number).is_some_and(Stream::has_untaken)
    }

    /// Frees memory that an idle session does not need.
    pub(super) fn shrink(&mut self) {
        // The next GET opens a GET stream without any event again.
        if self.get(GET_STREAM).is_some_and(|stream| !stream.is_read() && stream.count() == 0) {
            self.remove(GET_STREAM);
        }
        self.sums.kept.shrink();
        self.streams.values_mut().for_each(Stream::shrink);
        self.streams.shrink();
    }

    /// Takes the last items of requests at the end of the session, with their readers.
    pub(super) fn take_last(&mut self) -> impl Iterator<Item = (u64, LastItem)> {
        let Self { streams, sums } = self;
        let of_requests = streams.iter_mut().filter(|(number, _)| *number != GET_STREAM);
        of_requests.filter_map(|(number, stream)| sums.change(number, stream, Stream::take_last))
    }

    /// Returns whether a reader has not taken an answer.
    pub(super) fn owes_answer(&self) -> bool {
        self.sums.awaited > 0 && self.streams.iter().any(|(_, stream)| stream.owes_answer())
    }

    /// Returns whether an answer is kept that no reader has taken: the client may come back.
    pub(super) fn keeps_answer(&self) -> bool {
        self.sums.kept.expiring().any(|number| self.has_untaken(number))
    }

    /// Returns whether any stream has a reader.
    pub(super) fn is_read(&self) -> bool {
        self.sums.read > 0
    }

    /// The bytes of events for attached readers.
    pub(super) fn awaited(&self) -> usize {
        self.sums.awaited
    }

    /// The bytes of all other events, and the time of the last use of the oldest of them.
    pub(super) fn replay(&self) -> (usize, Instant) {
        let first = self.sums.kept.first_replayable();
        let since = first.map_or(Instant::NEVER, |(until, _)| until.min(LAST));
        (self.sums.kept.bytes(), since)
    }

    /// Time at which the next stream is dropped.
    pub(super) fn kept_until(&self) -> Instant {
        self.sums.kept.first_expiring().map_or(Instant::NEVER, |(until, _)| until)
    }

    /// The bytes of events that are kept after a read.
    fn kept(&self) -> usize {
        self.streams.iter().map(|(_, stream)| stream.bytes()).sum()
    }
}

/// Returns whether a stream is kept only for a reader that may come back.
fn expires<W: Clone>(stream: &Stream<W>) -> bool {
    stream.is_finished() && !stream.is_read()
}

impl StreamShare {
    fn of<W: Clone>(stream: &Stream<W>) -> Self {
        let held = stream.held();
        let awaited = if stream.is_awaited() { held } else { 0 };
        let (expires, until) = (expires(stream), stream.kept_until());
        let kept = KeptShare { bytes: held - awaited, expires, until };
        Self { read: stream.is_read().into(), awaited, kept }
    }
}

impl Sums {
    /// Changes a stream, and its share in the sums.
    fn change<W: Clone, R>(
        &mut self,
        number: u64,
        stream: &mut Stream<W>,
        change: impl FnOnce(&mut Stream<W>) -> R,
    ) -> R {
        self.subtract(number, StreamShare::of(stream));
        let result = change(stream);
        self.add(number, StreamShare::of(stream));
        result
    }

    fn add(&mut self, number: u64, share: StreamShare) {
        self.read = self.read.saturating_add(share.read);
        self.awaited = self.awaited.saturating_add(share.awaited);
        self.kept.add(number, share.kept);
    }

    fn subtract(&mut self, number: u64, share: StreamShare) {
        self.read = self.read.saturating_sub(share.read);
        self.awaited = self.awaited.saturating_sub(share.awaited);
        self.kept.subtract(number, share.kept);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::replay::{EventKind, ReplayEvent};
    use super::*;

    #[test]
    fn sums_over_streams_are_those_of_a_walk() {
        let limits = Limits { max_replay_bytes: 500, max_replay_events: 4, ..Limits::default() };
        // A linear congruential generator: any order will do.
        let mut seed = 42_u64;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (seed >> 33) % below
        };
        let mut streams = Streams::<()>::default();
        for step in 1..20_000 {
            let now = Instant::from_micros(step);
            let number = next(24);
            let length = usize::try_from(next(200)).unwrap();
            match next(10) {
                0 => streams.open_get_stream(),
                1 if streams.get(number).is_none() => streams.open(number, None, None),
                2 => streams.remove(number),
                3 => drop(streams.forget(now, limits.max_replay_bytes)),
                4 if next(100) == 0 => drop(streams.finish(now, &limits).count()),
                5 => drop(streams.change(number, |stream| stream.attach(step, ()))),
                6 => drop(streams.change(number, |stream| stream.detach(now, step - 1, &limits))),
                7 => drop(streams.take_whole(number, step - 1, 0)),
                8 if next(20) == 0 => drop(streams.forget_oldest()),
                kind => {
                    let status = 200;
                    let kind = match kind {
                        9 => EventKind::Notification,
                        _ => EventKind::Answer { status },
                    };
                    let event =
                        ReplayEvent { message: Unsent::Text(vec![b'x'; length].into()), kind };
                    let _ = streams.change(number, |stream| stream.push_event(now, event, &limits));
                    streams.make_room(limits.max_replay_bytes);
                }
            }
            let mut walked = Sums::default();
            let mut since = Instant::NEVER;
            let mut until = Instant::NEVER;
            for (number, stream) in streams.streams.iter() {
                let share = StreamShare::of(stream);
                walked.add(number, share);
                if share.kept.bytes > 0 {
                    since = since.min(stream.kept_until());
                }
                if share.kept.expires {
                    until = until.min(stream.kept_until());
                }
            }
            assert_eq!(streams.replay(), (walked.kept.bytes(), since), "after step {step}");
            assert_eq!(streams.kept_until(), until, "after step {step}");
            streams.sums.kept.shrink();
            assert_eq!(streams.sums, walked, "after step {step}");
        }
    }
}
