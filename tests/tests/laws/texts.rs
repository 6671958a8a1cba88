//! The laws of texts: a tool's text is sent like the same result as JSON, and results that are
//! written and read without serde are those of serde.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot begin has failed")]

use std::sync::Arc;

use mcp_proto::frame::http1::Head;
use mcp_proto::http::{self, Admission};
use mcp_proto::message::PlainText;
use mcp_proto::server::{Config, Declaration, Outcome, Registry, Request, Server, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{
    CallToolResult, Implementation, Prompt, ReadResourceResult, Resource, ResourceContents, Tool,
};
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine, Spare};
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;

/// The requests that have handlers: of a tool, and those whose results have no texts of tools.
const REQUESTS: [(&str, &str); 4] = [
    ("tools/call", r#""name":"echo""#),
    ("prompts/get", r#""name":"greet""#),
    ("resources/read", r#""uri":"note://one""#),
    ("own/method", r#""a":1"#),
];

const META: &str = concat!(
    r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"law","version":"1"}}}"#,
    "\n"
);

proptest! {
    #![proptest_config(super::cases(200))]

    #[test]
    fn text_is_sent_like_the_same_result_as_json(text in text()) {
        let result = Json::encode(&CallToolResult::text(&*text)).expect("JSON");
        let complete = Outcome::Complete(result);
        let Ok(plain) = PlainText::new(&*text) else {
            prop_assert!(serde_json::to_string(&text).expect("JSON").contains('\\'));
            return Ok(());
        };
        let outcome = Outcome::Text(plain);
        prop_assert_eq!(&outcome.clone().encoded(), &complete);
        for request in REQUESTS {
            for is_modern in [false, true] {
                let sent = |outcome: &Outcome| over_a_stream(is_modern, request, outcome.clone());
                prop_assert_eq!(sent(&outcome), sent(&complete));
            }
            let sent = |outcome: &Outcome| over_http(request, outcome.clone());
            prop_assert_eq!(sent(&outcome), sent(&complete));
        }
    }

    #[test]
    fn results_without_serde_are_those_with_serde(text in text()) {
        let result = CallToolResult::text(&*text);
        let written = CallToolResult::text_json(&text, &mut Spare::new());
        prop_assert_eq!(&written, &Json::encode(&result).expect("JSON"));
        prop_assert_eq!(CallToolResult::from_json(&written).expect("a result"), result);

        let content = Json::encode(&[(&text, text.len())]).expect("JSON");
        let result = CallToolResult::text(content.as_str()).structured_content(content.clone());
        let written = CallToolResult::structured_json(&content, &mut Spare::new());
        prop_assert_eq!(&written, &Json::encode(&result).expect("JSON"));
        prop_assert_eq!(CallToolResult::from_json(&written).expect("a result"), result);

        let result = ReadResourceResult::new(vec![ResourceContents::text("note://one", &*text)]);
        prop_assert_eq!(result.to_json().expect("JSON"), Json::encode(&result).expect("JSON"));
    }
}

fn text() -> impl Strategy<Value = String> {
    let usual = prop_oneof![Just(' '), prop::char::range('a', 'z'), prop::char::any()];
    prop::collection::vec(usual, 0..80).prop_map(String::from_iter)
}

fn declaration() -> Arc<Declaration> {
    let mut registry = Registry::new(Implementation::new("law", "1"));
    let schema = Json::parse(r#"{"type":"object"}"#).expect("JSON");
    registry.add_tool(Tool::new("echo", schema), ()).expect("a tool");
    registry.add_prompt(Prompt::new("greet"), ()).expect("a prompt");
    registry.add_resource(Resource::new("note://one", "one"), ()).expect("a resource");
    registry.add_method("own/method", ()).expect("a method");
    registry.declaration()
}

/// The text of a request.
fn message(is_modern: bool, (method, params): (&str, &str)) -> String {
    let meta = if is_modern { META } else { "" };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{meta}}}}}"#)
}

/// What a server on a stream sends, if its handler has this outcome.
fn over_a_stream(is_modern: bool, request: (&str, &str), outcome: Outcome) -> String {
    let mut connection = Connection::<Server>::server(declaration(), Config::default());
    if !is_modern {
        connection.handle_bytes(NOW, Bytes::from(INITIALIZE));
    }
    connection.handle_bytes(NOW, Bytes::from(message(is_modern, request) + "\n"));
    let mut outcome = Some(outcome);
    let mut sent = Vec::new();
    while let Some(action) = connection.poll_action() {
        match action {
            Action::Transmit(bytes) => sent.extend_from_slice(&bytes),
            Action::Event(ServerEvent::Request(Request { reply, .. })) => {
                let outcome = outcome.take().expect("one request");
                connection.with(NOW, |server| server.respond(NOW, reply, outcome));
            }
            Action::Event(_) | Action::Close => {}
        }
    }
    assert!(outcome.is_none(), "no request: {sent:?}");
    String::from_utf8(sent).expect("UTF-8")
}

/// The response of a modern server over HTTP, if its handler has this outcome.
fn over_http(request: (&str, &str), outcome: Outcome) -> String {
    let body = Bytes::from(message(true, request));
    let mut head = Head::new("POST", "/mcp");
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", request.0),
    ] {
        head.push(name, value.as_bytes());
    }
    if let Some((_, name)) = request.1.split_once(':').filter(|_| request.0 != "own/method") {
        head.push("mcp-name", name.trim_matches('"').as_bytes());
    }
    let admission = Admission::new(&Arc::new(http::Config::default()), head).expect("a good head");
    let mut exchange = admission.answer_with(NOW, &declaration(), &body);
    let Some(http::ExchangeAction::Event(ServerEvent::Request(Request { reply, .. }))) =
        exchange.poll_action()
    else {
        panic!("no request")
    };
    exchange.respond(NOW, reply, outcome);
    let sent: Vec<_> = std::iter::from_fn(|| exchange.poll_action()).collect();
    let sent = format!("{sent:?}");
    assert!(sent.contains("200"), "{sent}");
    sent
}
