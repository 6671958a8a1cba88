//! Conversations, and what becomes of handlers.

use std::time::Duration;

use mcp_proto::http::Config;
use mcp_service::Context;
use serde_json::json;

use super::server::Nothing;
use super::{Check, Named, Serve, Server};

pub(super) const CHECKS: &[Named] = &[
    ("a_legacy_conversation_on_one_connection", a_legacy_conversation_on_one_connection),
    ("a_modern_conversation_on_one_connection", a_modern_conversation_on_one_connection),
    ("many_connections_at_a_time", many_connections_at_a_time),
    ("a_long_message_there_and_back", a_long_message_there_and_back),
    ("a_cut_connection_cancels_a_modern_call", a_cut_connection_cancels_a_modern_call),
    ("a_call_in_a_session_outlives_its_connection", a_call_in_a_session_outlives_its_connection),
    ("changes_reach_clients_of_both_eras", changes_reach_clients_of_both_eras),
    ("others_hosts_are_refused", others_hosts_are_refused),
    ("a_body_that_is_too_long_is_refused", a_body_that_is_too_long_is_refused),
    ("a_body_that_does_not_come_is_not_waited_for", a_body_that_does_not_come_is_not_waited_for),
    ("connections_without_requests_hurt_nobody", connections_without_requests_hurt_nobody),
];

fn a_legacy_conversation_on_one_connection(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    client.initialize()?;
    for message in ["a", "b"] {
        client.call("echo", &json!({"message": message}))?;
        let response = client.response()?;
        assert_eq!(response.text()?, message);
        assert_eq!(response.field("content-type")?, "application/json");
    }
    client.send("DELETE", &[], "")?;
    client.response()?.expect(204)?;
    client.call("echo", &json!({"message": "c"}))?;
    client.response()?.expect(404)?;
    server.end()
}

fn a_modern_conversation_on_one_connection(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    client.request("server/discover", None, &json!({}))?;
    let response = client.response()?;
    assert!(response.body.contains(r#""supportedVersions":["#), "{response:?}");
    for message in ["a", "b"] {
        client.call("echo", &json!({"message": message}))?;
        let response = client.response()?;
        assert_eq!(response.text()?, message);
        assert!(!response.fields.contains_key("mcp-session-id"), "{response:?}");
    }
    server.end()
}

fn many_connections_at_a_time(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut clients = (0..100).map(|_| server.connect()).collect::<Result<Vec<_>, _>>()?;
    for (number, client) in clients.iter_mut().enumerate() {
        client.call("echo", &json!({"message": number.to_string()}))?;
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.response()?.text()?, number.to_string());
    }
    server.end()
}

fn a_long_message_there_and_back(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    let message = "long ".repeat(300_000);
    client.call("echo", &json!({"message": message}))?;
    assert!(client.response()?.text()? == message, "it is another one");
    server.end()
}

fn a_cut_connection_cancels_a_modern_call(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    client.call("wait", &json!({}))?;
    server.reported("started")?;
    drop(client);
    server.reported("cancelled")?;
    server.end()
}

fn a_call_in_a_session_outlives_its_connection(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    client.initialize()?;
    let mut other = client.again()?;
    client.call("wait", &json!({}))?;
    server.reported("started")?;
    drop(client);
    other.call("echo", &json!({"message": "still there"}))?;
    assert_eq!(other.response()?.text()?, "still there");
    server.gate.now();
    server.reported("opened")?;
    server.end()
}

fn changes_reach_clients_of_both_eras(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut modern = server.connect()?;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    modern.request("subscriptions/listen", None, &listen)?;
    modern.response()?.expect(200)?;
    let acknowledged = modern.event()?.ok_or("no acknowledgement")?;
    assert!(acknowledged.contains("notifications/subscriptions/acknowledged"), "{acknowledged}");
    let mut client = server.connect()?;
    client.initialize()?;
    let mut legacy = client.again()?;
    legacy.send("GET", &[], "")?;
    legacy.response()?.expect(200)?;

    server.catalog.update(|registry| {
        registry.tool("more", "Is more", |_: Nothing, _: Context| async { "more" })?;
        Ok(())
    })?;
    for listener in [&mut modern, &mut legacy] {
        let event = listener.event()?.ok_or("no event")?;
        assert!(event.contains("notifications/tools/list_changed"), "{event}");
    }
    server.end()
}

fn others_hosts_are_refused(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    let mut client = server.connect()?;
    let fields = [("Host", "evil.example"), ("Content-Type", "application/json")];
    client.send("POST", &[&fields[..], &[("Content-Length", "2")]].concat(), "{}")?;
    client.response()?.expect(403)?;
    server.end()
}

fn a_body_that_is_too_long_is_refused(serve: Serve) -> Check {
    let mut config = Config::default();
    config.server.limits.max_body_bytes = 1000;
    let server = Server::start(serve, config)?;
    let fields = [("Content-Type", "application/json")];
    let mut client = server.connect()?;
    client.send("POST", &[&fields[..], &[("Content-Length", "1001")]].concat(), "")?;
    client.response()?.expect(413)?;
    let mut client = server.connect()?;
    let chunk = format!("3e9\r\n{}\r\n", "x".repeat(1001));
    client.send("POST", &[&fields[..], &[("Transfer-Encoding", "chunked")]].concat(), &chunk)?;
    client.response()?.expect(413)?;
    server.end()
}

fn a_body_that_does_not_come_is_not_waited_for(serve: Serve) -> Check {
    let mut config = Config::default();
    config.server.limits.body_timeout = Duration::from_millis(100);
    let server = Server::start(serve, config)?;
    let mut client = server.connect()?;
    let fields = [("Content-Type", "application/json"), ("Content-Length", "100")];
    client.send("POST", &fields, "{")?;
    client.response()?.expect(408)?;
    server.end()
}

fn connections_without_requests_hurt_nobody(serve: Serve) -> Check {
    let server = Server::start(serve, Config::default())?;
    for _ in 0..50 {
        drop(server.connect()?);
        server.connect()?.raw("POST /mcp HTTP/1.1\r\nHost: loc")?;
    }
    let mut client = server.connect()?;
    client.call("echo", &json!({"message": "still there"}))?;
    assert_eq!(client.response()?.text()?, "still there");
    server.end()
}
