//! The table that decides what follows when a server that was known refuses a request, as a whole.
//!
//! Each row has a conversation in `tests/transcripts`; here every combination is walked, and the
//! rules that the table must keep are written down a second time, without looking at it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a gap in the table, or another message, ends the test"
)]

use std::collections::BTreeSet;

use mcp_proto::client::recovery::{Known, Reaction, Recovery, Refusal, Repeats, TABLE};
use mcp_proto::client::{Client, Config, Negotiation, Restart};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, SubscriptionFilter};
use mcp_proto::{Binding, Duration, ErrorCode, ErrorData, Instant, Machine, ProtocolVersion};
use mcp_tests::stdio_client::sent;
use mcp_tests::transcript::{self, Transcript};
use serde_json::{Value, json};

#[test]
fn every_refusal_has_a_row_and_every_row_decides_one() {
    let reached: BTreeSet<&str> = all().map(|(.., name, _)| name).collect();
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), TABLE.rows().len(), "two rows have one name");
    assert_eq!(reached, names);
}

#[test]
fn every_row_has_a_conversation() {
    let shown = transcript::rows_of("recovery", Transcript::plays_client);
    let names: BTreeSet<String> = TABLE.rows().iter().map(|row| row.name.to_owned()).collect();
    assert_eq!(shown, names, "the `# row: recovery/…` comments, and the rows");
}

#[test]
fn second_hour_01_a_call_that_a_handler_may_have_seen_is_never_repeated() {
    for (known, refusal, _, row) in all() {
        if row.repeats == Repeats::Refused {
            assert!(refusal.is_before_dispatch(), "{known:?} {refusal:?}");
        }
        // A call is repeated to another server, or not at all.
        assert_eq!(
            row.repeats == Repeats::Nothing,
            row.then == Reaction::Deliver,
            "{known:?} {refusal:?}"
        );
    }
}

/// Handlers answer with a status of 2xx, or on a byte stream.
#[test]
fn second_hour_01_no_error_of_a_handler_counts_as_made_before_dispatch() {
    let texts = ["Bad Request: No valid session ID provided", "no `_meta`", "not initialized", "x"];
    let codes = [-32000, -32001, -32020, -32021, -32022, -32600, -32601, -32602, -32603, 0, 1];
    for status in [None, Some(200), Some(202), Some(500), Some(503)] {
        for text in texts {
            for code in codes {
                let error = ErrorData::new(ErrorCode(code), text);
                let refusal =
                    Refusal::of_error(&error, status, Some(ProtocolVersion::LATEST_MODERN));
                assert!(!refusal.is_before_dispatch(), "{status:?} {code} {text}");
            }
        }
    }
    for status in [200, 202, 204, 301, 500, 502, 503, 504] {
        for text in texts {
            let refusal = Refusal::of_status(status, text.as_bytes());
            assert!(!refusal.is_before_dispatch(), "{status} {text}");
        }
    }
}

#[test]
fn second_hour_04_refusals_of_known_servers_are_told_apart() {
    let cases = [
        // TypeScript
        (400, -32000, "Bad Request: No valid session ID provided", Refusal::NoSession),
        (400, -32000, "Bad Request: Mcp-Session-Id header is required", Refusal::NoSession),
        (400, -32000, "Bad Request: Server not initialized", Refusal::NoSession),
        (404, -32001, "Session not found", Refusal::NoSession),
        (
            400,
            -32000,
            "Bad Request: Unsupported protocol version: 2026-07-28",
            Refusal::UnsupportedVersion,
        ),
        // Python
        (400, -32600, "Bad Request: Missing session ID", Refusal::NoSession),
        (404, -32600, "Session has been terminated", Refusal::NoSession),
        (400, -32600, "Bad Request: Unsupported protocol version: x", Refusal::UnsupportedVersion),
        // modern servers
        (400, -32602, "Missing required `_meta`", Refusal::MissingMeta),
        (400, -32602, "io.modelcontextprotocol/protocolVersion is required", Refusal::MissingMeta),
        (400, -32022, "Unsupported protocol version", Refusal::UnsupportedVersion),
        (404, -32601, "Method not found", Refusal::UnknownMethod),
        (400, -32601, "Method not found: session", Refusal::UnknownMethod),
        (400, -32602, "Invalid session parameter", Refusal::Other),
    ];
    for (status, code, text, expected) in cases {
        let error = ErrorData::new(ErrorCode(code), text);
        let refusal = Refusal::of_error(&error, Some(status), None);
        assert_eq!(refusal, expected, "{status} {code} {text}");
    }
    let texts = [
        (422, "Unexpected message, expect initialize request", Refusal::NoSession),
        (400, "Bad Request: Session ID is required", Refusal::NoSession),
        (400, "Bad Request: Unsupported MCP-Protocol-Version: x", Refusal::UnsupportedVersion),
        (400, "", Refusal::BadRequest),
        (404, "<html>", Refusal::NoEndpoint),
        (401, "session", Refusal::Unavailable),
        (503, "session", Refusal::Unavailable),
        (200, "", Refusal::Other),
        (402, "", Refusal::Other),
        (409, "", Refusal::Other),
        (431, "", Refusal::Other),
        (308, "", Refusal::Unavailable),
        (408, "", Refusal::Unavailable),
        (429, "", Refusal::Unavailable),
    ];
    for (status, text, expected) in texts {
        assert_eq!(Refusal::of_status(status, text.as_bytes()), expected, "{status} {text}");
    }
}

#[test]
fn what_says_nothing_of_the_era_changes_nothing() {
    for (known, refusal, _, row) in all() {
        if refusal == Refusal::Unavailable
            || known != Known::Unconfirmed && refusal == Refusal::Other
        {
            assert_eq!(row.then, Reaction::Deliver, "{known:?} {refusal:?}");
        }
    }
}

fn all() -> impl Iterator<Item = (Known, Refusal, &'static str, Recovery)> {
    TABLE.cases().map(|((known, refusal), row)| {
        let row = row.expect("every combination has a row");
        (known, refusal, row.name, row.then)
    })
}

#[test]
fn a_subscription_that_was_held_keeps_its_resources_over_a_restart() {
    let now = Instant::ZERO;
    let mut config = Config::new(Implementation::new("a", "1")).restart(Restart::OnCall);
    config.negotiation = Negotiation::Legacy;
    let mut client = Connection::client(config);
    initialize(&mut client, now);
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = vec!["test:a".into()];
    client.with(now, |client| {
        client.handle_blocked();
        client.subscribe(now, filter).unwrap();
    });
    client.handle_eof(now);
    sent(&mut client);
    let later = now + Duration::from_secs(5);
    client.handle_timeout(later);
    client.with(later, |client| client.handle_unblocked(later));
    sent(&mut client);
    let requests = initialize(&mut client, later);
    let subscribes = requests.iter().filter(|it| it["method"] == "resources/subscribe");
    let uris: Vec<&Value> = subscribes.map(|it| &it["params"]["uri"]).collect();
    assert_eq!(uris, ["test:a"], "{requests:?}");
}

/// Opens a connection to a legacy server. Returns what the client sends after the handshake.
fn initialize(client: &mut Connection<Client>, now: Instant) -> Vec<Value> {
    client.handle_opened(now);
    let initialize = sent(client);
    let answer = json!({ "jsonrpc": "2.0", "id": initialize[0]["id"], "result": {
        "protocolVersion": "2025-11-25", "capabilities": { "resources": { "subscribe": true } },
        "serverInfo": { "name": "s", "version": "1" },
    } });
    client.handle_bytes(now, format!("{answer}\n").into());
    sent(client)
}
