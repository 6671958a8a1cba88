//! A client and a server, and the time between them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
#[expect(clippy::disallowed_types, reason = "wires are written where sides are driven")]
use std::sync::Mutex;
use std::sync::PoisonError;

use bytes::Bytes;

use super::clock::Clock;
use super::lane::{Lane, Network};
use super::random::Random;
use crate::client::{self, Negotiation, Verdict};
use crate::server;
use crate::service::{Catalog, Client, ClientService, Driven, Service};
use crate::time::{Duration, Instant};
use crate::types::Implementation;
use crate::version::EraPolicy;

/// With more looks than this at one instant, the two will never be done.
const MAX_LOOKS: usize = 1_000_000;

/// What was woken more often than this while nothing else happened will be woken for ever.
const MAX_WAKES: usize = 100_000;

/// A client and a server with a pipe between them, in virtual time, which passes when nothing else
/// happens. The [module](super) has an example.
///
/// The server is started, and the client connected, when it is first run. A server that is to be
/// started anew is. A side that has ended is gone: what the other one still says is lost.
pub struct Pair {
    start: Box<dyn FnMut(server::Config) -> Box<dyn Driven>>,
    server_config: server::Config,
    client_config: client::Config,
    network: Network,
    seed: u64,
    random: Random,
    clock: Clock,
    client: Client,
    sides: Option<Sides>,
    starts: usize,
    woken: Arc<Woken>,
    #[expect(clippy::disallowed_types, reason = "wires are written where sides are driven")]
    wire: Arc<Mutex<String>>,
}

/// Both sides, once they are there. Each is gone when it has ended, as it is with an adapter.
struct Sides {
    client: Option<ClientService>,
    server: Option<Box<dyn Driven>>,
    to_server: Lane,
    to_client: Lane,
}

impl Pair {
    /// A client, and a server that offers this, both with default settings.
    pub fn new(catalog: impl Into<Catalog>) -> Self {
        let catalog = catalog.into();
        Self::with_server(move |config| Box::new(Service::new(catalog.clone(), config)))
    }

    /// A client, and a server that is started by a function, whenever the client wants it to be.
    pub fn with_server(start: impl FnMut(server::Config) -> Box<dyn Driven> + 'static) -> Self {
        let client_config = client::Config::new(Implementation::new("pair", "1.0.0"));
        Self {
            start: Box::new(start),
            server_config: server::Config::default(),
            client: Client::new(client_config.clone()),
            client_config,
            network: Network::calm(),
            seed: 0,
            random: Random::new(0),
            clock: Clock::default(),
            sides: None,
            starts: 0,
            woken: Arc::default(),
            wire: Arc::default(),
        }
    }

    /// Sets how the client behaves. It is another client after this and the two that follow, so
    /// they come before [`Pair::client`].
    pub fn client_config(mut self, config: client::Config) -> Self {
        self.client = Client::new(config.clone());
        self.client_config = config;
        self
    }

    /// Sets how the client finds a version.
    pub fn negotiation(self, negotiation: Negotiation) -> Self {
        let config = client::Config { negotiation, ..self.client_config.clone() };
        self.client_config(config)
    }

    /// Sets what the client believes of the server.
    pub fn verdict(self, verdict: Option<Verdict>) -> Self {
        let config = client::Config { verdict, ..self.client_config.clone() };
        self.client_config(config)
    }

    /// Sets how the server behaves.
    pub fn server_config(mut self, config: server::Config) -> Self {
        self.server_config = config;
        self
    }

    /// Sets which eras the server serves.
    pub fn era_policy(mut self, era_policy: EraPolicy) -> Self {
        self.server_config.era_policy = era_policy;
        self
    }

    /// Sets what the pipe does to what is sent over it; default [`Network::calm`].
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets what all follows from that is random; default 0. It is printed when a test panics.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.random = Random::new(seed);
        self
    }

    /// The client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The time that has passed.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The same for handlers, which can sleep by it.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// How often the server was started.
    pub fn starts(&self) -> usize {
        self.starts
    }

    /// The conversation so far, in the transcript format: as the client has sent and received it.
    pub fn wire(&self) -> String {
        self.wire.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs both sides until `future` is done. Where nothing can be done time passes.
    ///
    /// # Panics
    ///
    /// If it never will be: because nothing is going to happen any more, or because something is
    /// woken for ever.
    #[expect(clippy::panic, reason = "it is how a test fails")]
    pub fn run<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = self.poll(&mut future) {
                return output;
            }
            let Some(next) = self.next() else {
                panic!("nothing is going to happen any more; so far:\n{}", self.wire())
            };
            self.clock.set(next);
        }
    }

    /// Runs both sides for as long as that takes no time, and says whether `future` is done: to
    /// have something begin, and do something else then. A future that cannot be moved is to be
    /// [pinned](core::pin::pin) first.
    ///
    /// ```
    /// use mcp_proto::client::CallError;
    /// # use mcp_proto::testing::Pair;
    /// # use mcp_proto::{server::Registry, types::Implementation};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Nothing {}
    /// # let mut registry = Registry::new(Implementation::new("thinker", "1.0.0"));
    /// # registry.tool("think", "Thinks", |_: Nothing, _| std::future::pending::<String>())?;
    ///
    /// let mut pair = Pair::new(registry);
    /// let mut call = pair.client().call_tool("think", &serde_json::json!({}));
    /// assert!(pair.poll(&mut call).is_pending());
    /// pair.cut();
    /// assert_eq!(pair.run(call), Err(CallError::Closed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If something is woken for ever.
    pub fn poll<F: Future + Unpin>(&mut self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(self.woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut idle = 0;
        loop {
            if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
                return Poll::Ready(output);
            }
            if !self.goes_on(&mut idle) {
                return Poll::Pending;
            }
        }
    }

    /// Runs both sides for as long as this. What is awaited elsewhere has to be awaited again.
    ///
    /// # Panics
    ///
    /// If something is woken for ever.
    pub fn pass(&mut self, duration: Duration) {
        let end = self.now() + duration;
        loop {
            let mut idle = 0;
            while self.goes_on(&mut idle) {}
            match self.next().filter(|next| *next <= end) {
                Some(next) => self.clock.set(next),
                None => break,
            }
        }
        self.clock.set(end);
    }

    /// Breaks the pipe: what is under way is lost, and both sides are at the end of it. Handlers of
    /// the server have `Limits::drain` from then on. Before the pair was first run there is nothing
    /// to break; the same goes for the two that follow.
    pub fn cut(&mut self) {
        let now = self.now();
        if let Some(sides) = &mut self.sides {
            sides.to_server.cut(now);
            sides.to_client.cut(now);
        }
    }

    /// The client's side sends nothing more; what is under way arrives.
    pub fn end_of_client(&mut self) {
        let now = self.now();
        if let Some(sides) = &mut self.sides {
            sides.to_server.end(now);
        }
    }

    /// The server's side sends nothing more; what is under way arrives.
    pub fn end_of_server(&mut self) {
        let now = self.now();
        if let Some(sides) = &mut self.sides {
            sides.to_client.end(now);
        }
    }

    /// Does what can be done at this instant; says whether there was anything, or may be more.
    fn goes_on(&mut self, idle: &mut usize) -> bool {
        if self.settle() {
            *idle = 0;
            return true;
        }
        *idle += 1;
        let woken = self.woken.look();
        assert!(!woken || *idle < MAX_WAKES, "woken for ever; so far:\n{}", self.wire());
        woken
    }

    /// Does what can be done at this instant; says whether there was anything.
    fn settle(&mut self) -> bool {
        let mut looks = 0;
        while self.look() {
            looks += 1;
            assert!(looks < MAX_LOOKS, "the two will never be done; so far:\n{}", self.wire());
        }
        looks > 0
    }

    /// Gives each side a turn, and what has arrived; says whether anything came of it.
    fn look(&mut self) -> bool {
        let waker = Waker::from(self.woken.clone());
        let (now, network) = (self.now(), self.network.clone());
        let rang = self.clock.ring();
        let Some(mut sides) = self.sides.take().or_else(|| self.open()) else { return rang };
        let Sides { client, server, to_server, to_client } = &mut sides;
        let random = &mut self.random;
        let mut stirred = rang;
        if let Some(side) = client {
            stirred |= turn(side, now, &waker, to_server, &network, random);
        }
        if let Some(side) = server {
            stirred |= turn(&mut **side, now, &waker, to_client, &network, random);
        }
        if client.as_ref().is_some_and(|side| side.is_closed() && !side.wants_reopen()) {
            *client = None;
        }
        if server.as_ref().is_some_and(|side| side.is_closed()) {
            *server = None;
        }
        if let Some(side) = server {
            stirred |= deliver(&mut **side, now, to_server);
        }
        if let Some(side) = client {
            stirred |= deliver(side, now, to_client);
        }
        if let Some(side) = client
            && side.wants_reopen()
        {
            *server = Some((self.start)(self.server_config.clone()));
            self.starts += 1;
            (*to_server, *to_client) = (Lane::default(), Lane::default());
            side.handle_opened(now);
            stirred = true;
        }
        self.sides = Some(sides);
        stirred
    }

    fn open(&mut self) -> Option<Sides> {
        // Whoever drives the client elsewhere does not need a server here.
        let mut client = ClientService::new(&self.client).ok()?;
        let wire = self.wire.clone();
        client.show_wire(self.now(), move |line| {
            let mut wire = wire.lock().unwrap_or_else(PoisonError::into_inner);
            wire.push_str(line);
            wire.push('\n');
        });
        let server = (self.start)(self.server_config.clone());
        self.starts += 1;
        client.handle_opened(self.now());
        let (to_server, to_client) = (Lane::default(), Lane::default());
        Some(Sides { client: Some(client), server: Some(server), to_server, to_client })
    }

    /// When something happens by itself.
    fn next(&self) -> Option<Instant> {
        let alarm = self.clock.next();
        let Some(Sides { client, server, to_server, to_client }) = &self.sides else {
            return alarm;
        };
        let client = client.as_ref().map(|side| wait(side, to_client));
        let server = server.as_ref().map(|side| wait(&**side, to_server));
        let sides = client.into_iter().chain(server).flatten().flatten();
        sides.chain(alarm).min()
    }
}

/// Gives one side a turn, and sends what it says; says whether it said anything.
fn turn(
    side: &mut dyn Driven,
    now: Instant,
    waker: &Waker,
    lane: &mut Lane,
    network: &Network,
    random: &mut Random,
) -> bool {
    let due = side.poll_timeout().is_some_and(|at| at <= now);
    side.turn(now, waker);
    let mut says = due;
    while !side.output().is_empty() {
        let bytes = Bytes::copy_from_slice(side.output());
        side.handle_written(bytes.len());
        lane.send(now, bytes, network, random);
        says = true;
    }
    if side.is_closed() {
        says |= lane.end(now);
    }
    says
}

/// When a side is due by itself, and when something arrives for it; what it does not want to read
/// stays where it is.
fn wait(side: &dyn Driven, lane: &Lane) -> [Option<Instant>; 2] {
    [side.poll_timeout(), lane.next().filter(|_| side.wants_read())]
}

/// Gives one side what has arrived; says whether anything has.
fn deliver(side: &mut dyn Driven, now: Instant, lane: &mut Lane) -> bool {
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

impl Drop for Pair {
    #[expect(clippy::print_stderr, reason = "whoever reads of the failure needs it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::eprintln!("the seed of the pair: {}", self.seed);
        }
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("now", &self.now())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Something was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Woken {
    fn look(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}
