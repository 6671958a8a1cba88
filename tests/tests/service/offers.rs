//! Handlers of prompts, resources, completions and methods: what goes in, and what may come out.

use std::error::Error;

use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, ContentBlock, GetPromptResult, Implementation,
    Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use mcp_proto::{Era, ErrorData, Json};
use mcp_service::{Context, Handler, Registry};
use mcp_tests::pause::yield_now;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::panic_quietly;
use crate::client::{Client, ERAS, error};

type Boxed = Box<dyn Error + Send + Sync>;

#[derive(Deserialize)]
struct Language {
    /// Language of a text, one of the known ones.
    language: Known,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Known {
    English,
    German,
}

#[derive(Deserialize)]
struct Row {
    table: String,
    id: String,
    #[serde(default)]
    columns: Vec<String>,
}

#[derive(Deserialize)]
struct Sum {
    a: u32,
    b: u32,
}

#[test]
fn a_prompt_gets_typed_arguments() {
    let result = json!({"result": {"messages": [said("German")]}});
    in_both_eras(
        "prompts/get",
        &json!({"name": "typed", "arguments": {"language": "german"}}),
        &result,
    );
}

#[test]
fn arguments_of_a_prompt_that_do_not_fit_are_an_error() {
    let params = json!({"name": "typed", "arguments": {"language": "latin"}});
    let message =
        "the parameters do not fit: /language: expected `english` or `german`, found `latin`";
    in_both_eras("prompts/get", &params, &error(-32602, message));
}

#[test]
fn a_prompt_returns_a_message_messages_or_a_result() {
    let result = json!({"result": {"messages": [said("one"), said("two")]}});
    in_both_eras("prompts/get", &json!({"name": "messages"}), &result);
    let result = json!({"result": {"description": "d", "messages": [said("one")]}});
    in_both_eras("prompts/get", &json!({"name": "result"}), &result);
}

#[test]
fn a_resource_gets_its_uri() {
    let contents = json!([{"uri": "a:b", "text": "b of a:b"}]);
    in_both_eras(
        "resources/read",
        &json!({"uri": "a:b"}),
        &json!({"result": {"contents": contents}}),
    );
    let contents = json!([{"uri": "a:c/1", "blob": "AA=="}, {"uri": "a:c/2", "text": ""}]);
    in_both_eras(
        "resources/read",
        &json!({"uri": "a:c"}),
        &json!({"result": {"contents": contents}}),
    );
}

#[test]
fn a_template_gets_its_variables() {
    for (uri, expected) in [
        ("db:users/7", "users 7 []"),
        ("db:users/7?columns=a&columns=b", r#"users 7 ["a", "b"]"#),
        ("db:a%2Fb/%C3%A9", "a/b é []"),
    ] {
        let contents = json!([{"uri": uri, "text": expected}]);
        let result = json!({"result": {"contents": contents}});
        in_both_eras("resources/read", &json!({"uri": uri}), &result);
    }
}

#[test]
fn a_uri_whose_variables_do_not_fit_is_one_of_no_resource() {
    for era in ERAS {
        let mut client = Client::new(era, registry());
        let answer = client.ask("resources/read", json!({"uri": "number:seven"}));
        let unknown = client.ask("resources/read", json!({"uri": "number-seven:"}));
        let code = if era == Era::Modern { -32602 } else { -32002 };
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["error"]["data"], json!({"uri": "number:seven"}));
        assert_eq!(unknown["error"]["code"], code, "{unknown}");
        let seven = client.ask("resources/read", json!({"uri": "number:7"}));
        assert_eq!(seven["result"]["contents"][0]["text"], "8");
    }
}

#[test]
fn a_template_whose_handler_can_have_no_variables_is_at_fault() {
    #[derive(Deserialize)]
    struct Misspelt {
        ident: String,
    }
    #[derive(Deserialize)]
    struct Typed {
        id: u32,
    }
    #[derive(Deserialize)]
    struct Queried {
        q: String,
    }
    let mut registry = Registry::new(Implementation::new("test", "1.0.0"));
    registry
        .resource_template(ResourceTemplate::new("a:{id}", "a"), |uri, it: Misspelt, _| async {
            ResourceContents::text(uri, it.ident)
        })
        .unwrap()
        .resource_template(ResourceTemplate::new("b:{id}", "b"), |uri, it: Typed, _| async move {
            ResourceContents::text(uri, it.id.to_string())
        })
        .unwrap()
        .resource_template(ResourceTemplate::new("c:x{?q}", "c"), |uri, it: Queried, _| async {
            ResourceContents::text(uri, it.q)
        })
        .unwrap();
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        let mut ask = |uri: &str| client.ask("resources/read", json!({"uri": uri}));
        let misspelt = "the template has no variable `ident`, which its handler wants";
        assert_eq!(ask("a:1"), error(-32603, misspelt), "{era:?}");
        let typed = "the variables of a template are strings, or lists of strings, and its handler \
                     wants others: invalid type: string \"1\", expected u32";
        assert_eq!(ask("b:1"), error(-32603, typed), "{era:?}");
        // This one the client could have given.
        let code = if era == Era::Modern { -32602 } else { -32002 };
        assert_eq!(ask("c:x")["error"]["code"], code);
        assert_eq!(ask("c:x?q=1")["result"]["contents"][0]["text"], "1");
    }
}

#[test]
fn completions_of_a_prompt_and_of_a_template() {
    let argument = json!({"name": "language", "value": "ge"});
    let prompt = json!({"type": "ref/prompt", "name": "typed"});
    let result = json!({"result": {"completion": {"values": ["german"], "total": 1}}});
    let params = json!({"ref": prompt, "argument": argument});
    in_both_eras("completion/complete", &params, &result);

    let template = json!({"type": "ref/resource", "uri": "number:{n}"});
    let argument = json!({"name": "n", "value": "1"});
    for era in ERAS {
        let params = json!({"ref": template, "argument": argument});
        let mut answer = Client::new(era, registry()).ask("completion/complete", params);
        let values = answer["result"]["completion"]["values"].take();
        assert_eq!(values.as_array().unwrap().len(), 100, "{era:?}");
        assert_eq!(answer["result"]["completion"]["hasMore"], true, "{era:?}");
    }
}

#[test]
fn a_method_gets_typed_parameters() {
    in_both_eras("demo/sum", &json!({"a": 1, "b": 2}), &json!({"result": {"sum": 3}}));
    let message = "the parameters do not fit: /b: is required";
    in_both_eras("demo/sum", &json!({"a": 1}), &error(-32602, message));
    let message = "the parameters do not fit: /a: expected an integer from 0 to 4294967295, \
                   found string \"1\"";
    in_both_eras("demo/sum", &json!({"a": "1", "b": 2}), &error(-32602, message));
}

#[test]
fn a_method_whose_result_is_no_object_is_an_error() {
    let expected = error(-32603, "the handler's result is no JSON object");
    in_both_eras("demo/list", &json!({}), &expected);
}

#[test]
fn a_fallback_gets_all_other_methods() {
    let mut registry = registry();
    registry.fallback(Handler::method(|_: Value, _| async { Json::EMPTY_OBJECT }));
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        assert_eq!(client.ask("demo/any", json!({})), json!({"result": {}}), "{era:?}");
    }
    let unknown = Client::new(Era::Legacy, self::registry()).ask("demo/any", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
}

#[test]
fn an_error_of_any_kind_is_internal_and_its_text_stays() {
    let expected = error(-32603, "the handler failed");
    for (method, params) in failing("boxed") {
        in_both_eras(method, &params, &expected);
    }
}

#[test]
fn an_error_of_the_protocol_is_sent_as_it_is() {
    let expected = error(-32602, "not that");
    for (method, params) in failing("protocol") {
        in_both_eras(method, &params, &expected);
    }
}

#[test]
fn a_panic_is_an_error() {
    let expected = error(-32603, "the handler panicked");
    for (method, params) in failing("panic") {
        in_both_eras(method, &params, &expected);
    }
}

#[test]
fn input_is_not_to_be_asked_for_by_a_method() {
    let expected = error(-32603, "the handler asked for input where none can be given");
    in_both_eras("demo/asks", &json!({}), &expected);
}

#[test]
fn a_handler_of_notifications_answers_no_requests() {
    let mut registry = Registry::<Handler>::new(Implementation::new("bench", "1"));
    registry.add_method("demo/x", Handler::notification(|_: Value| {})).unwrap();
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        let expected = error(-32603, "the handler is one of notifications");
        assert_eq!(client.ask("demo/x", json!({})), expected, "{era:?}");
    }
}

/// The handler of each kind that fails in this manner.
fn failing(manner: &str) -> [(&'static str, Value); 4] {
    [
        ("prompts/get", json!({"name": "fails", "arguments": {"manner": manner}})),
        ("resources/read", json!({"uri": format!("fails:{manner}")})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "fails"},
                "argument": {"name": "manner", "value": manner},
            }),
        ),
        ("demo/fails", json!({"manner": manner})),
    ]
}

/// Checks the response to a request, with a handler that is done at once, later, or in another
/// task.
fn in_both_eras(method: &str, params: &Value, expected: &Value) {
    for era in ERAS {
        for client in [Client::new(era, registry()), Client::new(era, registry()).spawning()] {
            let mut client = client;
            let mut answer = client.ask(method, params.clone());
            // What the machine itself refuses has data for machines; a handler's error has none.
            if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
                error.remove("data");
            }
            assert_eq!(&answer, expected, "{era:?}");
        }
    }
}

fn registry() -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("bench", "1"));
    prompts(&mut registry);
    resources(&mut registry);
    registry
        .method("demo/sum", |sum: Sum, _| async move {
            yield_now().await;
            Json::parse(format!(r#"{{"sum":{}}}"#, sum.a + sum.b)).unwrap()
        })
        .unwrap()
        .method("demo/list", |_: Value, _| async { Json::parse("[]").unwrap() })
        .unwrap()
        .method("demo/fails", |fails: Fails, _| async move {
            fail(&fails.manner).await?;
            Ok::<_, Boxed>(Json::EMPTY_OBJECT)
        })
        .unwrap()
        .method("demo/asks", |_: Value, context: Context| async move {
            context.list_roots("roots").map(|_| Json::EMPTY_OBJECT)
        })
        .unwrap();
    registry
}

fn prompts(registry: &mut Registry<Handler>) {
    let typed = Prompt::new("typed").argument(PromptArgument::required("language"));
    registry
        .prompt(typed, |arguments: Language, _| async move {
            yield_now().await;
            message(&format!("{:?}", arguments.language))
        })
        .unwrap()
        .prompt(Prompt::new("messages"), |_: Value, _| async {
            vec![message("one"), message("two")]
        })
        .unwrap()
        .prompt(Prompt::new("result"), |_: Value, _| async {
            let mut result = GetPromptResult::new(vec![message("one")]);
            result.description = Some("d".into());
            result
        })
        .unwrap()
        .prompt(Prompt::new("fails"), |fails: Fails, _| async move {
            fail(&fails.manner).await?;
            Ok::<_, Boxed>(message("never"))
        })
        .unwrap()
        .completion(
            CompletionReference::prompt("typed"),
            |params: CompleteRequestParams, _| async move {
                let mut values = vec!["english".to_owned(), "german".to_owned()];
                values.retain(|value| value.starts_with(&params.argument.value));
                values
            },
        )
        .unwrap()
        .completion(
            CompletionReference::prompt("fails"),
            |params: CompleteRequestParams, _| async move {
                fail(&params.argument.value).await?;
                Ok::<_, Boxed>(Vec::<String>::new())
            },
        )
        .unwrap();
}

fn resources(registry: &mut Registry<Handler>) {
    registry
        .resource(Resource::new("a:b", "b"), |uri: String, _| async move {
            yield_now().await;
            let text = format!("b of {uri}");
            ResourceContents::text(uri, text)
        })
        .unwrap()
        .resource(Resource::new("a:c", "c"), |_: String, _| async move {
            let contents =
                [ResourceContents::blob("a:c/1", "AA=="), ResourceContents::text("a:c/2", "")];
            ReadResourceResult::new(contents.into())
        })
        .unwrap()
        .resource_template(
            ResourceTemplate::new("db:{table}/{id}{?columns*}", "rows"),
            |uri: String, row: Row, _| async move {
                let text = format!("{} {} {:?}", row.table, row.id, row.columns);
                vec![ResourceContents::text(uri, text)]
            },
        )
        .unwrap()
        .resource_template(
            ResourceTemplate::new("number:{n}", "numbers"),
            |uri: String, number: Number, _| async move {
                ResourceContents::text(uri, number.n.increased())
            },
        )
        .unwrap()
        .resource_template(
            ResourceTemplate::new("fails:{manner}", "failures"),
            |uri: String, fails: Fails, _| async move {
                fail(&fails.manner).await?;
                Ok::<_, Boxed>(ResourceContents::text(uri, "never"))
            },
        )
        .unwrap()
        .completion(
            CompletionReference::resource("number:{n}"),
            |_: CompleteRequestParams, _| async {
                (0..101).map(|n| n.to_string()).collect::<Vec<String>>()
            },
        )
        .unwrap();
}

#[derive(Deserialize)]
struct Number {
    n: Digits,
}

/// A variable arrives as a text; this one is a number's.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Digits(u32);

impl TryFrom<String> for Digits {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl Digits {
    fn increased(&self) -> String {
        (self.0 + 1).to_string()
    }
}

#[derive(Deserialize)]
struct Fails {
    manner: String,
}

async fn fail(manner: &str) -> Result<(), Boxed> {
    yield_now().await;
    match manner {
        "boxed" => Err("a secret".into()),
        "protocol" => Err(ErrorData::invalid_params("not that").into()),
        _ => {
            panic_quietly();
            Ok(())
        }
    }
}

fn message(text: &str) -> PromptMessage {
    PromptMessage::new(Role::User, ContentBlock::text(text))
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": {"type": "text", "text": text}})
}
