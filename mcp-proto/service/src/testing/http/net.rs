//! Network between a client and a server over HTTP: connections, and their faults.
//!
//! In: bytes that an end of a connection writes; faults. Out: bytes that arrive at the other end,
//! late and in pieces; refusals; ends and resets. Each connection is a pair of lanes of limited
//! size: a writer waits for the reader.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};
use std::io::{self, ErrorKind};

use bytes::Bytes;

use super::super::lane::{Lane, Network};
use super::super::random::Random;
use crate::lock::Lock;
use mcp_proto::{Duration, Instant};

/// The most bytes in flight in one direction.
const WINDOW: usize = 64 * 1024;

/// The most bytes before the random cut of a connection.
const CUT_WITHIN: u64 = 2048;

/// The network. Clones share it.
#[derive(Clone)]
pub(super) struct Net {
    state: Arc<Lock<NetState>>,
}

/// One of the two ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Client,
    Server,
}

struct NetState {
    network: Network,
    random: Random,
    connections: BTreeMap<u64, Connection>,
    serials: u64,
    /// Connections that the server has not accepted yet.
    arrived: Vec<u64>,
    refused_until: Instant,
    /// Bytes of the next request that arrive before the cut.
    cut_request: Option<usize>,
    /// Bytes of the next response that arrive before the cut.
    cut_response: Option<usize>,
}

#[derive(Default)]
struct Connection {
    to_server: Direction,
    to_client: Direction,
    /// True if the connection was cut: both ends get a reset.
    is_cut: bool,
}

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    lane: Lane,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Number of bytes that still arrive before the connection is cut.
    cut_after: Option<usize>,
    /// True if the end was read.
    is_over: bool,
    /// True if the reader is gone.
    is_read_closed: bool,
    /// True if the writer is gone.
    is_write_closed: bool,
}

/// Result of a read at an end of a connection.
pub(super) enum ReadResult {
    Read(io::Result<Bytes>),
    /// More bytes arrive at this time.
    Later(Instant),
    /// The reader will be woken.
    Nothing,
}

impl Net {
    pub(super) fn new() -> Self {
        let state = NetState {
            network: Network::calm(),
            random: Random::new(0),
            connections: BTreeMap::new(),
            serials: 0,
            arrived: Vec::new(),
            refused_until: Instant::ZERO,
            cut_request: None,
            cut_response: None,
        };
        Self { state: Arc::new(Lock::new(state)) }
    }

    pub(super) fn set_network(&self, network: Network) {
        self.state.lock().network = network;
    }

    pub(super) fn set_random(&self, random: Random) {
        self.state.lock().random = random;
    }

    /// 128 bits from the seeded generator.
    pub(super) fn bits(&self) -> [u8; 16] {
        let mut state = self.state.lock();
        let high = state.random.next();
        let low = state.random.next();
        ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
    }

    /// The time that a connection takes to open.
    pub(super) fn delay(&self) -> Duration {
        let NetState { network, random, .. } = &mut *self.state.lock();
        network.delay(random)
    }

    /// Opens a connection. Fails if it is refused.
    pub(super) fn connect(&self, now: Instant) -> io::Result<u64> {
        let mut state = self.state.lock();
        let NetState { network, random, .. } = &mut *state;
        let mut one_in = |count: u32| count > 0 && random.between(1, count.into()) == 1;
        let is_refused = one_in(network.refusals);
        let is_cut = one_in(network.cuts);
        if is_refused || now < state.refused_until {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let mut connection = Connection::default();
        if is_cut {
            connection.cut_somewhere(&mut state.random);
        }
        state.serials += 1;
        let number = state.serials;
        state.connections.insert(number, connection);
        state.arrived.push(number);
        Ok(number)
    }

    /// Takes the connections that the server has not accepted yet.
    pub(super) fn accept(&self) -> Vec<u64> {
        core::mem::take(&mut self.state.lock().arrived)
    }

    pub(super) fn read(
        &self,
        now: Instant,
        number: u64,
        end: End,
        context: &Context<'_>,
    ) -> ReadResult {
        let mut state = self.state.lock();
        let Some(connection) = state.connections.get_mut(&number) else {
            return ReadResult::Read(Ok(Bytes::new()));
        };
        let is_cut = connection.is_cut;
        let (found, writer) = connection.read_by(end).read(now, context, is_cut);
        drop(state);
        // A waker may run any code: wake without the lock.
        wake(writer);
        found
    }

    pub(super) fn write(
        &self,
        now: Instant,
        number: u64,
        end: End,
        data: &[u8],
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut state = self.state.lock();
        let NetState { network, random, connections, cut_request, cut_response, .. } = &mut *state;
        let Some(connection) = connections.get_mut(&number) else {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        };
        let direction = connection.written_by(end);
        if direction.is_read_closed || direction.lane.has_ended() {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let free = WINDOW.saturating_sub(direction.lane.waiting());
        if free == 0 && !data.is_empty() {
            direction.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let armed = match end {
            End::Client => cut_request.take(),
            End::Server => cut_response.take(),
        };
        direction.cut_after = armed.or(direction.cut_after);
        let count = data.len().min(free);
        let arrives = direction.cut_after.map_or(count, |left| left.min(count));
        let bytes = Bytes::copy_from_slice(data.get(..arrives).unwrap_or_default());
        direction.lane.send(now, bytes, network, random);
        let mut woken = alloc::vec![direction.reader.take()];
        match &mut direction.cut_after {
            Some(left) if *left <= count => woken.extend(connection.cut_behind(now, end)),
            Some(left) => *left -= count,
            None => {}
        }
        drop(state);
        wake(woken.into_iter().flatten());
        Poll::Ready(Ok(count))
    }

    /// Closes one end; the other end reads the end of input after all bytes in flight.
    pub(super) fn close(&self, now: Instant, number: u64, end: End) {
        let mut state = self.state.lock();
        let Some(connection) = state.connections.get_mut(&number) else { return };
        let written = connection.written_by(end);
        written.is_write_closed = true;
        written.lane.end(now);
        let mut woken = alloc::vec![written.reader.take()];
        let read = connection.read_by(end);
        read.is_read_closed = true;
        woken.push(read.writer.take());
        if connection.to_server.is_write_closed && connection.to_client.is_write_closed {
            state.connections.remove(&number);
        }
        drop(state);
        wake(woken.into_iter().flatten());
    }

    /// Drops the bytes in flight, and reports a reset to both ends of all connections.
    pub(super) fn cut(&self, now: Instant) {
        self.on_each(|connection| {
            connection.is_cut = true;
            connection.to_server.lane.cut(now);
            connection.to_client.lane.cut(now);
        });
    }

    /// Ends one direction of all connections; bytes in flight arrive.
    pub(super) fn end(&self, now: Instant, end: End) {
        self.on_each(|connection| {
            connection.written_by(end).lane.end(now);
        });
    }

    pub(super) fn refuse_until(&self, until: Instant) {
        self.state.lock().refused_until = until;
    }

    pub(super) fn cut_next(&self, end: End, after: usize) {
        let mut state = self.state.lock();
        match end {
            End::Client => state.cut_request = Some(after),
            End::Server => state.cut_response = Some(after),
        }
    }

    /// Number of connections.
    pub(super) fn count(&self) -> usize {
        self.state.lock().connections.len()
    }

    fn on_each(&self, f: impl FnMut(&mut Connection)) {
        let mut state = self.state.lock();
        state.connections.values_mut().for_each(f);
        let woken: Vec<Waker> =
            state.connections.values_mut().flat_map(Connection::take_wakers).collect();
        drop(state);
        wake(woken);
    }
}

impl Connection {
    fn written_by(&mut self, end: End) -> &mut Direction {
        match end {
            End::Client => &mut self.to_server,
            End::Server => &mut self.to_client,
        }
    }

    fn read_by(&mut self, end: End) -> &mut Direction {
        match end {
            End::Client => &mut self.to_client,
            End::Server => &mut self.to_server,
        }
    }

    /// Schedules a cut of this connection at random.
    fn cut_somewhere(&mut self, random: &mut Random) {
        let after = usize::try_from(random.between(1, CUT_WITHIN)).unwrap_or(1);
        match random.between(0, 3) {
            0 => self.to_client.cut_after = Some(0),
            1 => self.to_server.cut_after = Some(after),
            _ => self.to_client.cut_after = Some(after),
        }
    }

    /// Cuts the connection after the bytes that `end` has written; bytes of the other end are lost.
    /// Returns the wakers to wake.
    fn cut_behind(&mut self, now: Instant, end: End) -> Vec<Option<Waker>> {
        self.is_cut = true;
        self.written_by(end).lane.end(now);
        self.read_by(end).lane.cut(now);
        self.take_wakers().into_iter().map(Some).collect()
    }

    fn take_wakers(&mut self) -> Vec<Waker> {
        let directions = [&mut self.to_server, &mut self.to_client];
        directions
            .into_iter()
            .flat_map(|direction| [direction.reader.take(), direction.writer.take()])
            .flatten()
            .collect()
    }
}

impl Direction {
    /// Reads from this direction; also returns the waker of a writer that waits for room.
    fn read(
        &mut self,
        now: Instant,
        context: &Context<'_>,
        is_cut: bool,
    ) -> (ReadResult, Option<Waker>) {
        let over =
            || if is_cut { Err(ErrorKind::ConnectionReset.into()) } else { Ok(Bytes::new()) };
        if self.is_over {
            return (ReadResult::Read(over()), None);
        }
        match self.lane.receive(now) {
            Some(bytes) if bytes.is_empty() => {
                self.is_over = true;
                (ReadResult::Read(over()), self.writer.take())
            }
            Some(bytes) => (ReadResult::Read(Ok(bytes)), self.writer.take()),
            None => {
                self.reader = Some(context.waker().clone());
                (self.lane.next().map_or(ReadResult::Nothing, ReadResult::Later), None)
            }
        }
    }
}

fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
