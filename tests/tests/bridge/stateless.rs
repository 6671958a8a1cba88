//! Legacy clients without sessions: each of their requests stands alone.

use std::sync::Arc;

use mcp_proto::http::{self, Sessions};
use mcp_proto::types::{Implementation, LoggingLevel};
use mcp_proto::{Duration, Era, EraPolicy};
use mcp_service::runtime::{Runtime, bridge, run_http};
use mcp_service::{Bridge, BridgeConfig, Client, Sharing};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::ERAS;
use super::cells::{BRIDGE, TRANSPORTS, Transport, at, attach, bridged, client, count_logs, pipe};

#[test]
fn changes_are_offered_only_to_a_client_with_a_session() {
    for up in TRANSPORTS {
        for behind in ERAS {
            for sessions in [Sessions::Stateful, Sessions::Stateless] {
                let world = World::default();
                let bridge = bridged(&world, up, behind);
                let client = over_http(&world, &bridge, sessions);
                let server = world.run(client.connected()).unwrap().unwrap();
                let offered = server.capabilities;
                assert!(offered.tools.is_some() && offered.logging.is_some());
                let of_resources = offered.resources.unwrap();
                let changes = [
                    offered.tools.unwrap().list_changed,
                    of_resources.list_changed,
                    of_resources.subscribe,
                ];
                let is_offered = sessions == Sessions::Stateful;
                assert_eq!(changes, [is_offered; 3], "{up:?} {behind:?} {sessions:?}");
            }
        }
    }
}

/// A legacy server on a byte stream does not say which call its log message is about.
#[test]
fn log_of_a_request_without_a_session_is_not_sent_to_a_session() {
    let world = World::default();
    let [session, stateless] = beside_a_stateless_one(&world, Era::Legacy);
    let [of_session, of_stateless] = [&session, &stateless].map(count_logs);
    let talk = async {
        session.set_log_level(LoggingLevel::Debug).await.unwrap();
        stateless.call_tool("test_tool_with_logging", &()).await.unwrap();
        world.sleep(Duration::from_secs(1)).await;
    };
    world.run(talk).unwrap();
    assert_eq!([of_session, of_stateless].map(|logs| *logs.lock().unwrap()), [0, 3]);
}

#[test]
fn level_of_a_client_without_a_session_takes_no_log_from_a_session() {
    let world = World::default();
    let [session, stateless] = beside_a_stateless_one(&world, Era::Legacy);
    let logs = count_logs(&session);
    let talk = async {
        session.set_log_level(LoggingLevel::Debug).await.unwrap();
        stateless.set_log_level(LoggingLevel::Error).await.unwrap();
        session.call_tool("test_tool_with_logging", &()).await.unwrap();
        assert_eq!(*logs.lock().unwrap(), 3);
    };
    world.run(talk).unwrap();
}

#[test]
fn level_of_a_client_without_a_session_does_not_outlast_the_next_request_of_a_modern_client() {
    let world = World::default();
    let [modern, stateless] = beside_a_stateless_one(&world, Era::Modern);
    let logs = count_logs(&modern);
    let talk = async {
        modern.set_log_level(LoggingLevel::Debug).await.unwrap();
        for count in [3, 6] {
            modern.call_tool("test_tool_with_logging", &()).await.unwrap();
            assert_eq!(*logs.lock().unwrap(), count);
            stateless.set_log_level(LoggingLevel::Error).await.unwrap();
        }
    };
    world.run(talk).unwrap();
}

/// The requests of a client are not recognized as those of one client.
#[test]
fn level_of_a_client_without_a_session_has_no_effect_at_a_modern_server() {
    let world = World::default();
    let bridge = bridged(&world, Transport::Stdio, Era::Modern);
    let client = over_http(&world, &bridge, Sessions::Stateless);
    let logs = count_logs(&client);
    let talk = async {
        client.set_log_level(LoggingLevel::Error).await.unwrap();
        client.call_tool("test_tool_with_logging", &()).await.unwrap();
    };
    world.run(talk).unwrap();
    assert_eq!(*logs.lock().unwrap(), 3);
}

/// A legacy client of the bridge over HTTP.
fn over_http(world: &World, bridge: &Bridge, sessions: Sessions) -> Client {
    let mut config = http::Config::default();
    config.sessions = sessions;
    world.serve_http(BRIDGE, bridge.catalog(), config);
    let client = client(Era::Legacy);
    let (runtime, driven) = (world.clone(), client.clone());
    world.spawn(async move { drop(run_http(&runtime, &driven, at(BRIDGE)).await) });
    client
}

/// A client of this era on stdio, and one without a session, with one connection to a legacy
/// server.
fn beside_a_stateless_one(world: &World, era: Era) -> [Client; 2] {
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.sharing = Sharing::Shared;
    let bridge = bridge(world, pipe(world, EraPolicy::LegacyOnly, Arc::default()), config);
    let on_stdio = client(era);
    let stateless = over_http(world, &bridge, Sessions::Stateless);
    attach(world, &on_stdio, Transport::Stdio, &bridge.catalog());
    [on_stdio, stateless]
}
