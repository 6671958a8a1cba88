//! Connections that are kept, and have ended by the time that they are used again.

use mcp_proto::client::CallError;

use super::site::{Site, TOOLS, answer};

#[test]
fn a_connection_that_has_ended_is_not_used() {
    let mut site = Site::connected();
    site.socket(0).end();
    let _call = site.call("a");
    site.turn();
    assert_eq!(site.sockets(), 2);
    assert!(site.socket(0).is_dropped());
}

#[test]
fn a_connection_on_which_something_has_come_is_not_used() {
    let mut site = Site::connected();
    site.socket(0).answer("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    let _call = site.call("a");
    site.turn();
    assert_eq!(site.sockets(), 2);
}

#[test]
fn a_connection_whose_end_the_system_alone_knows_is_not_used() {
    let mut site = Site::connected();
    site.socket(0).end_unseen();
    let _call = site.call("a");
    site.turn();
    assert_eq!(site.sockets(), 2);
}

#[test]
fn a_connection_that_is_to_be_closed_is_not_kept() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    let text = answer(3, r#"{"content":[]}"#).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    site.socket(0).answer(&text);
    site.turn();
    assert!(call.take().unwrap().is_ok());
    assert!(site.socket(0).is_dropped());
}

/// It ends at the moment at which it is used.
#[test]
fn what_may_be_asked_twice_is_asked_again() {
    let mut site = Site::connected();
    let listed = site.list();
    site.turn();
    site.socket(0).end();
    site.turn();
    let requests = site.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
    site.socket(1).answer(&answer(3, TOOLS));
    site.turn();
    assert!(listed.take().unwrap().is_ok());
}

#[test]
fn a_tool_is_not_called_twice() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    site.socket(0).end();
    site.turn();
    let Err(CallError::Connection(reason)) = call.take().unwrap() else { panic!() };
    assert!(reason.contains("without an answer"), "{reason}");
    assert_eq!(site.requests().len(), 1);
}

/// A server that closes each connection may do so while the next request is on its way.
#[test]
fn second_hour_10_a_server_that_closes_each_connection_costs_no_call() {
    let mut site = Site::fresh();
    for round in 0..10 {
        let call = site.call("a");
        site.turn();
        // The last connection is still open, and ends as soon as anything is written to it.
        assert_eq!(site.sockets(), round + 2);
        site.socket(round).end();
        site.socket(round + 1).answer(&answer(round + 2, r#"{"content":[]}"#));
        site.turn();
        assert!(call.take().unwrap().is_ok());
    }
}

/// A server that has closed a connection in vain is not trusted until it keeps one again.
#[test]
fn second_hour_10_a_connection_that_ends_in_use_is_the_last_that_a_tool_is_called_on() {
    let mut site = Site::connected();
    let lost = site.call("a");
    site.turn();
    site.socket(0).end();
    site.turn();
    assert!(lost.take().unwrap().is_err());
    for round in 1..3 {
        let call = site.call("a");
        site.turn();
        assert_eq!(site.sockets(), round + 1, "a connection of its own");
        site.socket(round).answer(&answer(round + 3, r#"{"content":[]}"#));
        site.turn();
        assert!(call.take().unwrap().is_ok());
    }
}

/// No server can have done what it does not know yet.
#[test]
fn a_tool_is_called_again_if_not_all_of_the_call_was_written() {
    let mut site = Site::connected();
    site.socket(0).takes(1000);
    let call = site.call(&"a".repeat(100_000));
    site.turn();
    site.socket(0).end();
    site.turn();
    assert_eq!(site.sockets(), 2);
    assert!(site.requests().pop().unwrap().len() > 100_000);
    site.socket(1).answer(&answer(3, r#"{"content":[]}"#));
    site.turn();
    assert!(call.take().unwrap().is_ok());
}

#[test]
fn a_fresh_connection_that_ends_is_not_tried_again() {
    let mut site = Site::connected();
    let (_busy, listed) = (site.call("a"), site.list());
    site.turn();
    site.socket(1).end();
    site.turn();
    assert!(matches!(listed.take().unwrap().err(), Some(CallError::Connection(_))));
    assert_eq!(site.sockets(), 2);
}
