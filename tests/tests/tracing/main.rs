//! Spans of requests and calls, as a subscriber sees them.
//!
//! Every test here has a subscriber: a thread without one could be the first that comes by a span,
//! and turn it off for a moment.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod collector;
mod sign_in;

use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Waker};
use std::time::Duration;

use mcp_proto::client::{CallError, Config, Negotiation};
use mcp_proto::types::{
    CallToolResult, ElicitAction, ElicitRequestFormParams, ElicitResult, GetPromptResult,
    Implementation, LoggingLevel, Prompt, ReadResourceResult, RequestedSchema, Resource,
    ResourceContents, Tool,
};
use mcp_proto::{Bytes, ErrorCode, ErrorData, Instant, Json, TraceContext, http};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Context, Drive, Handler, Interrupt, Registry, Service, Spawned, Tasks};
use mcp_tests::bridge::site::VirtualSite as Site;
use mcp_tests::bridge::world::VirtualRuntime as World;
use mcp_tests::pause::yield_now;
use serde_json::{Value, json};

use collector::{Collector, Span};

const SERVER: &str = "mcp.server";
const CLIENT: &str = "mcp.client";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

#[test]
fn a_call_has_a_span_on_either_side() {
    for (negotiation, version) in
        [(Negotiation::Auto, "2026-07-28"), (Negotiation::Legacy, "2025-11-25")]
    {
        for connect in [Pair::new, Pair::over_http] {
            let mut pair = connect(shop()).negotiation(negotiation);
            let ((), seen) = Collector::see(|_| {
                let _caller = tracing::info_span!("caller").entered();
                let call = pair.client().call_tool("sell", &json!({}));
                pair.run(call.trace(TraceContext::new(PARENT))).unwrap();
            });
            let (server, client) = (only(&seen, SERVER), only(&seen, CLIENT));
            for (span, kind) in [(&server, "server"), (&client, "client")] {
                assert_eq!(span.get("otel.name"), "tools/call sell");
                assert_eq!(span.get("otel.kind"), kind);
                assert_eq!(span.get("mcp.method.name"), "tools/call");
                assert_eq!(span.get("mcp.protocol.version"), version);
                assert_eq!(span.get("gen_ai.operation.name"), "execute_tool");
                assert_eq!(span.get("gen_ai.tool.name"), "sell");
                assert_eq!(span.find("error.type"), None);
                assert!(span.closed);
            }
            assert_eq!(server.get("traceparent"), PARENT);
            assert_eq!(server.get("jsonrpc.request.id"), client.get("jsonrpc.request.id"));
            assert_eq!(client.parent, Some("caller"));
        }
    }
}

#[test]
fn a_handler_that_is_asked_again_has_a_span_each_time() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::new(shop()).negotiation(negotiation);
        pair.client().on_form(|_| async { ElicitResult::new(ElicitAction::Accept) });
        let call = pair.client().call_tool("ask", &json!({}));
        let (result, seen) = Collector::see(|_| pair.run(call));
        assert_eq!(result.unwrap().content[0].as_text(), Some("sold"));
        let [first, second] = seen.spans(SERVER).try_into().unwrap();
        assert_eq!(first.find("mcp.input_required"), Some("true"));
        assert_eq!(second.find("mcp.input_required"), None);
        assert_eq!((first.find("error.type"), second.find("error.type")), (None, None));
        assert_eq!(seen.spans(CLIENT).len(), 1);
    }
}

#[test]
fn each_round_of_a_task_has_a_span() {
    let mut registry = with_tool("ask", async |_: Value, context: Context| {
        context.sleep(Duration::from_secs(1)).await;
        context.elicit("sure", ElicitRequestFormParams::new("Sure?", RequestedSchema::new()))?;
        Ok::<_, Interrupt>("sold")
    });
    registry.tasks("ask", Tasks::Always).unwrap();
    let config = Config::new(Implementation::new("shopper", "1.0.0")).follow_tasks();
    let mut pair = Pair::new(registry).client_config(config);
    pair.client().on_form(|_| async { ElicitResult::new(ElicitAction::Accept) });
    let (result, seen) = Collector::see(|_| {
        let call = pair.client().call_tool("ask", &json!({}));
        pair.run(call.trace(TraceContext::new(PARENT)))
    });
    assert_eq!(result.unwrap().content[0].as_text(), Some("sold"));
    let spans = seen.spans(SERVER);
    let [first, second] = ["tools/call ask", "tasks/update"]
        .map(|name| named(&spans, name).first().cloned().unwrap());
    assert_eq!((first.get("traceparent"), second.find("error.type")), (PARENT, None));
    let rounds = named(&spans, "tools/call ask");
    assert_eq!(rounds.len(), 2, "{spans:?}");
    assert!(rounds.iter().all(|round| round.closed && round.entered > 0), "{rounds:?}");
    // The second round belongs to the request with the input.
    assert_eq!(rounds[1].find("traceparent"), second.find("traceparent"));
    assert_eq!(rounds[1].get("mcp.protocol.version"), "2026-07-28");
}

#[test]
fn a_handler_is_in_its_span_whenever_it_is_polled_wherever_that_is() {
    for spawns in [false, true] {
        let ((), seen) = Collector::see(|seen| {
            let catalog = Catalog::from(with_tool("wait", |_: Value, _| {
                tracing::info!("called");
                async {
                    tracing::info!("first");
                    yield_now().await;
                    let inner = tracing::info_span!("inner");
                    inner.in_scope(|| tracing::info!("second"));
                    "done"
                }
            }));
            let hands = Arc::new(Mutex::new(None));
            let spawned = hands.clone();
            let mut pair = Pair::with_server(move |config| {
                let mut service = Service::new(catalog.clone(), config);
                if spawns {
                    let spawned = spawned.clone();
                    service.spawn_with(move |future| *spawned.lock().unwrap() = Some(future));
                }
                Box::new(service)
            });
            let mut call = pair.client().call_tool("wait", &json!({}));
            if spawns {
                assert!(pair.poll(&mut call).is_pending());
                let entered = only(seen, SERVER).entered;
                let future: Spawned = hands.lock().unwrap().take().unwrap();
                finish(future);
                assert!(only(seen, SERVER).entered > entered);
            }
            pair.run(call).unwrap();
        });
        let span = only(&seen, SERVER);
        assert!(span.closed && span.entered > 2, "{span:?}");
        assert_eq!(only(&seen, "inner").parent, Some(SERVER));
        let first = ["called", "first"].map(|what| format!("{SERVER} message={what}"));
        assert_eq!(seen.events(), [&first[0], &first[1], "inner message=second"]);
    }
}

#[test]
fn a_handler_is_dropped_in_its_span() {
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            tracing::info!("dropped");
        }
    }
    let ((), seen) = Collector::see(|_| {
        let mut pair = Pair::new(with_tool("hang", |_: Value, _| async {
            let _last = Last;
            pending::<String>().await
        }));
        abandon(&mut pair);
    });
    assert_eq!(seen.events(), [format!("{SERVER} message=dropped")]);
    assert!(only(&seen, SERVER).closed);
}

#[test]
fn what_nobody_waits_for_is_cancelled() {
    let ((), seen) = Collector::see(|_| abandon(&mut Pair::new(shop())));
    for name in [SERVER, CLIENT] {
        assert_eq!(only(&seen, name).get("error.type"), "cancelled");
    }
}

#[test]
fn a_handler_that_panics_says_so() {
    for late in [false, true] {
        let ((), seen) = Collector::see(|_| {
            let mut pair = Pair::new(with_tool("break", move |_: Value, _| async move {
                if late {
                    yield_now().await;
                }
                std::panic::resume_unwind(Box::new("quiet"));
                #[expect(unreachable_code, reason = "it is what a tool returns")]
                String::new()
            }));
            let broken = pair.run(pair.client().call_tool("break", &json!({})));
            assert!(matches!(broken, Err(CallError::Error { .. })));
        });
        let span = only(&seen, SERVER);
        assert_eq!((span.get("error.type"), span.get("otel.status_code")), ("panic", "ERROR"));
    }
}

#[test]
fn spans_say_what_they_are_about_and_what_failed() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::new(shop()).negotiation(negotiation);
        let client = pair.client();
        let ((), seen) = Collector::see(|_| {
            pair.run(client.call_tool("fail", &json!({}))).unwrap();
            pair.run(client.call_tool("refuse", &json!({}))).unwrap_err();
            pair.run(client.call_tool("nowhere", &json!({}))).unwrap_err();
            pair.run(client.get_prompt("greet", &json!({}))).unwrap();
            pair.run(client.read_resource("file:///a")).unwrap();
            pair.run(client.list_tools()).unwrap();
        });
        let told = |name| {
            let fields = ["otel.name", "error.type", "rpc.response.status_code"];
            let told = |span: Span| fields.map(|field| span.find(field).unwrap_or("-").to_owned());
            seen.spans(name).into_iter().map(|span| told(span).join(", ")).collect::<Vec<_>>()
        };
        let mut all = vec![
            "tools/call fail, tool_error, -",
            "tools/call refuse, 7, 7",
            "tools/call nowhere, -32602, -32602",
            "prompts/get greet, -, -",
            "resources/read, -, -",
            "tools/list, -, -",
        ];
        assert_eq!(told(CLIENT), all);
        // What the machine answers by itself has none.
        all.retain(|line| !line.contains("nowhere") && !line.contains("list"));
        assert_eq!(told(SERVER), all);
        let prompt = &seen.spans(SERVER)[2];
        assert_eq!(prompt.get("gen_ai.prompt.name"), "greet");
        assert_eq!(seen.spans(SERVER)[3].get("mcp.resource.uri"), "file:///a");
    }
}

#[test]
fn whoever_links_spans_is_told_of_them_before_they_are_entered() {
    let ((), seen) = Collector::see(|seen| {
        let catalog = Catalog::from(shop());
        let told = Arc::new(Mutex::new(Vec::new()));
        let (list, spans) = (told.clone(), seen.clone());
        catalog.on_span(move |span, trace| {
            let entered = only(&spans, SERVER).entered;
            span.record("tracestate", "linked");
            list.lock().unwrap().push((entered, trace.clone()));
        });
        let mut pair = Pair::new(catalog);
        pair.client().trace_with(|| {
            tracing::info!("asked for the trace");
            TraceContext::new(PARENT)
        });
        pair.run(pair.client().call_tool("fail", &json!({}))).unwrap();
        assert_eq!(*told.lock().unwrap(), [(0, TraceContext::new(PARENT))]);
    });
    assert_eq!(only(&seen, SERVER).get("tracestate"), "linked");
    assert_eq!(seen.events(), [format!("{CLIENT} message=asked for the trace")]);
}

#[test]
fn faults_of_peers_are_events() {
    let ((), seen) = Collector::see(|_| {
        let mut service = Service::new(shop(), mcp_proto::server::Config::default());
        say(&mut service, INITIALIZE);
        say(&mut service, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    });
    let [event] = seen.events().try_into().unwrap();
    assert!(event.starts_with("- error="), "{event}");
    assert!(event.ends_with("message=a peer sent what was dropped"), "{event}");
}

#[test]
fn header_of_another_revision_is_not_reported_as_dropped() {
    let ((), seen) = Collector::see(|_| {
        let world = World::default();
        let site = Site::new(&world, shop(), http::Config::default());
        let talk = async {
            let session = site.open().await;
            let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            let answer = site.post_of(&session, "2025-06-18", ping).end(&site).await;
            assert!(answer.text.contains(r#""result""#), "{answer:?}");
        };
        world.run(talk).unwrap();
    });
    let [event] = seen.events().try_into().unwrap();
    assert!(event.contains("error=era: `MCP-Protocol-Version` says \"2025-06-18\""), "{event}");
    assert!(event.ends_with("message=a header of a client was ignored"), "{event}");
}

#[test]
fn message_that_a_client_does_not_send_is_not_reported_as_the_peers() {
    let mut pair = Pair::new(shop()).negotiation(Negotiation::Legacy);
    let ((), seen) = Collector::see(|_| {
        pair.run(pair.client().set_log_level(LoggingLevel::Debug)).unwrap();
    });
    let [event] = seen.events().try_into().unwrap();
    assert!(event.contains("so `logging/setLevel` was not sent"), "{event}");
    assert!(event.ends_with("message=a message to a server was not sent"), "{event}");
}

#[test]
fn notification_whose_parameters_do_not_fit_is_an_event() {
    let mut registry = shop();
    let taken = Handler::notification(|params: Vec<u8>| drop(params));
    registry.add_notification("notifications/com.example/a", taken).unwrap();
    let ((), seen) = Collector::see(|_| {
        let mut service = Service::new(registry, mcp_proto::server::Config::default());
        say(&mut service, INITIALIZE);
        say(&mut service, r#"{"jsonrpc":"2.0","method":"notifications/com.example/a"}"#);
    });
    let [event] = seen.events().try_into().unwrap();
    assert!(
        event.contains(r#""notifications/com.example/a" is not as the schema says"#),
        "{event}"
    );
}

#[test]
fn text_of_an_error_that_the_client_does_not_get_is_an_event() {
    #[derive(Debug)]
    struct Failure(std::io::Error);
    impl fmt::Display for Failure {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the notes cannot be read")
        }
    }
    impl Error for Failure {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let read = |_: String, _| async {
        let cause = std::io::Error::other("the disk is gone");
        Err::<ReadResourceResult, _>(Box::<dyn Error + Send + Sync>::from(Failure(cause)))
    };
    let mut registry = shop();
    registry.resource(Resource::new("file:///b", "b"), read).unwrap();
    let mut pair = Pair::new(registry);
    let ((), seen) = Collector::see(|_| {
        let error = pair.run(pair.client().read_resource("file:///b")).unwrap_err();
        assert_eq!(error.to_string(), "the handler failed (-32603)");
    });
    let text = "error=the notes cannot be read: the disk is gone message=a handler failed";
    assert_eq!(seen.events(), [format!("{SERVER} {text}")]);
}

#[test]
fn reason_of_a_cancellation_is_an_event() {
    let cancel = |id: u64, reason: &str| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": reason}})
    };
    let long = "ä".repeat(300);
    let ((), seen) = Collector::see(|_| {
        let mut service = Service::new(shop(), mcp_proto::server::Config::default());
        say(&mut service, INITIALIZE);
        for (id, reason) in [(1, "the user has left"), (2, &long), (3, "")] {
            let params = json!({"name": "hang"});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            say(&mut service, &call.to_string());
            say(&mut service, &cancel(id, reason).to_string());
        }
        // Nothing is in flight with this id.
        say(&mut service, &cancel(4, "too late").to_string());
    });
    let message = "message=a client has cancelled a request";
    let reasons = ["the user has left".to_owned(), "ä".repeat(256), String::new()];
    assert_eq!(seen.events(), reasons.map(|reason| format!("- {message} reason={reason}")));
    assert_eq!(seen.spans(SERVER).len(), 3);
}

#[test]
fn reason_of_a_cancellation_over_http_is_an_event() {
    let ((), seen) = Collector::see(|_| {
        let world = World::default();
        let site = Site::new(&world, shop(), http::Config::default());
        let talk = async {
            let session = site.open().await;
            let mut call = site.post(
                Some(&session),
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#,
            );
            call.read(&site);
            let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{
                "requestId":1,"reason":"the user has left"}}"#;
            site.ask(Some(&session), cancel).await;
        };
        world.run(talk).unwrap();
    });
    let event = "- message=a client has cancelled a request reason=the user has left";
    assert_eq!(seen.events(), [event]);
}

#[test]
fn ids_that_are_strings_have_no_quotes() {
    let ((), seen) = Collector::see(|_| {
        let mut service = Service::new(shop(), mcp_proto::server::Config::default());
        say(&mut service, INITIALIZE);
        let call = r#"{"jsonrpc":"2.0","id":"a-7","method":"tools/call","params":{"name":"sell"}}"#;
        say(&mut service, call);
    });
    assert_eq!(only(&seen, SERVER).get("jsonrpc.request.id"), "a-7");
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// The client sends a line.
fn say(service: &mut Service, line: &str) {
    service.handle_bytes(Instant::ZERO, Bytes::from(format!("{line}\n")));
    service.turn(Instant::ZERO, Waker::noop());
}

/// The one span with this name.
fn only(collector: &Collector, name: &str) -> Span {
    let [span] = collector.spans(name).try_into().unwrap();
    span
}

/// The spans of a method, with the name of its tool.
fn named(spans: &[Span], name: &str) -> Vec<Span> {
    spans.iter().filter(|span| span.get("otel.name") == name).cloned().collect()
}

/// Calls `hang`, and does not want to know what comes of it any more.
fn abandon(pair: &mut Pair) {
    let mut call = pair.client().call_tool("hang", &json!({}));
    assert!(pair.poll(&mut call).is_pending());
    drop(call);
    pair.pass(Duration::from_secs(1));
}

/// Polls a future until it is done.
fn finish(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    while future.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending() {}
}

/// A server with one tool.
fn with_tool<F, Fut, R>(name: &str, f: F) -> Registry<Handler>
where
    F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: mcp_service::IntoToolResult,
{
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    registry.tool_with(tool(name), f).unwrap();
    registry
}

fn tool(name: &str) -> Tool {
    Tool::new(name, Json::parse(r#"{"type":"object"}"#).unwrap())
}

/// A server with something of everything.
fn shop() -> Registry<Handler> {
    async fn ask(_: Value, context: Context) -> Result<String, Interrupt> {
        context.elicit("sure", ElicitRequestFormParams::new("Sure?", RequestedSchema::new()))?;
        Ok("sold".into())
    }
    let mut registry = with_tool("sell", |_: Value, _| async { "sold" });
    registry.tool_with(tool("ask"), ask).unwrap();
    let fail = |_: Value, _| async { CallToolResult::error("out of stock") };
    registry.tool_with(tool("fail"), fail).unwrap();
    let refuse = |_: Value, _| async {
        Err::<String, _>(Interrupt::from(ErrorData::new(ErrorCode(7), "no")))
    };
    registry.tool_with(tool("refuse"), refuse).unwrap();
    registry.tool_with(tool("hang"), |_: Value, _| pending::<String>()).unwrap();
    let greet = |_: Value, _| async { GetPromptResult::new(Vec::new()) };
    registry.prompt(Prompt::new("greet"), greet).unwrap();
    let read = |uri: String, _| async move {
        ReadResourceResult::new(vec![ResourceContents::text(uri, "text")])
    };
    registry.resource(Resource::new("file:///a", "a"), read).unwrap();
    registry
}
