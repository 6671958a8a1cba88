//! Many clients that share a connection to a modern server: their subscriptions leave room for
//! calls.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use mcp_proto::server::{Change, List};
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Duration, Era, EraPolicy};
use mcp_service::runtime::bridge;
use mcp_service::{Bridge, BridgeConfig, Client, Sharing};
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::json;

use super::ERAS;
use super::cells::{Transport, attach, bridged, client, pipe};

const MAX_IN_FLIGHT: usize = 8;

/// A bridge whose clients share a connection, with few requests in flight.
fn shared(world: &World) -> Bridge {
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
    config.sharing = Sharing::Shared;
    config.client.limits.max_in_flight = MAX_IN_FLIGHT;
    bridge(world, pipe(world, EraPolicy::ModernOnly, <_>::default()), config)
}

/// Over HTTP each subscription has a connection.
#[test]
fn many_clients_subscribe_at_a_server_over_http() {
    let world = World::default();
    let bridge = bridged(&world, Transport::Http, Era::Modern);
    let talk = async {
        let mut subscriptions = Vec::new();
        for number in 0..100 {
            let client = attached(&world, &bridge, Era::Modern);
            let filter = SubscriptionFilter::new().tools_list_changed();
            let subscription = client.subscribe(filter).await;
            assert!(subscription.is_ok(), "{number}: {subscription:?}");
            subscriptions.push(subscription);
        }
        let client = attached(&world, &bridge, Era::Modern);
        client.call_tool("test_simple_text", &()).await.unwrap();
    };
    world.run(talk).unwrap();
}

fn attached(world: &World, bridge: &Bridge, era: Era) -> Client {
    let client = client(era);
    attach(world, &client, Transport::Stdio, &bridge.catalog());
    client
}

#[test]
fn legacy_clients_share_the_changes_of_lists() {
    let world = World::default();
    let bridge = shared(&world);
    let talk = async {
        let mut clients = Vec::new();
        for _ in 0..3 * MAX_IN_FLIGHT {
            let client = attached(&world, &bridge, Era::Legacy);
            client.list_tools().await.unwrap();
            let filter = SubscriptionFilter::new().tools_list_changed();
            let subscription = client.subscribe(filter).await.unwrap();
            clients.push((client, subscription));
        }
        // The subscription outlives the client that was first.
        let (first, _) = clients.remove(0);
        first.close().await;
        world.sleep(Duration::from_secs(5)).await;
        let (one, _) = &clients[0];
        one.call_tool("test_trigger_tool_change", &json!({})).await.unwrap();
        for (_, subscription) in &mut clients {
            let changed = subscription.changed().await;
            assert_eq!(changed, Some(Change::ListChanged(List::Tools)));
        }
    };
    world.run(talk).unwrap();
}

/// A legacy client that is alone gets whatever its server sends.
#[test]
fn legacy_client_gets_no_updates_for_a_modern_one() {
    let world = World::default();
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
    config.sharing = Sharing::Shared;
    let bridge = bridge(&world, pipe(&world, EraPolicy::LegacyOnly, <_>::default()), config);
    let [legacy, modern] = ERAS.map(|era| attached(&world, &bridge, era));
    let seen = Arc::new(Mutex::new(String::new()));
    let lines = seen.clone();
    legacy.on_wire(move |line| *lines.lock().unwrap() += line);
    let talk = async {
        legacy.list_tools().await.unwrap();
        let filter = SubscriptionFilter::new().resource("test://watched-resource");
        let mut updates = modern.subscribe(filter).await.unwrap();
        modern.call_tool("test_trigger_resource_update", &json!({})).await.unwrap();
        assert!(updates.changed().await.is_some());
        legacy.list_prompts().await.unwrap();
    };
    world.run(talk).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.contains("prompts/list") && !seen.contains("resources/updated"), "{seen}");
}

/// Their server has one session, and does not know who of them has subscribed.
#[test]
fn legacy_clients_share_the_updates_of_a_resource() {
    let world = World::default();
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
    config.sharing = Sharing::Shared;
    let target = pipe(&world, EraPolicy::LegacyOnly, <_>::default());
    let bridge = bridge(&world, target, config);
    let updates = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let talk = async {
        let clients = updates.each_ref().map(|count| {
            let (client, count) = (client(Era::Legacy), count.clone());
            client.on_change(move |_| {
                count.fetch_add(1, Relaxed);
            });
            attach(&world, &client, Transport::Stdio, &bridge.catalog());
            client
        });
        let [gone, kept, other] = &clients;
        let mut subscribed = Vec::new();
        for client in [gone, kept] {
            let filter = SubscriptionFilter::new().resource("test://watched-resource");
            subscribed.push(client.subscribe(filter).await.unwrap());
        }
        // The subscription of the client that stays is not that of the client that goes.
        gone.close().await;
        world.sleep(Duration::from_secs(5)).await;
        other.call_tool("test_trigger_resource_update", &json!({})).await.unwrap();
        world.sleep(Duration::from_secs(5)).await;
    };
    world.run(talk).unwrap();
    assert_eq!(updates.map(|count| count.load(Relaxed)), [0, 1, 0]);
}

#[test]
fn subscriptions_leave_room_for_calls() {
    for era in ERAS {
        let world = World::default();
        let bridge = shared(&world);
        let talk = async {
            let client = attached(&world, &bridge, era);
            client.connected().await.unwrap();
            let mut open = Vec::new();
            for number in 0..2 * MAX_IN_FLIGHT {
                let uri = format!("test://template/{number}/data");
                let filter = SubscriptionFilter::new().resource(uri);
                open.push(client.subscribe(filter).await);
            }
            world.sleep(Duration::from_secs(1)).await;
            let result = client.call_tool("echo", &json!({"message": "x"})).await;
            assert!(result.is_ok(), "{era:?}: {result:?}");
            // Changes of lists do not need that room.
            let late = attached(&world, &bridge, Era::Legacy);
            late.connected().await.unwrap();
            let lists = SubscriptionFilter::new().tools_list_changed();
            let mut changes = late.subscribe(lists).await.unwrap();
            world.sleep(Duration::from_secs(1)).await;
            client.call_tool("test_trigger_tool_change", &json!({})).await.unwrap();
            assert_eq!(changes.changed().await, Some(Change::ListChanged(List::Tools)));
        };
        world.run(talk).unwrap();
    }
}
