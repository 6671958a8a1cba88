//! Connections that another thread might close as idle, while a request is on its way to them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mcp_proto::types::Implementation;
use mcp_proto::{Duration, EraPolicy, http};
use mcp_service::runtime::{Runtime, bridge};
use mcp_service::{BridgeConfig, Command};
use mcp_tests::bridge::site::{VirtualResponse, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::Value;

use super::cells::pipe;

#[test]
fn connection_is_not_idle_while_a_request_is_on_its_way() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let runtime = Interrupted { world: world.clone(), at_spawn: Arc::default() };
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.max_upstreams = 1;
    let bridge = bridge(&runtime, pipe(&world, EraPolicy::Auto, opened.clone()), config);
    let site = Site::new(&world, bridge.catalog(), http::Config::default());
    let other = Arc::new(Mutex::new(None));
    let (own, slot) = (site.clone(), other.clone());
    *runtime.at_spawn.lock().unwrap() = Some(Box::new(move || {
        let mut response = list(&own, "other");
        response.read(&own);
        *slot.lock().unwrap() = Some(response);
    }));
    let response = world.run(list(&site, "one").end(&site)).unwrap();
    let answer: Value = serde_json::from_str(&response.text).unwrap();
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

/// Sends `tools/list` of a client with a capability of this name.
fn list(site: &Site, capability: &str) -> VirtualResponse {
    site.modern("tools/list", "", &format!(r#""experimental":{{"{capability}":{{}}}}"#))
}
