//! Servers that do not answer `server/discover`: the bridge waits for that answer only once.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Duration, Era, EraPolicy, server};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, serve};
use mcp_service::{Bridge, BridgeConfig, Clock, Reader, Writer};
use mcp_tests::bridge::world::{Stream, VirtualRuntime as World, stream};
use mcp_tests::everything;

use super::ERAS;
use super::cells::{Transport, attach, client};

/// A server process, as the next connection finds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Process {
    /// Legacy, without an answer to `server/discover`.
    Silent,
    /// Modern.
    Modern,
    /// Modern, and ends when it reads `initialize`.
    Fragile,
    /// Of both eras, and so long in starting.
    Slow(Duration),
}

#[test]
fn silent_legacy_server_is_probed_once() {
    let site = Site::new(Process::Silent);
    assert_eq!(site.connect(Era::Legacy), ["server/discover", "initialize"]);
    for era in ERAS {
        let before = site.world.timer().now();
        assert_eq!(site.connect(era), ["initialize"], "{era:?}");
        let took = site.world.timer().now().duration_since(before);
        assert!(took < Duration::from_secs(1), "{era:?}: {took:?}");
    }
}

#[test]
fn server_that_becomes_modern_is_probed_again() {
    let site = Site::new(Process::Silent);
    site.connect(Era::Legacy);
    site.becomes(Process::Modern);
    assert_eq!(site.connect(Era::Legacy), ["initialize", "server/discover"]);
    assert_eq!(site.connect(Era::Legacy), ["server/discover"]);
}

#[test]
fn server_that_fails_is_probed_again() {
    let site = Site::new(Process::Silent);
    site.connect(Era::Legacy);
    site.becomes(Process::Fragile);
    let failed = client(Era::Legacy);
    attach(&site.world, &failed, Transport::Stdio, &site.bridge.catalog());
    assert!(site.world.run(failed.connected()).unwrap().is_err());
    assert_eq!(site.requests(), ["initialize"]);
    assert_eq!(site.connect(Era::Legacy), ["server/discover"]);
}

/// The stream is legacy because of the `initialize` that was sent meanwhile.
#[test]
fn server_that_was_slow_to_start_is_probed_again() {
    let site = Site::new(Process::Slow(Duration::from_secs(10)));
    assert_eq!(site.connect(Era::Legacy), ["server/discover", "initialize"]);
    site.becomes(Process::Slow(Duration::ZERO));
    assert_eq!(site.connect(Era::Legacy), ["server/discover"]);
}

/// A bridge to a server process for each connection.
struct Site {
    world: World,
    bridge: Bridge,
    process: Arc<Mutex<Process>>,
    wire: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(process: Process) -> Self {
        let (world, process) = (World::default(), Arc::new(Mutex::new(process)));
        let (runtime, next) = (world.clone(), process.clone());
        let target = BridgeTarget::stream(move || {
            let (here, there) = stream();
            let process = *next.lock().unwrap();
            let server = runtime.clone();
            runtime.spawn(async move {
                let mut config = server::Config::default();
                config.era_policy = match process {
                    Process::Silent => EraPolicy::LegacyOnly,
                    Process::Modern | Process::Fragile => EraPolicy::ModernOnly,
                    Process::Slow(_) => EraPolicy::Auto,
                };
                if let Process::Slow(duration) = process {
                    server.sleep(duration).await;
                }
                let (registry, stop) = (everything::registry().unwrap(), std::future::pending());
                let stream = Input { stream: there, process };
                drop(serve(&server, registry, config, stream, stop).await);
            });
            Ok(here)
        });
        let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        let bridge = bridge(&world, target, config);
        let wire = Arc::<Mutex<Vec<String>>>::default();
        let lines = wire.clone();
        bridge.on_wire(move |line| lines.lock().unwrap().push(line.into()));
        Self { world, bridge, process, wire }
    }

    /// The process that is started for the next connection.
    fn becomes(&self, process: Process) {
        *self.process.lock().unwrap() = process;
    }

    /// Serves a client of its own connection; returns how the connection was negotiated.
    fn connect(&self, era: Era) -> Vec<&'static str> {
        let client = client(era);
        attach(&self.world, &client, Transport::Stdio, &self.bridge.catalog());
        assert!(self.world.run(client.list_tools()).unwrap().is_ok());
        self.requests()
    }

    /// The requests of the negotiation since the last look.
    fn requests(&self) -> Vec<&'static str> {
        let wire = std::mem::take(&mut *self.wire.lock().unwrap());
        let method = |line: &String| {
            let is_it = |method: &&&str| line.contains(&format!("\"method\":\"{method}\""));
            ["initialize", "server/discover"].iter().find(is_it).copied()
        };
        let mut methods: Vec<_> = wire.iter().filter_map(method).collect();
        // A modern server is asked again for the result of a legacy client's `initialize`.
        methods.dedup();
        methods
    }
}

/// The end of a server.
struct Input {
    stream: Stream,
    process: Process,
}

impl Reader for Input {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            let read = self.stream.poll_read(context);
            let Poll::Ready(Ok(bytes)) = &read else { return read };
            let names = |method: &str| String::from_utf8_lossy(bytes).contains(method);
            if self.process == Process::Fragile && names("\"initialize\"") {
                return Poll::Ready(Ok(Bytes::new()));
            }
            if self.process != Process::Silent || !names("\"server/discover\"") {
                return read;
            }
        }
    }
}

impl Writer for Input {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }
}
