//! Deadlines: of connections that are made, and of those that are kept; of the end.

use std::time::Duration;

use mcp_proto::client::{CallError, ConnectError};

use super::site::{Network, Site, TOOLS, answer};

#[test]
fn a_connection_that_is_not_made_has_its_time() {
    let mut site = Site::unconnected(Network::Hangs);
    site.turn();
    site.pass(Duration::from_millis(3_999));
    assert!(site.ended().is_none());
    site.pass(Duration::from_millis(1));
    let Some(Err(ConnectError::Connection(reason))) = site.ended() else { panic!() };
    assert_eq!(reason, "no connection within 4s");
}

#[test]
fn a_connection_is_kept_for_a_while() {
    let mut site = Site::connected();
    for n in 3..6 {
        site.pass(Duration::from_millis(3_999));
        let call = site.call("a");
        site.turn();
        site.socket(0).answer(&answer(n, r#"{"content":[]}"#));
        site.turn();
        assert!(call.take().unwrap().is_ok());
    }
    assert_eq!(site.sockets(), 1);
    site.pass(Duration::from_secs(4));
    assert!(site.socket(0).is_dropped());
    let _call = site.call("a");
    site.turn();
    assert_eq!(site.sockets(), 2);
}

/// Nothing but calls of tools is said, which must not be sent twice: a server that leaves a
/// connection open for a second keeps it.
#[test]
fn second_hour_10_a_connection_that_stays_open_for_a_second_is_used_again() {
    let mut site = Site::fresh();
    for (n, sockets, socket) in [(2, 2, 1), (3, 3, 2), (4, 3, 0), (5, 3, 0)] {
        let call = site.call("a");
        site.turn();
        assert_eq!(site.sockets(), sockets, "{n}");
        site.socket(socket).answer(&answer(n, r#"{"content":[]}"#));
        site.turn();
        assert!(call.take().unwrap().is_ok());
        site.pass(Duration::from_millis(500));
    }
}

#[test]
fn a_connection_that_was_kept_too_long_is_not_used_although_nobody_has_looked() {
    let mut site = Site::connected();
    let _call = site.call("a");
    site.pass(Duration::from_secs(5));
    assert_eq!(site.sockets(), 2);
}

#[test]
fn a_call_that_has_had_its_time_drops_its_connection() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    site.pass(Duration::from_secs(60));
    assert_eq!(call.take().unwrap().err(), Some(CallError::TimedOut));
    assert!(site.socket(0).is_dropped());
}

/// The process was suspended: the deadline and the answer are seen in the same turn.
#[test]
fn an_answer_that_has_come_counts_although_its_call_has_had_its_time() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    site.socket(0).answer(&answer(3, r#"{"content":[]}"#));
    site.pass(Duration::from_secs(61));
    assert_eq!(call.take().unwrap().map(drop), Ok(()));
}

#[test]
fn long_answer_that_has_come_counts_although_its_call_has_had_its_time() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    let content = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(100_000));
    let answer = answer(3, &content);
    for chunk in answer.as_bytes().chunks(1000) {
        site.socket(0).answer(std::str::from_utf8(chunk).unwrap());
    }
    site.pass(Duration::from_secs(61));
    assert_eq!(call.take().unwrap().map(drop), Ok(()));
}

#[test]
fn an_answer_that_has_come_connects_although_connecting_has_had_its_time() {
    let mut site = Site::unconnected(Network::Connects);
    site.turn();
    site.socket(0).answer(&answer(r#""discover-1""#, TOOLS));
    site.pass(Duration::from_secs(61));
    assert!(site.client.server().is_some(), "{:?}", site.ended());
}

#[test]
fn a_session_is_ended_and_that_is_not_waited_for() {
    let mut site = Site::legacy();
    site.close();
    site.turn();
    let last = site.requests().pop().unwrap();
    assert!(last.starts_with("DELETE /mcp?key=secret HTTP/1.1\r\n"), "{last}");
    assert!(
        last.contains("\r\nMcp-Session-Id: s\r\n") && !last.contains("Content-Length"),
        "{last}"
    );
    site.pass(Duration::from_millis(1_999));
    assert!(site.ended().is_none());
    site.pass(Duration::from_millis(1));
    assert!(matches!(site.ended(), Some(Ok(()))));
}
