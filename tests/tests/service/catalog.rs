//! Updates of a catalog while services run.

use std::sync::{Arc, Mutex};
use std::thread;

use mcp_proto::server::{Change, Config, List};
use mcp_proto::types::{Implementation, Resource, ResourceContents, Tool};
use mcp_proto::{Era, Json, UsageError};
use mcp_service::{Catalog, Context, Handler, Registry};
use serde_json::{Value, json};

use crate::bench::Gate;
use crate::client::{Client, ERAS, text};

const TOOLS: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

#[test]
fn a_tool_that_is_added_is_there_for_clients_of_both_eras() {
    for era in ERAS {
        let catalog = catalog();
        let mut client = listening(era, &catalog);
        add(&catalog, "more");
        assert_eq!(client.bench.wakes(), 1, "{era:?}");
        assert_eq!(told(&mut client), [TOOLS], "{era:?}");
        assert_eq!(names(&mut client), ["t", "more"], "{era:?}");
        assert_eq!(client.ask("tools/call", json!({"name": "more"})), text("more"));
    }
}

#[test]
fn a_tool_that_is_removed_is_gone_and_its_calls_go_on() {
    for era in ERAS {
        let gate = Gate::default();
        let catalog = catalog();
        let theirs = gate.clone();
        let added = catalog.update(|registry| {
            let waits = move |_: Value, _| {
                let gate = theirs.clone();
                async move {
                    gate.passed().await;
                    "passed"
                }
            };
            registry.tool_with(tool("waits"), waits).map(|_| ())
        });
        added.unwrap();
        let mut client = listening(era, &catalog);
        let id = client.request("tools/call", json!({"name": "waits"}));
        remove(&catalog, "waits");
        assert_eq!(told(&mut client), [TOOLS], "{era:?}");
        let again = client.ask("tools/call", json!({"name": "waits"}));
        assert_eq!(again["error"]["code"], -32602, "{again}");
        gate.open();
        let [answer]: [Value; 1] = client.out().try_into().unwrap();
        assert_eq!(
            (&answer["id"], &answer["result"]["content"][0]["text"]),
            (&json!(id), &json!("passed"))
        );
    }
}

#[test]
fn what_is_removed_between_two_rounds_is_not_asked_again() {
    let catalog = catalog();
    let added = catalog.update(|registry| {
        let asks = |_: Value, context: Context| async move {
            context.list_roots("roots").map(|_| "never")
        };
        registry.tool_with(tool("asks"), asks).map(|_| ())
    });
    added.unwrap();
    let mut client = Client::new(Era::Legacy, catalog.clone());
    client.request("tools/call", json!({"name": "asks"}));
    let [question]: [Value; 1] = client.out().try_into().unwrap();
    remove(&catalog, "asks");
    assert_eq!(told(&mut client), [TOOLS]);
    client.respond(&question["id"], &json!({"roots": []}));
    let [answer]: [Value; 1] = client.out().try_into().unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn all_services_of_a_catalog_are_told() {
    let catalog = catalog();
    let mut clients = [listening(Era::Legacy, &catalog), listening(Era::Modern, &catalog)];
    let mut stranger = listening(Era::Legacy, &self::catalog());
    add(&catalog, "more");
    for client in &mut clients {
        assert_eq!(told(client), [TOOLS]);
        assert_eq!(names(client), ["t", "more"]);
    }
    assert_eq!((stranger.bench.wakes(), told(&mut stranger)), (0, vec![]));
    assert_eq!(names(&mut listening(Era::Modern, &catalog)), ["t", "more"], "whoever comes later");
}

#[test]
fn a_service_that_is_gone_is_told_nothing_and_the_others_are() {
    let catalog = catalog();
    let gone = listening(Era::Legacy, &catalog);
    let mut there = listening(Era::Legacy, &catalog);
    drop(gone);
    add(&catalog, "more");
    catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
    assert_eq!(told(&mut there), [TOOLS]);
}

#[test]
fn an_update_that_changes_no_list_tells_nobody() {
    for era in ERAS {
        let catalog = catalog();
        let mut client = listening(era, &catalog);
        let changed = catalog.update(|registry| {
            registry.instructions("Be quick.");
            Ok(())
        });
        changed.unwrap();
        assert_eq!(told(&mut client), [""; 0], "{era:?}");
    }
}

#[test]
fn a_list_that_is_not_declared_to_change_changes_silently() {
    let catalog = Catalog::from(crate::bench::registry(|_: Value, _| async { "t" }));
    let mut client = listening(Era::Legacy, &catalog);
    add(&catalog, "more");
    assert_eq!(told(&mut client), [""; 0]);
    assert_eq!(names(&mut client), ["t", "more"]);
    let undeclared = |capability| Err(UsageError::Undeclared { capability });
    let tools = Change::ListChanged(List::Tools);
    assert_eq!(catalog.publish(&tools), undeclared("tools.listChanged"));
    let update = Change::ResourceUpdated("a:b".into());
    assert_eq!(catalog.publish(&update), undeclared("resources.subscribe"));
}

#[test]
fn an_update_that_fails_tells_how() {
    let catalog = catalog();
    let twice = catalog
        .update(|registry| registry.tool_with(tool("t"), |_: Value, _| async { "t" }).map(|_| ()));
    assert_eq!(twice, Err(UsageError::Duplicate { kind: "tool", name: "t".into() }));
}

#[test]
fn a_handler_changes_what_is_offered() {
    for era in ERAS {
        let catalog = catalog();
        let added = catalog.update(|registry| {
            let grows = |_: Value, context: Context| async move {
                add(context.catalog(), "grown");
                "grew"
            };
            registry.tool_with(tool("grow"), grows).map(|_| ())
        });
        added.unwrap();
        for spawns in [false, true] {
            let mut client = listening(era, &catalog);
            client = if spawns { client.spawning() } else { client };
            client.request("tools/call", json!({"name": "grow"}));
            let methods: Vec<Value> = client.out().iter().map(|m| m["method"].clone()).collect();
            assert_eq!(methods.len(), 2, "{methods:?}");
            assert!(methods.contains(&json!(TOOLS)), "{methods:?}");
            assert_eq!(names(&mut client), ["t", "grow", "grown"], "{era:?}");
            remove(&catalog, "grown");
        }
    }
}

#[test]
fn a_handler_publishes_before_it_answers() {
    for era in ERAS {
        let catalog = catalog();
        let added = catalog.update(|registry| {
            let writes = |_: Value, context: Context| async move {
                let told = context.publish(&Change::ResourceUpdated("a:b".into()));
                let undeclared = context.publish(&Change::ListChanged(List::Prompts));
                format!("{told:?} {}", undeclared.is_err())
            };
            registry.tool_with(tool("write"), writes).map(|_| ())
        });
        added.unwrap();
        let mut client = listening(era, &catalog);
        client.bench.wakes();
        client.request("tools/call", json!({"name": "write"}));
        assert_eq!(client.bench.wakes(), 0, "the turn itself goes on");
        let mut messages = client.out();
        messages.retain(|message| message["method"] == UPDATED || message.get("result").is_some());
        assert_eq!(messages.len(), 2, "{messages:?}");
        let update = messages.iter().find(|message| message["method"] == UPDATED).unwrap();
        assert_eq!(update["params"]["uri"], "a:b");
        let answer = messages.iter().find(|message| message.get("result").is_some()).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "Ok(()) true");
    }
}

#[test]
fn publishing_from_another_thread_wakes_the_service() {
    for era in ERAS {
        let catalog = catalog();
        let mut client = listening(era, &catalog);
        let theirs = catalog.clone();
        let update = Change::ResourceUpdated("a:b".into());
        thread::spawn(move || theirs.publish(&update)).join().unwrap().unwrap();
        assert_eq!(client.bench.wakes(), 1, "{era:?}");
        assert_eq!(told(&mut client), [UPDATED], "{era:?}");
        catalog.publish(&Change::ResourceUpdated("a:other".into())).unwrap();
        assert_eq!(told(&mut client), [""; 0], "nobody asked for it");
    }
}

#[test]
fn what_changes_often_is_told_once() {
    for era in ERAS {
        let catalog = catalog();
        let mut client = listening(era, &catalog);
        for _ in 0..1000 {
            catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
        }
        assert_eq!(told(&mut client), [TOOLS], "{era:?}");
    }
}

#[test]
fn a_legacy_client_is_told_once_it_is_initialized() {
    let catalog = catalog();
    let mut bench = crate::bench::Bench::serving(catalog.clone(), Config::default());
    bench.line(crate::bench::INITIALIZE);
    bench.out();
    add(&catalog, "more");
    bench.turn();
    assert_eq!(bench.out(), [""; 0]);
    bench.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(bench.out(), [format!(r#"{{"jsonrpc":"2.0","method":"{TOOLS}"}}"#)]);
}

#[test]
fn updates_from_several_threads_are_all_made() {
    let catalog = catalog();
    let mut client = listening(Era::Legacy, &catalog);
    let threads: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| {
            let catalog = catalog.clone();
            thread::spawn(move || add(&catalog, name))
        })
        .into();
    for thread in threads {
        thread.join().unwrap();
    }
    client.out();
    let mut names = names(&mut client);
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d", "t"]);
}

#[test]
fn a_handler_is_dropped_where_no_lock_is_held() {
    /// Asks the catalog for something when it is dropped.
    struct Nosy(Catalog, Arc<Mutex<u32>>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            let _ = self.0.publish(&Change::ListChanged(List::Tools));
            *self.1.lock().unwrap() += 1;
        }
    }
    let (catalog, dropped) = (catalog(), Arc::default());
    let nosy = Nosy(catalog.clone(), Arc::clone(&dropped));
    let handler = Handler::tool(move |_: Value, _| {
        let _held = &nosy;
        async { "t" }
    });
    catalog.update(|registry| registry.add_tool(tool("nosy"), handler).map(|_| ())).unwrap();
    let mut client = listening(Era::Legacy, &catalog);
    remove(&catalog, "nosy");
    client.out();
    assert_eq!(*dropped.lock().unwrap(), 1);
    assert_eq!(names(&mut client), ["t"]);
}

/// A catalog that declares what changes, with the tool `t` and the resource `a:b`.
fn catalog() -> Catalog {
    let mut registry = Registry::<Handler>::new(Implementation::new("bench", "1"));
    registry.list_changed(List::Tools).subscribe();
    registry.tool_with(tool("t"), |_: Value, _| async { "t" }).unwrap();
    let b = |uri: String, _| async { ResourceContents::text(uri, "b") };
    registry.resource(Resource::new("a:b", "b"), b).unwrap();
    registry.resource(Resource::new("a:other", "other"), b).unwrap();
    registry.into()
}

fn add(catalog: &Catalog, name: &'static str) {
    let added = catalog.update(|registry| {
        registry.tool_with(tool(name), move |_: Value, _| async move { name }).map(|_| ())
    });
    added.unwrap();
}

fn remove(catalog: &Catalog, name: &str) {
    let removed = catalog.update(|registry| Ok(registry.remove_tool(name)));
    assert!(removed.unwrap().is_some());
}

/// A change that fails in its middle has changed nothing.
#[test]
fn an_update_that_fails_changes_nothing() {
    let catalog = catalog();
    let mut client = listening(Era::Modern, &catalog);
    let failed = catalog.update(|registry| {
        registry.remove_tool("t");
        registry.tool_with(tool("u"), |_: Value, _| async { "" })?;
        registry.tool_with(tool("u"), |_: Value, _| async { "" }).map(|_| ())
    });
    assert!(failed.is_err());
    assert_eq!(told(&mut client), [""; 0]);
    assert_eq!(names(&mut client), ["t"]);
}

/// A call that waits for input meets the tool of its name, and never another one.
#[test]
fn a_registry_that_takes_the_place_of_another_gets_its_waiting_calls_by_name() {
    let asks = |_: Value, context: Context| async move {
        context.list_roots("roots").map(|_| "the first")
    };
    let catalog = catalog();
    catalog.update(|registry| registry.tool_with(tool("asks"), asks).map(|_| ())).unwrap();
    let mut client = Client::new(Era::Legacy, catalog.clone());
    client.request("tools/call", json!({"name": "asks"}));
    let [question]: [Value; 1] = client.out().try_into().unwrap();
    let replaced = catalog.update(|registry| {
        *registry = Registry::new(Implementation::new("bench", "2"));
        for name in ["one", "asks", "three"] {
            registry.tool_with(tool(name), move |_: Value, _| async move { name })?;
        }
        Ok(())
    });
    replaced.unwrap();
    told(&mut client);
    client.respond(&question["id"], &json!({"roots": []}));
    let [answer]: [Value; 1] = client.out().try_into().unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "asks");
}

/// A handler that is dropped may do anything, an update too.
#[test]
fn a_handler_that_updates_when_it_is_dropped() {
    struct Updates(Catalog);
    impl Drop for Updates {
        fn drop(&mut self) {
            add(&self.0, "a_last_word");
        }
    }
    let catalog = catalog();
    let updates = Arc::new(Updates(catalog.clone()));
    let added = catalog.update(|registry| {
        let handler = move |_: Value, _| {
            let _ = &updates;
            async { "" }
        };
        registry.tool_with(tool("updates"), handler).map(|_| ())
    });
    added.unwrap();
    remove(&catalog, "updates");
    assert_eq!(names(&mut listening(Era::Modern, &catalog)), ["t", "a_last_word"]);
}

fn tool(name: &str) -> Tool {
    Tool::new(name, Json::parse(r#"{"type":"object"}"#).unwrap())
}

/// A client that wants to hear of tools and of `a:b`.
fn listening(era: Era, catalog: &Catalog) -> Client {
    let mut client = Client::new(era, catalog.clone());
    match era {
        Era::Legacy => client.request("resources/subscribe", json!({"uri": "a:b"})),
        Era::Modern => {
            let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]});
            client.request("subscriptions/listen", json!({"notifications": wanted}))
        }
    };
    assert_eq!(client.out().len(), 1);
    client.bench.wakes();
    client
}

/// The methods of what the server has sent.
fn told(client: &mut Client) -> Vec<String> {
    client.out().iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect()
}

fn names(client: &mut Client) -> Vec<String> {
    let list = client.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
