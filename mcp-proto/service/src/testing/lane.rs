//! One direction of a pipe or of a connection: bytes on their way.

use alloc::collections::VecDeque;

use bytes::Bytes;

use super::random::Random;
use mcp_proto::{Duration, Instant};

/// Behaviour of a pipe, or of the connections of a network.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Network {
    /// Shortest time that bytes are under way; default no time.
    pub min_latency: Duration,
    /// Longest time that bytes are under way; default no time. They never overtake each other.
    pub max_latency: Duration,
    /// As many bytes arrive at once at most, and one at least; default any number.
    pub max_chunk: usize,
    /// Over HTTP, one connection in this many is cut at random; default 0, which is none. The cut
    /// is where its first response begins, which is lost then, or within its first 2 KiB in one
    /// direction.
    pub cuts: u32,
    /// Over HTTP, one connection in so many is refused; default 0, which is none.
    pub refusals: u32,
}

impl Network {
    /// Bytes arrive at once, and together; nothing breaks.
    pub fn calm() -> Self {
        Self {
            min_latency: Duration::ZERO,
            max_latency: Duration::ZERO,
            max_chunk: usize::MAX,
            cuts: 0,
            refusals: 0,
        }
    }

    /// Bytes arrive late, by up to 50 ms, and in pieces of up to 7.
    pub fn rough() -> Self {
        Self { max_latency: Duration::from_millis(50), max_chunk: 7, ..Self::calm() }
    }

    /// Sets how long bytes are under way.
    pub fn latency(mut self, min: Duration, max: Duration) -> Self {
        (self.min_latency, self.max_latency) = (min, max);
        self
    }

    /// Sets how many bytes arrive at once at most.
    pub fn max_chunk(mut self, bytes: usize) -> Self {
        self.max_chunk = bytes;
        self
    }

    /// Sets how many connections are cut: one in so many.
    pub fn cuts(mut self, one_in: u32) -> Self {
        self.cuts = one_in;
        self
    }

    /// Sets how many connections are refused: one in so many.
    pub fn refusals(mut self, one_in: u32) -> Self {
        self.refusals = one_in;
        self
    }

    pub(super) fn delay(&self, random: &mut Random) -> Duration {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let micros = random.between(micros(self.min_latency), micros(self.max_latency));
        Duration::from_micros(micros)
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::calm()
    }
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Chunks under way, with the time of arrival; empty bytes are the end.
    under_way: VecDeque<(Instant, Bytes)>,
    /// Time at which the last of it arrives.
    last: Instant,
    ended: bool,
}

impl Lane {
    pub(super) fn send(
        &mut self,
        now: Instant,
        mut bytes: Bytes,
        network: &Network,
        random: &mut Random,
    ) {
        while !bytes.is_empty() && !self.ended {
            let most = network.max_chunk.clamp(1, bytes.len());
            let count = if most == bytes.len() && network.max_chunk == usize::MAX {
                most
            } else {
                let most = u64::try_from(most).unwrap_or(u64::MAX);
                usize::try_from(random.between(1, most)).unwrap_or(1)
            };
            let chunk = bytes.split_to(count.min(bytes.len()));
            self.push(now + network.delay(random), chunk);
        }
    }

    /// Nothing follows; false if that was so already.
    pub(super) fn end(&mut self, now: Instant) -> bool {
        if self.ended {
            return false;
        }
        self.ended = true;
        self.push(now, Bytes::new());
        true
    }

    /// Drops the bytes under way; nothing follows.
    pub(super) fn cut(&mut self, now: Instant) {
        self.under_way.clear();
        self.last = now;
        self.ended = false;
        self.end(now);
    }

    /// Next chunk that has arrived; empty bytes are the end.
    pub(super) fn receive(&mut self, now: Instant) -> Option<Bytes> {
        self.next().filter(|at| *at <= now)?;
        self.under_way.pop_front().map(|(_, bytes)| bytes)
    }

    /// Number of bytes under way.
    pub(super) fn waiting(&self) -> usize {
        self.under_way.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns whether nothing can be sent any more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Time of the next arrival.
    pub(super) fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(at, _)| *at)
    }

    fn push(&mut self, at: Instant, bytes: Bytes) {
        self.last = self.last.max(at);
        self.under_way.push_back((self.last, bytes));
    }
}
