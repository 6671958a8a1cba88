//! The trace that a request belongs to: from an application to a handler.

use mcp_proto::client::{CallOptions, Config, Negotiation};
use mcp_proto::types::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, Implementation, RequestedSchema,
};
use mcp_proto::{Duration, Json, TraceContext};
use mcp_service::testing::Pair;
use mcp_service::{Client, Context, Handler, Interrupt, Registry, Tasks};
use serde_json::{Value, json};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
const OTHER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-00";

/// All ways that a request may travel.
fn pairs() -> Vec<Pair> {
    [Pair::new, Pair::over_http]
        .into_iter()
        .flat_map(|connect: fn(Registry<Handler>) -> Pair| {
            [Negotiation::Auto, Negotiation::Legacy]
                .map(|negotiation| connect(registry()).negotiation(negotiation))
        })
        .collect()
}

/// A server whose tool `trace` says what it knows of its trace, and whose tool `ask` asks first.
fn registry() -> Registry<Handler> {
    async fn ask(_: Value, context: Context) -> Result<String, Interrupt> {
        context.elicit("sure", ElicitRequestFormParams::new("Sure?", RequestedSchema::new()))?;
        Ok(said(&context))
    }
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    let tool = |name| mcp_proto::types::Tool::new(name, schema.clone());
    let mut registry = Registry::new(Implementation::new("traced", "1.0.0"));
    let trace = |_: Value, context: Context| async move { said(&context) };
    registry.tool_with(tool("trace"), trace).unwrap();
    registry.tool_with(tool("ask"), ask).unwrap();
    registry
}

fn said(context: &Context) -> String {
    let keys = TraceContext::KEYS;
    let said = context.trace().map(|trace| keys.map(|key| trace.get(key).unwrap_or("-")).join(" "));
    said.unwrap_or_else(|| "nothing".into())
}

/// Calls a tool, and returns its text.
fn call(pair: &mut Pair, tool: &str, trace: Option<TraceContext>) -> String {
    let mut options = CallOptions::default();
    options.trace = trace.map(Box::new);
    let call = pair.client().call_tool(tool, &json!({})).options(options);
    text(&pair.run(call).unwrap())
}

fn text(result: &mcp_proto::types::CallToolResult) -> String {
    result.content[0].as_text().unwrap().into()
}

fn agreeable(client: &Client) {
    client.on_form(|_| async { ElicitResult::new(ElicitAction::Accept) });
}

#[test]
fn a_handler_knows_the_trace_of_its_call() {
    for mut pair in pairs() {
        assert_eq!(call(&mut pair, "trace", None), "nothing");
        let mut trace = TraceContext::new(PARENT);
        assert_eq!(call(&mut pair, "trace", Some(trace.clone())), format!("{PARENT} - -"));
        trace.set("tracestate", "rojo=00f067aa0ba902b7");
        trace.set("baggage", "user=\"Zoë\"");
        trace.set("x-b3-traceid", "nobody wants it");
        let all = format!("{PARENT} rojo=00f067aa0ba902b7 user=\"Zoë\"");
        assert_eq!(call(&mut pair, "trace", Some(trace)), all);
    }
}

#[test]
fn a_handler_that_is_asked_again_knows_the_trace_still() {
    for mut pair in pairs() {
        agreeable(&pair.client());
        let said = call(&mut pair, "ask", Some(TraceContext::new(PARENT)));
        assert_eq!(said, format!("{PARENT} - -"));
    }
}

#[test]
fn a_client_is_asked_for_the_trace_of_calls_that_do_not_say_it() {
    for mut pair in pairs() {
        pair.client().trace_with(|| TraceContext::new(PARENT));
        pair.client().trace_with(|| TraceContext::new("too late"));
        assert_eq!(call(&mut pair, "trace", None), format!("{PARENT} - -"));
        let said = call(&mut pair, "trace", Some(TraceContext::new(OTHER)));
        assert_eq!(said, format!("{OTHER} - -"));
    }
}

#[test]
fn a_trace_of_nothing_is_not_sent() {
    for mut pair in pairs() {
        pair.client().trace_with(TraceContext::default);
        assert_eq!(call(&mut pair, "trace", None), "nothing");
        assert!(!pair.wire().contains(r#""_meta":{}"#), "{}", pair.wire());
    }
}

#[test]
fn what_parameters_say_of_the_trace_stands_where_the_call_says_nothing() {
    let meta = json!({"traceparent": OTHER, "tracestate": "congo=t61rcWkgMzE", "mine": 1});
    let params = json!({"name": "trace", "arguments": {}, "_meta": meta});
    for mut pair in pairs() {
        let call = |trace| {
            let call = pair.client().call("tools/call", &params);
            match trace {
                None => call,
                Some(trace) => call.trace(trace),
            }
        };
        let (plain, traced) = (call(None), call(Some(TraceContext::new(PARENT))));
        let expected = format!("{OTHER} congo=t61rcWkgMzE -");
        assert_eq!(text(&pair.run(plain).unwrap()), expected);
        let expected = format!("{PARENT} congo=t61rcWkgMzE -");
        assert_eq!(text(&pair.run(traced).unwrap()), expected);
        assert!(pair.wire().contains(r#""mine":1"#));
    }
}

#[test]
fn what_is_no_string_is_no_trace() {
    let params = json!({"name": "trace", "_meta": {"traceparent": 7, "baggage": null}});
    for mut pair in pairs() {
        let call = pair.client().call("tools/call", &params);
        assert_eq!(text(&pair.run(call).unwrap()), "nothing");
    }
}

#[test]
fn handler_of_a_task_that_goes_on_with_input_knows_the_trace() {
    async fn ask(_: Value, context: Context) -> Result<String, Interrupt> {
        context.sleep(Duration::from_secs(1)).await;
        context.elicit("sure", ElicitRequestFormParams::new("Sure?", RequestedSchema::new()))?;
        Ok(said(&context))
    }
    let mut registry = Registry::new(Implementation::new("traced", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(mcp_proto::types::Tool::new("task", schema), ask).unwrap();
    registry.tasks("task", Tasks::Always).unwrap();
    let config = Config::new(Implementation::new("app", "1.0.0")).follow_tasks();
    let mut pair = Pair::new(registry).client_config(config);
    agreeable(&pair.client());
    let text = call(&mut pair, "task", Some(TraceContext::new(PARENT)));
    assert_eq!(text, format!("{PARENT} - -"));
}
