//! Laws of the functions that an application gives to a client: each may panic when it is called
//! and when it is dropped, and may use the client. Everything else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_proto::Json;
use mcp_proto::server::{Change, List, Notification};
use mcp_proto::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, LoggingLevel, RequestedSchema, Role, Root,
    SamplingMessage, SamplingMessageContentBlock, SubscriptionFilter,
};
use mcp_service::{Client, Context, Handler, Interrupt, Registry};
use serde_json::{Value, json};

use crate::bench::{WAYS, Way, call, panic_quietly, registry, text};

/// A function without the arguments of its callback.
type Behaviour = Arc<dyn Fn() + Send + Sync>;

/// Sets a callback to this behaviour.
type SetCallback = fn(&Client, Behaviour);

/// A row of the table: the name of a callback, and the function that sets it.
type Row = (&'static str, SetCallback);

/// The callbacks that each conversation below calls.
const CALLBACKS: [Row; 8] = [
    ("log", |client, f| client.on_log(move |_| f())),
    ("change", |client, f| client.on_change(move |_| f())),
    ("notification", |client, f| client.on_notification(move |_, _| f())),
    ("entry_rejected", |client, f| client.on_entry_rejected(move |_, _, _| f())),
    ("wire", |client, f| client.on_wire(move |_| f())),
    ("form", |client, f| {
        client.on_form(move |_| {
            f();
            async { ElicitResult::new(ElicitAction::Decline) }
        });
    }),
    ("url", |client, f| {
        client.on_url(move |_| {
            let f = f.clone();
            async move {
                f();
                ElicitResult::new(ElicitAction::Decline)
            }
        });
    }),
    ("message", |client, f| {
        client.on_create_message(move |_| {
            f();
            async { CreateMessageResult::new("m", SamplingMessageContentBlock::text("x")) }
        });
    }),
];

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_quietly();
    }
}

/// A server whose tool sends everything that the callbacks are about.
fn talkative() -> Registry<Handler> {
    let mut registry = registry(|asked: Value, context: Context| async move {
        context.log(LoggingLevel::Error, "a");
        let params = Json::encode(&json!({ "a": 1 })).unwrap();
        context.notify(Notification::Other { method: "notifications/vendor".into(), params });
        let _ = context.publish(&Change::ListChanged(List::Tools));
        match asked["asks"].as_str() {
            Some("form") => {
                let form = ElicitRequestFormParams::new("?", RequestedSchema::new());
                drop(context.elicit("form", form)?);
            }
            Some("url") => {
                let url = ElicitRequestURLParams::new("?", "https://example.com");
                drop(context.elicit("url", url)?);
            }
            Some("message") => {
                let question = SamplingMessageContentBlock::text("?");
                let question = vec![SamplingMessage::new(Role::User, question)];
                drop(context.create_message("m", CreateMessageRequestParams::new(question, 9))?);
            }
            _ => {}
        }
        Ok::<_, Interrupt>("done")
    });
    registry.logging().list_changed(List::Tools);
    registry
}

/// Talks to the server so that it calls each callback.
fn talk(way: Way, prepare: impl FnOnce(&Client)) {
    let mut pair = way.pair(talkative());
    let client = pair.client();
    // Other callbacks need these.
    client.on_form(|_| async { ElicitResult::new(ElicitAction::Decline) });
    client.on_url(|_| async { ElicitResult::new(ElicitAction::Decline) });
    client.on_create_message(|_| async {
        CreateMessageResult::new("m", SamplingMessageContentBlock::text("x"))
    });
    prepare(&client);
    pair.run(client.set_log_level(LoggingLevel::Debug)).unwrap();
    let filter = SubscriptionFilter::new().tools_list_changed();
    let changes = pair.run(client.subscribe(filter)).unwrap();
    for asks in ["form", "url", "message"] {
        // A callback that panics refuses the input.
        let _ = pair.run(client.call_tool("t", &json!({ "asks": asks })));
    }
    assert_eq!(text(pair.run(call(&client))), "done", "{way:?}");
    assert_eq!(pair.run(client.list_tools()).unwrap().tools.len(), 1, "{way:?}");
    drop(changes);
    assert_eq!(text(pair.run(call(&client))), "done", "{way:?}");
    let closed = client.closed();
    pair.run(client.close());
    pair.run(closed);
}

/// Sets each callback to a behaviour, one at a time; returns the names of those that were called.
fn called(way: Way, behave: impl Fn(&Client) -> Behaviour) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (name, set) in CALLBACKS {
        let calls = Arc::<AtomicUsize>::default();
        let counted = calls.clone();
        talk(way, |client| {
            let behaviour = behave(client);
            set(
                client,
                Arc::new(move || {
                    counted.fetch_add(1, Ordering::Relaxed);
                    behaviour();
                }),
            );
        });
        if calls.load(Ordering::Relaxed) > 0 {
            names.push(name);
        }
    }
    names
}

/// No entry is rejected; the callback is set all the same.
const CALLED: [&str; 7] = ["log", "change", "notification", "wire", "form", "url", "message"];

#[test]
fn callback_that_panics_ends_nothing() {
    for way in WAYS {
        assert_eq!(called(way, |_| Arc::new(panic_quietly)), CALLED, "{way:?}");
    }
}

#[test]
fn callback_may_use_the_client_that_calls_it() {
    for way in WAYS {
        let names = called(way, |client| {
            let (client, was_called) = (client.clone(), AtomicBool::new(false));
            Arc::new(move || {
                // What it sends is shown as a line.
                if was_called.swap(true, Ordering::Relaxed) {
                    return;
                }
                for (_, set) in CALLBACKS {
                    // The callback that runs is replaced as well.
                    set(&client, Arc::new(|| ()));
                }
                client.declare(|_| ());
                client.set_roots(vec![Root::new("file:///a")]).unwrap();
                client.notify("notifications/other", &json!({})).unwrap();
                drop((client.server(), client.verdict(), client.decisions()));
                drop(client.call_tool("t", &json!({})));
                assert!(!format!("{client:?}").is_empty());
            })
        });
        assert_eq!(names, CALLED, "{way:?}");
    }
}

#[test]
fn callback_may_close_the_client_that_calls_it() {
    for way in WAYS {
        for (name, set) in CALLBACKS {
            let mut pair = way.pair(talkative());
            let client = pair.client();
            let own = client.clone();
            set(&client, Arc::new(move || drop(own.close())));
            let _ = pair.run(client.set_log_level(LoggingLevel::Debug));
            for asks in ["form", "url", "message"] {
                let _ = pair.run(client.call_tool("t", &json!({ "asks": asks })));
            }
            pair.run(client.close());
            pair.run(client.closed());
            assert!(pair.run(call(&client)).is_err(), "{name}, {way:?}");
        }
    }
}

#[test]
fn callback_whose_drop_panics_ends_nothing() {
    for way in WAYS {
        for (name, set) in CALLBACKS {
            let mut pair = way.pair(talkative());
            let client = pair.client();
            let bomb = Bomb;
            let quiet = move || {
                let _bomb = &bomb;
            };
            set(&client, Arc::new(quiet));
            pair.run(client.set_log_level(LoggingLevel::Debug)).unwrap();
            assert_eq!(text(pair.run(call(&client))), "done");
            let waiting = client.closed();
            pair.run(client.close());
            pair.run(waiting);
            assert!(pair.run(call(&client)).is_err(), "{name}, {way:?}");
        }
    }
}
