//! The law of caches: whatever a connection or a server was asked before, a request gets the
//! response that it would get alone.

use std::sync::Arc;

use mcp_proto::http::{Authorization, Config, Head, Sessions};
use mcp_service::{Context, Drive, Part, Registry};
use serde_json::Value;

use super::site::{Site, Socket};
use crate::bench::registry;

/// Fields that a request may have in addition to its host; each line is one choice.
const FIELDS: [&[&str]; 5] = [
    &["Content-Type: application/json", "Content-Type: text/plain", "X-Other: 1"],
    &["Accept: application/json, text/event-stream", "Accept: */*", "Accept: application/json"],
    &[
        "MCP-Protocol-Version: 2026-07-28",
        "MCP-Protocol-Version: 2025-06-18",
        "X-User: a",
        "X-User: b",
    ],
    &[
        "Mcp-Method: tools/call",
        "Mcp-Method: tools/list",
        "Origin: http://localhost",
        "Origin: http://evil.example",
    ],
    &["Mcp-Name: t", "Mcp-Name: u", "Mcp-Session-Id: 1", "Accept: application/json"],
];

const HOSTS: [&str; 3] = ["localhost", "127.0.0.1:80", "evil.example"];

/// Bodies, as parts of which one is chosen each.
const BODIES: [&[&str]; 4] = [
    &[
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":"#,
        r#"{"jsonrpc":"2.0","id":"other","method":"tools/call","params":{"name":"u","arguments":"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t","arguments":"#,
    ],
    &["{}", r#"{"text":"some text"}"#, "[]", "{"],
    &[
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}"#,
        r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        "",
    ],
    &["}}", "}"],
];

/// A linear congruential generator: any order will do.
struct Choices(u64);

impl Choices {
    /// A number below `count`; mostly zero, so that requests are often alike.
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let number = usize::try_from(self.0 >> 33).unwrap();
        if number.is_multiple_of(5) { number / 5 % count } else { 0 }
    }

    fn request(&mut self) -> Request {
        let host = HOSTS[self.below(HOSTS.len())];
        let fields = FIELDS.map(|choices| choices[self.below(choices.len())]);
        let body = BODIES.map(|choices| choices[self.below(choices.len())]).concat();
        Request { host, fields, body }
    }
}

struct Request {
    host: &'static str,
    fields: [&'static str; FIELDS.len()],
    body: String,
}

impl Request {
    fn send(&self, socket: &mut Socket) -> String {
        let Self { host, fields, body } = self;
        let (fields, length) = (fields.join("\r\n"), body.len());
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{fields}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        socket.send_bytes(text.into());
        socket.out()
    }

    /// The parts of the response to the request, if another stack reads it.
    fn ask(&self, site: &Site) -> Vec<String> {
        let mut head = Head::new("POST", "/mcp");
        head.push("Host", self.host.as_bytes());
        for field in self.fields {
            let (name, value) = field.split_once(": ").unwrap();
            head.push(name, value.as_bytes());
        }
        let mut asked = site.answer_to(head, self.body.clone().into());
        let mut parts = Vec::new();
        while let Some(part) = asked.part() {
            let is_end = matches!(part, Part::End);
            parts.push(format!("{part:?}"));
            if is_end {
                break;
            }
        }
        parts
    }
}

/// A server whose tool tells who calls.
fn tools() -> Registry<mcp_service::Handler> {
    registry(|arguments: Value, context: Context| async move {
        let peer = context.peer();
        format!("{arguments} {:?} {:?} {:?}", peer.client_info, peer.capabilities, peer.principal)
    })
}

fn configs() -> [Config; 3] {
    let mut config = Config::default();
    config.sessions = Sessions::Stateless;
    let mut authorized = config.clone();
    authorized.authorize = Some(Arc::new(|head: &Head| match head.field("X-User") {
        Some(b"b") => Authorization::Forbidden("Basic".into()),
        user => Authorization::Allow(user.map(|user| String::from_utf8_lossy(user).into())),
    }));
    let mut with_head = config.clone();
    with_head.keep_head = true;
    [config, authorized, with_head]
}

#[test]
fn a_request_gets_the_response_that_it_would_get_alone() {
    for (config, seed) in configs().into_iter().zip(7..) {
        let mut choices = Choices(seed);
        let site = Site::with(tools(), config.clone());
        let mut socket = site.connect();
        let mut served = 0;
        for _ in 0..300 {
            let request = choices.request();
            for _ in 0..=choices.below(4) {
                let alone = Site::with(tools(), config.clone());
                let response = request.send(&mut socket);
                assert_eq!(response, request.send(&mut alone.connect()), "{}", request.body);
                assert_eq!(request.ask(&site), request.ask(&alone), "{}", request.body);
                served += usize::from(response.contains("\"result\""));
                if socket.service.is_closed() {
                    socket = site.connect();
                }
            }
        }
        assert!(served > 30, "{served} of the requests were served");
    }
}

#[test]
fn heads_are_alike_only_if_each_field_is() {
    let site = Site::new(tools());
    let ask = |fields: &[(&str, &str)]| {
        let mut head = Head::new("POST", "/mcp");
        for (name, value) in fields {
            head.push(name, value.as_bytes());
        }
        site.answer_to(head, "{}".into()).out().0
    };
    let media = ("Content-Type", "application/json");
    let accept = ("Accept", "application/json, text/event-stream");
    for _ in 0..3 {
        assert_eq!(ask(&[("Host", "localhost"), media, accept]), Some(400));
        assert_eq!(ask(&[("Hostl", "ocalhost"), media, accept]), Some(403));
        assert_eq!(ask(&[("Host", "localhostContent-Type:application/json"), accept]), Some(403));
    }
}
