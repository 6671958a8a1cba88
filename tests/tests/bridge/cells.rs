//! Sixteen cells: a client of each era on each transport, and behind the bridge the server
//! `everything` in each era on each transport. What the client gets is what it gets from the server
//! directly.

use std::sync::{Arc, Mutex};

use mcp_proto::client::Config;
use mcp_proto::http::Url;
use mcp_proto::types::{ElicitAction, ElicitResult, Implementation};
use mcp_proto::{Era, EraPolicy, http, server};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run, run_http};
use mcp_service::{Bridge, BridgeConfig, Catalog, Client, HttpClientConfig};
use mcp_tests::bridge::script::{self, CellSteps, differences};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::world::VirtualRuntime as World;
use mcp_tests::everything;
use serde_json::json;

use super::{ERAS, negotiation, pairs, policy};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    Stdio,
    Http,
}

pub(super) const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

/// The ports of the server, and of the bridge.
pub(super) const SERVER: u16 = 1;
pub(super) const BRIDGE: u16 = 2;

#[test]
fn every_cell_gives_what_the_server_gives_directly() {
    for down in TRANSPORTS {
        for era in ERAS {
            let direct = script(&World::default(), down, era, None);
            for up in TRANSPORTS {
                for behind in ERAS {
                    let world = World::default();
                    let bridged = script(&world, down, era, Some((up, behind)));
                    assert_eq!(
                        differences(&direct, &bridged),
                        Vec::<String>::new(),
                        "client {down:?} {era:?}, server {up:?} {behind:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn answers_of_the_user_arrive_as_they_are() {
    for (era, behind) in pairs() {
        for (action, expected) in [
            (ElicitAction::Accept, "accept"),
            (ElicitAction::Decline, "decline"),
            (ElicitAction::Cancel, "cancel"),
        ] {
            let world = World::default();
            let client = client(era);
            client.on_form(move |_| async move { ElicitResult::new(action) });
            let _bridge =
                connect(&world, &client, Transport::Stdio, Some((Transport::Stdio, behind)));
            let called =
                async { client.call_tool("test_elicitation", &json!({"message": "Sure?"})).await };
            let result = world.run(called).unwrap().unwrap();
            let text = serde_json::to_string(&result.content).unwrap();
            assert!(text.contains(expected), "{era:?} {behind:?}: {text}");
        }
    }
}

/// A client of one era.
pub(super) fn client(era: Era) -> Client {
    let config = Config::new(Implementation::new("client", "1.0.0"));
    Client::new(config.negotiation(negotiation(era)))
}

/// The number of log messages that a client has got.
pub(super) fn count_logs(client: &Client) -> Arc<Mutex<usize>> {
    let logs = Arc::new(Mutex::new(0));
    let count = logs.clone();
    client.on_log(move |_| *count.lock().unwrap() += 1);
    logs
}

/// Connects a client to the server, directly or through a bridge.
fn connect(
    world: &World,
    client: &Client,
    down: Transport,
    behind: Option<(Transport, Era)>,
) -> Option<Bridge> {
    let bridge = behind.map(|(up, era)| bridged(world, up, era));
    let catalog = match &bridge {
        Some(bridge) => bridge.catalog(),
        None => everything::registry().unwrap().into(),
    };
    attach(world, client, down, &catalog);
    bridge
}

/// Serves a catalog to a client.
pub(super) fn attach(world: &World, client: &Client, down: Transport, catalog: &Catalog) {
    let (runtime, client, catalog) = (world.clone(), client.clone(), catalog.clone());
    match down {
        Transport::Stdio => {
            let here = world.serve(catalog, server::Config::default());
            world.spawn(async move { drop(run(&runtime, &client, here).await) });
        }
        Transport::Http => {
            world.serve_http(BRIDGE, catalog, http::Config::default());
            let config = at(BRIDGE);
            world.spawn(async move { drop(run_http(&runtime, &client, config).await) });
        }
    }
}

/// A bridge to the server `everything`, which serves one era.
pub(super) fn bridged(world: &World, up: Transport, era: Era) -> Bridge {
    let target = match up {
        Transport::Http => {
            let mut config = http::Config::default();
            config.server.era_policy = policy(era);
            world.serve_http(SERVER, everything::registry().unwrap(), config);
            BridgeTarget::Http(Box::new(at(SERVER)))
        }
        Transport::Stdio => pipe(world, policy(era), Arc::default()),
    };
    bridge(world, target, BridgeConfig::new(Implementation::new("bridge", "1.0.0")))
}

/// A server for each stream that is opened.
pub(super) fn pipe(world: &World, policy: EraPolicy, opened: Arc<Mutex<usize>>) -> BridgeTarget {
    let world = world.clone();
    BridgeTarget::stream(move || {
        *opened.lock().unwrap() += 1;
        Ok(world.serve(everything::registry().unwrap(), server_config(policy)))
    })
}

pub(super) fn at(port: u16) -> HttpClientConfig {
    HttpClientConfig::new(Url::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap())
}

/// Steps of a client's script, with their results.
fn script(world: &World, down: Transport, era: Era, behind: Option<(Transport, Era)>) -> CellSteps {
    let client = client(era);
    script::equip(&client);
    let bridge = connect(world, &client, down, behind);
    let all = async {
        let steps = script::take(&client, async |duration| world.sleep(duration).await).await;
        if let Some(bridge) = &bridge {
            bridge.close().await;
        }
        steps
    };
    world.run(all).unwrap()
}

/// A bridge with so many connections at most, to a server process for each.
pub(super) fn bounded(world: &World, max_upstreams: usize, opened: &Arc<Mutex<usize>>) -> Bridge {
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.max_upstreams = max_upstreams;
    bridge(world, pipe(world, EraPolicy::Auto, opened.clone()), config)
}
