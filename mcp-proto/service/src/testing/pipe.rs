//! A client and a server with a pipe between them.
//!
//! In: settings of both sides and of the pipe, and faults. Out: whether progress was made, and the
//! time of the next event.

use alloc::boxed::Box;
use core::task::Waker;

use bytes::Bytes;

use super::hosted::HostedTasks;
use super::lane::{Lane, Network};
use super::random::Random;
use super::wire::Wire;
use crate::{Client, ClientService, Drive};
use mcp_proto::Instant;
use mcp_proto::server;

/// Both sides.
pub(super) struct Pipe {
    start: Box<dyn FnMut(server::Config) -> Box<dyn Drive>>,
    pub(super) config: server::Config,
    network: Network,
    random: Random,
    sides: Option<Sides>,
    /// The tasks of the server.
    tasks: HostedTasks,
    starts: usize,
}

/// Both sides, once started. A side that has ended is dropped, as an adapter does.
struct Sides {
    client: Option<ClientService>,
    server: Option<Box<dyn Drive>>,
    to_server: Lane,
    to_client: Lane,
}

impl Pipe {
    pub(super) fn new(
        start: Box<dyn FnMut(server::Config) -> Box<dyn Drive>>,
        tasks: HostedTasks,
    ) -> Self {
        Self {
            start,
            config: server::Config::default(),
            network: Network::calm(),
            random: Random::new(0),
            sides: None,
            tasks,
            starts: 0,
        }
    }

    pub(super) fn set_network(&mut self, network: Network) {
        self.network = network;
    }

    pub(super) fn set_random(&mut self, random: Random) {
        self.random = random;
    }

    /// Runs a turn of each side and delivers arrived bytes; returns whether there was progress.
    pub(super) fn run_round(
        &mut self,
        now: Instant,
        client: &Client,
        wire: &Wire,
        waker: &Waker,
    ) -> bool {
        let Some(mut sides) = self.sides.take().or_else(|| self.open(now, client, wire)) else {
            return false;
        };
        let Sides { client, server, to_server, to_client } = &mut sides;
        let random = &mut self.random;
        let network = &self.network;
        let mut has_progressed = self.tasks.run_round();
        if let Some(side) = client {
            has_progressed |= turn(side, now, waker, to_server, network, random);
        }
        if let Some(side) = server {
            has_progressed |= turn(&mut **side, now, waker, to_client, network, random);
        }
        if let Some(side) = client
            && side.is_disconnected()
        {
            // Later output of the lost server is dropped.
            *to_client = Lane::default();
            side.handle_idle();
            has_progressed = true;
        }
        if client.as_ref().is_some_and(|side| side.is_closed() && !side.wants_reopen()) {
            *client = None;
        }
        if server.as_ref().is_some_and(|side| side.is_closed()) {
            *server = None;
        }
        if let Some(side) = server {
            has_progressed |= deliver(&mut **side, now, to_server);
        }
        if let Some(side) = client {
            has_progressed |= deliver(side, now, to_client);
        }
        if let Some(side) = client
            && side.wants_reopen()
        {
            *server = Some((self.start)(self.config.clone()));
            self.starts += 1;
            (*to_server, *to_client) = (Lane::default(), Lane::default());
            side.handle_opened(now);
            has_progressed = true;
        }
        self.sides = Some(sides);
        has_progressed
    }

    fn open(&mut self, now: Instant, client: &Client, wire: &Wire) -> Option<Sides> {
        // A client that is driven elsewhere needs no server here.
        let mut client = ClientService::new(client).ok()?;
        let wire = wire.clone();
        client.show_wire(now, move |line| wire.push(line));
        let server = (self.start)(self.config.clone());
        self.starts += 1;
        client.handle_opened(now);
        let to_server = Lane::default();
        let to_client = Lane::default();
        Some(Sides { client: Some(client), server: Some(server), to_server, to_client })
    }

    /// Time of the next timeout or arrival.
    pub(super) fn next(&self) -> Option<Instant> {
        let Sides { client, server, to_server, to_client } = self.sides.as_ref()?;
        let client = client.as_ref().map(|side| wait(side, to_client));
        let server = server.as_ref().map(|side| wait(&**side, to_server));
        client.into_iter().chain(server).flatten().flatten().min()
    }

    pub(super) fn cut(&mut self, now: Instant) {
        if let Some(sides) = &mut self.sides {
            sides.to_server.cut(now);
            sides.to_client.cut(now);
        }
    }

    pub(super) fn end_of_client(&mut self, now: Instant) {
        if let Some(sides) = &mut self.sides {
            sides.to_server.end(now);
        }
    }

    pub(super) fn end_of_server(&mut self, now: Instant) {
        if let Some(sides) = &mut self.sides {
            sides.to_client.end(now);
        }
    }

    pub(super) fn starts(&self) -> usize {
        self.starts
    }
}

/// Runs a turn of one side, and sends its output; returns whether there was progress.
fn turn(
    side: &mut dyn Drive,
    now: Instant,
    waker: &Waker,
    lane: &mut Lane,
    network: &Network,
    random: &mut Random,
) -> bool {
    let due = side.poll_timeout().is_some_and(|at| at <= now);
    side.turn(now, waker);
    let mut has_progressed = due;
    while !side.output().is_empty() {
        let bytes = Bytes::copy_from_slice(side.output());
        side.handle_written(bytes.len());
        lane.send(now, bytes, network, random);
        has_progressed = true;
    }
    if side.is_closed() {
        has_progressed |= lane.end(now);
    }
    has_progressed
}

/// Times of the next timeout of a side, and of the next arrival of bytes for it. Bytes that it does
/// not want to read stay in the lane.
fn wait(side: &dyn Drive, lane: &Lane) -> [Option<Instant>; 2] {
    [side.poll_timeout(), lane.next().filter(|_| side.wants_read())]
}

/// Delivers arrived bytes to one side; returns whether there were any.
fn deliver(side: &mut dyn Drive, now: Instant, lane: &mut Lane) -> bool {
    if !side.wants_read() {
        return false;
    }
    match lane.receive(now) {
        None => false,
        Some(bytes) if bytes.is_empty() => {
            side.handle_eof(now);
            true
        }
        Some(bytes) => {
            side.handle_bytes(now, bytes);
            true
        }
    }
}
