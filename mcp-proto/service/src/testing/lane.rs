//! One direction of a pipe or a connection: bytes in flight.

use alloc::collections::VecDeque;

use bytes::Bytes;

use super::random::Random;
use mcp_proto::{Duration, Instant};

/// Latency and faults of a pipe, or of the connections of a network.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Network {
    /// Shortest latency; default 0.
    pub min_latency: Duration,
    /// Longest latency; default 0. Bytes are never reordered.
    pub max_latency: Duration,
    /// The most bytes that arrive at once, at least 1; default unlimited.
    pub max_chunk: usize,
    /// Over HTTP, one connection in this many is cut at random; default 0: none. The cut is either
    /// before the first response, which is lost, or within the first 2 KiB of one direction.
    pub cuts: u32,
    /// Over HTTP, one connection in this many is refused; default 0: none.
    pub refusals: u32,
}

impl Network {
    /// A network without latency and faults: all bytes arrive at once.
    pub fn calm() -> Self {
        Self {
            min_latency: Duration::ZERO,
            max_latency: Duration::ZERO,
            max_chunk: usize::MAX,
            cuts: 0,
            refusals: 0,
        }
    }

    /// A network with a latency of up to 50 ms, where bytes arrive in pieces of up to 7.
    pub fn rough() -> Self {
        Self { max_latency: Duration::from_millis(50), max_chunk: 7, ..Self::calm() }
    }

    /// Sets the shortest and the longest latency.
    pub fn latency(mut self, min: Duration, max: Duration) -> Self {
        (self.min_latency, self.max_latency) = (min, max);
        self
    }

    /// Sets the most bytes that arrive at once.
    pub fn max_chunk(mut self, bytes: usize) -> Self {
        self.max_chunk = bytes;
        self
    }

    /// Sets that one connection in this many is cut.
    pub fn cuts(mut self, one_in: u32) -> Self {
        self.cuts = one_in;
        self
    }

    /// Sets that one connection in this many is refused.
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

/// One direction of a pipe or a connection.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Chunks in flight, with their times of arrival; empty bytes are the end.
    in_flight: VecDeque<(Instant, Bytes)>,
    /// Time at which the last chunk arrives.
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

    /// Ends the lane; false if it has ended before.
    pub(super) fn end(&mut self, now: Instant) -> bool {
        if self.ended {
            return false;
        }
        self.ended = true;
        self.push(now, Bytes::new());
        true
    }

    /// Drops the bytes in flight, and ends the lane.
    pub(super) fn cut(&mut self, now: Instant) {
        self.in_flight.clear();
        self.last = now;
        self.ended = false;
        self.end(now);
    }

    /// Takes the next chunk that has arrived; empty bytes are the end.
    pub(super) fn receive(&mut self, now: Instant) -> Option<Bytes> {
        self.next().filter(|at| *at <= now)?;
        self.in_flight.pop_front().map(|(_, bytes)| bytes)
    }

    /// Number of bytes in flight.
    pub(super) fn waiting(&self) -> usize {
        self.in_flight.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns whether nothing can be sent any more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Time of the next arrival.
    pub(super) fn next(&self) -> Option<Instant> {
        self.in_flight.front().map(|(at, _)| *at)
    }

    fn push(&mut self, at: Instant, bytes: Bytes) {
        self.last = self.last.max(at);
        self.in_flight.push_back((self.last, bytes));
    }
}
