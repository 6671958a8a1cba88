//! A client and a server in virtual time.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use super::clock::Clock;
use super::hosted::HostedTasks;
use super::http::Http;
use super::lane::Network;
use super::pipe::Pipe;
use super::random::Random;
use super::wire::Wire;
use super::woken::Woken;
use crate::{Catalog, Client, Drive, HttpClientConfig, Service};
use mcp_proto::client::{self, Negotiation, Verdict};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, EraPolicy, Instant, http, server};

/// The most rounds at one instant; beyond them the test fails.
const MAX_ROUNDS: usize = 1_000_000;

/// The most wakes at one instant without progress; beyond them the test fails.
const MAX_WAKES: usize = 100_000;

/// A client and a server, connected by a pipe or HTTP, in virtual time. Time advances when nothing
/// else can make progress. The [module](super) has an example.
///
/// The first run starts the server and connects the client. With a pipe, the server is restarted
/// when the client wants that; a side that has ended is dropped, and later output of the other side
/// is lost. Over HTTP, the client has a connection for each request in flight, and keeps idle ones
/// for 4 s; the server runs until [`Pair::restart`].
pub struct Pair {
    client_config: client::Config,
    client: Client,
    seed: u64,
    clock: Clock,
    transport: PairTransport,
    woken: Arc<Woken>,
    wire: Wire,
}

/// The transport of a pair, with both sides.
enum PairTransport {
    Pipe(Box<Pipe>),
    Http(Box<Http>),
}

impl Pair {
    /// A client and a server with this catalog and default configurations, connected by a pipe.
    pub fn new(catalog: impl Into<Catalog>) -> Self {
        let catalog = catalog.into();
        let clock = Clock::default();
        let tasks = HostedTasks::of(&catalog, &clock);
        let start = move |config| Box::new(Service::new(catalog.clone(), config)) as Box<dyn Drive>;
        let pipe = Pipe::new(Box::new(start), tasks);
        Self::with_transport(PairTransport::Pipe(Box::new(pipe)), clock)
    }

    /// A client, and a server that `start` creates for each start, connected by a pipe.
    pub fn with_server(start: impl FnMut(server::Config) -> Box<dyn Drive> + 'static) -> Self {
        let pipe = Pipe::new(Box::new(start), HostedTasks::default());
        Self::with_transport(PairTransport::Pipe(Box::new(pipe)), Clock::default())
    }

    /// A client, and a server with this catalog at `http://localhost/mcp`, connected by Streamable
    /// HTTP, both with the default configuration.
    ///
    /// ```
    /// # use mcp_proto::client::Negotiation;
    /// # use mcp_service::testing::Pair;
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Registry;
    /// # fn registry() -> Registry { Registry::new(Implementation::new("sums", "1.0.0")) }
    /// for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
    ///     let mut pair = Pair::over_http(registry()).negotiation(negotiation);
    ///     let server = pair.run(pair.client().connected())?;
    ///     assert_eq!(server.implementation.map(|it| it.name), Some("sums".into()));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over_http(catalog: impl Into<Catalog>) -> Self {
        let clock = Clock::default();
        let http = Http::new(catalog.into(), &clock);
        Self::with_transport(PairTransport::Http(Box::new(http)), clock)
    }

    fn with_transport(transport: PairTransport, clock: Clock) -> Self {
        let client_config = client::Config::new(Implementation::new("pair", "1.0.0"));
        Self {
            client: Client::new(client_config.clone()),
            client_config,
            seed: 0,
            clock,
            transport,
            woken: Arc::default(),
            wire: Wire::default(),
        }
    }

    /// Sets the configuration of the client. This method, [`Pair::negotiation`] and
    /// [`Pair::verdict`] replace the client, so call them before [`Pair::client`].
    pub fn client_config(mut self, config: client::Config) -> Self {
        self.client = Client::new(config.clone());
        self.client_config = config;
        self
    }

    /// Sets the strategy for finding a version.
    pub fn negotiation(self, negotiation: Negotiation) -> Self {
        let mut config = self.client_config.clone();
        config.negotiation = negotiation;
        self.client_config(config)
    }

    /// Sets the stored verdict about the server.
    pub fn verdict(self, verdict: Option<Verdict>) -> Self {
        let mut config = self.client_config.clone();
        config.verdict = verdict;
        self.client_config(config)
    }

    /// Sets the configuration of the server.
    pub fn server_config(mut self, config: server::Config) -> Self {
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.config = config,
            PairTransport::Http(http) => http.config.server = config.into(),
        }
        self
    }

    /// Sets the eras that the server supports.
    pub fn era_policy(mut self, era_policy: EraPolicy) -> Self {
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.config.era_policy = era_policy,
            PairTransport::Http(http) => http.config.server.era_policy = era_policy,
        }
        self
    }

    /// Sets the configuration of the server over HTTP, with sessions and authorization. With a pipe
    /// only [`http::Config::server`] applies.
    pub fn http_config(mut self, config: http::Config) -> Self {
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.config = (*config.server).clone(),
            PairTransport::Http(http) => http.config = config,
        }
        self
    }

    /// Sets the configuration of the client over HTTP, such as its URL and headers; default URL
    /// `http://localhost` with [`http::Config::path`]. Does nothing with a pipe.
    pub fn http_client_config(mut self, config: impl Into<HttpClientConfig>) -> Self {
        if let PairTransport::Http(http) = &mut self.transport {
            http.set_client_config(config.into());
        }
        self
    }

    /// Sets the authorization server of a pair over HTTP, for all sign-ins. Set
    /// [`http::Config::authorize`] to check its tokens, and [`HttpClientConfig::sign_in`].
    #[cfg(feature = "auth")]
    pub fn auth_server(mut self, server: &super::AuthServer) -> Self {
        if let PairTransport::Http(http) = &mut self.transport {
            http.set_auth_server(server.clone());
        }
        self
    }

    /// Sets the latency and faults of the network; default [`Network::calm`].
    pub fn network(mut self, network: Network) -> Self {
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.set_network(network),
            PairTransport::Http(http) => http.set_network(network),
        }
        self
    }

    /// Sets the seed of all random choices except the ids of tasks; default 0. It is printed when a
    /// test panics.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        let random = Random::new(seed);
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.set_random(random),
            PairTransport::Http(http) => http.set_random(random),
        }
        self
    }

    /// The client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The elapsed virtual time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The clock of this pair, for handlers that sleep.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Number of starts of the server.
    pub fn starts(&self) -> usize {
        match &self.transport {
            PairTransport::Pipe(pipe) => pipe.starts(),
            PairTransport::Http(http) => http.starts(),
        }
    }

    /// Number of connections that at least one side has open; 0 with a pipe.
    pub fn connections(&self) -> usize {
        match &self.transport {
            PairTransport::Pipe(_) => 0,
            PairTransport::Http(http) => http.connections(),
        }
    }

    /// Number of sessions of legacy clients at the server; 0 with a pipe.
    pub fn sessions(&self) -> usize {
        match &self.transport {
            PairTransport::Pipe(_) => 0,
            PairTransport::Http(http) => http.sessions(),
        }
    }

    /// The conversation so far, in the transcript format, as the client has sent and received it.
    pub fn wire(&self) -> String {
        self.wire.text()
    }

    /// Runs both sides until `future` completes. Time advances when nothing else can make progress.
    ///
    /// # Panics
    ///
    /// If `future` can never complete, because no progress is possible or a task is woken forever.
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

    /// Runs both sides without advancing time, and polls `future`. Use it to begin a request and do
    /// something else while it is pending. [Pin](core::pin::pin) a future that is not `Unpin`
    /// first.
    ///
    /// ```
    /// use mcp_proto::client::CallError;
    /// # use mcp_service::testing::Pair;
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Registry;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Nothing {}
    /// # let mut registry = Registry::new(Implementation::new("thinker", "1.0.0"));
    /// # registry.tool("think", "Thinks", |_: Nothing, _| std::future::pending::<String>())?;
    ///
    /// let mut pair = Pair::new(registry);
    /// let mut call = pair.client().call_tool("think", &serde_json::json!({}));
    /// assert!(pair.poll(&mut call).is_pending());
    /// pair.cut();
    /// assert_eq!(pair.run(call), Err(CallError::Interrupted));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a task is woken forever.
    pub fn poll<F: Future + Unpin>(&mut self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(self.woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut idle = 0;
        loop {
            if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
                return Poll::Ready(output);
            }
            if !self.make_progress(&mut idle) {
                return Poll::Pending;
            }
        }
    }

    /// Runs both sides for this virtual time. Poll pending futures again after it.
    ///
    /// # Panics
    ///
    /// If a task is woken forever.
    pub fn pass(&mut self, duration: Duration) {
        let end = self.now() + duration;
        loop {
            let mut idle = 0;
            while self.make_progress(&mut idle) {}
            match self.next().filter(|next| *next <= end) {
                Some(next) => self.clock.set(next),
                None => break,
            }
        }
        self.clock.set(end);
    }

    /// Breaks the pipe, or all connections: bytes in flight are lost, and both sides read the end,
    /// or a reset over HTTP. With a pipe, handlers of the server have `Limits::drain` from then on.
    /// Before the first run this does nothing, like [`Pair::end_of_client`] and
    /// [`Pair::end_of_server`].
    pub fn cut(&mut self) {
        let now = self.now();
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.cut(now),
            PairTransport::Http(http) => http.cut(),
        }
    }

    /// Ends the output of the client, on all its connections; bytes in flight arrive.
    pub fn end_of_client(&mut self) {
        let now = self.now();
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.end_of_client(now),
            PairTransport::Http(http) => http.end_of_client(),
        }
    }

    /// Ends the output of the server, on all its connections; bytes in flight arrive.
    pub fn end_of_server(&mut self) {
        let now = self.now();
        match &mut self.transport {
            PairTransport::Pipe(pipe) => pipe.end_of_server(now),
            PairTransport::Http(http) => http.end_of_server(),
        }
    }

    /// Cuts the next connection that the client writes to, once `after` more bytes of it have
    /// arrived: in the middle of a request. This method and those below do nothing with a pipe.
    pub fn cut_request(&mut self, after: usize) {
        if let PairTransport::Http(http) = &self.transport {
            http.cut_request(after);
        }
    }

    /// Cuts the next connection that the server writes to, once `after` more bytes of it have
    /// arrived: in the middle of a response. With 0 the response is lost, after the request was
    /// executed, unless the server writes anything earlier, such as progress.
    pub fn cut_response(&mut self, after: usize) {
        if let PairTransport::Http(http) = &self.transport {
            http.cut_response(after);
        }
    }

    /// Refuses new connections for this time. Open connections stay.
    pub fn refuse(&mut self, duration: Duration) {
        if let PairTransport::Http(http) = &self.transport {
            http.refuse(duration);
        }
    }

    /// Restarts the server, as after a crash: its connections break, its handlers are dropped, and
    /// its sessions are lost.
    pub fn restart(&mut self) {
        if let PairTransport::Http(http) = &mut self.transport {
            http.restart();
        }
    }

    /// Restarts the server with another configuration, such as another era, or without sessions.
    pub fn restart_as(&mut self, config: http::Config) {
        if let PairTransport::Http(http) = &mut self.transport {
            http.config = config;
            http.restart();
        }
    }

    /// Makes progress at this instant; returns whether there was any, or the future was woken.
    fn make_progress(&mut self, idle: &mut usize) -> bool {
        if self.settle() {
            *idle = 0;
            return true;
        }
        *idle += 1;
        let woken = self.woken.take();
        assert!(!woken || *idle < MAX_WAKES, "woken for ever; so far:\n{}", self.wire());
        woken
    }

    /// Makes all possible progress at this instant; returns whether there was any.
    fn settle(&mut self) -> bool {
        let mut rounds = 0;
        while self.run_round() {
            rounds += 1;
            assert!(rounds < MAX_ROUNDS, "the two will never be done; so far:\n{}", self.wire());
        }
        rounds > 0
    }

    /// Runs one round of each side; returns whether it made progress.
    fn run_round(&mut self) -> bool {
        let now = self.now();
        let has_woken = self.clock.wake_due();
        let has_progressed = match &mut self.transport {
            PairTransport::Pipe(pipe) => {
                let waker = Waker::from(self.woken.clone());
                pipe.run_round(now, &self.client, &self.wire, &waker)
            }
            PairTransport::Http(http) => http.run_round(&self.client, &self.wire),
        };
        has_woken || has_progressed
    }

    /// Time of the next timeout or arrival.
    fn next(&self) -> Option<Instant> {
        let pipe = match &self.transport {
            PairTransport::Pipe(pipe) => pipe.next(),
            // All its timers are sleeps of the clock.
            PairTransport::Http(_) => None,
        };
        pipe.into_iter().chain(self.clock.next()).min()
    }
}

impl Drop for Pair {
    #[expect(clippy::print_stderr, reason = "it is needed to reproduce the failure")]
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
