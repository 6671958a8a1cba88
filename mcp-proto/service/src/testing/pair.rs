//! A client and a server, and the time between them.

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

/// With more looks than this at one instant, the two will never be done.
const MAX_LOOKS: usize = 1_000_000;

/// Wakes at one instant after which a task is taken to be woken for ever.
const MAX_WAKES: usize = 100_000;

/// A client and a server with a pipe between them, or HTTP, in virtual time, which passes when
/// nothing else happens. The [module](super) has an example.
///
/// The server is started, and the client connected, when it is first run. With a pipe, a server that
/// is to be started anew is, and a side that has ended is gone: what the other one still says is
/// lost. Over HTTP, the client has a connection for each request that is not answered, and one more
/// that it keeps; the server is there until it is started anew.
pub struct Pair {
    client_config: client::Config,
    client: Client,
    seed: u64,
    clock: Clock,
    between: Between,
    woken: Arc<Woken>,
    wire: Wire,
}

/// Transport of a pair, with its two sides.
enum Between {
    Pipe(Box<Pipe>),
    Http(Box<Http>),
}

impl Pair {
    /// A client, and a server that offers this, both with default settings.
    pub fn new(catalog: impl Into<Catalog>) -> Self {
        let catalog = catalog.into();
        let clock = Clock::default();
        let tasks = HostedTasks::of(&catalog, &clock);
        let start = move |config| Box::new(Service::new(catalog.clone(), config)) as Box<dyn Drive>;
        let pipe = Pipe::new(Box::new(start), tasks);
        Self::between(Between::Pipe(Box::new(pipe)), clock)
    }

    /// A client, and a server that is started by a function, whenever the client wants it to be.
    pub fn with_server(start: impl FnMut(server::Config) -> Box<dyn Drive> + 'static) -> Self {
        let pipe = Pipe::new(Box::new(start), HostedTasks::default());
        Self::between(Between::Pipe(Box::new(pipe)), Clock::default())
    }

    /// The same over Streamable HTTP: a server at `http://localhost/mcp` that offers this, and a
    /// client that connects to it, both with default settings.
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
        Self::between(Between::Http(Box::new(http)), clock)
    }

    fn between(between: Between, clock: Clock) -> Self {
        let client_config = client::Config::new(Implementation::new("pair", "1.0.0"));
        Self {
            client: Client::new(client_config.clone()),
            client_config,
            seed: 0,
            clock,
            between,
            woken: Arc::default(),
            wire: Wire::default(),
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
        let mut config = self.client_config.clone();
        config.negotiation = negotiation;
        self.client_config(config)
    }

    /// Sets what the client believes of the server.
    pub fn verdict(self, verdict: Option<Verdict>) -> Self {
        let mut config = self.client_config.clone();
        config.verdict = verdict;
        self.client_config(config)
    }

    /// Sets how the server behaves.
    pub fn server_config(mut self, config: server::Config) -> Self {
        match &mut self.between {
            Between::Pipe(pipe) => pipe.config = config,
            Between::Http(http) => http.config.server = config.into(),
        }
        self
    }

    /// Sets which eras the server serves.
    pub fn era_policy(mut self, era_policy: EraPolicy) -> Self {
        match &mut self.between {
            Between::Pipe(pipe) => pipe.config.era_policy = era_policy,
            Between::Http(http) => http.config.server.era_policy = era_policy,
        }
        self
    }

    /// Sets how the server behaves, with what there is to set over HTTP: sessions, authorization. A
    /// pair with a pipe takes the part that is for every server.
    pub fn http_config(mut self, config: http::Config) -> Self {
        match &mut self.between {
            Between::Pipe(pipe) => pipe.config = (*config.server).clone(),
            Between::Http(http) => http.config = config,
        }
        self
    }

    /// Sets where the client looks for the server, and with which fields; default
    /// `http://localhost`, and [`http::Config::path`]. For a pair over HTTP: a pipe has no URL.
    pub fn http_client_config(mut self, config: impl Into<HttpClientConfig>) -> Self {
        if let Between::Http(http) = &mut self.between {
            http.set_client_config(config.into());
        }
        self
    }

    /// Sets the authorization server of a pair over HTTP: all that a client asks in a sign-in goes there.
    /// [`http::Config::authorize`] checks its tokens, and
    /// [`HttpClientConfig::sign_in`] has the client sign in.
    #[cfg(feature = "auth")]
    pub fn auth_server(mut self, server: &super::AuthServer) -> Self {
        if let Between::Http(http) = &mut self.between {
            http.set_auth_server(server.clone());
        }
        self
    }

    /// Sets what happens to what is sent on the way; default [`Network::calm`].
    pub fn network(mut self, network: Network) -> Self {
        match &mut self.between {
            Between::Pipe(pipe) => pipe.set_network(network),
            Between::Http(http) => http.set_network(network),
        }
        self
    }

    /// Sets what all follows from that is random; default 0. It is printed when a test panics.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        let random = Random::new(seed);
        match &mut self.between {
            Between::Pipe(pipe) => pipe.set_random(random),
            Between::Http(http) => http.set_random(random),
        }
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

    /// Number of times that the server was started.
    pub fn starts(&self) -> usize {
        match &self.between {
            Between::Pipe(pipe) => pipe.starts(),
            Between::Http(http) => http.starts(),
        }
    }

    /// Number of connections that one side or both have open; 0 with a pipe.
    pub fn connections(&self) -> usize {
        match &self.between {
            Between::Pipe(_) => 0,
            Between::Http(http) => http.connections(),
        }
    }

    /// Number of sessions of legacy clients at the server; 0 with a pipe.
    pub fn sessions(&self) -> usize {
        match &self.between {
            Between::Pipe(_) => 0,
            Between::Http(http) => http.sessions(),
        }
    }

    /// The conversation so far, in the transcript format: as the client has sent and received it.
    pub fn wire(&self) -> String {
        self.wire.text()
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

    /// Breaks the pipe, or all connections: what is under way is lost, and both sides are at the end
    /// of it. With a pipe, handlers of the server have `Limits::drain` from then on. Before the pair
    /// was first run there is nothing to break; the same goes for the two that follow.
    pub fn cut(&mut self) {
        let now = self.now();
        match &mut self.between {
            Between::Pipe(pipe) => pipe.cut(now),
            Between::Http(http) => http.cut(),
        }
    }

    /// The client's side sends nothing more, on none of its connections; what is under way arrives.
    pub fn end_of_client(&mut self) {
        let now = self.now();
        match &mut self.between {
            Between::Pipe(pipe) => pipe.end_of_client(now),
            Between::Http(http) => http.end_of_client(),
        }
    }

    /// The server's side sends nothing more, on none of its connections; what is under way arrives.
    pub fn end_of_server(&mut self) {
        let now = self.now();
        match &mut self.between {
            Between::Pipe(pipe) => pipe.end_of_server(now),
            Between::Http(http) => http.end_of_server(),
        }
    }

    /// Cuts the next connection that the client writes to, once so many bytes of that have arrived:
    /// in the middle of the head or of the body of a request. A pipe goes on, here and in the four
    /// that follow.
    pub fn cut_request(&mut self, after: usize) {
        if let Between::Http(http) = &self.between {
            http.cut_request(after);
        }
    }

    /// Cuts the next connection that the server writes to, once so many bytes of that have arrived:
    /// in the middle of the head or of the body of a response. With 0 it is lost: the server has done
    /// what was asked for, and the client cannot know.
    pub fn cut_response(&mut self, after: usize) {
        if let Between::Http(http) = &self.between {
            http.cut_response(after);
        }
    }

    /// Nobody accepts connections for so long. Those that are there stay.
    pub fn refuse(&mut self, duration: Duration) {
        if let Between::Http(http) = &self.between {
            http.refuse(duration);
        }
    }

    /// Starts the server anew, as after a crash: its connections break, its handlers end, and
    /// it knows no session.
    pub fn restart(&mut self) {
        if let Between::Http(http) = &mut self.between {
            http.restart();
        }
    }

    /// Starts another server in place of this one, such as one of another era, or without sessions.
    pub fn restart_as(&mut self, config: http::Config) {
        if let Between::Http(http) = &mut self.between {
            http.config = config;
            http.restart();
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

    /// Lets each side do what it can; says whether anything came of it.
    fn look(&mut self) -> bool {
        let now = self.now();
        let rang = self.clock.ring();
        let stirred = match &mut self.between {
            Between::Pipe(pipe) => {
                let waker = Waker::from(self.woken.clone());
                pipe.look(now, &self.client, &self.wire, &waker)
            }
            Between::Http(http) => http.look(&self.client, &self.wire),
        };
        rang || stirred
    }

    /// Time of the next event that happens by itself.
    fn next(&self) -> Option<Instant> {
        let pipe = match &self.between {
            Between::Pipe(pipe) => pipe.next(),
            // Whatever is due there is due by the clock.
            Between::Http(_) => None,
        };
        pipe.into_iter().chain(self.clock.next()).min()
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
