//! The law of heads: what a server remembers of earlier requests changes nothing, whether another
//! HTTP stack has read them or a connection has.

use std::iter;
use std::sync::Arc;

use mcp_proto::frame::http1::{HeadMatch, HeadParts, HeadSource};
use mcp_proto::http::{Admission, Config, Connection, Endpoint, Exchange};
use mcp_proto::internals::{RequestCache, admit_cached, answer_cached};
use mcp_proto::server::{Declaration, Registry};
use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Instant, Machine};
use proptest::prelude::*;
use proptest::sample::select;

use super::http::{INITIALIZE, post};

type Fields = Vec<(&'static str, &'static [u8])>;

proptest! {
    #![proptest_config(super::cases(500))]

    #[test]
    fn head_is_read_alike_whatever_was_read_before(
        requests in prop::collection::vec((head(), body()), 1..12),
        repeated in prop::collection::vec(0_usize..12, 0..12),
    ) {
        let again = repeated.iter().filter_map(|at| requests.get(*at));
        read_alike(requests.iter().chain(again).cloned())?;
    }

    #[test]
    fn head_is_read_alike_in_each_of_several_sessions(
        (method, target, fields) in head(),
        requests in prop::collection::vec((session(), length(), body()), 1..8),
    ) {
        read_alike(requests.into_iter().map(|(session, length, body)| {
            let mut fields = fields.clone();
            fields.extend([("mcp-session-id", session), ("content-length", length)]);
            ((method, target, fields), body)
        }))?;
    }

    #[test]
    fn request_is_answered_alike_on_a_connection_of_several_sessions(
        requests in prop::collection::vec(request(), 1..24),
    ) {
        let (mut shared, mut own) = (Gateway::new(), Gateway::new());
        for (id, (fields, method)) in requests.into_iter().enumerate() {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
            own.connect();
            prop_assert_eq!(shared.send(&fields, &body), own.send(&fields, &body));
        }
    }

    #[test]
    fn source_repeats_a_head_that_equals_its_own(one in head(), other in head()) {
        let [one, other] = [&one, &other].map(|(method, target, fields)| {
            HeadParts { method, target, fields: move || fields.iter().copied() }
        });
        for (source, earlier) in [(one, one), (one, other), (other, one)] {
            let earlier = earlier.into_head();
            if source.repeats(&earlier) {
                prop_assert_eq!(source.into_head(), earlier.clone());
            }
            match source.compare(&earlier, &["content-length", "mcp-session-id"]) {
                HeadMatch::Equal => prop_assert_eq!(source.into_head(), earlier),
                HeadMatch::Varied(head) => prop_assert_eq!(source.into_head(), head),
                HeadMatch::Different | _ => {}
            }
        }
        let (method, target) = (one.method, one.target);
        let is_usual = (one.fields)().all(|(_, value)| value.trim_ascii() == value);
        if is_usual && method == "POST" && !target.contains(' ') {
            prop_assert!(one.repeats(&one.into_head()), "a usual head is read once");
        }
    }
}

type OwnHead = (&'static str, &'static str, Fields);

/// Reads requests one after the other, and each of them anew.
fn read_alike(requests: impl Iterator<Item = (OwnHead, Bytes)>) -> Result<(), TestCaseError> {
    let config = Arc::new(Config::default());
    let declaration = Registry::<()>::new(Implementation::new("law", "1")).declaration();
    let mut cache = RequestCache::default();
    for ((method, target, fields), body) in requests {
        let parts = HeadParts { method, target, fields: || fields.iter().copied() };
        let now = Instant::ZERO;
        let fresh = Admission::new(&config, parts.into_head());
        let cached = admit_cached(&config, parts, &mut cache);
        prop_assert_eq!(format!("{cached:?}"), format!("{fresh:?}"));
        let (fresh, cached) = match (fresh, cached) {
            (Ok(fresh), Ok(cached)) => (
                fresh.answer_with(now, &declaration, &body),
                answer_cached(cached, now, &declaration, Some(&body), &mut cache),
            ),
            (Err(fresh), Err(cached)) => (*fresh, *cached),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => unreachable!("their texts are equal"),
        };
        prop_assert_eq!(actions(cached), actions(fresh));
    }
    Ok(())
}

/// What an exchange does until it waits.
fn actions(mut exchange: Exchange) -> Vec<String> {
    let mut actions = Vec::new();
    while let Some(action) = exchange.poll_action() {
        actions.push(format!("{action:?}"));
    }
    actions.push(format!("needs the endpoint: {}", exchange.needs_endpoint()));
    actions
}

/// A connection with requests of several sessions, and its endpoint.
struct Gateway {
    config: Arc<Config>,
    declaration: Arc<Declaration>,
    endpoint: Endpoint<()>,
    connection: Connection,
}

impl Gateway {
    /// Three sessions are open.
    fn new() -> Self {
        let config = Arc::new(Config::default());
        let declaration = Registry::<()>::new(Implementation::new("law", "1")).declaration();
        let mut count = 0_u128;
        let ids = move || {
            count += 1;
            count.to_be_bytes()
        };
        let endpoint = Endpoint::new(declaration.clone(), config.clone(), Box::new(ids));
        let connection = Connection::new(Instant::ZERO, declaration.clone(), config.clone());
        let mut gateway = Self { config, declaration, endpoint, connection };
        for _ in 0..3 {
            gateway.send("", INITIALIZE);
        }
        gateway
    }

    /// Goes on with a new connection.
    fn connect(&mut self) {
        let Self { config, declaration, .. } = self;
        self.connection = Connection::new(Instant::ZERO, declaration.clone(), config.clone());
    }

    /// Sends a request, and returns what the connection does then.
    fn send(&mut self, fields: &str, body: &str) -> Vec<String> {
        let accept = "Accept: application/json, text/event-stream\r\n";
        let request = post(body, &format!("{accept}{fields}"));
        self.connection.handle_bytes(Instant::ZERO, Bytes::from(request));
        self.connection.visit(Instant::ZERO, &mut self.endpoint, &());
        let actions = iter::from_fn(|| self.connection.poll_action());
        let actions: Vec<_> = actions.map(|action| format!("{action:?}")).collect();
        if actions.iter().any(|action| action.contains("Connection: close")) {
            self.connect();
        }
        actions
    }
}

/// Fields, and the method of a request.
fn request() -> impl Strategy<Value = (String, &'static str)> {
    let session = select(vec![
        "00000000000000000000000000000001",
        "00000000000000000000000000000001",
        "00000000000000000000000000000002",
        "00000000000000000000000000000002",
        "00000000000000000000000000000003",
        "00000000000000000000000000000004",
        " 0000000000000000000000000000001",
        "0000000000000000000000000000001\t",
        // Of one length, and sessions only without the blank.
        "x00000000000000000000000000000002",
        "x00000000000000000000000000000002",
        "\t00000000000000000000000000000002",
        "\t00000000000000000000000000000002",
        "00000000000000000000000000000003x",
        "00000000000000000000000000000003 ",
        "0000000000000000\r\nX: 00000000001",
        "0000000000000000000000000000000\u{7f}",
        "000000000000000000000000000000\u{e9}",
        "1",
        "",
    ]);
    let before = select(vec!["", "", "", "MCP-Protocol-Version: 2025-11-25\r\n"]);
    let after = select(vec!["", "", "", "", "Mcp-Session-Id: 1\r\n", "Origin: http://a\r\n"]);
    let method = select(vec!["ping", "ping", "tools/list", "none"]);
    (before, session, after, method).prop_map(|(before, session, after, method)| {
        (format!("{before}Mcp-Session-Id: {session}\r\n{after}"), method)
    })
}

fn head() -> impl Strategy<Value = OwnHead> {
    let methods = select(vec!["POST", "POST", "POST", "GET", "DELETE", "PUT", "no token"]);
    let targets = select(vec!["/mcp", "/mcp", "/mcp?a", "/other", "no target", ""]);
    (methods, targets, prop::collection::vec(field(), 0..4)).prop_map(|(method, target, more)| {
        let mut fields: Fields = vec![
            ("host", b"localhost"),
            ("content-type", b"application/json"),
            ("accept", b"application/json, text/event-stream"),
        ];
        fields.extend(more);
        (method, target, fields)
    })
}

fn field() -> impl Strategy<Value = (&'static str, &'static [u8])> {
    select(vec![
        ("mcp-protocol-version", &b"2026-07-28"[..]),
        ("mcp-protocol-version", b"2025-11-25"),
        ("mcp-method", b"tools/list"),
        ("mcp-session-id", b"a"),
        ("mcp-session-id", b" a\t"),
        ("mcp-session-id", b"b"),
        ("mcp-session-id", b"0123456789abcdef0123456789abcdef"),
        ("mcp-session-id", b"fedcba9876543210fedcba9876543210"),
        ("content-length", b"12"),
        ("content-length", b"34"),
        ("content-length", b"567"),
        ("origin", b"http://localhost:3000"),
        ("origin", b"http://example.com"),
        ("authorization", b"Bearer a"),
        ("x", b""),
        ("x", b"\xff"),
        ("x-a", b"b:c"),
        ("x-long", &[b'a'; 1024]),
    ])
}

fn session() -> impl Strategy<Value = &'static [u8]> {
    select(vec![
        &b"0123456789abcdef0123456789abcdef"[..],
        b"fedcba9876543210fedcba9876543210",
        b"FEDCBA9876543210fedcba9876543210",
        b"a",
    ])
}

fn length() -> impl Strategy<Value = &'static [u8]> {
    select(vec![&b"12"[..], b"34", b"567"])
}

fn body() -> impl Strategy<Value = Bytes> {
    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const LEGACY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    select(vec![LIST, LEGACY, "{}", "", "["]).prop_map(Bytes::from)
}
