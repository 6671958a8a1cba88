//! Handlers of methods: which method was called.

#![expect(clippy::unused_async, reason = "handlers are async")]

use mcp_proto::Json;
use mcp_proto::client::Negotiation;
use mcp_proto::types::Implementation;
use mcp_service::testing::Pair;
use mcp_service::{Context, Handler, Registry};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[test]
fn fallback_knows_the_method_of_each_request() {
    let mut registry = registry();
    registry.fallback(Handler::method(method_of));
    for_each_pair(&registry, |pair| {
        let client = pair.client();
        for method in ["demo/one", "demo/two"] {
            let answer: Value = pair.run(client.call(method, &json!({}))).unwrap();
            assert_eq!(answer["method"], method);
        }
    });
}

#[test]
fn every_handler_knows_its_method() {
    let mut registry = registry();
    let method_of = |_: Nothing, context: Context| async move { context.method().to_owned() };
    registry.tool("t", "Names its method", method_of).unwrap();
    for_each_pair(&registry, |pair| {
        let client = pair.client();
        let answer = pair.run(client.call_tool("t", &json!({}))).unwrap();
        assert_eq!(answer.content.first().unwrap().as_text(), Some("tools/call"));
    });
}

async fn method_of(_: Json, context: Context) -> Json {
    Json::encode(&json!({ "method": context.method() })).unwrap_or(Json::EMPTY_OBJECT)
}

fn registry() -> Registry<Handler> {
    Registry::new(Implementation::new("methods", "1"))
}

/// Runs a function with a server on a stream and one over HTTP, in both eras.
fn for_each_pair(registry: &Registry<Handler>, mut f: impl FnMut(&mut Pair)) {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        f(&mut Pair::new(registry.clone()).negotiation(negotiation));
        f(&mut Pair::over_http(registry.clone()).negotiation(negotiation));
    }
}
