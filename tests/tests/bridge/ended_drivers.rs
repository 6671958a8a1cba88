//! Drivers of connections that panic, or cannot be spawned: what the server has asked is withdrawn,
//! and the next request has another connection.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use mcp_proto::types::{ElicitResult, Implementation};
use mcp_proto::{Bytes, Duration, Era};
use mcp_service::runtime::{BridgeTarget, ByteStream, Runtime, bridge};
use mcp_service::{BridgeConfig, Command, Reader, Sharing, Writer};
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::json;

use super::cells::{Transport, attach, client, pipe};
use super::policy;

/// A stream that panics when it is told to.
struct Panics(Box<dyn ByteStream>, Arc<AtomicBool>);

impl Reader for Panics {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        assert!(!self.1.load(Ordering::Relaxed), "the stream is broken");
        self.0.poll_read(context)
    }
}

impl Writer for Panics {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(context)
    }
}

/// Tells that it was dropped.
struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn question_of_a_connection_whose_driver_has_panicked_is_withdrawn() {
    for era in super::ERAS {
        let world = World::default();
        let BridgeTarget::Stream(open) = pipe(&world, policy(era), <_>::default()) else {
            unreachable!("it is a stream");
        };
        let panics = Arc::new(AtomicBool::new(false));
        let told = panics.clone();
        let target = BridgeTarget::stream(move || Ok(Panics(open()?, told.clone())));
        let bridge = bridge(&world, target, BridgeConfig::new(Implementation::new("bridge", "1")));
        let client = client(Era::Legacy);
        let is_withdrawn = Arc::new(AtomicBool::new(false));
        let flag = is_withdrawn.clone();
        client.on_form(move |_| {
            let asked = OnDrop(flag.clone());
            async move {
                let _asked = asked;
                std::future::pending::<ElicitResult>().await
            }
        });
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let other = client.clone();
        world.spawn(async move {
            let _ = other.call_tool("test_elicitation", &json!({"message": "Sure?"})).await;
        });
        let talk = async {
            client.list_tools().await.unwrap();
            world.sleep(Duration::from_secs(1)).await;
            assert!(!is_withdrawn.load(Ordering::Relaxed), "{era:?}");
            panics.store(true, Ordering::Relaxed);
            assert!(client.list_prompts().await.is_err());
            world.sleep(Duration::from_secs(1)).await;
            assert!(is_withdrawn.load(Ordering::Relaxed), "{era:?}: the user is still asked");
        };
        world.run(talk).unwrap();
    }
}

/// A runtime that panics instead of spawning, while this is set.
#[derive(Clone)]
struct FullRuntime(World, Arc<AtomicBool>);

impl Runtime for FullRuntime {
    type Timer = <World as Runtime>::Timer;
    type Socket = <World as Runtime>::Socket;
    type Listener = <World as Runtime>::Listener;
    type Child = <World as Runtime>::Child;

    fn timer(&self) -> Self::Timer {
        self.0.timer()
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if self.1.load(Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("no room for another task"));
        }
        self.0.spawn(future);
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket> {
        self.0.connect(address).await
    }

    async fn accept(&self, listener: &Self::Listener) -> io::Result<(Self::Socket, SocketAddr)> {
        self.0.accept(listener).await
    }

    fn start(&self, command: &Command) -> io::Result<Self::Child> {
        self.0.start(command)
    }
}

#[test]
fn connection_whose_driver_cannot_be_spawned_gives_way_to_another_one() {
    for (up, down) in super::ERAS.into_iter().flat_map(|up| super::ERAS.map(|down| (up, down))) {
        let world = World::default();
        let is_full = Arc::new(AtomicBool::new(true));
        let runtime = FullRuntime(world.clone(), is_full.clone());
        let target = pipe(&world, policy(up), <_>::default());
        let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
        config.sharing = Sharing::Shared;
        let bridge = bridge(&runtime, target, config);
        for full in [true, false] {
            is_full.store(full, Ordering::Relaxed);
            let client = client(down);
            attach(&world, &client, Transport::Stdio, &bridge.catalog());
            let listed = world.run(client.list_tools()).unwrap();
            assert_eq!(listed.is_err(), full, "{up:?} {down:?}: {listed:?}");
        }
    }
}
