//! Servers that come back as servers of the other era, and clients that leave at any time.

use std::sync::{Arc, Mutex};

use mcp_proto::types::{ElicitAction, ElicitResult, Implementation, SubscriptionFilter};
use mcp_proto::{Duration, Era, http};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, serve, serve_http};
use mcp_service::{BridgeConfig, Sharing};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use mcp_tests::everything;
use mcp_tests::http::Stop;
use serde_json::json;

use super::cells::{SERVER, TRANSPORTS, Transport, at, attach, client};
use super::ended_processes::{Processes, WATCHED, changes_arrive};
use super::{ERAS, pairs, policy};

#[test]
fn subscriptions_of_a_legacy_client_go_on_at_a_process_of_the_other_era() {
    for up in ERAS {
        for sharing in [Sharing::PerClient, Sharing::Shared] {
            let world = World::default();
            let server = Processes::new(&world, up);
            let (bridge, _) = server.bridge(sharing);
            let client = client(Era::Legacy);
            attach(&world, &client, Transport::Stdio, &bridge.catalog());
            let talk = async {
                let filter = SubscriptionFilter::new().tools_list_changed().resource(WATCHED);
                let mut subscription = client.subscribe(filter).await.unwrap();
                for era in [other(up), up, other(up)] {
                    server.becomes(era);
                    server.end();
                    world.sleep(Duration::from_secs(1)).await;
                    client.list_prompts().await.unwrap();
                    changes_arrive(&client, &mut subscription).await;
                }
            };
            world.run(talk).unwrap();
        }
    }
}

#[test]
fn client_goes_on_at_a_server_over_http_of_the_other_era() {
    for down in TRANSPORTS {
        for (era, up) in pairs() {
            let world = World::default();
            let mut stop = start(&world, up);
            let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
            let bridge = bridge(&world, BridgeTarget::Http(Box::new(at(SERVER))), config);
            let client = client(era);
            attach(&world, &client, down, &bridge.catalog());
            let talk = async {
                client.call_tool("test_simple_text", &()).await.unwrap();
                for now in [other(up), up, other(up)] {
                    stop.now();
                    stop = start(&world, now);
                    world.sleep(Duration::from_secs(60)).await;
                    let result = client.call_tool("test_simple_text", &()).await;
                    assert!(result.is_ok(), "{down:?} {era:?} {up:?} {now:?}: {result:?}");
                }
            };
            world.run(talk).unwrap();
        }
    }
}

#[test]
fn call_ends_if_its_server_becomes_another_one_during_input() {
    for (era, up) in pairs() {
        let world = World::default();
        let server = Processes::new(&world, up);
        let (bridge, _) = server.bridge(Sharing::PerClient);
        let client = client(era);
        let here = world.clone();
        client.on_form(move |_| {
            server.becomes(other(up));
            server.end();
            let here = here.clone();
            async move {
                here.sleep(Duration::from_secs(5)).await;
                ElicitResult::new(ElicitAction::Accept)
            }
        });
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let talk = async {
            let result = client.call_tool("test_elicitation", &json!({"message": "Sure?"})).await;
            assert!(result.is_err(), "{era:?} {up:?}: {result:?}");
            client.call_tool("test_simple_text", &()).await.unwrap();
        };
        world.run(talk).unwrap();
    }
}

/// The server takes 10 s to start; a client waits 5 s before it falls back to `initialize`.
#[test]
fn client_that_leaves_during_the_opening_leaves_no_process_behind() {
    for (era, up) in pairs() {
        for seconds in [0, 1, 4, 6, 9, 10, 11, 20] {
            let (world, alive) = (World::default(), Arc::new(Mutex::new(0)));
            let (runtime, count) = (world.clone(), alive.clone());
            let target = BridgeTarget::stream(move || {
                let (here, there) = stream();
                let (server, count) = (runtime.clone(), count.clone());
                runtime.spawn(async move {
                    *count.lock().unwrap() += 1;
                    server.sleep(Duration::from_secs(10)).await;
                    let config = server_config(policy(up));
                    let registry = everything::registry().unwrap();
                    drop(serve(&server, registry, config, there, std::future::pending()).await);
                    *count.lock().unwrap() -= 1;
                });
                Ok(here)
            });
            let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
            config.max_upstreams = 1;
            let bridge = bridge(&world, target, config);
            let leaves = client(era);
            attach(&world, &leaves, Transport::Stdio, &bridge.catalog());
            let talk = async {
                world.sleep(Duration::from_secs(seconds)).await;
                leaves.close().await;
                // A connection of modern clients lasts for 10 minutes.
                world.sleep(Duration::from_secs(11 * 60)).await;
                assert_eq!(*alive.lock().unwrap(), 0, "{era:?} {up:?} {seconds}");
                let next = client(Era::Legacy);
                attach(&world, &next, Transport::Stdio, &bridge.catalog());
                next.list_tools().await.unwrap();
                assert_eq!(*alive.lock().unwrap(), 1, "{era:?} {up:?} {seconds}");
            };
            world.run(talk).unwrap();
        }
    }
}

fn other(era: Era) -> Era {
    match era {
        Era::Legacy => Era::Modern,
        Era::Modern => Era::Legacy,
    }
}

/// Starts a server of this era over HTTP, in place of the one before.
fn start(world: &World, era: Era) -> Stop {
    let mut config = http::Config::default();
    config.server.era_policy = policy(era);
    let (runtime, listener, stop) = (world.clone(), world.listen(SERVER), Stop::default());
    let stopped = stop.clone();
    world.spawn(async move {
        serve_http(&runtime, listener, everything::registry().unwrap(), config, stopped).await;
    });
    stop
}
