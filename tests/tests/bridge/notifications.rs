//! Notifications of clients through the connections of a bridge: those that no revision defines,
//! and cancellations with a reason.

use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Duration, EraPolicy, Json, http};
use mcp_service::runtime::{BridgeTarget, bridge};
use mcp_service::{BridgeConfig, Registry, Sharing, Writer};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::site::{INITIALIZE, INITIALIZED, VirtualSite as Site};
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::{Value, json};

use super::cells::{TRANSPORTS, Transport, attach, client};
use super::{ERAS, pairs, policy, request};

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

#[test]
fn reason_of_a_cancellation_reaches_the_server() {
    let initialize = INITIALIZE.replace('\n', "");
    let call = request(1, "tools/call", &json!({"name": "t"}));
    let params = json!({"requestId": 1, "reason": "the user has left"});
    let cancel = super::notification("notifications/cancelled", params);
    for (up, transport) in ERAS.into_iter().flat_map(|up| TRANSPORTS.map(|down| (up, down))) {
        let (world, lines) = (World::default(), Arc::<Mutex<String>>::default());
        let config = BridgeConfig::new(Implementation::new("bridge", "1"));
        let bridge = bridge(&world, waiting(&world, policy(up)), config);
        let wire = lines.clone();
        bridge.on_wire(move |line| wire.lock().unwrap().push_str(line));
        let talk = async {
            if transport == Transport::Stdio {
                let mut stream = world.serve(bridge.catalog(), server_config(EraPolicy::Auto));
                for line in [&*initialize, INITIALIZED, &*call, &*cancel] {
                    let context = &mut Context::from_waker(Waker::noop());
                    assert!(stream.poll_write(context, format!("{line}\n").as_bytes()).is_ready());
                    world.sleep(Duration::from_secs(1)).await;
                }
                return;
            }
            let site = Site::new(&world, bridge.catalog(), http::Config::default());
            let session = site.open().await;
            let mut called = site.post(Some(&session), &call);
            called.read(&site);
            world.sleep(Duration::from_secs(1)).await;
            site.ask(Some(&session), &cancel).await;
            world.sleep(Duration::from_secs(1)).await;
        };
        world.run(talk).unwrap();
        let lines = lines.lock().unwrap();
        assert_eq!(lines.matches("the user has left").count(), 1, "{up:?} {transport:?}: {lines}");
    }
}

/// A server whose tool has no result.
fn waiting(world: &World, policy: EraPolicy) -> BridgeTarget {
    let world = world.clone();
    BridgeTarget::stream(move || {
        let mut registry = Registry::new(Implementation::new("server", "1"));
        let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
        registry.tool_with(tool, |_: Value, _| std::future::pending::<String>()).unwrap();
        Ok(world.serve(registry, server_config(policy)))
    })
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
