//! Notifications of clients that no revision defines, through the connections of a bridge.

use std::sync::{Arc, Mutex};

use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Duration, EraPolicy, Json};
use mcp_service::runtime::{BridgeTarget, bridge};
use mcp_service::{BridgeConfig, Registry, Sharing};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::{Value, json};

use super::cells::{Transport, attach, client};
use super::{pairs, policy};

const METHOD: &str = "notifications/com.example/x";

#[test]
fn notification_of_a_client_on_a_byte_stream_reaches_its_server() {
    for (down, up) in pairs() {
        for sharing in [Sharing::PerClient, Sharing::Shared] {
            let world = World::default();
            let seen = Arc::<Mutex<Vec<Value>>>::default();
            let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
            config.sharing = sharing;
            let bridge = bridge(&world, target(&world, policy(up), &seen), config);
            let clients = [client(down), client(down)];
            for client in &clients {
                attach(&world, client, Transport::Stdio, &bridge.catalog());
            }
            let talk = async {
                for (number, client) in clients.iter().enumerate() {
                    client.list_tools().await.unwrap();
                    client.notify(METHOD, &json!({"of": number})).unwrap();
                    world.sleep(Duration::from_secs(1)).await;
                }
            };
            world.run(talk).unwrap();
            let of: Vec<_> = seen.lock().unwrap().iter().map(|it| it["of"].clone()).collect();
            assert_eq!(of, [0, 1], "{down:?} {up:?} {sharing:?}");
        }
    }
}

/// A server that records these notifications.
fn target(world: &World, policy: EraPolicy, seen: &Arc<Mutex<Vec<Value>>>) -> BridgeTarget {
    let (world, seen) = (world.clone(), seen.clone());
    BridgeTarget::stream(move || {
        let seen = seen.clone();
        let mut registry = Registry::new(Implementation::new("server", "1"));
        let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
        registry.tool_with(tool, |_: Value, _| async { "done" }).unwrap();
        registry.notification(METHOD, move |it: Value| seen.lock().unwrap().push(it)).unwrap();
        Ok(world.serve(registry, server_config(policy)))
    })
}
