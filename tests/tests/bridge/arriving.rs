//! Connections that another thread might close as idle, while a request is on its way to them.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_proto::frame::http1::Head;
use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Duration, EraPolicy, Instant, http};
use mcp_service::runtime::{Runtime, bridge};
use mcp_service::{Answering, BridgeConfig, Clock, Command, HttpServer, Part};
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::{Value, json};

use super::cells::pipe;
use super::{modern, request};

#[test]
fn connection_is_not_idle_while_a_request_is_on_its_way() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let runtime = Interrupted { world: world.clone(), at_spawn: Arc::default() };
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.max_upstreams = 1;
    let bridge = bridge(&runtime, pipe(&world, EraPolicy::Auto, opened.clone()), config);
    let mut bits = 0_u128;
    let random = move || {
        bits += 1;
        bits.to_be_bytes()
    };
    let spawns = world.clone();
    let server = HttpServer::new(bridge.catalog(), http::Config::default(), random, move |it| {
        spawns.spawn(it);
    });
    let (background, mut clock) = (server.clone(), world.timer());
    world.spawn(async move { background.run_background(&mut clock).await });
    let other = Arc::new(Mutex::new(None));
    let (site, slot) = (server.clone(), other.clone());
    *runtime.at_spawn.lock().unwrap() = Some(Box::new(move || {
        let mut answering = begin(&site, "other");
        let _begun = answering.turn(Instant::ZERO, Waker::noop());
        *slot.lock().unwrap() = Some(answering);
    }));
    let answer = world.run(read(&world, begin(&server, "one"))).unwrap();
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    // The other client came while the connection had nothing to do but this request.
    assert!(other.lock().unwrap().is_some());
    assert_eq!(*opened.lock().unwrap(), 1);
    world.run(world.sleep(Duration::from_secs(1))).unwrap();
}

/// A runtime that calls a function at the next spawn, as another thread might act.
#[derive(Clone)]
struct Interrupted {
    world: World,
    at_spawn: Arc<Mutex<Option<Interrupt>>>,
}

type Interrupt = Box<dyn FnOnce() + Send>;

impl Runtime for Interrupted {
    type Timer = <World as Runtime>::Timer;
    type Socket = <World as Runtime>::Socket;
    type Listener = <World as Runtime>::Listener;
    type Child = <World as Runtime>::Child;

    fn timer(&self) -> Self::Timer {
        self.world.timer()
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.world.spawn(future);
        let interrupt = self.at_spawn.lock().unwrap().take();
        if let Some(interrupt) = interrupt {
            interrupt();
        }
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket> {
        self.world.connect(address).await
    }

    async fn accept(&self, listener: &Self::Listener) -> io::Result<(Self::Socket, SocketAddr)> {
        self.world.accept(listener).await
    }

    fn start(&self, command: &Command) -> io::Result<Self::Child> {
        self.world.start(command)
    }
}

/// Passes `tools/list` of a client with a capability of this name to the server.
fn begin(server: &HttpServer, capability: &str) -> Answering {
    let mut params = modern(json!({}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"experimental": {capability: {}}});
    let body = request(1, "tools/list", &params);
    let mut head = Head::new("POST", "/mcp");
    for (name, value) in [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
    ] {
        head.push(name, value.as_bytes());
    }
    server.answer(Instant::ZERO, head, &Bytes::copy_from_slice(body.as_bytes()))
}

/// The answer to a request.
async fn read(world: &World, mut answering: Answering) -> Value {
    let mut answer = Vec::new();
    poll_fn(|context| {
        loop {
            match answering.turn(world.timer().now(), context.waker()) {
                Some(Part::Whole(_, body)) => {
                    answer.extend_from_slice(&body);
                    return Poll::Ready(());
                }
                Some(Part::Head(_)) => {}
                Some(Part::Data(data)) => answer.extend_from_slice(&data),
                Some(Part::End) => return Poll::Ready(()),
                None => return Poll::Pending,
            }
        }
    })
    .await;
    serde_json::from_slice(&answer).unwrap()
}
