//! Quoted by `docs/guide/machine.md`: both sides of HTTP without a socket between them.

use std::error::Error;
use std::sync::Arc;

use mcp_proto::client::{self, CallOptions, ClientEvent};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, Request};
use mcp_proto::http::{self, Exchange, ExchangeAction, Head, Sessions, Url};
use mcp_proto::server::{Outcome, Registry, ServerEvent};
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Binding, Bytes, Instant, Json};

type Boxed = Box<dyn Error>;
type Handler = fn(&Json) -> CallToolResult;

fn greet(_: &Json) -> CallToolResult {
    CallToolResult::text("hello")
}

fn registry() -> Result<Registry<Handler>, Boxed> {
    let mut registry = Registry::new(Implementation::new("greeter", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#)?;
    registry.add_tool(Tool::new("greet", schema), greet as Handler)?;
    Ok(registry)
}

/// A server: a request in, a response out.
fn answer(
    registry: &Registry<Handler>,
    config: &Arc<http::Config>,
    head: &Head,
    body: &Bytes,
) -> Result<(StatusHead, Vec<u8>), Boxed> {
    let now = Instant::ZERO;
    let mut exchange = Exchange::new(now, &registry.declaration(), config, head, body);
    let (mut status, mut data) = (StatusHead::new(500), Vec::new());
    while let Some(action) = exchange.poll_action() {
        match action {
            ExchangeAction::Head(head) => {
                status = StatusHead::new(head.status);
                for (name, value) in head.fields() {
                    status.push(name, value.as_bytes());
                }
            }
            ExchangeAction::Data(bytes) => data.extend_from_slice(&bytes),
            ExchangeAction::Event(ServerEvent::Request(request)) => {
                let handler = registry.handler(request.handler).ok_or("no handler")?;
                let result = Json::encode(&handler(&request.arguments))?;
                exchange.respond(now, request.reply, Outcome::Complete(result));
            }
            _ => {}
        }
    }
    Ok((status, data))
}

/// A client: its requests go to `send`, until its call has a result.
fn call(
    url: &str,
    name: &str,
    send: impl Fn(&Request) -> Result<(StatusHead, Vec<u8>), Boxed>,
) -> Result<Json, Boxed> {
    let now = Instant::ZERO;
    let config = client::Config::new(Implementation::new("app", "1.0.0"));
    let config = http::client::Config::new(Url::parse(url)?, config);
    let mut client = http::Client::new(config, Box::new(|| [0; 16]));
    client.handle_opened(now);
    let params = Json::encode(&serde_json::json!({ "name": name }))?;
    client.with(now, |client| client.call(now, "tools/call", params, CallOptions::default()))?;
    while let Some(action) = client.poll_action() {
        match action {
            Action::Open { exchange, request } => {
                let (head, body) = send(&request)?;
                client.handle_head(now, exchange, &head);
                client.handle_body(now, exchange, body.into());
                client.handle_end(now, exchange);
            }
            Action::Event(ClientEvent::Response { result, .. }) => return Ok(result?),
            Action::Event(ClientEvent::Closed(Some(error))) => return Err(error.into()),
            _ => {}
        }
    }
    Err("it waits for more".into())
}

#[test]
fn both_sides_of_http() -> Result<(), Boxed> {
    let registry = registry()?;
    let mut config = http::Config::default();
    config.sessions = Sessions::Stateless;
    let config = Arc::new(config);
    let result = call("http://localhost/mcp", "greet", |request| {
        let mut head = Head::new(request.method, &request.target);
        head.push("Host", b"localhost");
        for (name, value) in &request.fields {
            head.push(name, value.as_bytes());
        }
        answer(&registry, &config, &head, &request.body)
    })?;
    let result: CallToolResult = result.decode()?;
    assert_eq!(result.content[0].as_text(), Some("hello"));
    Ok(())
}
