//! The streams of a session, and the sums over all of them.
//!
//! In: streams that open, change and end. Out: a stream by its number, the bytes of all streams,
//! and the time at which the next stream is dropped. Each change of one stream updates the sums. So
//! a call looks only at its own stream, however many other streams wait for answers.

use super::super::unsent::Unsent;
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sums {
    /// The number of streams that have a reader.
    read: u32,
    /// The number of streams that expire: they are complete and have no reader.
    expiring: u32,
    /// The bytes of events for attached readers.
    awaited: usize,
    /// The bytes of all other events.
    replay: usize,
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
        self.streams.get_mut(number).map(|stream| self.sums.change(stream, change))
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(stream) = self.streams.remove(number) {
            self.sums.subtract(Sums::of(&stream));
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
        let before = Sums::of(stream);
        let whole = stream.take_whole(reader, after)?;
        self.sums.subtract(before);
        self.streams.remove(number);
        Some(whole)
    }

    /// Completes all streams. Returns the readers to wake.
    pub(super) fn finish(&mut self, now: Instant, limits: &Limits) -> impl Iterator<Item = W> {
        let Self { streams, sums } = self;
        let finish = move |stream| sums.change(stream, |stream| stream.finish(now, limits));
        streams.values_mut().filter_map(finish)
    }

    /// Drops the oldest events, notifications first, of the streams that keep the most, until all
    /// streams together keep `max_bytes`. Returns how many of the events no reader had taken.
    pub(super) fn make_room(&mut self, max_bytes: usize) -> u64 {
        let mut lost = 0;
        if self.sums.awaited.saturating_add(self.sums.replay) <= max_bytes {
            return lost;
        }
        while self.kept() > max_bytes {
            let older = self.streams.values_mut().filter(|stream| stream.can_forget());
            let Some(longest) = older.max_by_key(|stream| stream.bytes()) else { break };
            let Some(was_taken) = self.sums.change(longest, Stream::forget_one) else { break };
            lost += u64::from(!was_taken);
        }
        lost
    }

    /// Drops the events kept for resumption on the stream with the oldest last event. An answer is
    /// dropped with its stream. Returns how many of the events no reader had taken.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        let kept = |stream: &&mut Stream<W>| stream.held() > 0 && !stream.is_awaited();
        let oldest = self.streams.values_mut().filter(kept).min_by_key(|stream| stream.touched());
        let count = oldest.map_or(0, |stream| self.sums.change(stream, Stream::forget_events));
        self.retain(|stream| !stream.is_finished() || stream.is_read() || stream.held() > 0);
        count
    }

    /// Drops streams that were kept for long enough. Drops the oldest ones if there are too many,
    /// or if they keep more than `max_bytes`.
    pub(super) fn forget(&mut self, now: Instant, max_bytes: usize) {
        if self.sums.expiring == 0 {
            return;
        }
        let over = self.streams.iter().filter(|(_, stream)| expires(stream));
        let (mut count, mut bytes) = over
            .fold((0, 0_usize), |(count, bytes), (_, stream)| (count + 1, bytes + stream.bytes()));
        self.retain(|stream| {
            let too_many = count > MAX_FINISHED || count > 1 && bytes > max_bytes;
            let goes = expires(stream) && (too_many || stream.kept_until() <= now);
            if goes {
                count -= 1;
                bytes -= stream.bytes();
            }
            !goes
        });
    }

    /// Frees memory that an idle session does not need.
    pub(super) fn shrink(&mut self) {
        // The next GET opens a GET stream without any event again.
        if self.get(GET_STREAM).is_some_and(|stream| !stream.is_read() && stream.count() == 0) {
            self.remove(GET_STREAM);
        }
        self.streams.values_mut().for_each(Stream::shrink);
        self.streams.shrink();
    }

    /// Takes the last items of requests at the end of the session, with their readers.
    pub(super) fn take_last(&mut self) -> impl Iterator<Item = (u64, LastItem)> {
        let Self { streams, sums } = self;
        let of_requests = streams.iter_mut().filter(|(number, _)| *number != GET_STREAM);
        of_requests.filter_map(|(_, stream)| sums.change(stream, Stream::take_last))
    }

    /// Returns whether a reader has not taken an answer.
    pub(super) fn owes_answer(&self) -> bool {
        self.sums.awaited > 0 && self.streams.iter().any(|(_, stream)| stream.owes_answer())
    }

    /// Returns whether an answer is kept that no reader has taken: the client may come back.
    pub(super) fn keeps_answer(&self) -> bool {
        let is_kept = |stream: &Stream<W>| expires(stream) && stream.has_untaken();
        self.sums.expiring > 0 && self.streams.iter().any(|(_, stream)| is_kept(stream))
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
        if self.sums.replay == 0 {
            return (0, Instant::NEVER);
        }
        let kept = self.streams.iter().map(|(_, stream)| stream);
        let kept = kept.filter(|stream| stream.held() > 0 && !stream.is_awaited());
        (self.sums.replay, kept.map(Stream::touched).min().unwrap_or(Instant::NEVER).min(LAST))
    }

    /// Time at which the next stream is dropped.
    pub(super) fn kept_until(&self) -> Instant {
        if self.sums.expiring == 0 {
            return Instant::NEVER;
        }
        let times = self.streams.iter().map(|(_, stream)| stream.kept_until());
        times.min().unwrap_or(Instant::NEVER)
    }

    /// The bytes of events that are kept after a read.
    fn kept(&self) -> usize {
        self.streams.iter().map(|(_, stream)| stream.bytes()).sum()
    }

    fn retain(&mut self, mut keep: impl FnMut(&Stream<W>) -> bool) {
        self.streams.retain(|_, stream| {
            let stays = keep(stream);
            if !stays {
                self.sums.subtract(Sums::of(stream));
            }
            stays
        });
    }
}

/// Returns whether a stream is kept only for a reader that may come back.
fn expires<W: Clone>(stream: &Stream<W>) -> bool {
    stream.is_finished() && !stream.is_read()
}

impl Sums {
    /// The share of one stream in the sums.
    fn of<W: Clone>(stream: &Stream<W>) -> Self {
        let held = stream.held();
        let awaited = if stream.is_awaited() { held } else { 0 };
        Self {
            read: stream.is_read().into(),
            expiring: expires(stream).into(),
            awaited,
            replay: held - awaited,
        }
    }

    /// Changes a stream, and its share in the sums.
    fn change<W: Clone, R>(
        &mut self,
        stream: &mut Stream<W>,
        change: impl FnOnce(&mut Stream<W>) -> R,
    ) -> R {
        self.subtract(Self::of(stream));
        let result = change(stream);
        self.add(Self::of(stream));
        result
    }

    fn add(&mut self, part: Self) {
        let Self { read, expiring, awaited, replay } = self;
        *read = read.saturating_add(part.read);
        *expiring = expiring.saturating_add(part.expiring);
        *awaited = awaited.saturating_add(part.awaited);
        *replay = replay.saturating_add(part.replay);
    }

    fn subtract(&mut self, part: Self) {
        let Self { read, expiring, awaited, replay } = self;
        *read = read.saturating_sub(part.read);
        *expiring = expiring.saturating_sub(part.expiring);
        *awaited = awaited.saturating_sub(part.awaited);
        *replay = replay.saturating_sub(part.replay);
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
                3 => streams.forget(now, limits.max_replay_bytes),
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
            streams.streams.iter().for_each(|(_, stream)| walked.add(Sums::of(stream)));
            assert_eq!(streams.sums, walked, "after step {step}");
        }
    }
}
