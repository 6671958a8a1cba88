//! Checks of how a server stops, and of what it refuses while it stops.

use std::net::TcpStream;
use std::time::Duration;

use mcp_proto::http::Config;
use serde_json::json;

use super::client::text;
use super::{Check, Named, Serve, Server};

pub(super) const CHECKS: &[Named] = &[
    ("the_end_finishes_answers", the_end_finishes_answers),
    ("the_end_has_subscriptions_end_with_a_result", the_end_has_subscriptions_end_with_a_result),
    ("the_end_has_streams_of_sessions_end", the_end_has_streams_of_sessions_end),
    ("what_takes_too_long_is_cut_off", what_takes_too_long_is_cut_off),
    ("an_idle_connection_does_not_hold_up_the_end", an_idle_connection_does_not_hold_up_the_end),
];

pub(super) const OF_SOCKETS: &[Named] = &[
    ("with_all_connections_busy_the_next_one_waits", with_all_connections_busy_the_next_one_waits),
    (
        "second_hour_27_hundreds_of_clients_wait_to_be_accepted",
        second_hour_27_hundreds_of_clients_wait_to_be_accepted,
    ),
];

fn the_end_finishes_answers(serve: Serve) -> Check {
    let server = Server::start(serve, patient())?;
    let (mut modern, mut legacy) = (server.connect()?, server.connect()?);
    legacy.initialize()?;
    for client in [&mut modern, &mut legacy] {
        client.call("wait", &json!({}))?;
        server.reported("started")?;
    }
    let mut listener = listen(&server)?;
    server.stop();
    // It has ended, so the server knows that it is to stop.
    while listener.event()?.is_some() {}
    server.gate.now();
    for client in [&mut modern, &mut legacy] {
        assert_eq!(client.response()?.text()?, "waited");
        assert!(client.is_closed()?);
    }
    server.end()
}

fn the_end_has_subscriptions_end_with_a_result(serve: Serve) -> Check {
    let server = Server::start(serve, patient())?;
    let mut listener = listen(&server)?;
    server.stop();
    let result = listener.event()?.ok_or("no result")?;
    assert!(result.contains(r#""id":2,"result":{"#), "{result}");
    assert_eq!(listener.event()?, None);
    server.end()
}

fn the_end_has_streams_of_sessions_end(serve: Serve) -> Check {
    let server = Server::start(serve, patient())?;
    let mut client = server.connect()?;
    client.initialize()?;
    let mut stream = client.again()?;
    stream.send("GET", &[], "")?;
    stream.response()?.expect(200)?;
    server.stop();
    assert_eq!(stream.event()?, None);
    server.end()
}

fn what_takes_too_long_is_cut_off(serve: Serve) -> Check {
    let mut config = Config::default();
    config.server.limits.drain = Duration::from_millis(100);
    let server = Server::start(serve, config)?;
    let (mut modern, mut legacy) = (server.connect()?, server.connect()?);
    legacy.initialize()?;
    for client in [&mut modern, &mut legacy] {
        client.call("wait", &json!({}))?;
        server.reported("started")?;
    }
    server.stop();
    server.reported("cancelled")?;
    server.reported("cancelled")?;
    for client in [&mut modern, &mut legacy] {
        // Nothing, or that there is no answer.
        let answered = client.response().is_ok_and(|response| text(&response.body).is_ok());
        assert!(!answered, "nobody opened the gate");
    }
    server.end()
}

fn an_idle_connection_does_not_hold_up_the_end(serve: Serve) -> Check {
    let server = Server::start(serve, patient())?;
    let mut idle = server.connect()?;
    idle.call("echo", &json!({"message": "a"}))?;
    assert_eq!(idle.response()?.text()?, "a");
    server.stop();
    assert!(idle.is_closed()?);
    server.end()
}

fn with_all_connections_busy_the_next_one_waits(serve: Serve) -> Check {
    let mut config = Config::default();
    config.server.limits.max_connections = 1;
    let server = Server::start(serve, config)?;
    let mut first = server.connect()?;
    first.call("wait", &json!({}))?;
    server.reported("started")?;
    let mut second = server.connect()?;
    second.call("echo", &json!({"message": "second"}))?;
    assert!(second.is_silent()?, "it was accepted");
    server.gate.now();
    assert_eq!(first.response()?.text()?, "waited");
    // An idle connection gives way to the next one.
    assert_eq!(second.response()?.text()?, "second");
    assert!(first.is_closed()?);
    server.end()
}

fn second_hour_27_hundreds_of_clients_wait_to_be_accepted(serve: Serve) -> Check {
    const CLIENTS: usize = 300;
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    if most.trim().parse::<usize>().is_ok_and(|most| most <= CLIENTS) {
        return Ok(());
    }
    let mut config = Config::default();
    config.server.limits.max_connections = 1;
    let server = Server::start(serve, config)?;
    let mut first = server.connect()?;
    first.call("echo", &json!({"message": "first"}))?;
    assert_eq!(first.response()?.text()?, "first");
    // Beyond the backlog the system drops what opens a connection, and the client asks again later.
    let connect = |_| TcpStream::connect_timeout(&server.address, Duration::from_millis(900));
    let waiting = (0..CLIENTS).map(connect).collect::<Result<Vec<_>, _>>()?;
    drop(waiting);
    drop(first);
    server.end()
}

/// Nobody waits for a drain that is longer than the test may take.
fn patient() -> Config {
    let mut config = Config::default();
    config.server.limits.drain = Duration::from_secs(60);
    config
}

/// A client that is told when tools change.
fn listen(server: &Server) -> Result<super::Client, Box<dyn std::error::Error>> {
    let mut listener = server.connect()?;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    listener.request("subscriptions/listen", None, &filter)?;
    listener.response()?.expect(200)?;
    listener.event()?.ok_or("no acknowledgement")?;
    Ok(listener)
}
