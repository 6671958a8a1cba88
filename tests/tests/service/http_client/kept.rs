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

/// Answers the call on each of these sockets, with ids from `first` on.
fn answer_all(site: &mut Site, sockets: core::ops::Range<usize>, first: usize) {
    for (n, socket) in sockets.enumerate() {
        site.socket(socket).answer(&answer(first + n, r#"{"content":[]}"#));
    }
    site.turn();
}

#[test]
fn calls_in_flight_together_use_the_connections_of_those_before() {
    let mut site = Site::connected();
    // The first call is answered on the connection of the handshake, which proves the server.
    let calls: Vec<_> = (0..8).map(|_| site.call("a")).collect();
    site.turn();
    assert_eq!(site.sockets(), 8);
    answer_all(&mut site, 0..8, 3);
    assert!(calls.iter().all(|call| call.take().unwrap().is_ok()));
    let calls: Vec<_> = (0..8).map(|_| site.call("a")).collect();
    site.turn();
    assert_eq!(site.sockets(), 8, "no connection is made for these");
    // The connection that was used last is used first.
    for socket in (0..8).rev() {
        let id = 11 + (7 - socket);
        site.socket(socket).answer(&answer(id, r#"{"content":[]}"#));
    }
    site.turn();
    assert!(calls.iter().all(|call| call.take().unwrap().is_ok()));
}

#[test]
fn connections_that_are_kept_run_out_one_by_one() {
    let mut site = Site::connected();
    let calls: Vec<_> = (0..2).map(|_| site.call("a")).collect();
    site.turn();
    answer_all(&mut site, 0..1, 3);
    site.pass(std::time::Duration::from_secs(2));
    answer_all(&mut site, 1..2, 4);
    assert!(calls.iter().all(|call| call.take().unwrap().is_ok()));
    site.pass(std::time::Duration::from_millis(1_999));
    assert!(!site.socket(0).is_dropped());
    site.pass(std::time::Duration::from_millis(1));
    assert!(site.socket(0).is_dropped() && !site.socket(1).is_dropped());
    site.pass(std::time::Duration::from_secs(2));
    assert!(site.socket(1).is_dropped());
}

/// The process was suspended: the answer that causes the next request and the end of the kept
/// connection are seen in the same turn.
#[test]
fn connection_that_has_had_its_time_is_not_used() {
    let mut site = Site::connected();
    let (call, listed) = (site.call("a"), site.list());
    site.turn();
    answer_all(&mut site, 0..1, 3);
    assert!(call.take().unwrap().is_ok());
    let page = TOOLS.replacen('{', r#"{"nextCursor":"2","#, 1);
    let page = answer(4, &page).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    site.socket(1).answer(&page);
    site.pass(std::time::Duration::from_secs(100));
    assert!(site.socket(0).is_dropped());
    site.socket(2).answer(&answer(5, TOOLS));
    site.turn();
    assert!(listed.take().unwrap().is_ok());
}

/// `Limits::max_client_connections` bounds those in use and those that are kept together.
#[test]
fn connections_that_are_kept_make_room_for_those_in_use() {
    let mut site = Site::connected();
    let calls: Vec<_> = (0..24).map(|_| site.call("a")).collect();
    site.turn();
    assert_eq!(site.sockets(), 24);
    answer_all(&mut site, 0..24, 3);
    assert!(calls.iter().all(|call| call.take().unwrap().is_ok()));
    // One that ends in use: the others are not trusted with calls, and stay.
    let lost = site.call("a");
    site.turn();
    site.socket(23).end();
    site.turn();
    assert!(lost.take().unwrap().is_err());
    let _calls: Vec<_> = (0..24).map(|_| site.call("a")).collect();
    site.turn();
    assert_eq!(site.sockets(), 48);
    let open = (0..48).filter(|socket| !site.socket(*socket).is_dropped()).count();
    assert_eq!(open, 32);
}
