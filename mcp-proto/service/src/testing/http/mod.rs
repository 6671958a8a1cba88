//! A client and a server over HTTP, with a network between them.
//!
//! In: settings of both sides and of the network, and faults. Out: whether any progress was made.
//! Both sides run the loops that adapters use, as tasks. Only their sockets, which are lanes, and
//! their time, which is the [`Clock`], are simulated.

#[cfg(feature = "auth")]
mod auth_socket;
mod net;
mod socket;
mod tasks;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(feature = "auth")]
use super::auth_server::AuthServer;
use super::clock::{Clock, Timer};
use super::hosted::HostedTasks;
use super::lane::Network;
use super::random::Random;
use super::wire::Wire;
use crate::lock::Lock;
use crate::{Catalog, Client, HttpClientConfig, HttpClientService, HttpServer, Spawned, drive};
use mcp_proto::http::{Config, Url};
use mcp_proto::{Duration, Instant};

use net::{End, Net};
use socket::{Connector, Stream};
pub(super) use tasks::TestTasks;

/// A client and a server over HTTP.
pub(super) struct Http {
    catalog: Catalog,
    pub(super) config: Config,
    /// Configuration of the client; default the URL of the server.
    client_config: Option<HttpClientConfig>,
    net: Net,
    #[cfg(feature = "auth")]
    auth_server: Option<AuthServer>,
    clock: Clock,
    /// The client, after the first run.
    client: TestTasks,
    running: Option<RunningServer>,
    /// The tasks of the server.
    hosted: HostedTasks,
    starts: usize,
}

/// A running server, with its connections and the handlers of its sessions.
struct RunningServer {
    server: HttpServer,
    tasks: TestTasks,
    spawned: Queue,
}

type Queue = Arc<Lock<Vec<Spawned>>>;

impl Http {
    pub(super) fn new(catalog: Catalog, clock: &Clock) -> Self {
        Self {
            hosted: HostedTasks::of(&catalog, clock),
            catalog,
            config: Config::default(),
            client_config: None,
            net: Net::new(),
            #[cfg(feature = "auth")]
            auth_server: None,
            clock: clock.clone(),
            client: TestTasks::default(),
            running: None,
            starts: 0,
        }
    }

    pub(super) fn set_client_config(&mut self, config: HttpClientConfig) {
        self.client_config = Some(config);
    }

    #[cfg(feature = "auth")]
    pub(super) fn set_auth_server(&mut self, server: AuthServer) {
        self.auth_server = Some(server);
    }

    pub(super) fn set_network(&self, network: Network) {
        self.net.set_network(network);
    }

    pub(super) fn set_random(&self, random: Random) {
        self.net.set_random(random);
    }

    /// Polls each woken task once; returns whether there was any.
    pub(super) fn run_round(&mut self, client: &Client, wire: &Wire) -> bool {
        if self.running.is_none() && !self.open(client, wire) {
            return false;
        }
        let Some(RunningServer { server, tasks, spawned }) = &mut self.running else {
            return false;
        };
        for number in self.net.accept() {
            let mut service = server.connect(self.clock.now());
            let mut stream = Stream::new(&self.net, number, &self.clock);
            tasks.spawn(Box::pin(async move {
                // Errors of a connection are ignored.
                let _ = drive(&mut service, &mut stream).await;
            }));
        }
        let handlers = core::mem::take(&mut *spawned.lock());
        for handler in handlers {
            tasks.spawn(handler);
        }
        let served = tasks.run() | self.hosted.run_round();
        self.client.run() || served
    }

    /// Starts both sides; false if the client is driven elsewhere.
    fn open(&mut self, client: &Client, wire: &Wire) -> bool {
        let Some(config) = self.client_config.clone().or_else(|| self.client_config()) else {
            return false;
        };
        let bits = self.net.clone();
        let Ok(mut service) = HttpClientService::new(client, config, move || bits.bits()) else {
            return false;
        };
        let wire = wire.clone();
        service.show_wire(self.clock.now(), move |line| wire.push(line));
        let mut timer = Timer::new(&self.clock);
        let mut connector = Connector {
            net: self.net.clone(),
            #[cfg(feature = "auth")]
            auth_server: self.auth_server.clone(),
            clock: self.clock.clone(),
        };
        self.client.spawn(Box::pin(async move {
            // The handle reports why the client could not connect.
            let _ = service.drive(&mut timer, &mut connector).await;
        }));
        self.start();
        true
    }

    /// A configuration with the URL of the server.
    fn client_config(&self) -> Option<HttpClientConfig> {
        let path = self.config.path.strip_prefix('/').unwrap_or(&self.config.path);
        Url::parse(&alloc::format!("http://localhost/{path}")).ok().map(HttpClientConfig::new)
    }

    fn start(&mut self) {
        let spawned = Queue::default();
        let bits = self.net.clone();
        let queue = spawned.clone();
        let spawn = move |handler| {
            queue.lock().push(handler);
        };
        let catalog = self.catalog.clone();
        let config = self.config.clone();
        let server = HttpServer::new(catalog, config, move || bits.bits(), spawn);
        let mut tasks = TestTasks::default();
        let background = server.clone();
        let mut timer = Timer::new(&self.clock);
        tasks.spawn(Box::pin(async move { background.run_background(&mut timer).await }));
        self.running = Some(RunningServer { server, tasks, spawned });
        self.starts += 1;
    }

    /// Drops the server, and starts another one.
    pub(super) fn restart(&mut self) {
        if self.running.take().is_some() {
            self.hosted.clear();
            self.cut();
            self.start();
        }
    }

    pub(super) fn cut(&self) {
        self.net.cut(self.clock.now());
    }

    pub(super) fn end_of_client(&self) {
        self.net.end(self.clock.now(), End::Client);
    }

    pub(super) fn end_of_server(&self) {
        self.net.end(self.clock.now(), End::Server);
    }

    pub(super) fn refuse(&self, duration: Duration) {
        let until: Instant = self.clock.now() + duration;
        self.net.refuse_until(until);
    }

    pub(super) fn cut_request(&self, after: usize) {
        self.net.cut_next(End::Client, after);
    }

    pub(super) fn cut_response(&self, after: usize) {
        self.net.cut_next(End::Server, after);
    }

    pub(super) fn starts(&self) -> usize {
        self.starts
    }

    pub(super) fn connections(&self) -> usize {
        self.net.count()
    }

    pub(super) fn sessions(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.server.sessions())
    }
}
