//! Features with sessions, without them, and in each era.

use std::sync::Arc;

use mcp_proto::client::{CallError, ConnectError, Negotiation};
use mcp_proto::http::{Authorization, Config, Sessions};
use mcp_proto::types::LoggingLevel;
use mcp_proto::{Era, EraPolicy, ErrorCode};
use mcp_service::HttpClientConfig;
use mcp_service::testing::Pair;

use super::site::{
    ERAS, config, decline, echo, echoing, era, filter, hear, pair, said, sent, steps, take, text,
    updated, walking,
};

const MODES: [Sessions; 3] = [Sessions::Stateful, Sessions::Stateless, Sessions::Off];

#[test]
fn calls_lists_and_progress_work_in_every_mode() {
    for (mut pair, era, sessions) in served() {
        let client = pair.client();
        assert_eq!(echo(&mut pair, "hello"), "hello");
        assert_eq!(client.server().unwrap().era(), era);
        let tools = pair.run(client.list_tools()).unwrap().tools;
        assert_eq!(tools.len(), 4, "{era:?} {sessions:?}");
        let (walk, seen) = steps(walking(&client, 3, 10));
        assert_eq!(text(pair.run(walk)), "3 steps");
        assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0]);
        let has_session = era == Era::Legacy && sessions == Sessions::Stateful;
        assert_eq!(pair.sessions(), usize::from(has_session));
    }
}

#[test]
fn a_server_without_legacy_clients_refuses_them() {
    for sessions in MODES {
        let policy = EraPolicy::ModernOnly;
        let (pair, ..) = pair(Negotiation::Legacy);
        let mut pair = pair.http_config(config(sessions, policy));
        let refused = pair.run(pair.client().connected()).unwrap_err();
        assert!(matches!(refused, ConnectError::Refused { .. }), "{refused:?}");
        assert_eq!((pair.connections(), pair.starts()), (0, 1));
    }
}

#[test]
fn a_server_may_ask_where_it_can_be_answered() {
    for (mut pair, era, sessions) in served() {
        let client = pair.client();
        decline(&client);
        let asked = pair.run(client.call_tool("ask", &serde_json::json!({})));
        if era == Era::Legacy && sessions == Sessions::Stateless {
            let Err(CallError::Error { error, .. }) = asked else { panic!("{asked:?}") };
            assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        } else {
            assert_eq!(text(asked), "Decline");
        }
    }
}

#[test]
fn logs_come_on_the_stream_of_their_call() {
    for (mut pair, era, sessions) in served() {
        let client = pair.client();
        let heard = hear(&client);
        pair.run(client.set_log_level(LoggingLevel::Info)).unwrap();
        assert_eq!(text(pair.run(walking(&client, 1, 1))), "1 steps");
        assert_eq!(take(&heard), ["\"there\""], "{era:?} {sessions:?}");
    }
}

#[test]
fn changes_are_told_where_somebody_listens() {
    for negotiation in ERAS {
        let (mut pair, _, catalog) = pair(negotiation);
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        assert_eq!(subscription.honoured(), &filter());
        for _ in 0..3 {
            catalog.publish(&updated()).unwrap();
            assert_eq!(pair.run(subscription.changed()), Some(updated()));
        }
        // Its stream, and the connection that is kept for the next request.
        pair.pass(super::site::MINUTE);
        assert_eq!(pair.connections(), 1);
    }
}

#[test]
fn a_legacy_client_need_not_listen() {
    let (pair, ..) = pair(Negotiation::Legacy);
    let mut client_config = HttpClientConfig::parse("http://localhost/mcp").unwrap();
    client_config.listens = false;
    let mut pair = pair.http_client_config(client_config);
    assert_eq!(echo(&mut pair, "hello"), "hello");
    assert_eq!(sent(&pair, "GET "), 0);
    pair.pass(super::site::MINUTE);
    assert_eq!(pair.connections(), 0);
}

#[test]
fn a_server_may_want_to_know_who_asks() {
    for negotiation in ERAS {
        let mut server = Config::default();
        server.authorize = Some(Arc::new(|head| match head.field("Authorization") {
            Some(b"Bearer good") => Authorization::Allow(Some("somebody".into())),
            _ => Authorization::Unauthorized("Bearer".into()),
        }));
        let client = HttpClientConfig::parse("http://localhost/mcp").unwrap();
        for (token, is_good) in [("Bearer good", true), ("Bearer bad", false)] {
            let (pair, ..) = pair(negotiation);
            let client_config = client.clone().field("Authorization", token).unwrap();
            let mut pair = pair.http_config(server.clone()).http_client_config(client_config);
            let called = echoing(&pair.client(), "hello");
            match pair.run(called) {
                Ok(_) => assert!(is_good),
                Err(CallError::Connect(ConnectError::Unauthorized(_))) => assert!(!is_good),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn the_end_is_a_delete_where_there_is_a_session() {
    for (mut pair, era, sessions) in served() {
        let client = pair.client();
        assert_eq!(echo(&mut pair, "hello"), "hello");
        pair.run(client.close());
        pair.pass(super::site::SECOND);
        let ends = era == Era::Legacy && sessions == Sessions::Stateful;
        assert_eq!(sent(&pair, "DELETE "), usize::from(ends));
        assert_eq!((pair.sessions(), pair.connections()), (0, 0));
        assert_eq!(pair.run(echoing(&client, "late")), Err(CallError::Closed));
    }
}

#[test]
fn a_pair_over_http_has_the_settings_of_any() {
    for negotiation in ERAS {
        let (pair, ..) = pair(negotiation);
        let mut server = mcp_proto::server::Config::default();
        server.limits.handler_timeout = super::site::SECOND;
        let mut pair = pair.server_config(server).era_policy(EraPolicy::Auto);
        let thought = pair.client().call_tool("think", &serde_json::json!({}));
        assert!(matches!(pair.run(thought), Err(CallError::Error { .. })));
        assert_eq!(said(&pair, "tools/call"), 1);
        assert_eq!(era(negotiation), pair.client().server().unwrap().era());
    }
}

/// A pair in each mode and each era that there is in it.
fn served() -> impl Iterator<Item = (Pair, Era, Sessions)> {
    let all = MODES.into_iter().flat_map(|mode| ERAS.map(|negotiation| (mode, negotiation)));
    let served = all.filter(|(mode, negotiation)| {
        *mode != Sessions::Off || *negotiation != Negotiation::Legacy
    });
    served.map(|(mode, negotiation)| {
        let (pair, ..) = pair(negotiation);
        (pair.http_config(config(mode, EraPolicy::Auto)), era(negotiation), mode)
    })
}
