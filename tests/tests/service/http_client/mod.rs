//! Clients over HTTP on sockets in memory: time, connections that are kept, and those that break.

mod kept;
mod site;
mod time;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::client::{CallError, Config, ConnectError, Listing};
use mcp_proto::types::{CallToolResult, Implementation};
use mcp_proto::{ErrorCode, ErrorData};

use crate::bench::Log;
use site::{Site, TOOLS, answer};

const WORKING: &str = r#"{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-11-24T12:00:00Z","lastUpdatedAt":"2026-11-24T12:00:00Z","ttlMs":null}"#;

#[test]
fn each_exchange_has_a_connection_of_its_own() {
    let mut site = Site::connected();
    let (one, two) = (site.call("a"), site.call("b"));
    site.turn();
    let requests = site.requests();
    assert_eq!(requests.len(), 2, "the first goes where the server was asked what it is");
    site.socket(1).answer(&answer(4, r#"{"content":[]}"#));
    site.turn();
    assert!(two.take().unwrap().is_ok() && one.take().is_none());
    site.socket(0).answer(&answer(3, r#"{"content":[]}"#));
    site.turn();
    assert!(one.take().unwrap().is_ok());
}

#[test]
fn who_is_not_woken_is_not_looked_at() {
    let mut site = Site::connected();
    let _calls: Vec<_> = (0..10).map(|_| site.call("a")).collect();
    site.turn();
    let looked: Vec<usize> = (0..10).map(|n| site.socket(n).reads()).collect();
    site.socket(3).answer(&answer(6, r#"{"content":[]}"#));
    site.turn();
    for (n, before) in looked.into_iter().enumerate() {
        let more = site.socket(n).reads() > before;
        assert_eq!(more, n == 3, "{n}");
    }
}

#[test]
fn an_answer_may_come_before_the_request_is_read() {
    let mut site = Site::connected();
    site.socket(0).takes(100);
    let call = site.call(&"a".repeat(100_000));
    site.turn();
    site.socket(0).answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
    site.turn();
    assert_eq!(call.take().unwrap().err(), Some(CallError::Http { status: 413 }));
    assert!(site.socket(0).is_dropped(), "the rest of the request would come next");
}

#[test]
fn a_server_that_reads_no_more_may_still_answer() {
    let mut site = Site::connected();
    site.socket(0).takes(100);
    let call = site.call(&"a".repeat(100_000));
    site.turn();
    site.socket(0).break_writing();
    site.turn();
    site.socket(0).answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
    site.turn();
    assert_eq!(call.take().unwrap().err(), Some(CallError::Http { status: 413 }));
}

#[test]
fn a_call_that_the_server_has_not_read_was_not_executed() {
    for (status, may_have_been_executed) in
        [(413, false), (414, false), (415, false), (431, false), (409, true), (500, true)]
    {
        let mut site = Site::connected();
        let call = site.call("a");
        site.turn();
        site.socket(0).answer(&format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n"));
        site.turn();
        let error = call.take().unwrap().unwrap_err();
        assert_eq!(error, CallError::Http { status });
        assert_eq!(error.may_have_been_executed(), may_have_been_executed, "{status}");
        let error = ErrorData::new(ErrorCode(-32000), "no");
        let error = CallError::Error { error, status: Some(status) };
        assert_eq!(error.may_have_been_executed(), may_have_been_executed, "{status}");
    }
}

#[test]
fn a_call_whose_task_goes_on_may_have_been_executed() {
    let config = Config::new(Implementation::new("bench", "1")).follow_tasks();
    for status in [401, 403, 413] {
        let mut site = Site::of_modern_server(config.clone());
        let call = site.call("a");
        site.turn();
        site.socket(1).answer(&answer(2, WORKING));
        site.turn();
        site.requests();
        site.pass(Duration::from_secs(1));
        let poll = site.requests().pop().unwrap();
        assert!(poll.contains("tasks/get"), "{poll}");
        site.socket(0).answer(&format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n"));
        site.turn();
        let error = call.take().unwrap().unwrap_err();
        assert!(error.may_have_been_executed(), "{error}");
        if let CallError::Unauthorized(refusal) = error {
            assert_eq!((refusal.status, refusal.has_task), (status, true));
        } else {
            assert_eq!(error, CallError::TaskLeft { task_id: "t1".into() });
        }
    }
}

#[test]
fn what_comes_in_pieces_is_one_answer() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    let text = format!("HTTP/1.1 103 Early Hints\r\n\r\n{}", answer(3, r#"{"content":[]}"#));
    for byte in text.bytes() {
        site.socket(0).answer(core::str::from_utf8(&[byte]).unwrap());
        site.turn();
    }
    assert!(call.take().unwrap().is_ok());
}

#[test]
fn what_is_no_answer_fails_the_call() {
    for (text, expected) in [
        ("SSH-2.0-OpenSSH\r\n", "the answer cannot be read"),
        ("\u{15}\u{3}\u{3}\0\u{2}\u{2}F", "the server speaks TLS: its URL begins with https://"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "in the middle of the answer"),
    ] {
        let mut site = Site::connected();
        let call = site.call("a");
        site.turn();
        site.socket(0).answer(text);
        site.socket(0).end();
        site.turn();
        let Err(CallError::Connection(reason)) = call.take().unwrap() else { panic!() };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_call_that_is_dropped_drops_its_connection() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    drop(call);
    site.turn();
    assert!(site.socket(0).is_dropped());
}

#[test]
fn a_client_that_is_dropped_closes_all() {
    let mut site = Site::connected();
    let call = site.call("a");
    site.turn();
    site.drop_service();
    assert_eq!(call.take().unwrap().err(), Some(CallError::Interrupted));
    assert!(site.socket(0).is_dropped());
}

#[test]
fn a_field_that_is_set_stands_in_all_that_follows() {
    let mut site = Site::connected();
    site.client.set_field("Authorization", "Bearer a").unwrap();
    let call = site.call("a");
    site.turn();
    let request = site.requests().remove(0);
    assert!(request.contains("\r\nAuthorization: Bearer a\r\n"), "{request}");
    assert!(site.client.set_field("Host", "a").is_err());
    assert!(site.client.set_field("X", "a\r\nb").is_err());
    drop(call);
}

#[test]
fn the_wire_shows_both_directions_and_no_secrets() {
    let log = Log::default();
    let mut site = Site::shown(&log);
    site.client.set_field("Authorization", "Bearer secret").unwrap();
    site.turn();
    let discovered = answer(r#""discover-1""#, TOOLS);
    let discovered = discovered.replacen("\r\n", "\r\nSet-Cookie: secret\r\n", 1);
    site.socket(0).answer(&discovered);
    site.turn();
    let lines = log.take();
    assert_eq!(lines[0], "1> POST /mcp?*** HTTP/1.1");
    for expected in ["1> Authorization: ***", "1< HTTP/1.1 200 OK", "1< Set-Cookie: ***"] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
    }
    assert_eq!(lines.last().unwrap(), "! connected 2026-07-28");
    assert!(!lines.concat().contains("secret"), "{lines:#?}");
}

#[test]
fn the_wire_shows_a_body_that_ends_with_its_connection_as_one_line() {
    let log = Log::default();
    let mut site = Site::shown(&log);
    site.turn();
    log.take();
    let body = answer(r#""discover-1""#, TOOLS);
    let body = body.split_once("\r\n\r\n").unwrap().1;
    let (first, second) = body.split_at(r#"{"jsonrpc":"2.0","#.len());
    let head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json";
    site.socket(0).answer(&format!("{head}\r\n\r\n{first}\n"));
    site.turn();
    site.socket(0).answer(second);
    site.turn();
    site.socket(0).end();
    site.turn();
    let lines = log.take();
    let expected = [
        "1< HTTP/1.1 100 Continue",
        "1< HTTP/1.1 200 OK",
        "1< Content-Type: application/json",
        &format!("1< {first} {second}"),
        "! connected 2026-07-28",
    ];
    assert_eq!(lines.iter().filter(|line| *line != "! eof 1").collect::<Vec<_>>(), expected);
}

#[test]
fn who_is_there_already_is_not_driven_twice() {
    let site = Site::connected();
    assert!(site.service_again().is_err());
}

#[test]
fn nothing_is_there() {
    let mut site = Site::unconnected(site::Network::Refuses);
    site.turn();
    let Some(Err(ConnectError::Connection(reason))) = site.ended() else { panic!() };
    assert_eq!(reason, "nobody is there");
}

/// Result of a call.
type Called = Result<CallToolResult, CallError>;

/// An entry that is no tool does not take the others with it.
#[test]
fn second_hour_07_a_malformed_entry_leaves_the_others() {
    let mut site = Site::connected();
    let rejected = Arc::new(Mutex::new(Vec::new()));
    let seen = rejected.clone();
    site.client.on_entry_rejected(move |listing, index, reason| {
        seen.lock().unwrap().push((listing, index, reason.to_owned()));
    });
    let listed = site.list();
    site.turn();
    let tools = r#"{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":5,"inputSchema":{"type":"object"}},"b",{"name":"c","inputSchema":{"type":"object"}}],"ttlMs":9,"cacheScope":"private"}"#;
    site.socket(0).answer(&answer(3, tools));
    site.turn();
    let listed = listed.take().unwrap().unwrap();
    let names: Vec<&str> = listed.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!((names, listed.ttl_ms), (vec!["a", "c"], Some(9)));
    let rejected = rejected.lock().unwrap();
    let places: Vec<_> = rejected.iter().map(|(listing, index, _)| (*listing, *index)).collect();
    assert_eq!(places, [(Listing::Tools, 1), (Listing::Tools, 2)]);
    assert_eq!(rejected[0].2, "/name: expected a string, found integer 5");
    assert_eq!(rejected[1].2, "expected an object, found string \"b\"");
}
