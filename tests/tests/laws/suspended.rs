//! Programs that are suspended in the middle of anything: the clock of both sides jumps, and what
//! was due happens late. Whatever was in flight ends, and the client works on.

use std::future::Future;
use std::pin::Pin;

use mcp_proto::Duration;
use mcp_proto::server::Change;
use mcp_proto::types::SubscriptionFilter;
use serde_json::json;

use crate::site::{Place, RESOURCE, SECOND, Site, places};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The times of suspension.
const JUMPS: [Duration; 6] = [
    SECOND,
    Duration::from_secs(61),
    Duration::from_secs(31 * 60),
    DAY,
    Duration::from_secs(100 * 365 * 24 * 60 * 60),
    // The clock then shows an hour before the end of time.
    Duration::from_micros(u64::MAX - 3_600_000_000),
];

/// A future of a client; whether it succeeds depends on its deadlines.
type Operation = Pin<Box<dyn Future<Output = bool>>>;

fn suspend_everywhere(begin: &dyn Fn(&Site, &str) -> Operation) {
    for place in places().flat_map(|place| [place, place.undecided()]) {
        for jump in JUMPS {
            for polls in 0.. {
                if suspend(place, jump, polls, begin) {
                    break;
                }
            }
        }
    }
}

/// Suspends both sides after some polls of an operation, which then goes on. Returns whether it was
/// over before.
fn suspend(
    place: Place,
    jump: Duration,
    polls: usize,
    begin: &dyn Fn(&Site, &str) -> Operation,
) -> bool {
    let site = if place.is_decided() { Site::new(place) } else { Site::connecting(place) };
    let mut operation = begin(&site, "call 0");
    let is_over = site.poll(operation.as_mut(), polls).is_some();
    site.world.jump(jump);
    site.settle();
    if !is_over {
        site.run(operation);
    }
    // Over HTTP nothing more is tried if the server has not answered the first request in time.
    if site.run(site.client.connected()).is_err() {
        assert!(place.is_http && !place.is_decided() && jump > 60 * SECOND, "{place:?}, {jump:?}");
        return is_over;
    }
    if place.is_http {
        // A task goes on whose id was on its way when the client closed the stream.
        site.run(site.world.sleep(10 * SECOND));
    }
    // Where a session has ended, the next call opens another one.
    site.assert_works("echo");
    is_over
}

#[test]
fn calls_survive_a_suspension() {
    suspend_everywhere(&|site, text| {
        let call = site.client.call_tool("steps", &json!({"text": text}));
        Box::pin(async move { call.await.is_ok() })
    });
    suspend_everywhere(&|site, text| {
        let call = site.client.call_tool("ask", &json!({"text": text}));
        Box::pin(async move { call.await.is_ok() })
    });
}

#[test]
fn tasks_survive_a_suspension() {
    suspend_everywhere(&|site, text| {
        let call = site.client.call_tool("render", &json!({"text": text}));
        Box::pin(async move { call.await.is_ok() })
    });
}

#[test]
fn subscriptions_survive_a_suspension() {
    for place in places().flat_map(|place| [place, place.undecided()]) {
        for jump in JUMPS {
            let site = Site::new(place);
            let filter = SubscriptionFilter::new().resource(RESOURCE);
            let mut open = site.run(site.client.subscribe(filter)).unwrap();
            site.world.jump(jump);
            site.run(site.world.sleep(100 * SECOND));
            let change = Change::ResourceUpdated(RESOURCE.into());
            site.catalog.publish(&change).unwrap();
            let changed = site.run(open.changed());
            assert_eq!(changed, Some(change), "{place:?}, {jump:?}\n{}", site.wire());
            drop(open);
            site.assert_works("echo");
        }
    }
}
