//! Handlers with shared state: every kind of declaration, in both eras, over both transports.

#![expect(clippy::unused_async, reason = "handlers are async")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::client::Negotiation;
use mcp_proto::ext::ui::AppPage;
use mcp_proto::ext::{Feature, TASKS};
use mcp_proto::server::ListEntry;
use mcp_proto::types::{
    BooleanSchema, CompleteRequestParams, CompletionReference, ContentBlock,
    ElicitRequestFormParams, Implementation, Prompt, PromptMessage, RequestedSchema, Resource,
    ResourceContents, ResourceTemplate, Role, Tool,
};
use mcp_proto::{ErrorData, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Context, Interrupt, Registry, Session, Structured, Tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Default)]
struct Store {
    notes: Mutex<Vec<String>>,
    initialized: AtomicUsize,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

#[derive(Deserialize)]
struct Numbered {
    number: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Count {
    notes: usize,
}

impl Store {
    async fn add(&self, note: Note, context: Context) -> Structured<Count> {
        // The state is borrowed while the handler waits.
        context.sleep(Duration::from_secs(1)).await;
        let mut notes = self.notes.lock().unwrap();
        notes.push(note.text);
        Structured(Count { notes: notes.len() })
    }

    async fn clear(&self, _: Json, context: Context) -> Result<String, Interrupt> {
        let fields = RequestedSchema::new().required("sure", BooleanSchema::new());
        let form = ElicitRequestFormParams::new("Delete all?", fields);
        match context.elicit("clear", form)?.accepted::<Json>() {
            Some(Ok(_)) => Ok(format!("{} deleted", self.notes.lock().unwrap().drain(..).count())),
            _ => Ok("kept".into()),
        }
    }

    async fn all(&self, uri: String, _: Context) -> ResourceContents {
        ResourceContents::text(uri, self.notes.lock().unwrap().join(","))
    }

    async fn one(
        &self,
        uri: String,
        Numbered { number }: Numbered,
        _: Context,
    ) -> Result<ResourceContents, ErrorData> {
        let notes = self.notes.lock().unwrap();
        let note = number.parse().ok().and_then(|at: usize| notes.get(at));
        let note = note.ok_or_else(|| ErrorData::resource_not_found(&uri))?;
        Ok(ResourceContents::text(uri, note))
    }

    async fn sum_up(&self, _: Note, _: Context) -> PromptMessage {
        let text = self.notes.lock().unwrap().join("+");
        PromptMessage::new(Role::User, ContentBlock::text(text))
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    async fn count(&self, _: Json, _: Context) -> Result<Json, ErrorData> {
        let count = json!({ "notes": self.notes.lock().unwrap().len() });
        Json::encode(&count).map_err(|error| ErrorData::internal(error.to_string()))
    }

    fn initialized(&self, _: Json, _: Session) {
        self.initialized.fetch_add(1, Ordering::Relaxed);
    }
}

fn registry(store: &Arc<Store>) -> Result<Registry, UsageError> {
    let mut registry = Registry::new(Implementation::new("notes", "1"));
    let clear = Tool::new("clear", Json::parse(r#"{"type":"object"}"#).unwrap());
    registry
        .with(store.clone())
        .tool("add", "Adds a note", Store::add)?
        .tool_with(clear, Store::clear)?
        .tool("len", "Counts", async |store: &Store, _: Note, _| {
            store.notes.lock().unwrap().len().to_string()
        })?
        .app("len", AppPage::new("ui://notes/len", "<!DOCTYPE html>"))?
        .tasks("add", Tasks::After(Duration::from_secs(60)))?
        .resource(Resource::new("notes://all", "all"), Store::all)?
        .resource_template(ResourceTemplate::new("notes://{number}", "one"), Store::one)?
        .prompt(Prompt::of::<Note>("sum_up")?, Store::sum_up)?
        .completion(CompletionReference::prompt("sum_up"), Store::complete)?
        .method("com.example/count", Store::count)?
        .session_notification("notifications/initialized", Store::initialized)?
        .tool("secret", "For nobody", Store::add)?
        .only_for(ListEntry::tool("secret"), |_| false)?;
    Ok(registry)
}

#[test]
fn every_kind_of_handler_shares_one_state() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        for is_http in [false, true] {
            let store = Arc::new(Store::default());
            let registry = registry(&store).unwrap();
            let pair = if is_http { Pair::over_http(registry) } else { Pair::new(registry) };
            let mut pair = pair.negotiation(negotiation);
            let client = pair.client();
            client.on_form(|form| async move { form.accept(&json!({"sure": true})).unwrap() });
            for (n, text) in ["one", "two"].into_iter().enumerate() {
                let added = pair.run(client.call_tool("add", &json!({"text": text}))).unwrap();
                let count: serde_json::Value = added.structured().unwrap();
                assert_eq!(count, json!({"notes": n + 1}));
            }
            let tool = |pair: &mut Pair, name: &str| {
                let client = pair.client();
                let result = pair.run(client.call_tool(name, &json!({"text": ""}))).unwrap();
                result.content.first().and_then(|block| block.as_text()).unwrap().to_owned()
            };
            assert_eq!(tool(&mut pair, "len"), "2");
            for (uri, expected) in [("notes://all", "one,two"), ("notes://1", "two")] {
                let read = pair.run(client.read_resource(uri)).unwrap();
                assert_eq!(read.contents.first().unwrap().as_text(), Some(expected));
            }
            pair.run(client.read_resource("notes://7")).unwrap_err();
            let prompt = pair.run(client.get_prompt("sum_up", &json!({"text": "x"}))).unwrap();
            assert_eq!(prompt.messages.first().unwrap().content.as_text(), Some("one+two"));
            let reference = CompletionReference::prompt("sum_up");
            let begun = CompleteRequestParams::new(reference, "text", "");
            let values = pair.run(client.complete(&begun)).unwrap().completion.values;
            assert_eq!(values, ["one", "two"]);
            let counted: serde_json::Value =
                pair.run(client.call("com.example/count", &json!({}))).unwrap();
            assert_eq!(counted.get("notes"), Some(&json!(2)));
            pair.run(client.call_tool("secret", &json!({"text": ""}))).unwrap_err();
            assert_eq!(tool(&mut pair, "clear"), "2 deleted");
            assert_eq!(tool(&mut pair, "len"), "0");
            let sessions = usize::from(negotiation == Negotiation::Legacy);
            assert_eq!(store.initialized.load(Ordering::Relaxed), sessions);
        }
    }
}

/// The types of handlers show in lists as they do without a state.
#[test]
fn declarations_are_the_same_as_without_a_state() {
    async fn add(_: Note, _: Context) -> Structured<Count> {
        Structured(Count { notes: 0 })
    }

    let with = registry(&Arc::default()).unwrap();
    let mut without = Registry::new(Implementation::new("notes", "1"));
    without.tool("add", "Adds a note", add).unwrap();
    let tool = |registry: Registry| {
        let mut pair = Pair::new(registry);
        let client = pair.client();
        let tools = pair.run(client.list_tools()).unwrap().tools;
        tools.into_iter().find(|tool| tool.name == "add").unwrap()
    };
    assert_eq!(tool(with), tool(without));
}

/// A call clones neither the state nor anything in it: the only owners are the closures.
#[test]
fn state_is_shared_and_dropped_with_the_registry() {
    let store = Arc::new(Store::default());
    let registry = registry(&store).unwrap();
    let owners = Arc::strong_count(&store);
    let mut pair = Pair::new(registry);
    let client = pair.client();
    pair.run(client.call_tool("add", &json!({"text": "a"}))).unwrap();
    assert_eq!(Arc::strong_count(&store), owners);
    drop(pair);
    assert_eq!(Arc::strong_count(&store), 1);
}

/// The chain goes on after each of them.
#[test]
fn entries_of_a_state_are_restricted_in_one_chain() {
    let store = Arc::new(Store::default());
    let mut registry = Registry::new(Implementation::new("notes", "1"));
    registry.extension(TASKS, Json::EMPTY_OBJECT).unwrap();
    registry
        .with(store.clone())
        .tool("add", "Adds a note", Store::add)
        .and_then(|it| it.require_scopes("add", "notes:write"))
        .and_then(|it| it.tool("off", "Adds a note", Store::add))
        .and_then(|it| it.disable(ListEntry::tool("off")))
        .and_then(|it| it.tool("tasks", "Adds a note", Store::add))
        .and_then(|it| it.requires_extension(Feature::tool("tasks"), TASKS))
        .and_then(|it| {
            it.notification("notifications/initialized", |store: &Store, _: Json| {
                store.initialized.fetch_add(1, Ordering::Relaxed);
            })
        })
        .unwrap();
    let mut pair = Pair::over_http(registry).negotiation(Negotiation::Legacy);
    let client = pair.client();
    let tools = pair.run(client.list_tools()).unwrap().tools;
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["add", "tasks"]);
    for name in names {
        pair.run(client.call_tool(name, &json!({"text": ""}))).unwrap_err();
    }
    assert_eq!(store.notes.lock().unwrap().len(), 0);
    assert_eq!(store.initialized.load(Ordering::Relaxed), 1);
}

#[test]
fn method_that_is_removed_can_be_replaced() {
    let now = |hour: u8| {
        move |_: Json, _: Context| async move {
            Json::encode(&json!({ "hour": hour }))
                .map_err(|error| ErrorData::internal(error.to_string()))
        }
    };
    let mut registry = Registry::new(Implementation::new("clock", "1"));
    registry.method("com.example/now", now(1)).unwrap();
    let catalog = Catalog::from(registry);
    let mut pair = Pair::new(catalog.clone());
    let client = pair.client();
    let hour = |pair: &mut Pair| {
        let now: serde_json::Value = pair.run(client.call("com.example/now", &json!({}))).unwrap();
        now.get("hour").and_then(serde_json::Value::as_u64)
    };
    assert_eq!(hour(&mut pair), Some(1));
    let replaced = catalog.edit(|registry| {
        assert!(registry.remove_method("com.example/now").is_some());
        assert!(registry.remove_method("com.example/now").is_none());
        registry.method("com.example/now", now(2))
    });
    replaced.unwrap();
    assert_eq!(hour(&mut pair), Some(2));
}
