//! Functions around handlers: order, what they see and change, and the limits that are ready.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use mcp_proto::client::{CallError, Config, Negotiation};
use mcp_proto::server::Outcome;
use mcp_proto::types::{
    ContentBlock, ElicitAction, ElicitRequestFormParams, ElicitResult, Implementation, Prompt,
    PromptMessage, RequestedSchema, Resource, ResourceContents, Role,
};
use mcp_proto::{ErrorData, Json};
use mcp_service::testing::Pair;
use mcp_service::{
    Context, Handler, HandlerKind, HandlerRequest, Interrupt, Next, Registry, Tasks,
    limit_concurrency, limit_rate,
};
use serde_json::json;

type Log = Arc<Mutex<Vec<String>>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[test]
fn first_function_is_outside_and_sees_what_the_inner_one_changes() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let (mut registry, log) = registry();
        let noted = log.clone();
        registry.around_all(move |request: HandlerRequest, next: Next| {
            let log = noted.clone();
            async move {
                let name = request.tool.as_ref().map(|tool| tool.name.clone());
                note(&log, format!("{} {name:?}", request.method));
                let outcome = next.run(request).await;
                note(&log, format!("{}", matches!(outcome, Outcome::Complete(_))));
                outcome
            }
        });
        registry.around(HandlerKind::Tool, |mut request: HandlerRequest, next: Next| async move {
            request.arguments = Json::parse(r#"{"text":"changed"}"#).unwrap();
            next.run(request).await
        });
        let mut pair = Pair::new(registry).negotiation(negotiation);
        assert_eq!(text(&mut pair), Ok("changed".into()));
        assert_eq!(taken(&log), ["tools/call Some(\"echo\")", "echo", "true"]);
        let client = pair.client();
        pair.run(client.read_resource("a:b")).unwrap();
        assert_eq!(taken(&log), ["resources/read None", "true"]);
        pair.run(client.list_tools()).unwrap();
        assert!(taken(&log).is_empty(), "a list has no handler");
    }
}

#[test]
fn request_may_be_refused_and_answered_without_its_handler() {
    let (mut registry, log) = registry();
    registry.around(HandlerKind::Tool, |request: HandlerRequest, _| async move {
        request.refuse("Closed on Sundays.")
    });
    registry.around(HandlerKind::Resource, |request: HandlerRequest, _| async move {
        request.refuse("closed")
    });
    let mut pair = Pair::new(registry);
    assert_eq!(text(&mut pair), Err("Closed on Sundays.".into()));
    let read = pair.client().read_resource("a:b");
    let Err(CallError::Error { error, .. }) = pair.run(read) else { panic!("it was read") };
    assert_eq!((error.code.0, &*error.message), (-32603, "closed"));
    assert!(taken(&log).is_empty());
}

#[test]
fn read_that_fails_is_repeated() {
    let mut registry = Registry::new(Implementation::new("layers", "1"));
    let reads = Arc::new(Mutex::new(0));
    let read = move |uri: String, _| {
        let mut reads = reads.lock().unwrap();
        *reads += 1;
        let content = (*reads > 1).then(|| ResourceContents::text(uri, "text"));
        async move { content.ok_or_else(|| ErrorData::internal("busy")) }
    };
    registry.resource(Resource::new("a:b", "b"), read).unwrap();
    registry.around_all(|request: HandlerRequest, next: Next| async move {
        let outcome = next.clone().run(request.clone()).await;
        let is_busy = matches!(&outcome, Outcome::Error(error) if error.message == "busy");
        if is_busy { next.run(request).await } else { outcome }
    });
    let mut pair = Pair::new(registry);
    let read = pair.client().read_resource("a:b");
    pair.run(read).unwrap();
}

#[test]
fn subject_of_a_request_is_its_tool_its_prompt_or_its_resource() {
    let (mut registry, log) = registry();
    let get = |_: Json, _| async { PromptMessage::new(Role::User, ContentBlock::text("ask")) };
    registry.prompt(Prompt::new("ask"), get).unwrap();
    let noted = log.clone();
    registry.around_all(move |request: HandlerRequest, next: Next| {
        note(&noted, format!("{:?}", request.subject()));
        next.run(request)
    });
    let mut pair = Pair::new(registry);
    let client = pair.client();
    text(&mut pair).unwrap();
    pair.run(client.read_resource("a:b")).unwrap();
    pair.run(client.get_prompt("ask", &json!({}))).unwrap();
    assert_eq!(taken(&log), [r#"Some("echo")"#, "echo", r#"Some("a:b")"#, r#"Some("ask")"#]);
}

#[test]
fn panic_in_a_function_is_an_error_of_its_request() {
    let (mut registry, _) = registry();
    registry.around(HandlerKind::Tool, |request: HandlerRequest, next: Next| async move {
        assert!(!request.arguments.to_string().contains("bad"), "as this test wants it");
        next.run(request).await
    });
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let bad = pair.run(client.call_tool("echo", &json!({"text": "bad"})));
    assert!(matches!(bad, Err(CallError::Error { error, .. }) if error.code.0 == -32603));
    assert_eq!(text(&mut pair), Ok("text".into()));
}

#[test]
fn rate_is_limited_and_recovers() {
    let (mut registry, _) = registry();
    registry.around(HandlerKind::Tool, limit_rate(2, Duration::from_secs(10)));
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::over_http(registry.clone()).negotiation(negotiation);
        pair.pass(Duration::from_secs(20));
        assert_eq!(text(&mut pair), Ok("text".into()));
        assert_eq!(text(&mut pair), Ok("text".into()));
        let refused = text(&mut pair).unwrap_err();
        assert!(refused.starts_with("Too many calls; try again in "), "{refused}");
        pair.pass(Duration::from_secs(5));
        assert_eq!(text(&mut pair), Ok("text".into()));
        text(&mut pair).unwrap_err();
        registry = self::registry().0;
        registry.around(HandlerKind::Tool, limit_rate(2, Duration::from_secs(10)));
    }
}

#[test]
fn rate_with_the_longest_time_admits_its_calls_once() {
    let (mut registry, _) = registry();
    registry.around(HandlerKind::Tool, limit_rate(2, Duration::MAX));
    let mut pair = Pair::new(registry);
    assert_eq!(text(&mut pair), Ok("text".into()));
    assert_eq!(text(&mut pair), Ok("text".into()));
    for _ in 0..2 {
        let refused = text(&mut pair).unwrap_err();
        assert!(refused.starts_with("Too many calls; try again in "), "{refused}");
    }
}

#[test]
fn rate_of_more_calls_than_microseconds_is_limited() {
    let (mut registry, _) = registry();
    // The burst of the longest interval that holds less than a microsecond for each call.
    registry.around(HandlerKind::Tool, limit_rate(3, Duration::from_micros(2)));
    let mut pair = Pair::new(registry);
    let calls = (0..6).map(|_| text(&mut pair));
    let (admitted, refused): (Vec<_>, Vec<_>) = calls.partition(Result::is_ok);
    assert!(!admitted.is_empty() && !refused.is_empty(), "{admitted:?} {refused:?}");
}

#[test]
fn layer_of_a_kind_is_around_its_handlers_whatever_a_request_says() {
    let (mut registry, log) = registry();
    registry.around_all(|mut request: HandlerRequest, next: Next| async move {
        request.kind = HandlerKind::Prompt;
        next.run(request).await
    });
    let noted = log.clone();
    registry.around(HandlerKind::Tool, move |request: HandlerRequest, next: Next| {
        note(&noted, "tool".into());
        next.run(request)
    });
    let noted = log.clone();
    registry.around(HandlerKind::Prompt, move |request: HandlerRequest, next: Next| {
        note(&noted, "prompt".into());
        next.run(request)
    });
    let mut pair = Pair::new(registry);
    assert_eq!(text(&mut pair), Ok("text".into()));
    assert_eq!(taken(&log), ["tool", "echo"]);
}

#[test]
fn concurrency_is_limited_until_a_call_ends_or_is_cancelled() {
    let (mut registry, _) = registry();
    registry.around(HandlerKind::Tool, limit_concurrency(1));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let mut slow = client.call_tool("sleep", &json!({"text": "1"}));
    assert!(pair.poll(&mut slow).is_pending());
    assert_eq!(text(&mut pair), Err("Too many calls at a time; at most 1 may run.".into()));
    pair.run(slow).unwrap();
    assert_eq!(text(&mut pair), Ok("text".into()));
    let mut slow = client.call_tool("sleep", &json!({"text": "1"}));
    assert!(pair.poll(&mut slow).is_pending());
    text(&mut pair).unwrap_err();
    drop(slow);
    assert_eq!(text(&mut pair), Ok("text".into()));
}

/// A legacy client, and one whose call is a task, cannot repeat the request.
#[test]
fn input_of_a_user_is_not_lost_at_a_limit() {
    for negotiation in [Negotiation::Legacy, Negotiation::Auto] {
        let mut registry = registry().0;
        registry.tool("ask", "Asks", ask).unwrap();
        registry.tasks("ask", Tasks::Always).unwrap();
        registry.around(HandlerKind::Tool, limit_rate(1, Duration::from_secs(10)));
        registry.around(HandlerKind::Tool, limit_concurrency(1));
        let config = Config::new(Implementation::new("a", "1")).negotiation(negotiation);
        let mut pair = Pair::new(registry).client_config(config.follow_tasks());
        let client = pair.client();
        client.on_form(|_| async { ElicitResult::new(ElicitAction::Accept) });
        let result = pair.run(client.call_tool("ask", &json!({"text": "x"}))).unwrap();
        assert_eq!(result.content[0].as_text(), Some("Accept x"), "{negotiation:?}");
        // Both runs have counted.
        pair.pass(Duration::from_secs(9));
        text(&mut pair).unwrap_err();
        pair.pass(Duration::from_secs(11));
        assert_eq!(text(&mut pair), Ok("text".into()));
    }
}

/// Another call takes the place of one that waits for its user.
#[test]
fn input_of_a_user_is_not_lost_at_a_limit_that_another_call_has_reached() {
    for negotiation in [Negotiation::Legacy, Negotiation::Auto] {
        let mut registry = registry().0;
        registry.tool("ask", "Asks", ask).unwrap();
        registry.tasks("ask", Tasks::Always).unwrap();
        registry.around(HandlerKind::Tool, limit_concurrency(1));
        let config = Config::new(Implementation::new("a", "1")).negotiation(negotiation);
        let mut pair = Pair::new(registry).client_config(config.follow_tasks());
        let client = pair.client();
        let (other, running) = (client.clone(), Arc::new(Mutex::new(None)));
        let kept = running.clone();
        client.on_form(move |_| {
            let (other, kept) = (other.clone(), kept.clone());
            async move {
                let mut slow = Box::pin(other.call_tool("sleep", &json!({"text": "1"})));
                poll_fn(|context| Poll::Ready(slow.as_mut().poll(context).is_ready())).await;
                let refused = other.call_tool("echo", &json!({"text": "2"})).await.unwrap();
                assert!(refused.is_error);
                *kept.lock().unwrap() = Some(slow);
                ElicitResult::new(ElicitAction::Accept)
            }
        });
        let result = pair.run(client.call_tool("ask", &json!({"text": "x"}))).unwrap();
        assert_eq!(result.content[0].as_text(), Some("Accept x"), "{negotiation:?}");
        assert!(running.lock().unwrap().take().is_some(), "{negotiation:?}");
    }
}

async fn ask(Text { text }: Text, context: Context) -> Result<String, Interrupt> {
    let form = ElicitRequestFormParams::new("Go on?", RequestedSchema::new());
    // After this, the call of a modern client is a task.
    context.sleep(Duration::from_secs(1)).await;
    let answer = context.elicit("go", form)?;
    Ok(format!("{:?} {text}", answer.action))
}

/// A registry with `echo`, which notes its calls, `sleep`, and the resource `a:b`.
fn registry() -> (Registry<Handler>, Log) {
    let log = Log::default();
    let mut registry = Registry::new(Implementation::new("layers", "1"));
    let noted = log.clone();
    let echo = move |Text { text }: Text, _| {
        note(&noted, "echo".into());
        async move { text }
    };
    registry.tool("echo", "Echoes", echo).unwrap();
    let sleep = |Text { text }: Text, context: Context| async move {
        context.sleep(Duration::from_secs(10)).await;
        text
    };
    registry.tool("sleep", "Sleeps", sleep).unwrap();
    let read = |uri: String, _| async { ResourceContents::text(uri, "text") };
    registry.resource(Resource::new("a:b", "b"), read).unwrap();
    (registry, log)
}

/// The answer of `echo`, or the text of its failure.
fn text(pair: &mut Pair) -> Result<String, String> {
    let client = pair.client();
    let result = pair.run(client.call_tool("echo", &json!({"text": "text"}))).unwrap();
    let text = result.content.first().and_then(|block| block.as_text()).unwrap().to_owned();
    if result.is_error { Err(text) } else { Ok(text) }
}

fn note(log: &Log, what: String) {
    log.lock().unwrap().push(what);
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}
