//! Sessions that end while a request of theirs is being started, as by another thread.

use std::fmt::Write;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Poll, Waker};

use mcp_proto::frame::http1::Head;
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Bytes, Duration, Era, EraPolicy, Instant, http};
use mcp_service::runtime::{Runtime, bridge};
use mcp_service::{Answering, Bridge, BridgeConfig, Clock, HttpServer, Part, Sharing};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::{Transport, attach, client, pipe};

#[test]
fn request_of_an_ended_session_opens_no_connection() {
    let (world, opened) = (World::default(), Arc::default());
    let server = pipe(&world, EraPolicy::Auto, Arc::clone(&opened));
    let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    let site = Site::new(&world, bridge(&world, server, config));
    let talk = async {
        for _ in 0..3 {
            let session = site.initialize().await;
            *site.ends.lock().unwrap() = Some(session.clone());
            let answer = site.ask(Some(&session), LIST).await;
            assert!(answer.contains("the session ended before the answer"), "{answer}");
            // The server has its time to end.
            world.sleep(Duration::from_secs(5)).await;
        }
    };
    world.run(talk).unwrap();
    assert_eq!(*opened.lock().unwrap(), 3);
}

#[test]
fn request_of_an_ended_session_leaves_nothing_at_a_shared_connection() {
    let world = World::default();
    let server = pipe(&world, EraPolicy::LegacyOnly, Arc::default());
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.sharing = Sharing::Shared;
    config.client.limits.max_subscriptions = 3;
    let bridge = bridge(&world, server, config);
    let client = client(Era::Legacy);
    attach(&world, &client, Transport::Stdio, &bridge.catalog());
    let site = Site::new(&world, bridge);
    let talk = async {
        for uri in ["a:1", "a:2", "a:3"] {
            let session = site.initialize().await;
            *site.ends.lock().unwrap() = Some(session.clone());
            let answer = site.ask(Some(&session), &SUBSCRIBE.replace("a:1", uri)).await;
            assert!(answer.contains("the session ended before the answer"), "{answer}");
            world.sleep(Duration::from_secs(5)).await;
        }
        let filter = SubscriptionFilter::new().resource("test://watched-resource");
        let subscription = client.subscribe(filter.clone()).await.unwrap();
        assert_eq!(*subscription.honoured(), filter);
    };
    world.run(talk).unwrap();
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;

const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}"#;

/// A bridge over HTTP.
struct Site {
    world: World,
    server: HttpServer,
    /// The session that ends before the next request reaches the bridge.
    ends: Arc<Mutex<Option<String>>>,
}

impl Site {
    fn new(world: &World, bridge: Bridge) -> Self {
        let (own, ends) =
            (Arc::<OnceLock<HttpServer>>::default(), Arc::<Mutex<Option<String>>>::default());
        let (server, ending, only) = (own.clone(), ends.clone(), bridge.clone());
        let catalog = Bridge::catalog_of([bridge], move |_| {
            let session = ending.lock().unwrap().take();
            if let (Some(session), Some(server)) = (session, server.get()) {
                let mut ended = begin(server, "DELETE", Some(&session), "");
                assert!(ended.turn(Instant::ZERO, Waker::noop()).is_some());
            }
            Some(only.clone())
        });
        let mut bits = 0_u128;
        let random = move || {
            bits += 1;
            bits.to_be_bytes()
        };
        let spawns = world.clone();
        let server =
            HttpServer::new(catalog, http::Config::default(), random, move |it| spawns.spawn(it));
        own.set(server.clone()).ok();
        let (background, mut clock) = (server.clone(), world.timer());
        world.spawn(async move { background.run_background(&mut clock).await });
        Self { world: world.clone(), server, ends }
    }

    /// Opens a session; returns its id.
    async fn initialize(&self) -> String {
        let answer = self.ask(None, INITIALIZE).await;
        let (_, rest) = answer.split_once("Mcp-Session-Id: ").unwrap();
        rest.split_once("\r\n").unwrap().0.to_owned()
    }

    /// Sends a POST; returns the whole answer.
    async fn ask(&self, session: Option<&str>, body: &str) -> String {
        let mut answering = begin(&self.server, "POST", session, body);
        let mut answer = String::new();
        poll_fn(|context| {
            loop {
                match answering.turn(self.world.timer().now(), context.waker()) {
                    Some(Part::Whole(head, body)) => {
                        for (name, value) in head.fields() {
                            write!(answer, "{name}: {value}\r\n").unwrap();
                        }
                        answer += str::from_utf8(&body).unwrap();
                        return Poll::Ready(());
                    }
                    Some(Part::Head(_)) => {}
                    Some(Part::Data(data)) => answer += str::from_utf8(&data).unwrap(),
                    Some(Part::End) => return Poll::Ready(()),
                    None => return Poll::Pending,
                }
            }
        })
        .await;
        answer
    }
}

/// Passes a request to the server.
fn begin(server: &HttpServer, method: &str, session: Option<&str>, body: &str) -> Answering {
    let mut head = Head::new(method, "/mcp");
    for (name, value) in [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ] {
        head.push(name, value.as_bytes());
    }
    if let Some(session) = session {
        head.push("Mcp-Session-Id", session.as_bytes());
    }
    server.answer(Instant::ZERO, head, &Bytes::copy_from_slice(body.as_bytes()))
}
