//! Servers that come back as servers of the other era, and clients that leave at any time.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_proto::types::{ElicitAction, ElicitResult, Implementation, SubscriptionFilter};
use mcp_proto::{Duration, Era, EraPolicy, http, server};
use mcp_service::runtime::{BridgeTarget, ByteStream, Runtime, bridge, serve, serve_http};
use mcp_service::{BridgeConfig, Sharing};
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use mcp_tests::everything;
use serde_json::json;

use super::cells::{SERVER, TRANSPORTS, Transport, at, attach, client};
use super::ended_processes::{Processes, WATCHED, changes_arrive};
use super::{ERAS, pairs};

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
            let (world, stop) = (World::default(), Stop::default());
            start(&world, up, &stop);
            let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
            let bridge = bridge(&world, BridgeTarget::Http(Box::new(at(SERVER))), config);
            let client = client(era);
            attach(&world, &client, down, &bridge.catalog());
            let talk = async {
                client.call_tool("test_simple_text", &()).await.unwrap();
                for now in [other(up), up, other(up)] {
                    stop.stop();
                    start(&world, now, &stop);
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
            let target = BridgeTarget::Stream(Arc::new(move || {
                let (here, there) = stream();
                let (server, count) = (runtime.clone(), count.clone());
                runtime.spawn(async move {
                    *count.lock().unwrap() += 1;
                    server.sleep(Duration::from_secs(10)).await;
                    let mut config = server::Config::default();
                    config.era_policy = policy(up);
                    let registry = everything::registry().unwrap();
                    drop(serve(&server, registry, config, there, std::future::pending()).await);
                    *count.lock().unwrap() -= 1;
                });
                Ok(Box::new(here) as Box<dyn ByteStream>)
            }));
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

fn policy(era: Era) -> EraPolicy {
    match era {
        Era::Legacy => EraPolicy::LegacyOnly,
        Era::Modern => EraPolicy::ModernOnly,
    }
}

/// Stops a server over HTTP; the number of stops so far.
#[derive(Clone, Default)]
struct Stop(Arc<Mutex<(usize, Option<Waker>)>>);

impl Stop {
    fn stop(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 += 1;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }
}

/// Starts a server of this era over HTTP, in place of the one before.
fn start(world: &World, era: Era, stop: &Stop) {
    let mut config = http::Config::default();
    config.server.era_policy = policy(era);
    let (runtime, listener) = (world.clone(), world.listen(SERVER));
    let stop = stop.clone();
    let before = stop.0.lock().unwrap().0;
    world.spawn(async move {
        let stopped = poll_fn(move |context| {
            let mut state = stop.0.lock().unwrap();
            if state.0 > before {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        });
        serve_http(&runtime, listener, everything::registry().unwrap(), config, stopped).await;
    });
}
