//! Requests of servers for input of the application.

use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ImageContent, InputRequests, RequestedSchema, Role, Root,
    SamplingMessage, SamplingMessageContentBlock, StringSchema,
};
use mcp_proto::{Era, ErrorCode, ErrorData, Json, UsageError};
use mcp_service::testing::Network;
use mcp_service::{Client, Context, Interrupt};
use serde_json::{Value, json};

use crate::bench::{
    ERAS, Log, MINUTE, SECOND, WAYS, Way, call, pair, panic_quietly, said, served, text,
};

#[test]
fn whatever_is_asked_is_answered() {
    for way in WAYS {
        for network in [Network::calm(), Network::rough()] {
            let mut pair = pair(way, asks_everything).network(network).seed(2);
            let client = pair.client();
            client.on_form(|form| async move {
                assert_eq!(form.message, "name?");
                accept(&json!({ "name": "Ada" }))
            });
            client.on_url(|page| async move {
                assert_eq!(page.url, "https://example.com");
                ElicitResult::new(ElicitAction::Accept)
            });
            client.on_create_message(|asked| async move {
                assert_eq!(asked.max_tokens, 10);
                CreateMessageResult::new("model", SamplingMessageContentBlock::text("Hi"))
            });
            client.set_roots(vec![Root::new("file:///a"), Root::new("file:///b")]).unwrap();
            let all = text(pair.run(call(&client)));
            assert_eq!(all, r#"{"name":"Ada"} Accept model ["file:///a","file:///b"]"#);
        }
    }
}

#[test]
fn an_application_may_refuse() {
    for way in WAYS {
        let mut pair = pair(way, asks_name);
        let client = pair.client();
        client.on_form(|_| async { Err::<ElicitResult, _>(ErrorData::invalid_params("not that")) });
        assert_refused(pair.run(call(&client)), way, "not that");
        pair.run(client.ping()).unwrap();
    }
}

#[test]
fn a_handler_that_panics_refuses() {
    for way in WAYS {
        for at_once in [true, false] {
            let mut pair = pair(way, asks_name);
            let client = pair.client();
            client.on_form(move |_| {
                if at_once {
                    panic_quietly();
                }
                async {
                    panic_quietly();
                    accept(&json!({}))
                }
            });
            assert_refused(pair.run(call(&client)), way, "panicked");
            // It is as good as ever.
            client.on_form(|_| async { accept(&json!({ "name": "Ada" })) });
            assert_eq!(text(pair.run(call(&client))), r#"{"name":"Ada"}"#);
        }
    }
}

#[test]
fn what_is_declared_and_not_handled_is_refused() {
    for way in WAYS {
        let mut pair = pair(way, asks_name);
        let client = pair.client();
        client.declare(|has| {
            has.elicitation.get_or_insert_default().form = Some(Json::EMPTY_OBJECT);
        });
        assert_refused(pair.run(call(&client)), way, "no handler");
    }
}

#[test]
fn what_is_not_declared_is_not_asked() {
    for way in WAYS {
        let mut pair = pair(way, asks_name);
        let error = pair.run(call(&pair.client())).unwrap_err();
        let CallError::Error { error, .. } = error else { panic!("{error:?}") };
        let modern = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
        let expected = if way.is_legacy() { ErrorCode::INTERNAL_ERROR } else { modern };
        assert_eq!(error.code, expected);
        assert_eq!(served(&pair, r#""method":"elicitation/create""#), 0);
    }
}

#[test]
fn a_handler_set_after_connecting_is_for_modern_servers() {
    for way in WAYS {
        let mut pair = pair(way, asks_name);
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        client.on_form(|_| async { accept(&json!({ "name": "Ada" })) });
        let result = pair.run(call(&client));
        match client.server().unwrap().era() {
            Era::Modern => assert_eq!(text(result), r#"{"name":"Ada"}"#),
            // What was declared with `initialize` stays.
            Era::Legacy => assert!(matches!(result, Err(CallError::Error { .. }))),
        }
    }
}

#[test]
fn what_is_taken_back_is_not_asked_any_more() {
    let mut pair = pair(Negotiation::Auto, asks_name);
    let client = pair.client();
    client.on_form(|_| async { accept(&json!({ "name": "Ada" })) });
    assert_eq!(text(pair.run(call(&client))), r#"{"name":"Ada"}"#);
    client.declare(|has| has.elicitation = None);
    assert!(matches!(pair.run(call(&client)), Err(CallError::Error { .. })));
    client.on_form(|_| async { accept(&json!({ "name": "Bob" })) });
    assert_eq!(text(pair.run(call(&client))), r#"{"name":"Bob"}"#);
}

#[test]
fn what_is_declared_may_depend_on_what_is_known() {
    let mut pair = pair(Negotiation::Auto, asks_name);
    let client = pair.client();
    client.on_form(|_| async { accept(&json!({ "name": "Ada" })) });
    client.declare(|has| assert!(has.elicitation.is_some() && client.server().is_none()));
    // Who panics has changed nothing.
    let declare = || {
        client.declare(|has| {
            has.elicitation = None;
            panic_quietly();
        });
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(declare)).is_err());
    assert_eq!(text(pair.run(call(&client))), r#"{"name":"Ada"}"#);
}

#[test]
fn several_things_are_asked_at_once() {
    for way in WAYS {
        let mut pair = pair(way, |_: Value, context: Context| async move {
            let mut requests = InputRequests::new();
            requests.insert("a".into(), name().into());
            requests.insert("b".into(), name().into());
            let answers = context.ask(requests)?;
            Ok::<_, Interrupt>(answers.into_keys().collect::<Vec<_>>().join(" "))
        });
        let (client, gate) = (pair.client(), Gate::default());
        let passes = gate.clone();
        client.on_form(move |_| {
            let gate = passes.clone();
            async move {
                gate.pass_together(2).await;
                accept(&json!({}))
            }
        });
        // Each waits for the other, so that one after the other never ends.
        assert_eq!(text(pair.run(call(&client).timeout(SECOND))), "a b");
    }
}

#[test]
fn what_a_cancelled_call_has_asked_for_is_dropped() {
    for way in WAYS {
        let log = Log::default();
        let mut pair = pair(way, asks_name);
        let client = pair.client();
        let noted = log.clone();
        client.on_form(move |_| {
            let log = noted.clone();
            async move {
                let _gone = log.note_drop();
                log.note("asked");
                pending::<ElicitResult>().await
            }
        });
        let mut call = call(&client);
        assert!(pair.poll(&mut call).is_pending());
        pair.pass(MINUTE);
        assert_eq!(log.take(), ["asked"]);
        drop(call);
        pair.pass(SECOND);
        assert_eq!(log.take(), ["dropped"], "{way:?}\n{}", pair.wire());
        pair.run(client.ping()).unwrap();
    }
}

#[test]
fn what_is_asked_when_the_connection_ends_is_dropped() {
    for negotiation in ERAS {
        let log = Log::default();
        let mut pair = pair(negotiation, asks_name);
        let client = pair.client();
        let noted = log.clone();
        client.on_form(move |_| {
            let gone = noted.note_drop();
            async move {
                let _gone = gone;
                pending::<ElicitResult>().await
            }
        });
        let mut call = call(&client);
        assert!(pair.poll(&mut call).is_pending());
        pair.cut();
        // In both eras a handler has seen the call.
        assert_eq!(pair.run(call), Err(CallError::Interrupted), "{negotiation:?}");
        assert_eq!(log.take(), ["dropped"]);
    }
}

#[test]
fn roots_change_while_the_client_is_connected() {
    for way in WAYS {
        let mut pair = pair(way, |_: Value, context: Context| async move {
            let uris = context.list_roots("roots")?.roots.into_iter().map(|root| root.uri);
            Ok::<_, Interrupt>(uris.collect::<Vec<_>>().join(" "))
        });
        let client = pair.client();
        client.set_roots(vec![Root::new("file:///a")]).unwrap();
        assert_eq!(text(pair.run(call(&client))), "file:///a");
        client.set_roots(vec![Root::new("file:///b")]).unwrap();
        client.set_roots(vec![Root::new("file:///b")]).unwrap();
        assert_eq!(text(pair.run(call(&client))), "file:///b");
        let told = usize::from(way.is_legacy());
        assert_eq!(said(&pair, "notifications/roots/list_changed"), told);
        // There still are roots, whatever else is declared.
        client.on_form(|_| async { accept(&json!({})) });
        assert_eq!(text(pair.run(call(&client))), "file:///b");
    }
}

#[test]
fn second_hour_18_a_root_that_is_no_file_is_refused() {
    const REFUSED: [&str; 8] = [
        "https://example.com",
        "/home",
        "file:/a",
        "",
        "fi",
        "file:///a/../b",
        "file:///a/%2E%2e",
        "file://./a",
    ];
    for way in WAYS {
        let mut pair = pair(way, |_: Value, context: Context| async move {
            let uris = context.list_roots("roots")?.roots.into_iter().map(|root| root.uri);
            Ok::<_, Interrupt>(uris.collect::<Vec<_>>().join(" "))
        });
        let client = pair.client();
        client.set_roots(vec![Root::new("FILE:///a")]).unwrap();
        for uri in REFUSED {
            let refused = client.set_roots(vec![Root::new("file:///b"), Root::new(uri)]);
            assert_eq!(refused, Err(UsageError::InvalidRoot { uri: uri.into() }));
        }
        assert_eq!(text(pair.run(call(&client))), "FILE:///a");
    }
}

#[test]
fn a_legacy_server_tells_that_a_url_is_done_with() {
    let mut pair = pair(Negotiation::Legacy, |_: Value, context: Context| async move {
        let mut page = ElicitRequestURLParams::new("pay", "https://example.com");
        page.elicitation_id = Some("e-7".into());
        context.elicit("pay", page)?;
        let params = Json::encode(&json!({ "elicitationId": "e-7" })).unwrap();
        let method = "notifications/elicitation/complete".to_owned();
        context.notify(mcp_proto::server::Notification::Other { method, params });
        Ok::<_, Interrupt>("paid")
    });
    let (client, log) = (pair.client(), Log::default());
    let noted = log.clone();
    client.on_url(|page| async move {
        assert_eq!(page.elicitation_id.as_deref(), Some("e-7"));
        ElicitResult::new(ElicitAction::Accept)
    });
    client.on_elicitation_complete(move |id| noted.note(id));
    assert_eq!(text(pair.run(call(&client))), "paid");
    assert_eq!(log.take(), ["e-7"]);
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, CallError>, way: Way, why: &str) {
    match (way.negotiation, result.unwrap_err()) {
        (Negotiation::Auto, CallError::InputRefused(error)) => {
            assert!(error.message.contains(why), "{error:?}");
        }
        // It was told, and says what it was told in its own words.
        (Negotiation::Legacy, CallError::Error { error, .. }) => {
            assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{error:?}");
            assert!(error.message.contains("`name`"), "{error:?}");
        }
        (_, other) => unreachable!("{other:?}"),
    }
}

#[test]
fn answer_that_cannot_be_written_is_an_error_with_its_cause() {
    for way in WAYS {
        let mut pair = pair(way, asks_model);
        let client = pair.client();
        client.on_create_message(|_| async {
            let picture = ImageContent::new("picture.png", "image/png");
            CreateMessageResult::new("m", vec![SamplingMessageContentBlock::Image(picture)])
        });
        let why = "the answer cannot be written as JSON: the bytes are not in Base64";
        assert_refused(pair.run(call(&client)), way, why);
    }
}

async fn asks_model(_: Value, context: Context) -> Result<String, Interrupt> {
    let params = CreateMessageRequestParams::new(Vec::new(), 10);
    Ok(context.create_message("name", params)?.model)
}

async fn asks_name(_: Value, context: Context) -> Result<String, Interrupt> {
    let answer = context.elicit("name", name())?;
    Ok(answer.content.map_or_else(|| "nothing".into(), |content| content.as_str().to_owned()))
}

async fn asks_everything(_: Value, context: Context) -> Result<String, Interrupt> {
    let given = context.elicit("name", name())?.content;
    let page = ElicitRequestURLParams::new("go there", "https://example.com");
    let went = context.elicit("page", page)?.action;
    let message = SamplingMessage::new(Role::User, SamplingMessageContentBlock::text("Hello"));
    let model =
        context.create_message("model", CreateMessageRequestParams::new(vec![message], 10))?.model;
    let uris: Vec<String> =
        context.list_roots("roots")?.roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("{} {went:?} {model} {}", given.unwrap().as_str(), json!(uris)))
}

fn name() -> ElicitRequestFormParams {
    let schema = RequestedSchema::new().optional("name", StringSchema::new());
    ElicitRequestFormParams::new("name?", schema)
}

fn accept(content: &Value) -> ElicitResult {
    ElicitResult::accept(Json::encode(content).unwrap())
}

/// Lets those that wait pass once they are enough.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(usize, Vec<Waker>)>>);

impl Gate {
    async fn pass_together(&self, enough: usize) {
        self.0.lock().unwrap().0 += 1;
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 < enough {
                state.1.push(context.waker().clone());
                return Poll::Pending;
            }
            state.1.drain(..).for_each(Waker::wake);
            Poll::Ready(())
        })
        .await;
    }
}

/// The types are those of an application.
#[expect(dead_code, reason = "that it compiles is the test")]
fn answers_are_what_handlers_return(client: &Client) {
    client.on_form(|_| async { Ok(ElicitResult::new(ElicitAction::Cancel)) });
    client.on_form(|_| std::future::ready(ElicitResult::new(ElicitAction::Cancel)));
    client.on_create_message(|_| async {
        Err::<CreateMessageResult, _>(ErrorData::internal("no model"))
    });
}

#[test]
fn a_handler_may_call_the_server_that_asks() {
    for way in WAYS {
        let mut pair = pair(way, asks_name);
        let client = pair.client();
        let own = client.clone();
        client.on_form(move |_| {
            let client = own.clone();
            async move {
                let tools = client.list_tools().await.unwrap().tools;
                accept(&json!({ "name": tools[0].name }))
            }
        });
        assert_eq!(text(pair.run(call(&client))), r#"{"name":"t"}"#);
    }
}
