//! Byte streams of legacy clients that end without an end of input: their sessions end all the
//! same, and with them the connections to the server.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Bytes, Duration, Era, EraPolicy, http, server};
use mcp_service::runtime::{Runtime, bridge, run, run_http, serve, serve_http};
use mcp_service::{BridgeConfig, Catalog, Client, Reader, Sharing, Subscription, Writer};
use mcp_tests::bridge::world::{Stream, VirtualRuntime as World, stream};
use serde_json::json;

use super::cells::{BRIDGE, at, client, pipe};

/// The end of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// A read fails, as after a timeout of TCP.
    Read,
    /// A write fails, since the peer does not read any more.
    Write,
    /// The application drops the future that serves the stream.
    Drop,
    /// The peer has ended its output, and does not read.
    Deaf,
}

/// A stream that ends by a cause, once it is to.
struct Ending {
    stream: Stream,
    cause: Arc<Mutex<Option<Cause>>>,
}

impl Reader for Ending {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        match *self.cause.lock().unwrap() {
            Some(Cause::Read) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Some(Cause::Deaf) => Poll::Ready(Ok(Bytes::new())),
            _ => self.stream.poll_read(context),
        }
    }
}

impl Writer for Ending {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match *self.cause.lock().unwrap() {
            Some(Cause::Write) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Some(Cause::Deaf) => Poll::Pending,
            _ => self.stream.poll_write(context, data),
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }
}

#[test]
fn session_ends_with_its_stream_however_that_ends() {
    for sharing in [Sharing::PerClient, Sharing::Shared] {
        for cause in [Cause::Read, Cause::Write, Cause::Drop, Cause::Deaf] {
            let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
            let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
            config.sharing = sharing;
            config.max_upstreams = 1;
            config.client.limits.max_subscriptions = 1;
            let server = pipe(&world, EraPolicy::LegacyOnly, opened.clone());
            let bridge = bridge(&world, server, config);
            let talk = async {
                let mut subscriptions = Vec::new();
                for _ in 0..3 {
                    let client = client(Era::Legacy);
                    subscriptions.push(attach(&world, &client, &bridge.catalog(), cause).await);
                    // The server has its time to end.
                    world.sleep(Duration::from_secs(10)).await;
                }
            };
            assert!(world.run(talk).is_some(), "{sharing:?} {cause:?}");
            let expected = if sharing == Sharing::Shared { 1 } else { 3 };
            assert_eq!(*opened.lock().unwrap(), expected, "{sharing:?} {cause:?}");
        }
    }
}

#[test]
fn session_ends_with_its_server_over_http() {
    for is_calling in [false, true] {
        let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
        let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        config.max_upstreams = 1;
        let server = pipe(&world, EraPolicy::LegacyOnly, opened.clone());
        let bridge = bridge(&world, server, config);
        let talk = async {
            for _ in 0..3 {
                let (runtime, catalog) = (world.clone(), bridge.catalog());
                let listener = world.listen(BRIDGE);
                world.spawn(async move {
                    let config = http::Config::default();
                    let stop = std::future::pending();
                    let serving = serve_http(&runtime, listener, catalog, config, stop);
                    first(pin!(serving), pin!(runtime.sleep(Duration::from_secs(5)))).await;
                });
                let client = client(Era::Legacy);
                let (runtime, own) = (world.clone(), client.clone());
                world.spawn(async move { drop(run_http(&runtime, &own, at(BRIDGE)).await) });
                client.list_tools().await.unwrap();
                if is_calling {
                    let call = client.call_tool("test_sampling", &json!({"prompt": "x"}));
                    first(pin!(call), pin!(world.sleep(Duration::from_secs(5)))).await;
                }
                // The server has its time to end.
                world.sleep(Duration::from_secs(20)).await;
            }
        };
        assert!(world.run(talk).is_some());
        assert_eq!(*opened.lock().unwrap(), 3, "{is_calling}");
    }
}

/// Completes with one of two futures.
async fn first(one: Pin<&mut impl Future>, other: Pin<&mut impl Future>) {
    let (mut one, mut other) = (one, other);
    poll_fn(|context| {
        if one.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        other.as_mut().poll(context).map(drop)
    })
    .await;
}

/// A client subscribes through the bridge, until its stream ends by this cause.
async fn attach(world: &World, client: &Client, catalog: &Catalog, cause: Cause) -> Subscription {
    let (here, there) = stream();
    let ends = Arc::<Mutex<Option<Cause>>>::default();
    let ending = Ending { stream: there, cause: ends.clone() };
    let (runtime, catalog) = (world.clone(), catalog.clone());
    world.spawn(async move {
        let config = server::Config::default();
        let serving = serve(&runtime, catalog, config, ending, std::future::pending());
        let lifetime = if cause == Cause::Drop { Duration::from_secs(5) } else { Duration::MAX };
        first(pin!(serving), pin!(runtime.sleep(lifetime))).await;
    });
    let (runtime, own) = (world.clone(), client.clone());
    world.spawn(async move { drop(run(&runtime, &own, here).await) });
    let filter = SubscriptionFilter::new().resource("test://watched-resource");
    let subscription = client.subscribe(filter.clone()).await.unwrap();
    assert_eq!(*subscription.honoured(), filter, "{cause:?}");
    if cause != Cause::Drop {
        *ends.lock().unwrap() = Some(cause);
        let _ = client.list_tools().timeout(Duration::from_secs(1)).await;
    }
    subscription
}
