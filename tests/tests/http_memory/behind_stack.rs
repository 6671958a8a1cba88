//! All bounds at the same time of a server whose HTTP stack is another one, such as hyper with a
//! tower service: the sum is within twice `Limits::max_endpoint_bytes`.
//!
//! The stack itself holds the parts of answers that its clients do not read, one for each.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use mcp_proto::frame::http1::HeadParts;
use mcp_proto::http::Config;
use mcp_proto::server::Change;
use mcp_proto::types::{Implementation, ResourceContents, ResourceTemplate, Tool};
use mcp_proto::{Instant, Json, Limits};
use mcp_service::{Admission, Answering, Catalog, Context, Handler, HttpServer, Part, Registry};
use serde_json::Value;

use super::site::{INITIALIZED, initialize};
use super::{KIB, MIB, Meter};

/// A sixteenth of the defaults.
const MAX: usize = 16 * MIB;
const SESSIONS: usize = 625;
const LISTENERS: usize = 600;
const RESOURCES: usize = 13;

const REVISION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

#[test]
fn sum_of_all_bounds_is_within_twice_the_limit() {
    let mut meter = Meter::start();
    let long = "x".repeat(200 * KIB);
    meter.restart();
    let stack = Stack::new();
    let sessions = stack.open_sessions();
    let listening = stack.listen();
    let calls = stack.call(&sessions);
    assert!(calls.len() > 100, "{} calls", calls.len());
    // Bodies that never end, and large answers that the stack cannot pass on.
    let mut bodies = Vec::new();
    for _ in 0..300 {
        let Ok(mut admission) = stack.admit(&[REVISION, ("Mcp-Method", "tools/call")]) else {
            break;
        };
        if admission.add(long.as_bytes()).is_ok() {
            bodies.push(admission);
        }
    }
    let mut held = Vec::new();
    for id in 0..100 {
        let fields = [REVISION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "large")];
        held.push(stack.ask(&fields, &modern(id, "tools/call", "\"name\":\"large\"")));
    }
    let large = held.iter().filter(|(_, parts)| length(parts) > 400 * KIB).count();
    assert!(large < held.len(), "all {large} large answers fit");
    meter.assert_peak("all bounds", 2 * MAX);
    drop((listening, calls, bodies, held, stack));
    meter.assert_used("after all of it", MIB);
}

/// The HTTP stack, and the handlers that it has spawned.
struct Stack {
    catalog: Catalog,
    server: HttpServer,
    _handlers: Arc<Mutex<Vec<mcp_service::Spawned>>>,
}

/// An answer, and the parts that the stack has taken of it.
type Asked = (Answering, Vec<Part>);

impl Stack {
    fn new() -> Self {
        let mut registry = Registry::<Handler>::new(Implementation::new("s", "1"));
        registry.subscribe();
        let tool = |name| Tool::new(name, Json::parse(r#"{"type":"object"}"#).expect("JSON"));
        let hold = |_: Value, _: Context| std::future::pending::<String>();
        registry.tool_with(tool("hold"), hold).expect("a tool");
        let large = |_: Value, _: Context| async { "x".repeat(500 * KIB) };
        registry.tool_with(tool("large"), large).expect("a tool");
        let read = |uri: String, _: Value, _| async { ResourceContents::text(uri, "") };
        let template = ResourceTemplate::new("t:{x}", "t");
        registry.resource_template(template, read).expect("a template");
        let catalog = Catalog::from(registry);
        let mut config = Config::default();
        config.server.limits = Limits::default();
        config.server.limits.max_endpoint_bytes = MAX;
        config.server.limits.max_sessions = SESSIONS;
        config.server.limits.max_connections = 1024;
        let handlers = Arc::new(Mutex::new(Vec::new()));
        let (mut id, spawned) = (0_u128, handlers.clone());
        let ids = move || {
            id += 1;
            id.to_be_bytes()
        };
        let spawn = move |handler| spawned.lock().expect("no panic").push(handler);
        let server = HttpServer::new(catalog.clone(), config, ids, spawn);
        Self { catalog, server, _handlers: handlers }
    }

    fn admit(&self, fields: &[(&str, &str)]) -> Result<Admission, Box<Answering>> {
        let own = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let fields = || {
            let all = own.iter().chain(fields);
            all.map(|(name, value)| (*name, value.as_bytes()))
        };
        self.server.admit(HeadParts { method: "POST", target: "/mcp", fields })
    }

    /// Sends a request, and takes the parts of its answer that are ready.
    fn ask(&self, fields: &[(&str, &str)], body: &str) -> Asked {
        let mut answering = match self.admit(fields) {
            Ok(mut admission) => match admission.add(body.as_bytes()) {
                Ok(()) => admission.answer(Instant::ZERO),
                Err(status) => {
                    let (head, body) = admission.refuse(status);
                    let answering = self.admit(&[]).map(|it| it.answer(Instant::ZERO));
                    let answering = answering.unwrap_or_else(|refused| *refused);
                    return (answering, vec![Part::Whole(head, body)]);
                }
            },
            Err(refused) => *refused,
        };
        let mut parts = Vec::new();
        for _ in 0..4 {
            match answering.turn(Instant::ZERO, Waker::noop()) {
                Some(Part::End) | None => break,
                Some(part) => parts.push(part),
            }
        }
        (answering, parts)
    }

    /// Opens sessions whose clients have long names, and as many subscriptions as they may have.
    fn open_sessions(&self) -> Vec<String> {
        let mut sessions = Vec::new();
        for n in 0..SESSIONS {
            let name = format!("{n}{}", "n".repeat(15 * KIB));
            let (_, parts) = self.ask(&[], &initialize("2025-11-25", &name));
            let Some(Part::Whole(head, _)) = parts.first() else { continue };
            let mut fields = head.fields().iter();
            let Some((_, id)) = fields.find(|(name, _)| *name == "Mcp-Session-Id") else {
                continue;
            };
            let of_session = [("Mcp-Session-Id", &**id)];
            self.ask(&of_session, INITIALIZED);
            for id in 0..5 {
                let uri = format!("t:{n}-{id}-{}", "u".repeat(KIB));
                let params = format!("\"uri\":\"{uri}\"");
                self.ask(&of_session, &legacy(id, "resources/subscribe", &params));
            }
            sessions.push(id.to_string());
        }
        sessions
    }

    /// Opens subscriptions of modern clients that do not read, and changes their resources.
    fn listen(&self) -> Vec<Asked> {
        let uri = |n: usize, at: usize| format!("t:{}-{}", n * 100 + at, "u".repeat(110));
        let mut asked = Vec::new();
        for n in 0..LISTENERS {
            let uris: Vec<String> =
                (0..RESOURCES).map(|at| format!("\"{}\"", uri(n, at))).collect();
            let uris = uris.join(",");
            let wanted = format!("\"notifications\":{{\"resourceSubscriptions\":[{uris}]}}");
            let fields = [REVISION, ("Mcp-Method", "subscriptions/listen")];
            asked.push(self.ask(&fields, &modern(1, "subscriptions/listen", &wanted)));
        }
        for n in 0..LISTENERS {
            for at in 0..RESOURCES {
                let change = Change::ResourceUpdated(uri(n, at));
                self.catalog.publish(&change).expect("a declared change");
            }
        }
        asked
    }

    /// Calls a tool in each session.
    fn call(&self, sessions: &[String]) -> Vec<Asked> {
        let padding = "x".repeat(20 * KIB);
        let params = format!("\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}}");
        let call = legacy(1, "tools/call", &params);
        let ask = |id: &String| self.ask(&[("Mcp-Session-Id", id)], &call);
        sessions.iter().map(ask).filter(|(_, parts)| parts.is_empty()).collect()
    }
}

fn length(parts: &[Part]) -> usize {
    let of_part = |part: &Part| match part {
        Part::Whole(_, data) | Part::Data(data) => data.len(),
        Part::Head(_) | Part::End => 0,
    };
    parts.iter().map(of_part).sum()
}

fn legacy(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}

fn modern(id: usize, method: &str, params: &str) -> String {
    let meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
        \"io.modelcontextprotocol/clientCapabilities\":{}}";
    legacy(id, method, &format!("{params},{meta}"))
}
