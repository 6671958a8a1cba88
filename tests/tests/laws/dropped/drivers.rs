//! The futures that drive clients and servers, each dropped after 0, 1, 2, … polls in the middle
//! of a conversation. The other side and all calls end, and no handler is left.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use mcp_proto::client::CallError;
use mcp_proto::http;
use mcp_proto::types::SubscriptionFilter;
use mcp_service::runtime::{Runtime, connect, connect_http, run, run_http, serve, serve_http};
use mcp_service::{CloseCause, Subscription};
use mcp_tests::bridge::world::stream;
use serde_json::json;

use crate::site::{Place, RESOURCE, SECOND, Site, at_port, places, server_config};

/// A future that drives one side.
type Driving = Pin<Box<dyn Future<Output = ()>>>;

/// What has become of the calls and of the subscription of a client.
#[derive(Default)]
struct Outcomes {
    calls: Vec<Result<(), CallError>>,
    /// What `Subscription::changed` waits for has ended.
    has_followed: bool,
}

/// The calls of a client, as tasks of its runtime.
const CALLS: usize = 4;

/// Begins a call of each kind, and a subscription.
fn begin_calls(site: &Site) -> Arc<Mutex<Outcomes>> {
    let outcomes = Arc::<Mutex<Outcomes>>::default();
    for (tool, text) in [("steps", "a"), ("ask", "b")] {
        let (client, outcomes) = (site.client.clone(), outcomes.clone());
        site.world.spawn(async move {
            let called = client.call_tool(tool, &json!({"text": text})).await;
            outcomes.lock().unwrap().calls.push(called.map(drop));
        });
    }
    let (client, noted) = (site.client.clone(), outcomes.clone());
    site.world.spawn(async move {
        let listed = client.list_tools().await;
        noted.lock().unwrap().calls.push(listed.map(drop));
    });
    let (client, noted) = (site.client.clone(), outcomes.clone());
    site.world.spawn(async move {
        let filter = SubscriptionFilter::new().resource(RESOURCE);
        let opened = client.subscribe(filter).await;
        let ended = opened.as_ref().map(drop).map_err(CallError::clone);
        noted.lock().unwrap().calls.push(ended);
        if let Ok(mut open) = opened {
            let open: &mut Subscription = &mut open;
            while open.changed().await.is_some() {}
        }
        noted.lock().unwrap().has_followed = true;
    });
    outcomes
}

/// Drops the futures that `begin` makes, after each number of polls, until all calls have ended
/// before. Returns after checking that everything else has ended by then.
fn drop_everywhere(
    place: Place,
    begin: impl Fn(&Site) -> Driving,
    handler_time: u32,
    own_tasks: usize,
) {
    for polls in 0.. {
        let site = Site::unconnected(place);
        let driving = begin(&site);
        let outcomes = begin_calls(&site);
        let ended = site.poll(driving, polls);
        assert!(ended.is_none(), "{place:?}, {polls} polls: the driver has ended by itself");
        let is_last = outcomes.lock().unwrap().calls.len() == CALLS;
        site.settle();
        site.run(site.world.sleep(handler_time * SECOND));
        site.settle();
        let wire = site.wire();
        assert_eq!(site.server_work.running(), 0, "{place:?}, {polls} polls: handlers run\n{wire}");
        site.run(site.client.close());
        site.run(site.world.sleep(100 * SECOND));
        site.settle();
        let wire = site.wire();
        {
            let outcomes = outcomes.lock().unwrap();
            assert_eq!(outcomes.calls.len(), CALLS, "{place:?}, {polls} polls\n{wire}");
            assert!(outcomes.has_followed, "{place:?}, {polls} polls\n{wire}");
        }
        assert_eq!(site.client_work.running(), 0, "{place:?}, {polls} polls\n{wire}");
        let left = site.world.tasks();
        assert_eq!(left, own_tasks, "{place:?}, {polls} polls: tasks run\n{wire}");
        if is_last {
            return;
        }
    }
}

#[test]
fn drivers_of_clients_may_be_dropped_at_any_time() {
    for place in places() {
        let begin = |site: &Site| -> Driving {
            site.serve();
            let (runtime, client) = (site.world.clone(), site.client.clone());
            if place.is_http {
                return Box::pin(async move { drop(run_http(&runtime, &client, at_port()).await) });
            }
            let here = site.serve_stream();
            Box::pin(async move { drop(run(&runtime, &client, here).await) })
        };
        // A stream that ends leaves its handlers `Limits::drain`. A session lasts longer than its
        // connections, and its handlers go on: one of them asks, in vain, until it gives up.
        let handler_time = match (place.is_http, place.is_modern()) {
            (false, _) => 2,
            (true, true) => 0,
            (true, false) => 5,
        };
        drop_everywhere(place, begin, handler_time, place.server_tasks());
    }
}

#[test]
fn drivers_of_servers_may_be_dropped_at_any_time() {
    for place in places() {
        let begin = |site: &Site| -> Driving {
            let (runtime, client) = (site.world.clone(), site.client.clone());
            let (world, catalog) = (site.world.clone(), site.catalog.clone());
            if place.is_http {
                site.world.spawn(async move { drop(run_http(&runtime, &client, at_port()).await) });
                let listener = world.listen(1);
                let mut config = http::Config::default();
                config.server = server_config().into();
                return Box::pin(async move {
                    serve_http(&world, listener, catalog, config, pending()).await;
                });
            }
            let (here, there) = stream();
            site.world.spawn(async move { drop(run(&runtime, &client, here).await) });
            Box::pin(async move {
                drop(serve(&world, catalog, server_config(), there, pending()).await);
            })
        };
        drop_everywhere(place, begin, 0, 0);
    }
}

#[test]
fn connecting_may_be_dropped_at_any_time() {
    for place in places() {
        for polls in 0.. {
            let site = Site::unconnected(place);
            site.serve();
            let (runtime, client) = (site.world.clone(), site.client.clone());
            let connecting: Pin<Box<dyn Future<Output = bool>>> = if place.is_http {
                Box::pin(async move { connect_http(&runtime, &client, at_port()).await.is_ok() })
            } else {
                let here = site.serve_stream();
                Box::pin(async move { connect(&runtime, &client, here).await.is_ok() })
            };
            let connected = site.poll(connecting, polls);
            if connected == Some(true) {
                site.assert_works("echo");
                break;
            }
            assert_eq!(connected, None, "{place:?}, {polls} polls\n{}", site.wire());
            if polls > 0 {
                let called = site.run(site.client.call_tool("echo", &json!({"text": "a"})));
                assert_eq!(called.map(drop), Err(CallError::Closed), "{place:?}, {polls} polls");
                let closed = site.run(site.client.closed());
                assert_eq!(closed.cause, CloseCause::Dropped);
            }
            site.run(site.world.sleep(100 * SECOND));
            assert_eq!(site.world.tasks(), place.server_tasks(), "{place:?}, {polls} polls");
        }
    }
}

#[test]
fn closing_may_be_dropped_at_any_time() {
    for place in places() {
        for polls in 0.. {
            let site = Site::new(place);
            let outcomes = begin_calls(&site);
            site.settle();
            let closed = site.poll(Box::pin(site.client.close()), polls);
            site.run(site.client.closed());
            site.settle();
            assert_eq!(outcomes.lock().unwrap().calls.len(), CALLS, "{}", site.wire());
            assert!(outcomes.lock().unwrap().has_followed, "{}", site.wire());
            site.run(site.world.sleep(2 * SECOND));
            site.settle();
            assert_eq!(site.running(), 0, "{place:?}, {polls} polls\n{}", site.wire());
            assert_eq!(site.world.tasks(), place.server_tasks(), "{place:?}, {polls} polls");
            if closed.is_some() {
                break;
            }
        }
    }
}
