//! Notifications of clients that no revision defines, through the connections of a bridge.

use std::sync::{Arc, Mutex};

use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Duration, Era, EraPolicy, Json, server};
use mcp_service::runtime::{BridgeTarget, ByteStream, Runtime, bridge, serve};
use mcp_service::{BridgeConfig, Registry, Sharing};
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use serde_json::{Value, json};

use super::cells::{Transport, attach, client};
use super::pairs;

const METHOD: &str = "notifications/com.example/x";

#[test]
fn notification_of_a_client_on_a_byte_stream_reaches_its_server() {
    for (down, up) in pairs() {
        for sharing in [Sharing::PerClient, Sharing::Shared] {
            let world = World::default();
            let seen = Arc::<Mutex<Vec<Value>>>::default();
            let mut config = BridgeConfig::new(Implementation::new("bridge", "1"));
            config.sharing = sharing;
            let policy = match up {
                Era::Legacy => EraPolicy::LegacyOnly,
                Era::Modern => EraPolicy::ModernOnly,
            };
            let bridge = bridge(&world, target(&world, policy, &seen), config);
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
    BridgeTarget::Stream(Arc::new(move || {
        let (here, there) = stream();
        let (runtime, seen) = (world.clone(), seen.clone());
        world.spawn(async move {
            let mut registry = Registry::new(Implementation::new("server", "1"));
            let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
            registry.tool_with(tool, |_: Value, _| async { "done" }).unwrap();
            registry.notification(METHOD, move |it: Value| seen.lock().unwrap().push(it)).unwrap();
            let mut config = server::Config::default();
            config.era_policy = policy;
            drop(serve(&runtime, registry, config, there, std::future::pending()).await);
        });
        Ok(Box::new(here) as Box<dyn ByteStream>)
    }))
}
