//! Streams that nobody reads, or that nobody reads any more.

use mcp_proto::server::{Change, List, Outcome};
use mcp_proto::{Duration, Json, Limits};

use super::site::{Site, call, get, initialize, modern, of_session, opened, post};
use super::{KIB, MIB, Meter};

/// Above what may be kept for a session: what is beside the text of each event, and maps.
const SLACK: usize = MIB;

#[test]
fn changes_are_told_once_to_who_does_not_read_its_stream() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    let subscribe = |n: usize| {
        let params = format!("\"uri\":\"t:{n}\"");
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"resources/subscribe\",\"params\":{{{params}}}}}"
        )
    };
    let number = site.connect();
    for n in 0..100 {
        site.ask(number, &of_session(&session, &subscribe(n)));
    }
    for n in 0..20_000 {
        site.publish(&Change::ResourceUpdated(format!("t:{}", n % 100)));
        site.publish(&Change::ListChanged(List::Tools));
    }
    assert_eq!(site.lost, 0, "they wait where they are told once");
    let answer = site.ask(number, &get(&session, ""));
    assert_eq!(answer.matches("notifications/resources/updated").count(), 100, "{answer}");
    assert_eq!(answer.matches("notifications/tools/list_changed").count(), 1, "{answer}");

    // It holds the stream and does not read.
    site.connections.get_mut(&number).expect("a client").reads = false;
    for n in 0..20_000 {
        site.publish(&Change::ResourceUpdated(format!("t:{}", n % 100)));
        site.publish(&Change::ListChanged(List::Tools));
    }
    meter.assert_peak("changes that nobody takes", SLACK);
    site.wake(number);
    assert!(site.take(number).contains("notifications/tools/list_changed"));
}

#[test]
fn a_request_tells_more_than_its_client_reads() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    let number = site.connect();
    site.write(number, &of_session(&session, &call(1, "hold")));
    site.connections.get_mut(&number).expect("a client").reads = false;
    let text = "x".repeat(10_000);
    for step in 0..2000 {
        site.progress(0, step, &text);
    }
    assert!((1890..=1910).contains(&site.lost), "{} are lost", site.lost);
    // A text takes up to twice its length while it is written.
    meter.assert_peak("progress that nobody reads", 2 * MIB + SLACK);
    site.answer(number, Outcome::Complete(Json::EMPTY_OBJECT));
    site.wake(number);
    let answer = site.take(number);
    assert!(answer.contains("\"result\""), "the answer is the newest, and kept");
    assert!(answer.len() < MIB + 64 * KIB);
}

#[test]
fn a_visit_takes_a_part_of_a_long_stream() {
    const VISIT: usize = 256 * KIB;
    let _meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    let number = site.connect();
    site.write(number, &of_session(&session, &call(1, "hold")));
    site.connections.get_mut(&number).expect("a client").reads = false;
    let text = "x".repeat(60 * KIB);
    for step in 0..16 {
        site.progress(0, step, &text);
    }
    // The endpoint is locked during a visit: other clients wait for its end.
    let mut visits = Vec::new();
    loop {
        let (sent, is_due) = site.visit_once(number);
        visits.push(sent);
        if !is_due {
            break;
        }
    }
    assert!(visits.iter().sum::<usize>() > 16 * text.len(), "{visits:?}");
    assert!(visits.iter().all(|sent| *sent < VISIT + 64 * KIB), "{visits:?}");
    assert_eq!(visits.len(), 4, "{visits:?}");
}

#[test]
fn a_second_reader_of_a_stream_ends_the_first() {
    let _meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    let first = site.connect();
    assert!(site.ask(first, &get(&session, "")).starts_with("HTTP/1.1 200 "));
    let second = site.connect();
    assert!(site.ask(second, &get(&session, "")).starts_with("HTTP/1.1 200 "));
    // The first would keep its connection for ever: nothing else wakes it.
    assert!(site.take(first).ends_with("0\r\n\r\n"));
    site.publish(&Change::ListChanged(List::Tools));
    assert!(site.take(second).contains("notifications/tools/list_changed"));
    assert_eq!(site.take(first), "");
}

#[test]
fn a_session_whose_answer_is_not_read_yet_does_not_end() {
    let _meter = Meter::start();
    let mut limits = Limits::default();
    limits.max_sessions = 1;
    let mut site = Site::new(limits);
    let session = opened(&mut site);
    let number = site.connect();
    site.write(number, &of_session(&session, &call(1, "hold")));
    site.connections.get_mut(&number).expect("a client").reads = false;
    site.answer(number, Outcome::Complete(Json::EMPTY_OBJECT));
    let other = site.connect();
    let refused = site.ask(other, &post("", &initialize("2025-11-25", "other")));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    site.wake(number);
    assert!(site.take(number).contains("\"result\""));
    let opened = site.ask(other, &post("", &initialize("2025-11-25", "other")));
    assert!(opened.starts_with("HTTP/1.1 200 "), "{opened}");
}

#[test]
fn a_session_keeps_no_more_than_one_stream_may() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    for id in 0..1000 {
        let number = site.connect();
        site.write(number, &of_session(&session, &call(id, "hold")));
        site.connections.get_mut(&number).expect("a client").reads = false;
    }
    let text = "x".repeat(2000);
    for step in 0..20 {
        for at in 0..1000 {
            site.progress(at, step, &text);
        }
    }
    // Each keeps its newest.
    let newest = 1000 * (text.len() + 200);
    // A connection, a request in flight and what the test has of them.
    meter.assert_peak("open streams that nobody reads", MIB + newest + SLACK + 1000 * 6 * KIB);
    assert!(site.lost > 17_000, "{} are lost", site.lost);
    let numbers: Vec<_> = site.connections.keys().copied().collect();
    for (at, number) in numbers.into_iter().enumerate() {
        site.answer(number, Outcome::Complete(Json::EMPTY_OBJECT));
        site.wake(number);
        assert!(site.take(number).contains("\"result\""), "{at}");
    }
}

#[test]
fn answers_that_nobody_came_for_are_kept_within_bounds() {
    let meter = Meter::start();
    let mut site = Site::new(Limits::default());
    let session = opened(&mut site);
    let text = format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(200_000));
    let length = text.len();
    let result = Json::parse(text).expect("JSON");
    for id in 0..1000 {
        let number = site.connect();
        site.write(number, &of_session(&session, &call(id, "hold")));
        site.reset(number);
        site.answer(0, Outcome::Complete(result.clone()));
    }
    meter.assert_peak("answers that nobody came for", 2 * MIB + SLACK + 4 * length);
    site.pass(Duration::from_secs(61));
    drop(result);
    assert_eq!(site.lost, 1000 - 5, "all but what fits is reported");
    // The endpoint, its declaration and its queue of events, and what the harness of the test
    // prints.
    meter.assert_used("after a minute", 38 * KIB);
}

#[test]
fn nobody_is_shown_for_ever_that_a_stream_is_alive() {
    let meter = Meter::start();
    let mut limits = Limits::default();
    limits.handler_timeout = Duration::MAX;
    let mut site = Site::new(limits);
    let session = opened(&mut site);
    let requests = [
        get(&session, ""),
        of_session(&session, &call(1, "hold")),
        modern(1, "tools/call", "\"name\":\"hold\""),
    ];
    for request in requests {
        let number = site.connect();
        site.write(number, &request);
        site.connections.get_mut(&number).expect("a client").reads = false;
    }
    site.pass(Duration::from_secs(7 * 24 * 60 * 60));
    meter.assert_peak("a week of silence", 64 * KIB);
}
