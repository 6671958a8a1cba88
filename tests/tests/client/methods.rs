//! Every method of `Client`.

use std::collections::BTreeMap;

use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, Prompt, PromptMessage, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use mcp_proto::{Era, ErrorCode, Json, ProtocolError, UsageError};
use mcp_service::testing::{Network, Pair};
use mcp_service::{Handler, Registry};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Log, WAYS, call, pair, registry, said, text};

#[test]
fn lists_are_fetched_whole() {
    for way in WAYS {
        let mut everything = everything(&Log::default());
        everything.page_size(1);
        let mut pair = way.pair(everything);
        let client = pair.client();
        let tools = pair.run(client.list_tools()).unwrap().tools;
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["t", "u"]);
        let prompts = pair.run(client.list_prompts()).unwrap().prompts;
        assert_eq!(prompts.iter().map(|prompt| &*prompt.name).collect::<Vec<_>>(), ["p", "q"]);
        let resources = pair.run(client.list_resources()).unwrap().resources;
        let uris: Vec<&str> = resources.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["test:a", "test:b"]);
        let templates = pair.run(client.list_resource_templates()).unwrap().resource_templates;
        assert_eq!(templates[0].uri_template, "test:x/{id}");
        assert_eq!(said(&pair, "\"cursor\""), 3, "one more page of all but the templates");
    }
}

#[test]
fn whatever_a_server_offers_can_be_had() {
    for way in WAYS {
        for network in [Network::calm(), Network::rough()] {
            let log = Log::default();
            let mut pair = way.pair(everything(&log)).network(network).seed(7);
            let client = pair.client();
            let result = client.call_tool("t", &json!({ "a": [1, "ä"] }));
            assert_eq!(text(pair.run(result)), r#"{"a":[1,"ä"]}"#);
            let read = pair.run(client.read_resource("test:x/7")).unwrap();
            assert_eq!(serde_json::to_value(&read.contents[0]).unwrap()["text"], "x/7");
            let prompt = pair.run(client.get_prompt("q", &json!({ "name": "Ada" }))).unwrap();
            assert!(serde_json::to_string(&prompt.messages).unwrap().contains("Hello, Ada"));
            let asked = CompleteRequestParams::new(CompletionReference::prompt("q"), "name", "A");
            let completed = pair.run(client.complete(&asked)).unwrap();
            assert_eq!(completed.completion.values, ["Ada"]);
            pair.run(client.ping()).unwrap();
            let doubled: Doubled =
                pair.run(client.call("vendor/double", &json!({ "n": 21 }))).unwrap();
            assert_eq!(doubled.n, 42);
            let raw: Json = pair.run(client.call("vendor/double", &json!({ "n": 1 }))).unwrap();
            assert!(raw.as_str().contains("\"n\":2"), "{raw:?}");
            client.notify("notifications/vendor", &json!({ "n": 1 })).unwrap();
            pair.run(client.ping()).unwrap();
            assert_eq!(log.take(), [r#"{"n":1}"#]);
        }
    }
}

#[test]
fn a_server_is_known_once_it_is_connected() {
    for (negotiation, era) in [(Negotiation::Auto, Era::Modern), (Negotiation::Legacy, Era::Legacy)]
    {
        let mut everything = everything(&Log::default());
        everything.instructions("Be kind.");
        let mut pair = Pair::new(everything).negotiation(negotiation);
        let client = pair.client();
        assert_eq!((client.server(), client.verdict()), (None, None));
        let server = pair.run(client.connected()).unwrap();
        assert_eq!(server.era(), era);
        assert_eq!(server.implementation.as_ref().unwrap().name, "bench");
        assert_eq!(server.instructions.as_deref(), Some("Be kind."));
        assert!(server.capabilities.prompts.is_some() && server.capabilities.logging.is_none());
        assert_eq!(client.server(), Some(server));
        assert_eq!(client.verdict().unwrap().era(), era);
        // It is known to whoever asks again, and to clones.
        assert_eq!(pair.run(client.clone().connected()).ok(), client.server());
    }
}

#[test]
fn what_is_asked_for_before_the_connection_waits_in_order() {
    for way in WAYS {
        let mut pair = pair(way, |given: Value, _| async move { given.to_string() });
        let client = pair.client();
        let calls: Vec<_> = (0..5).map(|n| client.call_tool("t", &json!({ "n": n }))).collect();
        let results = pair.run(async {
            let mut results = Vec::new();
            for call in calls {
                results.push(text(call.await));
            }
            results
        });
        assert_eq!(results, (0..5).map(|n| format!(r#"{{"n":{n}}}"#)).collect::<Vec<_>>());
    }
}

#[test]
fn an_error_of_the_server_is_one() {
    for way in WAYS {
        let mut pair = pair(way, |_, _| async { "unreached" });
        let client = pair.client();
        let code = |result: Result<Json, CallError>| match result {
            Err(CallError::Error { error, .. }) => error.code,
            other => panic!("{other:?}"),
        };
        let unknown = client.call::<Json>("vendor/unknown", &json!({}));
        assert_eq!(code(pair.run(unknown)), ErrorCode::METHOD_NOT_FOUND);
        let unknown = client.call::<Json>("tools/call", &json!({ "name": "unknown" }));
        assert_eq!(code(pair.run(unknown)), ErrorCode::INVALID_PARAMS);
    }
}

#[test]
fn arguments_are_an_object_or_nothing() {
    for way in WAYS {
        let mut pair = pair(way, |given: Value, _| async move { given.to_string() });
        let client = pair.client();
        assert_eq!(text(pair.run(client.call_tool("t", &()))), "{}");
        assert_eq!(said(&pair, r#""arguments""#), 0);
        let array = pair.run(client.call_tool("t", &[1])).unwrap_err();
        assert!(matches!(array, CallError::Usage(UsageError::NotAnObject { .. })), "{array:?}");
        assert_eq!(said(&pair, "tools/call"), 1);
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused_and_nothing_is_sent() {
    for way in WAYS {
        let mut pair = pair(way, |_, _| async { "done" });
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        let before = pair.wire();
        // Keys of JSON are strings.
        let odd = BTreeMap::from([(vec![1], 1)]);
        let not_json = |name: &str| CallError::Usage(UsageError::NotJson { name: name.into() });
        assert_eq!(pair.run(client.call_tool("t", &odd)), Err(not_json("tools/call")));
        assert_eq!(pair.run(client.get_prompt("p", &odd)), Err(not_json("prompts/get")));
        assert_eq!(pair.run(client.call::<Json>("vendor/x", &odd)), Err(not_json("vendor/x")));
        let told = client.notify("notifications/x", &odd);
        assert_eq!(told, Err(UsageError::NotJson { name: "notifications/x".into() }));
        let number = pair.run(client.call::<Json>("vendor/x", &1)).unwrap_err();
        assert_eq!(number, CallError::Usage(UsageError::NotAnObject { name: "vendor/x".into() }));
        for method in ["initialize", "server/discover", "subscriptions/listen", "notifications/x"] {
            let refused = pair.run(client.call::<Json>(method, &json!({}))).unwrap_err();
            let reserved = UsageError::ReservedMethod { method: method.into() };
            assert_eq!(refused, CallError::Usage(reserved));
        }
        client.notify("no/notification", &json!({})).unwrap();
        client.notify("notifications/cancelled", &json!({})).unwrap();
        pair.pass(crate::bench::SECOND);
        assert_eq!(pair.wire(), before);
        assert_eq!(text(pair.run(call(&client))), "done");
    }
}

#[test]
fn a_result_that_does_not_fit_is_the_servers_fault() {
    for way in WAYS {
        let mut pair = way.pair(everything(&Log::default()));
        let odd = pair.client().call::<Vec<u8>>("vendor/double", &json!({ "n": 1 }));
        let result = pair.run(odd);
        let places = "expected an array, found an object".to_owned();
        let error = CallError::Protocol(ProtocolError::MalformedResult { places });
        assert_eq!(result, Err(error));
    }
}

#[derive(Deserialize)]
struct Doubled {
    n: u32,
}

fn everything(log: &Log) -> Registry<Handler> {
    let mut registry = registry(|given: Value, _| async move { given.to_string() });
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    let text = |uri: String, _| async move { ResourceContents::text(uri, "text") };
    let log = log.clone();
    registry
        .tool_with(mcp_proto::types::Tool::new("u", schema), |_: Value, _| async { "u" })
        .unwrap()
        .resource(Resource::new("test:a", "a"), text)
        .unwrap()
        .resource(Resource::new("test:b", "b"), text)
        .unwrap()
        .resource_template(
            ResourceTemplate::new("test:x/{id}", "x"),
            |uri: String, Id { id }: Id, _| async move {
                ResourceContents::text(uri, format!("x/{id}"))
            },
        )
        .unwrap()
        .prompt(Prompt::new("p"), |_: Value, _| async { greeting("nobody") })
        .unwrap()
        .prompt(Prompt::new("q"), |given: Value, _| async move {
            greeting(given["name"].as_str().unwrap())
        })
        .unwrap()
        .completion(CompletionReference::prompt("q"), |_, _| async { vec!["Ada".to_owned()] })
        .unwrap()
        .method("vendor/double", |given: Value, _| async move {
            Json::encode(&json!({ "n": given["n"].as_u64().unwrap() * 2 })).unwrap()
        })
        .unwrap()
        .notification("notifications/vendor", move |given: Value| {
            log.note(json!({ "n": given["n"] }).to_string());
        })
        .unwrap();
    registry
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

fn greeting(name: &str) -> PromptMessage {
    PromptMessage::new(Role::User, mcp_proto::types::ContentBlock::text(format!("Hello, {name}!")))
}
