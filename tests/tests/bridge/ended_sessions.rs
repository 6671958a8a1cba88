//! Sessions that end while a request of theirs is being started, as by another thread.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};

use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Duration, Era, EraPolicy, http};
use mcp_service::runtime::bridge;
use mcp_service::{Bridge, BridgeConfig, Sharing};
use mcp_tests::bridge::site::{INITIALIZE, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::{Transport, attach, client, pipe};

#[test]
fn request_of_an_ended_session_opens_no_connection() {
    let (world, opened) = (World::default(), Arc::default());
    let server = pipe(&world, EraPolicy::Auto, Arc::clone(&opened));
    let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    let site = BridgeSite::new(&world, bridge(&world, server, config));
    let talk = async {
        for _ in 0..3 {
            let answer = site.ask_in_an_ended_session(LIST).await;
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
    let site = BridgeSite::new(&world, bridge);
    let talk = async {
        for uri in ["a:1", "a:2", "a:3"] {
            let answer = site.ask_in_an_ended_session(&SUBSCRIBE.replace("a:1", uri)).await;
            assert!(answer.contains("the session ended before the answer"), "{answer}");
            world.sleep(Duration::from_secs(5)).await;
        }
        let filter = SubscriptionFilter::new().resource("test://watched-resource");
        let subscription = client.subscribe(filter.clone()).await.unwrap();
        assert_eq!(*subscription.honoured(), filter);
    };
    world.run(talk).unwrap();
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;

const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}"#;

/// A bridge over HTTP.
struct BridgeSite {
    site: Site,
    /// The session that ends before the next request reaches the bridge.
    ends: Arc<Mutex<Option<String>>>,
}

impl BridgeSite {
    fn new(world: &World, bridge: Bridge) -> Self {
        let (own, ends) =
            (Arc::<OnceLock<Site>>::default(), Arc::<Mutex<Option<String>>>::default());
        let (site, ending, only) = (own.clone(), ends.clone(), bridge.clone());
        let catalog = Bridge::catalog_of([bridge], move |_| {
            let session = ending.lock().unwrap().take();
            if let (Some(session), Some(site)) = (session, site.get()) {
                let context = &mut Context::from_waker(Waker::noop());
                assert!(pin!(site.delete(&session)).poll(context).is_ready());
            }
            Some(only.clone())
        });
        let site = Site::new(world, catalog, http::Config::default());
        own.set(site.clone()).ok();
        Self { site, ends }
    }

    /// Opens a session that ends before this request of it; returns the answer.
    async fn ask_in_an_ended_session(&self, body: &str) -> String {
        let session = self.site.ask(None, INITIALIZE).await.session.unwrap();
        *self.ends.lock().unwrap() = Some(session.clone());
        self.site.ask(Some(&session), body).await.text
    }
}
