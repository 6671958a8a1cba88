//! Tools of another server: two pairs in virtual time, one behind a tool of the other.

#![expect(clippy::indexing_slicing, reason = "a test fails by it")]

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use mcp_proto::client::{CallError, CallOptions, Change, Negotiation};
use mcp_proto::server::{InputRequired, List, Progress};
use mcp_proto::types::{
    CallToolResult, ContentBlock, ElicitAction, ElicitRequestFormParams, ElicitResult,
    Implementation, InputRequest, RequestedSchema, Tool,
};
use mcp_proto::{ErrorCode, ErrorData, Json, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{
    Catalog, Client, Context, Interrupt, Registry, RemoteTools, RemoteToolsError, Subscription,
};
use serde_json::{Value, json};

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[test]
fn declarations_and_results_are_those_of_the_other_server() {
    for (front_era, behind_era) in eras() {
        for over_http in [false, true] {
            let mut chain = Chain::new(front_era, behind_era, over_http, |remote| remote);
            let behind = chain.behind.client();
            let mut there = value(&chain.behind.run(behind.list_tools()).unwrap().tools);
            for tool in there.as_array_mut().unwrap() {
                tool["name"] = json!(format!("other_{}", tool["name"].as_str().unwrap()));
            }
            let front = chain.front.client();
            let here = value(&chain.run(front.list_tools()).unwrap().tools);
            assert_eq!(here, there);
            for (tool, arguments) in [
                ("echo", json!({"text": "hello", "more": [1.50, null]})),
                ("structured", json!({})),
                ("fails", json!({})),
            ] {
                let params = json!({"name": tool, "arguments": arguments});
                let there = chain.behind.run(behind.call::<Json>("tools/call", &params)).unwrap();
                let params = json!({"name": format!("other_{tool}"), "arguments": arguments});
                let here = chain.run(front.call::<Json>("tools/call", &params)).unwrap();
                assert_eq!(content(&here), content(&there), "{tool}");
                assert_eq!(here.as_str().contains("\"front\""), front_era != Negotiation::Legacy);
                assert!(!here.as_str().contains("\"behind\""));
            }
        }
    }
}

#[test]
fn metadata_of_calls_and_results_passes() {
    for (front_era, behind_era) in eras() {
        let mut chain = Chain::new(front_era, behind_era, false, |remote| remote);
        let client = chain.front.client();
        let meta = json!({"com.example/order": 7});
        let params = json!({"name": "other_structured", "arguments": {}, "_meta": meta});
        let result = chain.run(client.call::<Json>("tools/call", &params)).unwrap();
        assert_eq!(value(&result)["_meta"]["com.example/cost"], json!(3));
        assert!(chain.behind.wire().contains(r#""com.example/order":7"#));
    }
}

#[test]
fn json_rpc_errors_pass() {
    for (front_era, behind_era) in eras() {
        let mut chain = Chain::new(front_era, behind_era, false, |remote| remote);
        let error = chain.call("other_refuses", &json!({})).unwrap_err();
        let CallError::Error { error, .. } = error else { unreachable!("{error}") };
        let data = Json::parse(r#"{"why":"tired"}"#).unwrap();
        assert_eq!(error, ErrorData { data: Some(data), ..ErrorData::new(ErrorCode(4), "no") });
        // It is gone there, and still declared here.
        chain.catalog_behind.update(|registry| Ok(registry.remove_tool("echo"))).unwrap();
        let error = chain.call("other_echo", &json!({"text": ""})).unwrap_err();
        let CallError::Error { error, .. } = error else { unreachable!("{error}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    }
}

#[test]
fn an_error_about_the_connection_to_the_other_server_is_internal() {
    for (front_era, _) in eras() {
        let mut chain = Chain::new(front_era, Negotiation::Auto, false, |remote| remote);
        let refuses = |_: Nothing, _| async {
            Err::<String, _>(ErrorData::new(ErrorCode::HEADER_MISMATCH, "the name differs"))
        };
        let change = |registry: &mut Registry| {
            registry.remove_tool("refuses");
            registry.tool("refuses", "Refuses", refuses).map(|_| ())
        };
        chain.catalog_behind.update(change).unwrap();
        let error = chain.call("other_refuses", &json!({})).unwrap_err();
        let CallError::Error { error, .. } = error else { unreachable!("{error}") };
        assert_eq!(error, ErrorData::new(ErrorCode::INTERNAL_ERROR, "the name differs"));
    }
}

#[test]
fn progress_passes_if_the_caller_wants_it() {
    for (front_era, behind_era) in eras() {
        let mut chain = Chain::new(front_era, behind_era, false, |remote| remote);
        let told = Arc::new(Mutex::new(Vec::new()));
        let tells = told.clone();
        let client = chain.front.client();
        let call = client.call_tool("other_slow", &json!({"text": "x"}));
        let call = call.on_progress(move |progress| tells.lock().unwrap().push(progress));
        let result = chain.run(call).unwrap();
        assert_eq!(result.content[0].as_text(), Some("x"));
        let expected = [1, 2].map(|step| Progress::new(step).total(2).message("a step"));
        assert_eq!(*told.lock().unwrap(), expected);
        let wire = chain.behind.wire();
        let asked = wire.matches("progressToken").count();
        chain.call("other_slow", &json!({"text": "x"})).unwrap();
        assert_eq!(chain.behind.wire().matches("progressToken").count(), asked);
    }
}

#[test]
fn cancelled_call_is_cancelled_there() {
    for (front_era, behind_era) in eras() {
        for over_http in [false, true] {
            let mut chain = Chain::new(front_era, behind_era, over_http, |remote| remote);
            let mut call = chain.front.client().call_tool("other_waits", &json!({}));
            assert!(chain.poll(&mut call, 20).is_none());
            assert_eq!(chain.waits.load(Ordering::Relaxed), 1);
            drop(call);
            assert!(chain.poll(&mut std::future::pending::<()>(), 20).is_none());
            assert_eq!(chain.waits.load(Ordering::Relaxed), 0, "{front_era:?} {behind_era:?}");
        }
    }
}

#[test]
fn calls_of_a_server_that_has_ended_are_results_with_is_error() {
    for (front_era, behind_era) in eras() {
        let mut chain = Chain::new(front_era, behind_era, false, |remote| remote);
        let mut call = chain.front.client().call_tool("other_waits", &json!({}));
        assert!(chain.poll(&mut call, 20).is_none());
        chain.behind.cut();
        let result = chain.run(call).unwrap();
        assert!(result.is_error);
        let text = result.content[0].as_text().unwrap();
        assert!(text.ends_with("The call may have been executed."), "{text}");
        let result = chain.call("other_echo", &json!({"text": "x"})).unwrap();
        assert!(result.is_error);
        let text = result.content[0].as_text().unwrap();
        assert!(text.ends_with("The call was not executed."), "{text}");
    }
}

#[test]
fn a_timeout_is_a_result_with_is_error() {
    let mut chain = Chain::new(Negotiation::Auto, Negotiation::Auto, false, |remote| {
        remote.call_options(CallOptions::default().timeout(Duration::from_millis(50)))
    });
    let result = chain.call("other_waits", &json!({})).unwrap();
    let text = result.content[0].as_text().unwrap();
    assert!(result.is_error && text.contains("no answer in time"), "{text}");
}

#[test]
fn input_of_a_modern_server_is_asked_of_the_caller() {
    for front_era in ERAS {
        for over_http in [false, true] {
            let mut chain = Chain::new(front_era, Negotiation::Auto, over_http, |remote| remote);
            // Without a user there is an error: the server there reads what the caller declares.
            let error = chain.call("other_greets", &json!({})).unwrap_err();
            let CallError::Error { error, .. } = error else { unreachable!("{error}") };
            let lacks = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            let expected =
                if front_era == Negotiation::Legacy { ErrorCode::INTERNAL_ERROR } else { lacks };
            assert_eq!(error.code, expected);

            let mut chain = Chain::new(front_era, Negotiation::Auto, over_http, |remote| remote);
            answers(&chain.front.client(), "Ada");
            let result = chain.call("other_greets", &json!({})).unwrap();
            assert_eq!(result.content[0].as_text(), Some("hello Ada"), "{front_era:?}");
        }
    }
}

#[test]
fn form_with_half_a_surrogate_pair_is_asked_of_the_caller() {
    for front_era in ERAS {
        let mut chain = Chain::new(front_era, Negotiation::Auto, false, |remote| remote);
        let change = |registry: &mut Registry| {
            registry.remove_tool("greets");
            registry.tool("greets", "Asks for a name", ask_with_a_cut_text).map(|_| ())
        };
        chain.catalog_behind.update(change).unwrap();
        chain.front.client().on_form(|form| async move {
            assert_eq!(form.message, "name? \u{fffd}");
            ElicitResult::new(ElicitAction::Accept)
        });
        let result = chain.call("other_greets", &json!({})).unwrap();
        assert_eq!(result.content[0].as_text(), Some("hello"), "{front_era:?}");
    }
}

#[test]
fn input_of_a_legacy_server_is_asked_of_the_client() {
    for front_era in ERAS {
        let mut chain = Chain::with_client(
            front_era,
            Negotiation::Legacy,
            false,
            |client| answers(client, "the operator"),
            |remote| remote,
        );
        answers(&chain.front.client(), "Ada");
        let result = chain.call("other_greets", &json!({})).unwrap();
        assert_eq!(result.content[0].as_text(), Some("hello the operator"));

        let mut chain = Chain::new(front_era, Negotiation::Legacy, false, |remote| remote);
        answers(&chain.front.client(), "Ada");
        let error = chain.call("other_greets", &json!({})).unwrap_err();
        assert!(error.to_string().contains("does not declare"), "{error}");
    }
}

#[test]
fn changes_of_the_list_update_the_catalog() {
    for (front_era, behind_era) in eras() {
        for over_http in [false, true] {
            let mut chain = Chain::new(front_era, behind_era, over_http, |remote| {
                remote
                    .configure(|registry, name| registry.require_scopes(name, "other").map(|_| ()))
            });
            let client = chain.front.client();
            let mut changes = chain.run(listening(&client));
            let mut remote = chain.remote.take().unwrap();
            let catalog = chain.catalog.clone();
            let mut following = Box::pin(async move { remote.follow(&catalog).await });
            // There is no change yet, and nobody is told of one.
            assert!(chain.poll(&mut following, 20).is_none());
            assert!(chain.poll(&mut Box::pin(changes.changed()), 5).is_none());
            chain
                .catalog_behind
                .update(|registry| {
                    registry.remove_tool("fails");
                    registry.remove_tool("echo");
                    registry.tool("echo", "Echoes anew", |_: Text, _| async { "anew" })?;
                    registry.tool("more", "Is more", |_: Text, _| async { "more" }).map(|_| ())
                })
                .unwrap();
            assert!(chain.poll(&mut following, 20).is_none());
            assert_eq!(chain.run(changes.changed()), Some(Change::ListChanged(List::Tools)));
            let tools = chain.run(client.list_tools()).unwrap().tools;
            let has = |name: &str| tools.iter().find(|tool| tool.name == name);
            assert!(has("other_fails").is_none() && has("other_more").is_some());
            let echo = has("other_echo").unwrap();
            assert_eq!(echo.description.as_deref(), Some("Echoes anew"));
            // What `configure` does holds for tools that are new or have changed as well.
            let called = chain.call("other_more", &json!({"text": ""}));
            assert_eq!(called.is_err(), over_http);
            chain.behind.cut();
            if !over_http {
                let ended = chain.run(&mut following);
                assert!(matches!(ended, Err(RemoteToolsError::Call(_))), "{ended:?}");
                let text = "the other server does not list its tools, or report their changes: ";
                assert!(ended.unwrap_err().to_string().starts_with(text));
            }
        }
    }
}

#[test]
fn server_without_changes_is_listed_once() {
    let mut behind = Registry::new(Implementation::new("behind", "1.0.0"));
    behind.tool("echo", "Echoes", |text: Text, _| async { text.text }).unwrap();
    for negotiation in ERAS {
        let mut pair = Pair::new(behind.clone()).negotiation(negotiation);
        let catalog = Catalog::from(Registry::new(Implementation::new("front", "1.0.0")));
        let mut remote = RemoteTools::new(&pair.client(), "");
        pair.run(remote.follow(&catalog)).unwrap();
        let mut front = Pair::new(catalog);
        assert_eq!(front.run(front.client().list_tools()).unwrap().tools[0].name, "echo");
    }
}

#[test]
fn collisions_and_refused_tools_are_errors_that_change_nothing() {
    let mut behind = Pair::new(behind(&Arc::default()));
    let client = behind.client();
    let taken = |name: &str| UsageError::Duplicate { kind: "tool", name: name.into() };
    let mut registry = Registry::new(Implementation::new("front", "1.0.0"));
    registry.tool("fails", "Is here", |text: Text, _| async { text.text }).unwrap();
    let mut remote = RemoteTools::new(&client, "");
    let error = behind.run(remote.add_to(&mut registry)).unwrap_err();
    assert_eq!(error, RemoteToolsError::Registry(taken("fails")));
    assert_eq!(names(registry.clone()), ["fails"]);

    let catalog = Catalog::from(registry.clone());
    let error = behind.run(remote.update(&catalog)).unwrap_err();
    assert_eq!(error, RemoteToolsError::Registry(taken("fails")));
    assert_eq!(names(catalog.clone()), ["fails"]);

    let mut remote = RemoteTools::new(&client, "").filter(|tool| tool.name != "fails");
    assert_eq!(behind.run(remote.update(&catalog)), Ok(true));
    assert_eq!(behind.run(remote.update(&catalog)), Ok(false));
    assert_eq!(names(catalog).len(), 7);

    let mut remote = RemoteTools::new(&client, "other_")
        .configure(|registry, name| registry.require_scopes(name, "no \"scope\"").map(|_| ()));
    let error = behind.run(remote.add_to(&mut registry)).unwrap_err();
    assert!(matches!(error, RemoteToolsError::Registry(UsageError::InvalidScope { .. })));
    assert_eq!(names(registry), ["fails"]);
}

#[test]
fn unusable_schema_of_the_other_server_is_an_error() {
    let list = r#"{"tools":[{"name":"bad","inputSchema":{"type":"string"}}]}"#;
    let mut pair = raw_legacy_server(list, "{}");
    let client = pair.client();
    let mut registry = Registry::new(Implementation::new("front", "1.0.0"));
    let error = pair.run(RemoteTools::new(&client, "other_").add_to(&mut registry)).unwrap_err();
    let expected = UsageError::InvalidSchema { name: "other_bad".into() };
    assert_eq!(error, RemoteToolsError::Registry(expected));
}

#[test]
fn null_members_of_a_legacy_result_are_left_out_and_content_is_there() {
    let list = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},"icons":null}]}"#;
    for (result, expected) in [
        (
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":null,"isError":null,
                "_meta":null}"#,
            json!({"content": [{"type": "text", "text": "a"}]}),
        ),
        (r#"{"structuredContent":{"a":1}}"#, json!({"structuredContent": {"a": 1}, "content": []})),
        (r#"{"content":null,"new":1}"#, json!({"new": 1, "content": []})),
    ] {
        for era in ERAS {
            let mut behind = raw_legacy_server(list, result);
            let mut remote = RemoteTools::new(&behind.client(), "other_");
            let mut registry = Registry::new(Implementation::new("front", "1.0.0"));
            behind.run(remote.add_to(&mut registry)).unwrap();
            let catalog = Catalog::from(registry);
            let front = Pair::new(catalog.clone()).negotiation(era);
            let catalog_behind = catalog.clone();
            let waits = Arc::default();
            let mut chain =
                Chain { front, behind, catalog, catalog_behind, remote: Some(remote), waits };
            let client = chain.front.client();
            let call = client.call::<Json>("tools/call", &json!({"name": "other_t"}));
            assert_eq!(content(&chain.run(call).unwrap()), expected, "{era:?}");
        }
    }
}

/// A server with this list of tools, which a registry might refuse, and this result of each call.
fn raw_legacy_server(list: &'static str, result: &'static str) -> Pair {
    Pair::with_server(move |config| {
        let mut registry = Registry::new(Implementation::new("behind", "1.0.0"));
        registry.fallback(mcp_service::Handler::method(|_: Json, _| async { Json::EMPTY_OBJECT }));
        let forward = move |method: mcp_proto::message::Method, _, _| async move {
            let text = match method.name() {
                "initialize" => {
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},
                        "serverInfo":{"name":"behind","version":"1"}}"#
                }
                "tools/list" => list,
                "tools/call" => result,
                _ => "{}",
            };
            mcp_proto::server::Outcome::Complete(Json::parse(text).unwrap())
        };
        registry.forward(mcp_service::Handler::forward(forward, |_, _, _| ()));
        Box::new(mcp_service::Service::new(registry, config))
    })
    .negotiation(Negotiation::Legacy)
}

#[test]
fn tools_of_a_server_out_of_reach_are_not_registered() {
    let mut behind = Pair::new(behind(&Arc::default()));
    let client = behind.client();
    behind.run(client.connected()).unwrap();
    behind.run(client.close());
    let mut registry = Registry::new(Implementation::new("front", "1.0.0"));
    let error = behind.run(RemoteTools::new(&client, "").add_to(&mut registry)).unwrap_err();
    assert_eq!(error, RemoteToolsError::Call(CallError::Closed));
    let catalog = Catalog::from(registry);
    let error = behind.run(RemoteTools::new(&client, "").follow(&catalog)).unwrap_err();
    assert_eq!(error, RemoteToolsError::Call(CallError::Closed));
}

/// A client, the server in front, its client of the server behind, and that.
struct Chain {
    front: Pair,
    behind: Pair,
    catalog: Catalog,
    catalog_behind: Catalog,
    remote: Option<RemoteTools>,
    /// The number of calls that wait for ever.
    waits: Arc<AtomicUsize>,
}

impl Chain {
    fn new(
        front_era: Negotiation,
        behind_era: Negotiation,
        over_http: bool,
        remote: impl FnOnce(RemoteTools) -> RemoteTools,
    ) -> Self {
        Self::with_client(front_era, behind_era, over_http, |_| (), remote)
    }

    fn with_client(
        front_era: Negotiation,
        behind_era: Negotiation,
        over_http: bool,
        client: impl FnOnce(&Client),
        remote: impl FnOnce(RemoteTools) -> RemoteTools,
    ) -> Self {
        let pair = |catalog: Catalog, era| {
            let pair = if over_http { Pair::over_http(catalog) } else { Pair::new(catalog) };
            pair.negotiation(era)
        };
        let waits = Arc::default();
        let catalog_behind = Catalog::from(behind(&waits));
        let mut behind = pair(catalog_behind.clone(), behind_era);
        client(&behind.client());
        let mut remote = remote(RemoteTools::new(&behind.client(), "other_"));
        let mut registry = Registry::new(Implementation::new("front", "1.0.0"));
        registry.list_changed(List::Tools);
        behind.run(remote.add_to(&mut registry)).unwrap();
        let catalog = Catalog::from(registry);
        let front = pair(catalog.clone(), front_era);
        Self { front, behind, catalog, catalog_behind, remote: Some(remote), waits }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<CallToolResult, CallError> {
        let call = self.front.client().call_tool(tool, arguments);
        self.run(call)
    }

    /// Runs both until the future is done.
    fn run<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        self.poll(&mut future, 10_000).unwrap()
    }

    /// Runs both for so many milliseconds, or until the future is done.
    fn poll<F: Future + Unpin>(
        &mut self,
        future: &mut F,
        milliseconds: usize,
    ) -> Option<F::Output> {
        for _ in 0..milliseconds {
            if let Poll::Ready(output) = self.front.poll(future) {
                return Some(output);
            }
            self.behind.pass(Duration::from_millis(1));
            self.front.pass(Duration::from_millis(1));
        }
        None
    }
}

/// The offer of the server behind.
fn behind(waits: &Arc<AtomicUsize>) -> Registry {
    let mut registry = Registry::new(Implementation::new("behind", "1.0.0"));
    registry.list_changed(List::Tools);
    registry.tool("echo", "Echoes", |text: Text, _| async { text.text }).unwrap();
    let structured = json!({
        "name": "structured", "title": "Structured", "description": "Has all that a tool can have",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
        "annotations": {"title": "S", "readOnlyHint": true, "openWorldHint": false},
        "icons": [{"src": "https://example.com/icon.png", "sizes": ["48x48"]}],
        "_meta": {"com.example/group": {"a": [1]}},
    });
    let structured: Tool = serde_json::from_value(structured).unwrap();
    registry
        .tool_with(structured, |_: Value, _| async {
            let result = json!({
                "content": [
                    {"type": "text", "text": "7", "annotations": {"priority": 0.5}},
                    {"type": "resource_link", "uri": "file:///a", "name": "a"},
                ],
                "structuredContent": {"sum": 7.50},
                "_meta": {"com.example/cost": 3},
            });
            serde_json::from_value::<CallToolResult>(result).unwrap()
        })
        .unwrap();
    registry
        .tool("fails", "Fails", |_: Nothing, _| async { CallToolResult::error("it is broken") })
        .unwrap();
    registry.tool("refuses", "Refuses", |_: Nothing, _| async { refused() }).unwrap();
    registry.tool("greets", "Asks for a name", greet).unwrap();
    registry
        .tool("slow", "Takes its time", |text: Text, context: Context| async move {
            for step in [1, 2] {
                context.sleep(Duration::from_millis(5)).await;
                context.progress(Progress::new(step).total(2).message("a step"));
            }
            text.text
        })
        .unwrap();
    let waits = waits.clone();
    registry
        .tool("waits", "Waits for ever", move |_: Nothing, _| {
            let waiting = Waiting::new(&waits);
            async move {
                std::future::pending::<()>().await;
                drop(waiting);
                ContentBlock::text("never")
            }
        })
        .unwrap();
    registry
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn new(waits: &Arc<AtomicUsize>) -> Self {
        waits.fetch_add(1, Ordering::Relaxed);
        Self(waits.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refused() -> Result<String, ErrorData> {
    let data = Json::parse(r#"{"why":"tired"}"#).unwrap();
    Err(ErrorData { data: Some(data), ..ErrorData::new(ErrorCode(4), "no") })
}

async fn greet(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let form = ElicitRequestFormParams::new("name?", RequestedSchema::new());
    let answer = context.elicit("name", form)?;
    let name = answer.content.and_then(|content| value(&content)["name"].as_str().map(Into::into));
    let name: String = name.unwrap_or_else(|| "nobody".into());
    Ok(format!("hello {name}"))
}

async fn ask_with_a_cut_text(_: Nothing, context: Context) -> Result<String, Interrupt> {
    if context.input().is_some() {
        return Ok("hello".into());
    }
    let params =
        r#"{"message":"name? \ud83d","requestedSchema":{"type":"object","properties":{}}}"#;
    let params = Json::parse(params).unwrap();
    let request = InputRequest::Forwarded { method: "elicitation/create".into(), params };
    Err(InputRequired::new("name", request).into())
}

fn answers(client: &Client, name: &'static str) {
    client.on_form(move |form| async move {
        assert_eq!(form.message, "name?");
        let answer = json!({"action": "accept", "content": {"name": name}});
        serde_json::from_value::<ElicitResult>(answer)
            .unwrap_or_else(|_| ElicitResult::new(ElicitAction::Cancel))
    });
}

async fn listening(client: &Client) -> Subscription {
    let filter = mcp_proto::types::SubscriptionFilter::new().tools_list_changed();
    client.subscribe(filter).await.unwrap()
}

fn eras() -> impl Iterator<Item = (Negotiation, Negotiation)> {
    ERAS.into_iter().flat_map(|front| ERAS.map(|behind| (front, behind)))
}

fn names(catalog: impl Into<Catalog>) -> Vec<String> {
    let mut pair = Pair::new(catalog);
    let tools = pair.run(pair.client().list_tools()).unwrap().tools;
    tools.into_iter().map(|tool| tool.name).collect()
}

fn value(it: &impl serde::Serialize) -> Value {
    serde_json::to_value(it).unwrap()
}

/// A result without what a server says about itself.
fn content(result: &Json) -> Value {
    let mut result = value(result);
    let members = result.as_object_mut().unwrap();
    members.remove("resultType");
    if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove("io.modelcontextprotocol/serverInfo");
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
    result
}
