//! Clients over HTTP whose calls are dropped, whose subscriptions come and go, and whose servers
//! are replaced.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use mcp_proto::client::Config;
use mcp_proto::http::{self, Url};
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Duration, Era};
use mcp_service::runtime::{Runtime, run_http, serve_http};
use mcp_service::{Client, HttpClientConfig};
use mcp_tests::bridge::negotiation;
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::json;

use super::endings::registry;
use super::{FIRST, alone, assert_lasting};

/// The time that each server lives.
const LIFETIME: Duration = Duration::from_secs(20);

#[test]
fn calls_and_subscriptions_of_a_client_leave_nothing() {
    let _alone = alone();
    for negotiation in [Era::Legacy, Era::Modern].map(negotiation) {
        let world = World::default();
        let config = Config::new(Implementation::new("client", "1")).negotiation(negotiation);
        let client = Client::new(config);
        let (runtime, own) = (world.clone(), client.clone());
        serve(&world);
        world.spawn(async move {
            let url = Url::parse("http://127.0.0.1:1/mcp").unwrap();
            drop(run_http(&runtime, &own, HttpClientConfig::new(url)).await);
        });
        let listed = Cell::new(0);
        let round = async |number: usize| {
            serve(&world);
            listed.set(listed.get() + usize::from(client.list_tools().await.is_ok()));
            let filter = SubscriptionFilter::new().resource(format!("t:{number}"));
            let mut subscription = pin!(client.subscribe(filter));
            until(&world, 100, subscription.as_mut()).await;
            for _ in 0..2 {
                let call = client.call_tool("steps", &json!({})).on_progress(|_| ());
                until(&world, 1_500, pin!(call)).await;
            }
            world.sleep(LIFETIME + LIFETIME).await;
            // The server is gone.
            until(&world, 5_000, pin!(client.call_tool("echo", &json!({})))).await;
        };
        let what = format!("client, {negotiation:?}");
        world.run(assert_lasting(&world, &what, round)).unwrap();
        assert!(listed.get() > FIRST, "{} of the servers were reached", listed.get());
    }
}

fn serve(world: &World) {
    let (runtime, listener) = (world.clone(), world.listen(1));
    world.spawn(async move {
        let stop = runtime.sleep(LIFETIME);
        serve_http(&runtime, listener, registry(), http::Config::default(), stop).await;
    });
}

/// Waits for a future, for so many milliseconds at most.
async fn until(world: &World, millis: u64, mut future: impl Future + Unpin) {
    let mut time = pin!(world.sleep(Duration::from_millis(millis)));
    poll_fn(|context| {
        if std::pin::Pin::new(&mut future).poll(context).is_ready() {
            return Poll::Ready(());
        }
        time.as_mut().poll(context)
    })
    .await;
}
