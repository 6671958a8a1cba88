//! Notifications of a legacy server before the first request of a connected client.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::EraPolicy;
use mcp_proto::Json;
use mcp_proto::client::Negotiation;
use mcp_proto::server::{Change, List, Notification};
use mcp_proto::types::LoggingLevel;
use mcp_service::testing::Network;
use mcp_service::{Catalog, Handler, Registry, Session};
use serde_json::Value;

use crate::bench::{Log, Over, SECOND, Way, registry};

/// The time at which the server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    /// While it handles `notifications/initialized`.
    Initialized,
    /// As soon as it has handled `notifications/initialized` of a connected client.
    Connected,
    /// Later.
    Idle,
}

#[test]
fn notifications_before_the_first_request_arrive() {
    for over in [Over::Pipe, Over::Http] {
        for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
            for network in [Network::calm(), Network::rough()] {
                for moment in [Moment::Initialized, Moment::Connected, Moment::Idle] {
                    for seed in 0..5 {
                        let way = Way { over, negotiation };
                        let heard = heard(way, network.clone(), seed, moment);
                        assert_eq!(heard, ["change", "log", "vendor"], "{way:?} {moment:?} {seed}");
                    }
                }
            }
        }
    }
}

/// What a client hears that sends no request.
fn heard(way: Way, network: Network, seed: u64, moment: Moment) -> Vec<String> {
    let sessions = Arc::default();
    let catalog = Catalog::from(sending(moment, &sessions));
    let pair = way.pair(catalog.clone()).network(network).seed(seed);
    let mut pair = pair.era_policy(EraPolicy::LegacyOnly);
    let (client, log) = (pair.client(), Log::default());
    let (vendor, logged) = (log.clone(), log.clone());
    let changed = log.clone();
    client.on_notification(move |_, _| vendor.note("vendor"));
    client.on_log(move |_| logged.note("log"));
    client.on_change(move |_| changed.note("change"));
    pair.run(client.connected()).unwrap();
    if moment == Moment::Idle {
        pair.pass(SECOND);
    }
    // The client may be connected before the server has `notifications/initialized`.
    catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
    while sessions.lock().unwrap().is_empty() {
        pair.pass(Duration::from_millis(1));
    }
    if moment != Moment::Initialized {
        send(&sessions.lock().unwrap()[0]);
    }
    pair.pass(SECOND);
    let mut heard = log.take();
    heard.sort();
    heard
}

/// A server that keeps its sessions.
fn sending(moment: Moment, sessions: &Arc<Mutex<Vec<Session>>>) -> Registry<Handler> {
    let mut registry = registry(|_: Value, _| async { "done" });
    let sessions = sessions.clone();
    let initialized = move |_: Value, session: Session| {
        if moment == Moment::Initialized {
            send(&session);
        }
        sessions.lock().unwrap().push(session);
    };
    registry.session_notification("notifications/initialized", initialized).unwrap();
    registry.logging().list_changed(List::Tools);
    registry
}

fn send(session: &Session) {
    let (method, params) = ("notifications/vendor".into(), Json::EMPTY_OBJECT);
    drop(session.notify(Notification::Other { method, params }));
    drop(session.log(LoggingLevel::Error, None, "no"));
}
