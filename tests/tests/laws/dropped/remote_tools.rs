//! Futures about the tools of another server, each dropped after 0, 1, 2, … polls: calls that a
//! server forwards, and the lists and subscriptions of `RemoteTools`.

use mcp_proto::client::{Config, Negotiation};
use mcp_proto::server::List;
use mcp_proto::types::Implementation;
use mcp_service::runtime::{Runtime, run};
use mcp_service::{Catalog, Client, Registry, RemoteTools};
use serde_json::json;

use crate::site::{SECOND, Site, places, server_config};

/// More calls than the limits of each side have room for at the same time.
const REPEATS: usize = 4;

/// Most polls of a future that never ends.
const POLLS: usize = 20;

/// A catalog without tools.
fn catalog() -> Catalog {
    Registry::new(Implementation::new("front", "1")).into()
}

/// A client of a server with this catalog.
fn connect(site: &Site, catalog: &Catalog, negotiation: Negotiation) -> Client {
    let config = Config::new(Implementation::new("client", "1")).negotiation(negotiation);
    let client = Client::new(config);
    let here = site.world.serve(catalog.clone(), server_config());
    let (runtime, driven) = (site.world.clone(), client.clone());
    site.world.spawn(async move { drop(run(&runtime, &driven, here).await) });
    site.run(client.connected()).unwrap();
    client
}

#[test]
fn forwarded_calls_may_be_dropped_at_any_time() {
    for place in places() {
        for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
            for polls in 0.. {
                let site = Site::new(place);
                let front = catalog();
                assert!(site.run(RemoteTools::new(&site.client, "").update(&front)).unwrap());
                let client = connect(&site, &front, negotiation);
                let mut is_ready = false;
                for n in 0..REPEATS {
                    let call = client.call_tool("steps", &json!({"text": format!("call {n}")}));
                    let ended = site.poll(Box::pin(call.on_progress(|_| ())), polls);
                    is_ready = ended.is_some();
                    assert!(ended.is_none_or(|ended| ended.is_ok()), "{}", site.wire());
                    site.settle();
                    let running = site.running();
                    assert_eq!(running, 0, "{place:?}, {polls} polls: {}", site.wire());
                }
                site.run(client.close());
                site.assert_works("echo");
                if is_ready {
                    break;
                }
            }
        }
    }
}

#[test]
fn updates_of_remote_tools_may_be_dropped_at_any_time() {
    for place in places() {
        for polls in 0.. {
            let site = Site::new(place);
            let front = catalog();
            let mut remote = RemoteTools::new(&site.client, "");
            let updated = site.poll(Box::pin(remote.update(&front)), polls);
            let is_ready = updated.is_some();
            assert!(updated.is_none_or(|updated| updated == Ok(true)), "{}", site.wire());
            assert_eq!(site.run(remote.update(&front)), Ok(!is_ready), "{place:?}, {polls}");
            let client = connect(&site, &front, Negotiation::Auto);
            assert_eq!(site.run(client.list_tools()).unwrap().tools.len(), 5);
            site.run(client.close());
            site.assert_works("echo");
            if is_ready {
                break;
            }
        }
    }
}

#[test]
fn followed_remote_tools_may_be_dropped_at_any_time() {
    for place in places().filter(|place| place.is_modern()) {
        let mut has_subscribed = false;
        for polls in 0..POLLS {
            let site = Site::new(place);
            let declare = |registry: &mut Registry| {
                registry.list_changed(List::Tools);
                Ok(())
            };
            site.catalog.update(declare).unwrap();
            let front = catalog();
            let mut remote = RemoteTools::new(&site.client, "");
            let followed = site.poll(Box::pin(remote.follow(&front)), polls);
            assert!(followed.is_none(), "{place:?}, {polls}: {followed:?}");
            site.settle();
            has_subscribed |= site.wire().contains("subscriptions/listen");
            site.wire.lock().unwrap().clear();
            let change = |registry: &mut Registry| {
                registry.remove_tool("echo");
                Ok(())
            };
            site.catalog.update(change).unwrap();
            site.settle();
            assert!(!site.wire().contains("list_changed"), "still subscribed:\n{}", site.wire());
            assert!(site.run(remote.update(&front)).unwrap(), "{place:?}, {polls}");
            site.run(site.world.sleep(SECOND));
            site.run(site.client.close());
            site.settle();
            assert_eq!(site.world.tasks(), place.server_tasks(), "{place:?}, {polls}");
        }
        assert!(has_subscribed, "{place:?}: {POLLS} polls are too few");
    }
}
