//! Byte streams of legacy clients that end without an end of input: their sessions end all the
//! same, and with them the connections to the server.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Duration, Era, EraPolicy, server};
use mcp_service::runtime::{Runtime, bridge, run, serve};
use mcp_service::{BridgeConfig, Client, Reader, Sharing, Writer};
use mcp_tests::bridge::world::{Stream, VirtualRuntime as World, stream};

use super::cells::{client, pipe};

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
            let server = pipe(&world, EraPolicy::LegacyOnly, opened.clone());
            let bridge = bridge(&world, server, config);
            let talk = async {
                for _ in 0..3 {
                    let client = client(Era::Legacy);
                    attach(&world, &client, &bridge.catalog(), cause).await;
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

/// A client talks to the bridge, until its stream ends by this cause.
async fn attach(world: &World, client: &Client, catalog: &mcp_service::Catalog, cause: Cause) {
    let (here, there) = stream();
    let ends = Arc::<Mutex<Option<Cause>>>::default();
    let ending = Ending { stream: there, cause: ends.clone() };
    let (runtime, catalog, dropping) = (world.clone(), catalog.clone(), world.clone());
    world.spawn(async move {
        let config = server::Config::default();
        let mut serving =
            std::pin::pin!(serve(&runtime, catalog, config, ending, std::future::pending()));
        let mut time = std::pin::pin!(dropping.sleep(Duration::from_secs(5)));
        std::future::poll_fn(|context| match serving.as_mut().poll(context) {
            Poll::Pending if cause == Cause::Drop => time.as_mut().poll(context),
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
        })
        .await;
    });
    let (runtime, own) = (world.clone(), client.clone());
    world.spawn(async move { drop(run(&runtime, &own, here).await) });
    client.list_tools().await.unwrap();
    if cause != Cause::Drop {
        *ends.lock().unwrap() = Some(cause);
        let _ = client.list_tools().timeout(Duration::from_secs(1)).await;
    }
}
