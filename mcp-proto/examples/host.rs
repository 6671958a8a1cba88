//! A server in a host that already speaks HTTP, such as a function as a service or a WASM worker: a
//! request in, a response out. The server has no socket, no thread and no clock, and stores nothing
//! between two requests.
//!
//! ```sh
//! cargo run -p mcp-proto --example host
//! cargo build -p mcp-proto --example host --target wasm32-unknown-unknown
//! ```
//!
//! `main` takes the part of the host. It prints the responses to four requests: a call of the tool
//! `echo` and a subscription, both of modern clients, `initialize` of a legacy client, and a GET.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use mcp_proto::http::{Config, Endpoint, Exchange, ExchangeAction, Head, ResponseHead, Sessions};
use mcp_proto::server::{Outcome, Registry, ServerEvent};
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Bytes, ErrorData, Instant, Json};

/// Function that the host calls for each request.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is of interest")]
fn fetch(site: &Site, request: &Request) -> Response {
    let mut head = Head::new(request.method, request.path);
    for (name, value) in request.fields {
        head.push(name, value.as_bytes());
    }
    let body = Bytes::from_static(request.body.as_bytes());
    // Handlers answer at once, so that no time passes.
    let now = Instant::ZERO;
    let (declaration, config) = (site.registry.declaration(), &site.config);
    let mut exchange = Exchange::new(now, &declaration, config, &head, &body);
    let mut response = Response::default();
    if exchange.needs_endpoint() {
        // Nothing changes here: who subscribes to changes is told so, and that this is all.
        let mut endpoint = Endpoint::new(declaration, config.clone(), Box::new(|| [0; 16]));
        exchange.visit(now, &mut endpoint, &());
        endpoint.shutdown(now);
        exchange.visit(now, &mut endpoint, &());
    }
    while let Some(action) = exchange.poll_action() {
        match action {
            ExchangeAction::Head(head) => response.head = Some(head),
            ExchangeAction::Data(data) => response.body.extend_from_slice(&data),
            ExchangeAction::Event(ServerEvent::Request(request)) => {
                let outcome = call(site.registry.handler(request.handler), &request.arguments);
                exchange.respond(now, request.reply, outcome);
            }
            _ => {}
        }
    }
    response
}

/// A request as the host has it.
struct Request {
    method: &'static str,
    path: &'static str,
    fields: &'static [(&'static str, &'static str)],
    body: &'static str,
}

#[derive(Default)]
struct Response {
    head: Option<ResponseHead>,
    body: Vec<u8>,
}

struct Site {
    registry: Registry<Handler>,
    config: Arc<Config>,
}

type Handler = fn(&Json) -> CallToolResult;

#[derive(serde::Deserialize)]
struct Echo {
    message: String,
}

fn echo(arguments: &Json) -> CallToolResult {
    match arguments.decode::<Echo>() {
        Ok(echo) => CallToolResult::text(echo.message),
        Err(error) => CallToolResult::error(error.to_string()),
    }
}

fn call(handler: Option<&Handler>, arguments: &Json) -> Outcome {
    let result = handler.map(|handler| Json::encode(&handler(arguments)));
    match result {
        Some(Ok(result)) => Outcome::Complete(result),
        _ => Outcome::Error(ErrorData::internal("the handler has no result")),
    }
}

impl Site {
    fn new() -> Result<Self, Box<dyn Error>> {
        let schema = concat!(
            r#"{"type":"object","properties":{"message":{"type":"string"}},"#,
            r#""required":["message"]}"#,
        );
        let tool = Tool::new("echo", Json::parse(schema)?).description("Echoes its message");
        let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
        registry.add_tool(tool, echo as Handler)?;
        let mut config = Config::default();
        // A session would have to be kept.
        config.sessions = Sessions::Stateless;
        config.allowed_hosts = vec!["mcp.example.com".into()];
        Ok(Self { registry, config: Arc::new(config) })
    }
}

const HOST: (&str, &str) = ("Host", "mcp.example.com");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");
const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

const REQUESTS: [Request; 4] = [
    Request {
        method: "POST",
        path: "/mcp",
        fields: &[HOST, JSON, ACCEPT, MODERN, ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
        body: concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"#,
            r#""name":"echo","arguments":{"message":"hello"},"_meta":{"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        ),
    },
    Request {
        method: "POST",
        path: "/mcp",
        fields: &[HOST, JSON, ACCEPT, MODERN, ("Mcp-Method", "subscriptions/listen")],
        body: concat!(
            r#"{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"#,
            r#""notifications":{"toolsListChanged":true},"_meta":{"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        ),
    },
    Request {
        method: "POST",
        path: "/mcp",
        fields: &[HOST, JSON, ACCEPT],
        body: concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"#,
            r#""protocolVersion":"2025-11-25","capabilities":{},"#,
            r#""clientInfo":{"name":"old","version":"1"}}}"#,
        ),
    },
    Request { method: "GET", path: "/mcp", fields: &[HOST], body: "" },
];

fn main() -> Result<(), Box<dyn Error>> {
    let site = Site::new()?;
    let mut output = io::stdout();
    for request in &REQUESTS {
        let response = fetch(&site, request);
        let head = response.head.ok_or("there is always a response")?;
        writeln!(output, "{}", head.status)?;
        for (name, value) in head.fields() {
            writeln!(output, "{name}: {value}")?;
        }
        writeln!(output, "\n{}\n", String::from_utf8_lossy(&response.body))?;
    }
    Ok(())
}
