//! The pipe: how late, in which pieces, in which order; and what breaks it.

use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::types::CallToolResult;
use mcp_service::Client;
use mcp_service::testing::{Network, Pair};
use serde_json::json;

use crate::recorder::{Heard, Notes, recorded};

const MILLI: Duration = Duration::from_millis(1);

#[test]
fn a_calm_pipe_takes_no_time_and_splits_nothing() {
    let (heard, mut pair) = pair();
    assert_eq!(echo(&mut pair, "hello"), "hello");
    assert_eq!(pair.now(), Instant::ZERO);
    for (_, data) in heard.lock().unwrap().iter() {
        assert!(data.ends_with(b"\n"), "{data:?}");
    }
}

#[test]
fn what_is_sent_is_under_way_for_as_long_as_was_said() {
    let (heard, pair) = pair();
    let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
    echo(&mut pair, "hello");
    // There and back: to ask for the versions, and to call.
    assert_eq!(pair.now(), Instant::ZERO + 40 * MILLI);
    let at: Vec<Instant> = heard.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [Instant::ZERO + 10 * MILLI, Instant::ZERO + 30 * MILLI]);
}

#[test]
fn latency_is_between_its_bounds() {
    let mut seen = Vec::new();
    for seed in 0..50 {
        let (_, pair) = pair();
        let mut pair = pair.network(Network::calm().latency(10 * MILLI, 20 * MILLI)).seed(seed);
        echo(&mut pair, "hello");
        let passed = pair.now().duration_since(Instant::ZERO);
        assert!((40 * MILLI..=80 * MILLI).contains(&passed), "{passed:?}");
        seen.push(passed);
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 10, "they differ: {seen:?}");
}

#[test]
fn pieces_are_as_long_as_was_said_and_in_order() {
    for max_chunk in [0, 1, 2, 7, 64] {
        let (heard, pair) = pair();
        let rough = Network::rough().max_chunk(max_chunk);
        let mut pair = pair.network(rough).seed(3);
        // The second is under way before the first has arrived.
        let client = pair.client();
        let (mut one, mut two) = (echoing(&client, "one"), echoing(&client, "two"));
        assert!(pair.poll(&mut one).is_pending() && pair.poll(&mut two).is_pending());
        assert_eq!((text(pair.run(one)), text(pair.run(two))), ("one".into(), "two".into()));
        let heard = heard.lock().unwrap();
        let lengths: Vec<usize> = heard.iter().map(|(_, data)| data.len()).collect();
        assert!(lengths.iter().all(|length| (1..=max_chunk.max(1)).contains(length)));
        assert!(max_chunk < 2 || lengths.iter().any(|length| *length > 1), "{lengths:?}");
        let whole: Vec<u8> = heard.iter().flat_map(|(_, data)| data.to_vec()).collect();
        let lines: Vec<String> = whole
            .strip_suffix(b"\n")
            .unwrap()
            .split(|byte| *byte == b'\n')
            .map(|line| String::from_utf8(line.to_vec()).unwrap())
            .collect();
        let sent: Vec<String> = pair
            .wire()
            .lines()
            .filter_map(|line| line.strip_prefix("C> ").map(str::to_owned))
            .collect();
        assert_eq!(lines, sent);
    }
}

#[test]
fn everything_follows_from_the_seed() {
    let play = |seed| {
        let (heard, pair) = pair();
        let mut pair = pair.network(Network::rough()).seed(seed);
        echo(&mut pair, "hello");
        let heard = heard.lock().unwrap().clone();
        (pair.wire(), pair.now(), heard)
    };
    assert_eq!(play(1), play(1));
    let ((_, _, one), (_, _, two)) = (play(1), play(2));
    assert_ne!(one, two);
}

#[test]
fn the_wire_is_that_of_a_transcript() {
    let (_, pair) = pair();
    let mut pair = pair.negotiation(Negotiation::Legacy);
    echo(&mut pair, "hello");
    pair.pass(Duration::from_secs(90));
    echo(&mut pair, "again");
    let wire = pair.wire();
    let marks: Vec<&str> = wire.lines().map(|line| line.get(..2).unwrap()).collect();
    assert_eq!(marks, ["! ", "C>", "S>", "C>", "! ", "C>", "S>", "@ ", "C>", "S>"], "{wire}");
    assert!(
        wire.contains(
            "
@ 90s
"
        ),
        "{wire}"
    );
}

#[test]
fn a_cut_ends_calls_and_cancels_handlers() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let (heard, notes) = (Heard::default(), Notes::default());
        let mut pair = recorded(&heard, &notes).negotiation(negotiation);
        let client = pair.client();
        let mut call = client.call_tool("think", &json!({}));
        assert!(pair.poll(&mut call).is_pending());
        pair.cut();
        assert_eq!(pair.run(call), Err(CallError::Interrupted));
        // Whatever was under way has the time that it has at the end of input.
        pair.pass(Duration::from_secs(3));
        assert_eq!(*notes.lock().unwrap(), ["thinks", "cancelled"]);
        assert_eq!(pair.run(echoing(&client, "?")), Err(CallError::Closed));
        assert_eq!(pair.starts(), 1);
    }
}

#[test]
fn what_is_under_way_is_lost_by_a_cut() {
    let (heard, pair) = pair();
    let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    let mut call = echoing(&client, "lost");
    assert!(pair.poll(&mut call).is_pending());
    pair.cut();
    assert_eq!(pair.run(call), Err(CallError::Interrupted));
    let heard = heard.lock().unwrap();
    assert!(heard.last().unwrap().1.is_empty(), "the end was heard");
    assert!(!heard.iter().any(|(_, data)| data.windows(4).any(|text| text == b"lost")));
}

#[test]
fn the_end_of_the_client_lets_answers_through() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let (heard, pair) = pair();
        let network = Network::calm().latency(10 * MILLI, 10 * MILLI);
        let mut pair = pair.network(network).negotiation(negotiation);
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        let mut call = echoing(&client, "last");
        assert!(pair.poll(&mut call).is_pending());
        pair.end_of_client();
        assert_eq!(text(pair.run(call)), "last");
        assert!(heard.lock().unwrap().last().unwrap().1.is_empty(), "the end was heard");
        // The server has nobody to serve any more, and says so by its own end.
        pair.run(client.close());
        assert_eq!(pair.run(echoing(&client, "?")), Err(CallError::Closed));
    }
}

#[test]
fn the_end_of_the_server_lets_its_last_words_through() {
    let (_, pair) = pair();
    let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    let (mut call, mut late) = (echoing(&client, "last"), client.call_tool("think", &json!({})));
    assert!(pair.poll(&mut call).is_pending() && pair.poll(&mut late).is_pending());
    pair.pass(15 * MILLI);
    pair.end_of_server();
    assert_eq!(text(pair.run(call)), "last");
    assert_eq!(pair.run(late), Err(CallError::Interrupted));
}

#[test]
fn a_server_that_is_gone_before_it_is_known_is_started_anew() {
    let (_, pair) = pair();
    let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
    assert_eq!(pair.starts(), 0);
    let client = pair.client();
    let mut connected = Box::pin(client.connected());
    assert!(pair.poll(&mut connected).is_pending());
    assert_eq!(pair.starts(), 1);
    pair.cut();
    // It is taken for one of those legacy servers that end at what they do not know.
    assert_eq!(pair.run(connected).unwrap().version.as_str(), "2025-11-25");
    assert_eq!(pair.starts(), 2);
    assert_eq!(pair.wire().matches("! reopen").count(), 1);
}

#[test]
fn nothing_breaks_before_there_is_a_pipe() {
    let (_, mut pair) = pair();
    pair.cut();
    pair.end_of_client();
    pair.end_of_server();
    assert_eq!(echo(&mut pair, "hello"), "hello");
}

fn pair() -> (Heard, Pair) {
    let heard = Heard::default();
    (heard.clone(), recorded(&heard, &Notes::default()))
}

fn echo(pair: &mut Pair, what: &str) -> String {
    let call = echoing(&pair.client(), what);
    text(pair.run(call))
}

fn echoing(client: &Client, what: &str) -> mcp_service::Call<CallToolResult> {
    client.call_tool("echo", &json!({ "text": what }))
}

fn text(result: Result<CallToolResult, CallError>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}
