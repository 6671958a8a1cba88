//! Subscriptions of clients.

use std::task::Poll;

use mcp_proto::client::{CallError, Change, List};
use mcp_proto::types::{Resource, ResourceContents, SubscriptionFilter};
use mcp_service::testing::{Network, Pair};
use mcp_service::{Catalog, Client, Handler, Registry, Subscription};
use serde_json::Value;

use crate::bench::{ERAS, Log, SECOND, WAYS, registry, said};

#[test]
fn changes_are_told() {
    for way in WAYS {
        for network in [Network::calm(), Network::rough()] {
            let catalog = Catalog::from(changing());
            let mut pair = way.pair(catalog.clone()).network(network).seed(9);
            let client = pair.client();
            let mut subscription = pair.run(client.subscribe(filter(&["test:a"]))).unwrap();
            assert_eq!(subscription.honoured(), &filter(&["test:a"]));
            let changes = [Change::ListChanged(List::Tools), updated("test:a")];
            for change in changes {
                catalog.publish(&change).unwrap();
                assert_eq!(pair.run(subscription.changed()), Some(change));
            }
            assert!(is_quiet(&mut pair, &mut subscription));
        }
    }
}

#[test]
fn a_server_honours_what_it_can() {
    for way in WAYS {
        let mut pair = way.pair(registry(|_: Value, _| async { "done" }));
        let mut subscription = pair.run(pair.client().subscribe(filter(&["test:a"]))).unwrap();
        assert_eq!(subscription.honoured(), &SubscriptionFilter::default());
        // There is nothing to wait for.
        assert_eq!(pair.run(subscription.changed()), None);
        assert_eq!(subscription.ended(), Some(Ok(())));
    }
}

#[test]
fn a_change_that_comes_again_before_it_is_taken_is_there_once() {
    for way in WAYS {
        let catalog = Catalog::from(changing());
        let mut pair = way.pair(catalog.clone());
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter(&["test:a", "test:b"]))).unwrap();
        for uri in ["test:a", "test:b", "test:a"] {
            catalog.publish(&updated(uri)).unwrap();
            pair.pass(SECOND);
        }
        assert_eq!(pair.run(subscription.changed()), Some(updated("test:a")));
        assert_eq!(pair.run(subscription.changed()), Some(updated("test:b")));
        assert!(is_quiet(&mut pair, &mut subscription));
        catalog.publish(&updated("test:a")).unwrap();
        assert_eq!(pair.run(subscription.changed()), Some(updated("test:a")));
    }
}

#[test]
fn the_newest_changes_are_kept_until_they_are_taken() {
    const KEPT: usize = 1024;
    let catalog = Catalog::from(changing());
    let mut config = mcp_proto::server::Config::default();
    config.limits.max_subscriptions = 2 * KEPT;
    let mut pair = Pair::new(catalog.clone()).server_config(config);
    let client = pair.client();
    let uris: Vec<String> = (0..KEPT + 10).map(|number| format!("test:{number:04}")).collect();
    let filter = uris.iter().fold(SubscriptionFilter::new(), SubscriptionFilter::resource);
    let mut subscription = pair.run(client.subscribe(filter)).unwrap();
    for uris in uris.chunks(100) {
        for uri in uris {
            catalog.publish(&updated(uri)).unwrap();
        }
        pair.pass(SECOND);
    }
    for uri in &uris[10..] {
        assert_eq!(pair.run(subscription.changed()), Some(updated(uri)));
    }
    assert!(is_quiet(&mut pair, &mut subscription));
}

#[test]
fn a_subscription_that_is_dropped_ends_at_the_server() {
    for way in WAYS {
        let catalog = Catalog::from(changing());
        let mut pair = way.pair(catalog.clone());
        let (client, log) = (pair.client(), Log::default());
        hear(&client, &log);
        let subscription = pair.run(client.subscribe(filter(&["test:a"]))).unwrap();
        catalog.publish(&updated("test:a")).unwrap();
        pair.run(client.ping()).unwrap();
        assert_eq!(log.take(), ["test:a"]);
        drop(subscription);
        pair.run(client.ping()).unwrap();
        catalog.publish(&updated("test:a")).unwrap();
        pair.run(client.ping()).unwrap();
        assert_eq!(log.take(), [""; 0]);
        let ends = said(&pair, "notifications/cancelled") + said(&pair, "resources/unsubscribe");
        assert_eq!(ends, usize::from(!way.cancels_by_closing()));
    }
}

#[test]
fn a_subscription_that_is_dropped_before_it_begins_ends_too() {
    for way in WAYS {
        let catalog = Catalog::from(changing());
        let mut pair = way.pair(catalog.clone()).network(Network::calm().latency(SECOND, SECOND));
        let (client, log) = (pair.client(), Log::default());
        hear(&client, &log);
        pair.run(client.connected()).unwrap();
        let mut subscribing = Box::pin(client.subscribe(filter(&["test:a"])));
        assert!(pair.poll(&mut subscribing).is_pending());
        drop(subscribing);
        pair.run(client.ping()).unwrap();
        pair.run(client.ping()).unwrap();
        catalog.publish(&updated("test:a")).unwrap();
        pair.run(client.ping()).unwrap();
        assert_eq!(log.take(), [""; 0], "{}", pair.wire());
    }
}

#[test]
fn subscriptions_are_told_apart() {
    for way in WAYS {
        let catalog = Catalog::from(changing());
        let mut pair = way.pair(catalog.clone());
        let client = pair.client();
        let (mut one, mut two) = pair.run(async {
            let one = client.subscribe(only(&["test:a"])).await.unwrap();
            (one, client.subscribe(only(&["test:a", "test:b"])).await.unwrap())
        });
        catalog.publish(&updated("test:b")).unwrap();
        assert_eq!(pair.run(two.changed()), Some(updated("test:b")));
        assert!(is_quiet(&mut pair, &mut one));
        drop(two);
        pair.run(client.ping()).unwrap();
        catalog.publish(&updated("test:a")).unwrap();
        assert_eq!(pair.run(one.changed()), Some(updated("test:a")), "it is still wanted");
    }
}

#[test]
fn the_end_of_the_server_is_the_end_of_subscriptions() {
    for negotiation in ERAS {
        let catalog = Catalog::from(changing());
        let mut pair = Pair::new(catalog.clone()).negotiation(negotiation);
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter(&["test:a"]))).unwrap();
        catalog.publish(&updated("test:a")).unwrap();
        pair.pass(SECOND);
        pair.cut();
        pair.pass(SECOND);
        assert_eq!(pair.run(subscription.changed()), Some(updated("test:a")), "it came before");
        assert_eq!(pair.run(subscription.changed()), None);
        assert_eq!(pair.run(subscription.changed()), None);
        let late = pair.run(client.subscribe(filter(&[])));
        assert_eq!(late.err(), Some(CallError::Closed));
    }
}

#[test]
fn whoever_hears_of_every_change_hears_of_it_once() {
    for way in WAYS {
        let catalog = Catalog::from(changing());
        let mut pair = way.pair(catalog.clone());
        let (client, log) = (pair.client(), Log::default());
        hear(&client, &log);
        let _subscription = pair.run(client.subscribe(filter(&[]))).unwrap();
        catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
        pair.run(client.ping()).unwrap();
        assert_eq!(log.take(), ["Tools"]);
    }
}

fn hear(client: &Client, log: &Log) {
    let log = log.clone();
    client.on_change(move |change| match change {
        Change::ListChanged(list) => log.note(format!("{list:?}")),
        Change::ResourceUpdated(uri) => log.note(uri),
        other @ (Change::TaskUpdated(_) | _) => unreachable!("{other:?}"),
    });
}

fn is_quiet(pair: &mut Pair, subscription: &mut Subscription) -> bool {
    pair.pass(SECOND);
    let mut changed = Box::pin(subscription.changed());
    pair.poll(&mut changed) == Poll::Pending
}

fn updated(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

fn only(uris: &[&str]) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = uris.iter().map(|uri| (*uri).to_owned()).collect();
    filter
}

fn filter(uris: &[&str]) -> SubscriptionFilter {
    let mut filter = only(uris);
    filter.tools_list_changed = true;
    filter
}

fn changing() -> Registry<Handler> {
    let mut registry = registry(|_: Value, _| async { "done" });
    registry.list_changed(List::Tools).subscribe();
    for uri in ["test:a", "test:b"] {
        let text = |uri: String, _| async move { ResourceContents::text(uri, "text") };
        registry.resource(Resource::new(uri, uri), text).unwrap();
    }
    registry
}
