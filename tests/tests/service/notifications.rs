//! Logs, other notifications in both directions, and faults.

use std::sync::{Arc, Mutex};

use mcp_proto::server::{Config, Notification, Progress};
use mcp_proto::types::{Implementation, LoggingLevel};
use mcp_proto::{Era, Json};
use mcp_service::{Context, Handler, Registry};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::bench::{Bench, Gate, Log, panic_quietly, registry};
use crate::client::{Client, ERAS};

const LEVELS: [LoggingLevel; 3] = [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Error];

#[test]
fn a_modern_client_gets_the_logs_that_its_request_asked_for() {
    for (wanted, expected) in [
        (json!({}), &[][..]),
        (json!({"io.modelcontextprotocol/logLevel": "debug"}), &["debug", "info", "error"]),
        (json!({"io.modelcontextprotocol/logLevel": "info"}), &["info", "error"]),
        (json!({"io.modelcontextprotocol/logLevel": "critical"}), &[]),
    ] {
        let mut client = Client::new(Era::Modern, logging());
        client.request("tools/call", json!({"name": "t", "_meta": wanted}));
        let (levels, told) = logged(client.out());
        assert_eq!(levels, expected);
        let level = &wanted["io.modelcontextprotocol/logLevel"];
        assert_eq!(told.contains("Some"), level.is_string(), "{told}");
    }
}

#[test]
fn a_legacy_client_gets_all_logs_until_it_says_otherwise() {
    let mut client = Client::new(Era::Legacy, logging());
    client.request("tools/call", json!({"name": "t"}));
    assert_eq!(logged(client.out()), (texts(&["debug", "info", "error"]), "Some(Debug)".into()));
    client.ask("logging/setLevel", json!({"level": "error"}));
    client.request("tools/call", json!({"name": "t"}));
    assert_eq!(logged(client.out()), (texts(&["error"]), "Some(Error)".into()));
}

#[test]
fn a_legacy_client_has_what_is_running_log_less() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut registry = registry(move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            context.log(LoggingLevel::Info, "before");
            gate.passed().await;
            context.log(LoggingLevel::Info, "after");
            context.log(LoggingLevel::Error, "error");
            "done"
        }
    });
    registry.logging();
    let mut client = Client::new(Era::Legacy, registry);
    client.request("tools/call", json!({"name": "t"}));
    assert_eq!(client.out()[0]["params"]["data"], "before");
    client.ask("logging/setLevel", json!({"level": "error"}));
    gate.open();
    let messages = client.out();
    assert_eq!((messages.len(), &messages[0]["params"]["data"]), (2, &json!("error")));
}

#[test]
fn second_hour_14_dropped_logs_are_counted_for_the_client() {
    for era in ERAS {
        let mut registry = registry(|_: Value, context: Context| async move {
            for step in 0..3000 {
                context.log(LoggingLevel::Info, step);
            }
            "done"
        });
        registry.logging();
        let mut client = Client::new(era, registry);
        let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
        client.request("tools/call", json!({"name": "t", "_meta": meta}));
        let out = client.out();
        assert_eq!(out.len(), 1024 + 2, "{era:?}");
        let said = &out[1024]["params"];
        let text = said["data"].as_str().expect("a text");
        assert!(text.starts_with("1976 notifications") && said["level"] == "warning", "{said}");
        assert!(out[1025]["result"].is_object());
    }
}

#[test]
fn without_the_capability_nothing_is_logged() {
    for era in ERAS {
        let mut client = Client::new(era, registry(logs));
        let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
        client.request("tools/call", json!({"name": "t", "_meta": meta}));
        assert_eq!(logged(client.out()).0, [""; 0], "{era:?}");
    }
}

#[test]
fn any_value_is_logged_and_what_is_none_is_not() {
    struct Unwritable;
    impl Serialize for Unwritable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let mut registry = registry(|_: Value, context: Context| async move {
        context.log(LoggingLevel::Warning, json!({"a": [1, null]}));
        context.log(LoggingLevel::Warning, Unwritable);
        "done"
    });
    registry.logging();
    let mut client = Client::new(Era::Legacy, registry);
    client.request("tools/call", json!({"name": "t"}));
    let messages = client.out();
    let params = json!({"level": "warning", "data": {"a": [1, null]}});
    assert_eq!((messages.len(), &messages[0]["params"]), (2, &params));
}

#[test]
fn a_handler_notifies_its_client() {
    for era in ERAS {
        let mut client = Client::new(
            era,
            registry(|_: Value, context: Context| async move {
                let object = || Json::parse(r#"{"a":1}"#).unwrap();
                let other = |method: &str, params| {
                    context.notify(Notification::Other { method: method.into(), params });
                };
                other("notifications/demo", object());
                other("notifications/demo", Json::parse("[]").unwrap());
                other("notifications/tools/list_changed", object());
                other("notifications/elicitation/complete", object());
                context.notify(Notification::Progress(Progress::new(1.0)));
                "done"
            }),
        );
        client.request("tools/call", json!({"name": "t"}));
        let mut messages = client.out();
        assert!(messages.pop().unwrap().get("result").is_some());
        let demo = json!({"jsonrpc": "2.0", "method": "notifications/demo", "params": {"a": 1}});
        let mut expected = vec![demo.clone()];
        if era == Era::Legacy {
            expected.push(demo);
            expected[1]["method"] = "notifications/elicitation/complete".into();
        }
        assert_eq!(messages, expected, "{era:?}");
    }
}

#[test]
fn nothing_is_said_after_the_answer() {
    let kept: Arc<Mutex<Option<Context>>> = Arc::default();
    let keeper = kept.clone();
    let mut registry = registry(move |_: Value, context: Context| {
        *keeper.lock().unwrap() = Some(context);
        async { "done" }
    });
    registry.logging();
    let mut client = Client::new(Era::Legacy, registry);
    client.request("tools/call", json!({"name": "t"}));
    assert_eq!(client.out().len(), 1);
    let context = kept.lock().unwrap().take().unwrap();
    context.log(LoggingLevel::Emergency, "late");
    let method = "notifications/demo".into();
    context.notify(Notification::Other { method, params: Json::EMPTY_OBJECT });
    assert_eq!(client.out(), [Value::Null; 0]);
}

#[derive(Deserialize)]
struct Said {
    what: String,
}

#[test]
fn notifications_arrive_typed_and_what_does_not_fit_is_dropped() {
    for era in ERAS {
        let (mut client, log) = listening(era);
        client.notify("notifications/said", &json!({"what": "hello"}));
        client.notify("notifications/said", &json!({"what": 1}));
        client.notify("notifications/said", &json!({}));
        client.notify("notifications/unknown", &json!({"what": "lost"}));
        client.notify("notifications/said", &json!({"what": "bye", "more": 1}));
        assert_eq!((log.take(), client.out()), (vec!["hello".into(), "bye".to_owned()], vec![]));
    }
}

#[test]
fn second_hour_13_notifications_have_integers_in_every_notation() {
    #[derive(Deserialize)]
    struct Counted {
        count: i64,
    }
    let mut registry = registry(|_: Value, _| async { "" });
    let log = Log::default();
    let (one, other) = (log.clone(), log.clone());
    registry.notification("x/one", move |it: Counted| one.note(it.count.to_string())).unwrap();
    registry
        .session_notification("x/other", move |it: Counted, _| other.note(it.count.to_string()))
        .unwrap();
    for era in ERAS {
        let mut client = Client::new(era, registry.clone());
        client.ask("tools/call", json!({"name": "t"}));
        client.notify("x/one", &json!({"count": 42.0}));
        client.notify("x/other", &json!({"count": -1e2}));
        client.out();
        assert_eq!(log.take(), ["42", "-100"], "{era:?}");
    }
}

#[test]
fn a_panic_over_a_notification_harms_nothing() {
    for era in ERAS {
        let (mut client, log) = listening(era);
        client.notify("notifications/said", &json!({"what": "panic"}));
        client.notify("notifications/said", &json!({"what": "still here"}));
        assert_eq!((log.take(), client.out()), (vec!["still here".to_owned()], vec![]));
    }
}

#[test]
fn a_handler_hears_what_the_machine_hears_too() {
    let log = Log::default();
    let notes = log.clone();
    let mut registry = registry(|_: Value, _| async { "t" });
    registry
        .notification("notifications/initialized", move |_: Value| notes.note("initialized"))
        .unwrap();
    let mut client = Client::new(Era::Legacy, registry);
    assert_eq!(log.take(), ["initialized"]);
    client.bench.assert_alive();
}

#[test]
fn a_handler_of_requests_hears_no_notification() {
    let log = Log::default();
    let notes = log.clone();
    let mut registry = Registry::<Handler>::new(Implementation::new("bench", "1"));
    let handler = Handler::method(move |_: Value, _| {
        notes.note("called");
        async { Json::EMPTY_OBJECT }
    });
    registry.add_notification("notifications/said", handler).unwrap();
    let mut client = Client::new(Era::Legacy, registry);
    client.notify("notifications/said", &json!({}));
    assert_eq!((log.take(), client.out()), (vec![], vec![]));
}

#[test]
fn faults_are_told() {
    let log = Log::default();
    let notes = log.clone();
    let mut bench = Bench::serving(registry(|_: Value, _| async { "t" }), Config::default());
    bench.service.on_fault(move |error| notes.note(error.to_string()));
    bench.line(crate::bench::INITIALIZE);
    assert_eq!(log.take(), [""; 0]);
    bench.line(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    bench.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#);
    let faults = log.take();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("response") && faults[1].contains("requestId"), "{faults:?}");
}

/// A handler that logs at several levels, and answers with the level that it knows of.
async fn logs(_: Value, context: Context) -> String {
    for level in LEVELS {
        context.log(level, "said");
    }
    format!("{:?}", context.log_level())
}

fn logging() -> Registry<Handler> {
    let mut registry = registry(logs);
    registry.logging();
    registry
}

/// The levels of the messages, and what the answer says.
fn logged(mut messages: Vec<Value>) -> (Vec<String>, String) {
    let answer = messages.pop().unwrap();
    let levels = messages.iter().map(|message| {
        assert_eq!(message["method"], "notifications/message");
        message["params"]["level"].as_str().unwrap().to_owned()
    });
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    (levels.collect(), text.to_owned())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A client of a server that notes what it is told.
fn listening(era: Era) -> (Client, Log) {
    let log = Log::default();
    let notes = log.clone();
    let mut registry = registry(|_: Value, _| async { "t" });
    let heard = move |said: Said| {
        if said.what == "panic" {
            panic_quietly();
        }
        notes.note(said.what);
    };
    registry.notification("notifications/said", heard).unwrap();
    let mut client = Client::new(era, registry);
    client.ask("tools/call", json!({"name": "t"}));
    (client, log)
}
