//! Handlers of methods, of notifications and of completions: which method was called, and removal.

use std::sync::{Arc, Mutex};

use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, ContentBlock, Implementation, Prompt,
    PromptMessage, Role,
};
use mcp_proto::{ErrorCode, Json, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Context, Handler, Registry};
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

#[test]
fn fallback_that_is_removed_answers_no_more() {
    let mut registry = registry();
    assert!(registry.remove_fallback().is_none());
    registry.fallback(Handler::method(method_of));
    let catalog = Catalog::from(registry);
    let mut pair = Pair::new(catalog.clone());
    let client = pair.client();
    assert!(pair.run(client.call::<Value>("demo/one", &json!({}))).is_ok());
    let removed = catalog.update(|registry| {
        assert!(registry.remove_fallback().is_some());
        Ok(())
    });
    removed.unwrap();
    let Err(CallError::Error { error, .. }) =
        pair.run(client.call::<Value>("demo/one", &json!({})))
    else {
        panic!("it is served");
    };
    assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
}

#[test]
fn notification_that_is_removed_can_be_replaced() -> Result<(), UsageError> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = |text: &'static str| {
        let heard = heard.clone();
        move |_: Json| heard.lock().unwrap().push(text)
    };
    let mut registry = registry();
    registry
        .notification("notifications/said", hear("before"))?
        .fallback(Handler::method(method_of));
    let catalog = Catalog::from(registry);
    let mut pair = Pair::new(catalog.clone());
    let client = pair.client();
    let say = |pair: &mut Pair| {
        client.notify("notifications/said", &json!({})).unwrap();
        pair.run(client.call::<Value>("demo/wait", &json!({}))).unwrap();
    };
    // Notifications count after the first request.
    pair.run(client.call::<Value>("demo/wait", &json!({}))).unwrap();
    say(&mut pair);
    catalog.edit(|registry| {
        assert!(registry.remove_notification("notifications/said").is_some());
        assert!(registry.remove_notification("notifications/said").is_none());
        registry.notification("notifications/said", hear("after"))
    })?;
    say(&mut pair);
    catalog.update(|registry| {
        assert!(registry.remove_notification("notifications/said").is_some());
        Ok(())
    })?;
    say(&mut pair);
    assert_eq!(*heard.lock().unwrap(), ["before", "after"]);
    Ok(())
}

#[test]
fn completions_that_are_removed_leave_their_prompt() -> Result<(), UsageError> {
    let of_prompt = || CompletionReference::prompt("pack");
    let complete =
        |city: &'static str| move |_: CompleteRequestParams, _| async move { vec![city] };
    let mut registry = registry();
    registry.prompt(Prompt::new("pack"), |_: Nothing, _| async {
        PromptMessage::new(Role::User, ContentBlock::text("Pack."))
    })?;
    assert!(registry.remove_completion(of_prompt()).is_none());
    registry.completion(of_prompt(), complete("Oslo"))?;
    assert!(registry.remove_completion(of_prompt()).is_some());
    registry.completion(of_prompt(), complete("Bergen"))?;
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let wanted = CompleteRequestParams::new(of_prompt(), "city", "");
    assert_eq!(pair.run(client.complete(&wanted)).unwrap().completion.values, ["Bergen"]);
    assert_eq!(pair.run(client.list_prompts()).unwrap().prompts.len(), 1);
    Ok(())
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
