//! Requests of a handler for its client's input: one handler, both eras.

use std::error::Error;
use std::time::Duration;

use mcp_proto::server::{Config, InputRequired};
use mcp_proto::types::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitAction,
    ElicitRequestFormParams, ElicitRequestURLParams, ImageContent, Implementation, InputRequest,
    InputRequests, Prompt, PromptMessage, RequestParams, RequestedSchema, Resource,
    ResourceContents, Role, SamplingMessage, SamplingMessageContentBlock, Tool,
};
use mcp_proto::{Era, ErrorData, Json};
use mcp_service::{Context, Handler, Interrupt, IntoToolError, IntoToolResult, Registry};
use mcp_tests::pause::yield_now;
use serde_json::{Value, json};

use crate::bench::{Log, panic_quietly, registry};
use crate::client::{Client, ERAS, error, text};

type Boxed = Box<dyn Error + Send + Sync>;

#[test]
fn a_handler_asks_the_user() {
    for era in ERAS {
        let mut client = Client::new(era, registry(greet));
        let result = client.converse("tools/call", &json!({"name": "t"}), |method, params| {
            assert_eq!((method, &params["message"]), ("elicitation/create", &json!("name?")));
            json!({"action": "accept", "content": {"name": "Ada"}})
        });
        assert_eq!(result, text("hello Ada"), "{era:?}");
    }
}

#[test]
fn a_user_declines() {
    for era in ERAS {
        for action in ["decline", "cancel"] {
            let mut client = Client::new(era, registry(greet));
            let call = json!({"name": "t"});
            let result = client.converse("tools/call", &call, |_, _| json!({"action": action}));
            assert_eq!(result, text("hello nobody"), "{era:?}");
        }
    }
}

#[test]
fn an_answer_that_is_none_is_an_error() {
    let why = "the input `name` is no answer to what was asked";
    // It is in the parameters of a modern client, and not in those of a legacy one.
    for (era, expected) in [(Era::Modern, error(-32602, why)), (Era::Legacy, error(-32603, why))] {
        let mut client = Client::new(era, registry(greet));
        let call = json!({"name": "t"});
        let result = client.converse("tools/call", &call, |_, _| json!({"action": "perhaps"}));
        assert_eq!(result, expected, "{era:?}");
    }
}

#[test]
fn a_handler_asks_in_several_rounds_and_forgets_no_answer() {
    for era in ERAS {
        let (log, registry) = rounds();
        let mut client = Client::new(era, registry);
        assert_eq!(
            client.converse("tools/call", &json!({"name": "t"}), obliging),
            text(EVERYTHING)
        );
        assert_eq!(log.take(), ["round"; 4], "{era:?}");
    }
}

#[test]
fn a_handler_that_runs_elsewhere_asks_too() {
    for era in ERAS {
        let (log, registry) = rounds();
        let mut client = Client::new(era, registry).spawning();
        assert_eq!(
            client.converse("tools/call", &json!({"name": "t"}), obliging),
            text(EVERYTHING)
        );
        assert_eq!(log.take(), ["round"; 4], "{era:?}");
    }
}

#[test]
fn a_modern_client_carries_the_answers_of_earlier_rounds() {
    let mut client = Client::new(Era::Modern, rounds().1);
    let first = client.ask("tools/call", json!({"name": "t"}));
    assert_eq!(first["result"].get("requestState"), None);
    let responses = json!({"who": {"action": "decline"}});
    let second = client.ask("tools/call", json!({"name": "t", "inputResponses": responses}));
    let state = second["result"]["requestState"].as_str().unwrap();
    assert_eq!(state, r#"{"answers":{"who":{"action":"decline"}}}"#);
    assert!(second["result"]["inputRequests"]["model"].is_object(), "{second}");
}

#[test]
fn a_state_that_is_not_ours_is_refused() {
    let expected = error(-32602, "the `requestState` is not ours");
    for state in ["", "{", "{}", "null", r#"{"answers":[]}"#, r#"{"answers":{"who":{}}} x"#] {
        let mut client = Client::new(Era::Modern, rounds().1);
        let call = json!({"name": "t", "requestState": state});
        assert_eq!(client.ask("tools/call", call), expected, "{state}");
    }
}

#[test]
fn what_was_not_answered_is_asked_again_and_more_does_no_harm() {
    let mut client = Client::new(Era::Modern, rounds().1);
    for responses in [json!({}), json!({"other": {"action": "accept"}})] {
        let again = client.ask("tools/call", json!({"name": "t", "inputResponses": responses}));
        assert!(again["result"]["inputRequests"]["who"].is_object(), "{again}");
    }
}

#[test]
fn a_handler_asks_for_several_things_at_once() {
    for era in ERAS {
        let mut client = Client::new(era, registry(two_at_once));
        let mut asked = Vec::new();
        let result = client.converse("tools/call", &json!({"name": "t"}), |method, params| {
            asked.push(method.to_owned());
            obliging(method, params)
        });
        assert_eq!(asked, ["elicitation/create", "roots/list"], "{era:?}");
        assert_eq!(result, text(r#"{"action":"decline"} and {"roots":[{"uri":"file:///a"}]}"#));
    }
}

#[test]
fn two_questions_with_one_key_are_told_from_one_question_asked_twice() {
    let twice = |second: &'static str| {
        registry(move |_: Value, context: Context| async move {
            let form = |text: &str| ElicitRequestFormParams::new(text, RequestedSchema::new());
            let first = context.elicit("sure", form("Sure?"))?.action;
            Ok::<_, Interrupt>(format!(
                "{first:?} {:?}",
                context.elicit("sure", form(second))?.action
            ))
        })
    };
    for era in ERAS {
        let call = json!({"name": "t"});
        let mut client = Client::new(era, twice("Sure?"));
        assert_eq!(client.converse("tools/call", &call, obliging), text("Decline Decline"));

        let mut client = Client::new(era, twice("Quite sure?"));
        let why = "the handler asks two questions with the key `sure`: each needs one of its own";
        assert_eq!(client.converse("tools/call", &call, obliging), error(-32603, why), "{era:?}");
    }
}

#[test]
fn a_question_may_have_other_words_in_another_round() {
    for era in ERAS {
        let rounds = std::sync::atomic::AtomicU32::new(0);
        let rounds = std::sync::Arc::new(rounds);
        let asks = registry(move |_: Value, context: Context| {
            let round = rounds.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move {
                let form =
                    ElicitRequestFormParams::new(format!("{round}?"), RequestedSchema::new());
                context.elicit("sure", form)?;
                context.list_roots("roots")?;
                Ok::<_, Interrupt>("done")
            }
        });
        let mut client = Client::new(era, asks);
        let result = client.converse("tools/call", &json!({"name": "t"}), obliging);
        assert_eq!(result, text("done"), "{era:?}");
    }
}

#[test]
fn one_answer_of_several_is_kept_until_the_other_comes() {
    let mut client = Client::new(Era::Modern, registry(two_at_once));
    let responses = json!({"b": {"roots": []}});
    let again = client.ask("tools/call", json!({"name": "t", "inputResponses": responses}));
    let (keys, state) = (&again["result"]["inputRequests"], &again["result"]["requestState"]);
    assert!(keys["a"].is_object() && keys.get("b").is_none(), "{again}");

    let responses = json!({"a": {"action": "cancel"}});
    let call = json!({"name": "t", "inputResponses": responses, "requestState": state});
    assert_eq!(client.ask("tools/call", call), text(r#"{"action":"cancel"} and {"roots":[]}"#));
}

#[test]
fn a_url_is_for_the_user_too() {
    for era in ERAS {
        let mut client = Client::new(
            era,
            registry(|_: Value, context: Context| async move {
                let page = ElicitRequestURLParams::new("pay", "https://example.com");
                let answer = context.elicit("pay", page)?;
                Ok::<_, Interrupt>(format!("{:?}", answer.action))
            }),
        );
        let result = client.converse("tools/call", &json!({"name": "t"}), |_, params| {
            assert_eq!(params["mode"], "url");
            assert_eq!(params.get("elicitationId").is_some(), era == Era::Legacy);
            json!({"action": "accept"})
        });
        assert_eq!(result, text("Accept"), "{era:?}");
    }
}

#[test]
fn a_client_that_did_not_declare_it_is_not_asked() {
    for (era, code) in [(Era::Legacy, -32603), (Era::Modern, -32021)] {
        let (config, none) = (Config::default(), json!({"roots": {}}));
        let mut client = Client::that_can(era, none, registry(greet), config);
        let answer = client.ask("tools/call", json!({"name": "t"}));
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("`name`"), "{answer}");
    }
}

#[test]
fn a_question_mark_asks_in_handlers_that_fail_in_other_ways() {
    asks(|context| context.elicit("name", form()).map(|_| "asked"));
    asks(|_| required());
    asks(|context| -> Result<&str, Boxed> {
        context.elicit("name", form())?;
        Ok("asked")
    });
    asks(|_| -> Result<&str, Boxed> {
        required()?;
        Ok("asked")
    });
}

#[test]
fn a_boxed_error_of_the_protocol_is_one() {
    for era in ERAS {
        let failing = |_: Value, _| async {
            Err::<&str, Boxed>(ErrorData::invalid_params("not that").into())
        };
        let mut client = Client::new(era, registry(failing));
        let answer = client.ask("tools/call", json!({"name": "t"}));
        assert_eq!(answer, error(-32602, "not that"), "{era:?}");
    }
}

#[test]
fn a_tool_that_is_added_with_its_handler_asks_too() {
    let mut registry: Registry<Handler> = Registry::new(Implementation::new("bench", "1"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.add_tool(Tool::new("t", schema), Handler::tool(greet)).unwrap();
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        let decline = |_: &str, _: &Value| json!({"action": "decline"});
        let result = client.converse("tools/call", &json!({"name": "t"}), decline);
        assert_eq!(result, text("hello nobody"), "{era:?}");
    }
}

#[test]
fn prompts_and_resources_ask_too() {
    let mut registry: Registry<Handler> = Registry::new(Implementation::new("bench", "1"));
    registry
        .prompt(Prompt::new("p"), |_: Value, context: Context| async move {
            let roots = context.list_roots("roots")?.roots.len();
            let text = ContentBlock::text(format!("{roots} roots"));
            Ok::<_, Interrupt>(PromptMessage::new(Role::User, text))
        })
        .unwrap()
        .resource(Resource::new("a:b", "b"), |uri, context: Context| async move {
            let roots = context.list_roots("roots")?.roots.len();
            Ok::<_, Boxed>(ResourceContents::text(uri, format!("{roots} roots")))
        })
        .unwrap();
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        let prompt = client.converse("prompts/get", &json!({"name": "p"}), obliging);
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "1 roots", "{era:?}");
        let read = client.converse("resources/read", &json!({"uri": "a:b"}), obliging);
        assert_eq!(read["result"]["contents"][0]["text"], "1 roots", "{era:?}");
    }
}

#[test]
fn input_is_what_the_client_gave_in_this_round() {
    let asks = |_: Value, context: Context| async move {
        match context.input() {
            None => Err(InputRequired::new("a", InputRequest::ListRoots(RequestParams::default()))
                .state("mine")),
            Some(input) => Ok(format!("{:?} {:?}", input.responses, input.state)),
        }
    };
    for era in ERAS {
        let mut client = Client::new(era, registry(asks));
        let result = client.converse("tools/call", &json!({"name": "t"}), |_, _| json!({"a": 1}));
        let expected = r#"{"a": InputResponse({"a":1})} Some("mine")"#;
        assert_eq!(result, text(expected), "{era:?}");
    }
}

#[test]
fn a_legacy_call_that_is_cancelled_while_its_client_is_asked_is_over() {
    let (log, registry) = rounds();
    let mut client = Client::new(Era::Legacy, registry);
    let id = client.request("tools/call", json!({"name": "t"}));
    let [question]: [Value; 1] = client.out().try_into().unwrap();
    client.notify("notifications/cancelled", &json!({"requestId": id}));
    let [withdrawn]: [Value; 1] = client.out().try_into().unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);

    client.respond(&question["id"], &json!({"action": "decline"}));
    assert_eq!((client.out(), log.take().len()), (vec![], 1));
    client.bench.assert_alive();
}

#[test]
fn a_legacy_client_that_does_not_answer_gets_an_error() {
    let mut config = Config::default();
    config.limits.input_timeout = Duration::from_secs(60);
    let everything = json!({"elicitation": {}});
    let mut client = Client::that_can(Era::Legacy, everything, registry(greet), config);
    let id = client.request("tools/call", json!({"name": "t"}));
    assert_eq!(client.out().len(), 1);
    assert_eq!(client.bench.flush_deadline(), Some(Duration::from_secs(60)));
    client.bench.pass(Duration::from_secs(60));
    let [withdrawn, failed]: [Value; 2] = client.out().try_into().unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&json!(id), &json!(-32603)));
    assert_eq!(client.bench.flush_deadline(), None);
}

#[test]
fn a_handler_that_panics_in_its_second_round_is_answered() {
    for era in ERAS {
        let mut client = Client::new(
            era,
            registry(|_: Value, context: Context| async move {
                context.list_roots("roots")?;
                panic_quietly();
                Ok::<_, Interrupt>("never")
            }),
        );
        let result = client.converse("tools/call", &json!({"name": "t"}), obliging);
        assert_eq!(result, error(-32603, "the handler panicked"), "{era:?}");
        let again = client.converse("tools/call", &json!({"name": "t"}), obliging);
        assert_eq!(again, result, "{era:?}");
    }
}

#[test]
fn a_handler_that_always_asks_is_stopped() {
    let asks = |_: Value, context: Context| async move {
        let number = context.input().map_or(0, |input| input.responses.len());
        let request = InputRequest::ListRoots(RequestParams::default());
        Err::<&str, _>(InputRequired::new("again", request).state(number.to_string()))
    };
    let mut client = Client::new(Era::Legacy, registry(asks));
    let mut rounds = 0;
    let result = client.converse("tools/call", &json!({"name": "t"}), |method, params| {
        rounds += 1;
        obliging(method, params)
    });
    assert_eq!(result, error(-32603, "Limits::max_input_rounds = 10 are over"));
    assert_eq!(rounds, 10);
}

#[test]
fn more_input_than_there_is_room_for_ends_the_call() {
    let mut config = Config::default();
    config.limits.max_in_flight_bytes = 1000;
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let registry = registry(two_at_once);
    let mut client = Client::that_can(Era::Legacy, capabilities, registry, config);
    let call = json!({"name": "t"});
    let long = |bytes: usize| json!({"action": "decline", "_meta": {"a": "x".repeat(bytes)}});
    let refused = |key| {
        let why = "is more than Limits::max_in_flight_bytes leaves room for";
        error(-32603, &format!("the input `{key}` {why}"))
    };
    let result = client.converse("tools/call", &call, |_, _| long(1000));
    assert_eq!(result, refused("a"));
    // The sum counts, and what is answered is not in flight any more.
    let result = client.converse("tools/call", &call, |_, _| long(600));
    assert_eq!(result, refused("b"));
    for _ in 0..3 {
        let result = client.converse("tools/call", &call, |_, _| long(400));
        assert!(result.get("result").is_some(), "{result}");
    }
}

#[test]
fn input_that_cannot_be_written_fails_the_call_in_both_eras() {
    let asks = |_: Value, context: Context| async move {
        let picture = ImageContent::new("picture.png", "image/png");
        let block = SamplingMessageContentBlock::Image(picture);
        let messages = vec![SamplingMessage::new(Role::User, block)];
        let params = CreateMessageRequestParams::new(messages, 10);
        context.create_message("model", params).map(|answer| answer.model)
    };
    let why = "the input `model` cannot be written as JSON: the bytes are not in Base64 with the \
               standard alphabet and padding";
    for era in ERAS {
        let mut client = Client::new(era, registry(asks));
        let result = client.converse("tools/call", &json!({"name": "t"}), obliging);
        assert_eq!(result, error(-32603, why), "{era:?}");
    }
}

async fn greet(_: Value, context: Context) -> Result<String, Interrupt> {
    let answer = context.elicit("name", form())?;
    let given = answer.accepted::<Value>().and_then(Result::ok);
    let name = given.map(|form| form["name"].as_str().unwrap().to_owned());
    Ok(format!("hello {}", name.unwrap_or("nobody".into())))
}

const EVERYTHING: &str = "Decline, of m, 1 roots";

/// A handler that asks three times, one after the other, and notes each of its rounds.
fn rounds() -> (Log, Registry<Handler>) {
    let log = Log::default();
    let notes = log.clone();
    let registry = registry(move |_: Value, context: Context| {
        let log = notes.clone();
        async move {
            log.note("round");
            yield_now().await;
            let who: ElicitAction = context.elicit("who", form())?.action;
            let hello =
                SamplingMessage::new(Role::User, SamplingMessageContentBlock::text("hello"));
            let params = CreateMessageRequestParams::new(vec![hello], 10);
            let model = context.create_message("model", params)?.model;
            yield_now().await;
            let roots = context.list_roots("roots")?.roots.len();
            Ok::<_, Interrupt>(format!("{who:?}, of {model}, {roots} roots"))
        }
    });
    (log, registry)
}

async fn two_at_once(_: Value, context: Context) -> Result<String, Interrupt> {
    let mut requests = InputRequests::new();
    requests.insert("b".into(), InputRequest::ListRoots(RequestParams::default()));
    requests.insert("a".into(), InputRequest::Elicit(form().into()));
    let answers = context.ask(requests)?;
    Ok(format!("{} and {}", answers["a"].json(), answers["b"].json()))
}

/// A client that has an answer to everything.
fn obliging(method: &str, _: &Value) -> Value {
    match method {
        "elicitation/create" => json!({"action": "decline"}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///a"}]}),
        _ => Value::Null,
    }
}

/// A tool that asks by `f` the first time is asked again.
fn asks<R: IntoToolResult + Send + 'static>(
    f: impl Fn(Context) -> R + Copy + Send + Sync + 'static,
) {
    for era in ERAS {
        let log = Log::default();
        let notes = log.clone();
        let handler = move |_: Value, context: Context| {
            let log = notes.clone();
            log.note(if context.input().is_some() { "again" } else { "first" });
            std::future::ready(f(context))
        };
        let mut client = Client::new(era, registry(handler));
        client.request("tools/call", json!({"name": "t"}));
        let [asked]: [Value; 1] = client.out().try_into().unwrap();
        let question = asked.get("method").or(asked["result"].get("inputRequests"));
        assert!(question.is_some(), "{asked}");
        if era == Era::Legacy {
            client.respond(&asked["id"], &json!({"action": "decline"}));
            assert_eq!(log.take(), ["first", "again"]);
        }
    }
}

fn required() -> Result<&'static str, InputRequired> {
    Err(InputRequired::new("name", InputRequest::Elicit(form().into())))
}

fn form() -> ElicitRequestFormParams {
    ElicitRequestFormParams::new("name?", RequestedSchema::new())
}

/// An error type of the application's own, which says nothing of asking.
#[test]
fn an_error_that_says_nothing_of_asking_may_ask() {
    struct Failure(Interrupt);
    impl IntoToolError for Failure {
        fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
            Err(self.0)
        }
    }
    for era in ERAS {
        let mut client = Client::new(
            era,
            registry(|_: Value, context: Context| async move {
                context.list_roots("roots").map(|_| "listed").map_err(Failure)
            }),
        );
        let result = client.converse("tools/call", &json!({"name": "t"}), obliging);
        assert_eq!(result, text("listed"), "{era:?}");
    }
}
