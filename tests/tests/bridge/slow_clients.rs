//! Changes while a client does not read: the bridge still reports them.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_proto::client::{Change, List};
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Bytes, Duration, server};
use mcp_service::runtime::{Runtime, bridge, run, serve};
use mcp_service::{BridgeConfig, Catalog, Client, Reader, Sharing, Writer};
use mcp_tests::bridge::world::{Stream, VirtualRuntime as World, stream};
use serde_json::json;

use super::cells::{Transport, attach, client, pipe};
use super::{pairs, policy};

#[test]
fn change_is_reported_to_a_client_that_has_much_to_read() {
    for (down, up) in pairs() {
        let world = World::default();
        let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        config.sharing = Sharing::Shared;
        let bridge = bridge(&world, pipe(&world, policy(up), Arc::default()), config);
        let (slow, other) = (client(down), client(down));
        let gate = attach_slowly(&world, &slow, &bridge.catalog());
        attach(&world, &other, Transport::Stdio, &bridge.catalog());
        let talk = async {
            let filter = SubscriptionFilter::new().tools_list_changed();
            let mut subscription = slow.subscribe(filter).await.unwrap();
            other.connected().await.unwrap();
            gate.close();
            let big = json!({"message": "x".repeat(2 * 1024 * 1024)});
            let calling = slow.clone();
            world.spawn(async move { drop(calling.call_tool("echo", &big).await) });
            world.sleep(Duration::from_secs(1)).await;
            other.call_tool("test_trigger_tool_change", &()).await.unwrap();
            world.sleep(Duration::from_secs(1)).await;
            gate.open();
            subscription.changed().await
        };
        let expected = Some(Some(Change::ListChanged(List::Tools)));
        assert_eq!(world.run(talk), expected, "{down:?} {up:?}");
    }
}

/// Serves a catalog to a client that reads only while the gate is open.
fn attach_slowly(world: &World, client: &Client, catalog: &Catalog) -> Gate {
    let gate = Gate::default();
    let (runtime, client, catalog) = (world.clone(), client.clone(), catalog.clone());
    let (here, there) = stream();
    let gated = Gated { stream: there, gate: gate.clone() };
    let server = world.clone();
    world.spawn(async move {
        let stop = std::future::pending();
        drop(serve(&server, catalog, server::Config::default(), gated, stop).await);
    });
    world.spawn(async move { drop(run(&runtime, &client, here).await) });
    gate
}

/// Lets nothing pass while it is closed. Clones are the same gate.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<GateState>>);

#[derive(Default)]
struct GateState {
    is_closed: bool,
    waker: Option<Waker>,
}

impl Gate {
    fn close(&self) {
        self.0.lock().unwrap().is_closed = true;
    }

    fn open(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.is_closed = false;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A stream whose output waits before a gate.
struct Gated {
    stream: Stream,
    gate: Gate,
}

impl Reader for Gated {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.stream.poll_read(context)
    }
}

impl Writer for Gated {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut gate = self.gate.0.lock().unwrap();
        if gate.is_closed {
            gate.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        self.stream.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }
}
