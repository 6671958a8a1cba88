//! Registries that are mounted in others: names, what goes along, and collisions.

#![expect(clippy::indexing_slicing, reason = "a test fails by it")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::client::{Config, Negotiation};
use mcp_proto::ext::ui::AppPage;
use mcp_proto::server::{List, ListEntry};
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, ContentBlock, Implementation, Prompt,
    PromptMessage, Resource, ResourceContents, ResourceTemplate, Role,
};
use mcp_proto::{Json, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Context, HandlerKind, HandlerRequest, Next, Registry, Tasks};
use serde_json::json;

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

type Log = Arc<Mutex<Vec<&'static str>>>;

#[test]
fn mounted_entries_are_served_under_their_prefix() {
    for negotiation in ERAS {
        let log = Log::default();
        let mut host = registry("host", &log);
        host.mount("notes_", notes(&log)).unwrap();
        let mut pair = Pair::over_http(host).negotiation(negotiation);
        let client = pair.client();
        let tools = pair.run(client.list_tools()).unwrap().tools;
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["echo", "notes_echo", "notes_slow"]);
        assert_eq!(tools[1].app().unwrap().resource_uri.as_deref(), Some("ui://notes"));
        assert_eq!(called(&mut pair, "echo"), "host");
        assert_eq!(called(&mut pair, "notes_echo"), "notes");
        pair.run(client.call_tool("slow", &json!({"text": ""}))).unwrap_err();
        // It is hidden, as it was.
        pair.run(client.call_tool("notes_hidden", &json!({"text": ""}))).unwrap_err();
        for uri in ["notes://all", "notes://one/1", "ui://notes"] {
            pair.run(client.read_resource(uri)).unwrap();
        }
        let prompt = pair.run(client.get_prompt("notes_sum", &json!({"text": "x"}))).unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("x"));
        for reference in [
            CompletionReference::prompt("notes_sum"),
            CompletionReference::resource("notes://one/{number}"),
        ] {
            let begun = CompleteRequestParams::new(reference, "text", "");
            let values = pair.run(client.complete(&begun)).unwrap().completion.values;
            assert_eq!(values, ["whole"]);
        }
        let server = client.server().unwrap();
        assert_eq!(server.instructions.as_deref(), Some("About the host.\n\nAbout notes."));
        let capabilities = server.capabilities;
        assert!(capabilities.logging.is_some() && capabilities.resources.unwrap().subscribe);
        assert!(capabilities.tools.unwrap().list_changed);
    }
}

#[test]
fn registry_lists_what_was_added_also_what_is_hidden_or_disabled() {
    let log = Log::default();
    let mut host = registry("host", &log);
    host.mount("notes_", notes(&log)).unwrap();
    host.disable(ListEntry::prompt("notes_sum")).unwrap();
    let tools: Vec<&str> = host.tools().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["echo", "notes_echo", "notes_slow", "notes_hidden"]);
    let resources: Vec<&str> = host.resources().map(|resource| &*resource.uri).collect();
    assert_eq!(resources, ["ui://notes", "notes://all"]);
    let templates: Vec<&str> = host.resource_templates().map(|it| &*it.uri_template).collect();
    assert_eq!(templates, ["notes://one/{number}"]);
    let prompts: Vec<&str> = host.prompts().map(|prompt| &*prompt.name).collect();
    assert_eq!(prompts, ["notes_sum"]);
    host.remove_tool("echo").unwrap();
    assert_eq!(host.tools().count(), 3);
}

#[test]
fn functions_around_mounted_handlers_stay_with_them_and_are_inside() {
    for before in [true, false] {
        let log = Log::default();
        let mut host = registry("host", &log);
        if before {
            host.around(HandlerKind::Tool, noting(&log, "host"));
        }
        let mut notes = notes(&log);
        notes.around(HandlerKind::Tool, noting(&log, "notes"));
        let mut inner = registry("inner", &log);
        inner.around_all(noting(&log, "inner"));
        notes.mount("inner_", inner).unwrap();
        host.mount("notes_", notes).unwrap();
        if !before {
            host.around(HandlerKind::Tool, noting(&log, "host"));
        }
        let mut pair = Pair::new(host);
        for (tool, expected) in [
            ("echo", ["host"].as_slice()),
            ("notes_echo", &["host", "notes"]),
            ("notes_inner_echo", &["host", "notes", "inner"]),
        ] {
            called(&mut pair, tool);
            assert_eq!(std::mem::take(&mut *log.lock().unwrap()), expected, "{tool}, {before}");
        }
    }
}

/// A registry may serve several tenants, each behind functions of its own.
#[test]
fn mounted_clones_of_a_registry_share_no_handler() {
    let log = Log::default();
    let mut host = registry("host", &log);
    let mut inner = registry("inner", &log);
    inner.around_all(noting(&log, "inner"));
    let mut plugin = registry("plugin", &log);
    plugin.mount("inner_", inner).unwrap();
    let mut b = plugin.clone();
    b.around_all(noting(&log, "b"));
    let called_as = Arc::<Mutex<Vec<String>>>::default();
    let seen = called_as.clone();
    b.around(HandlerKind::Tool, move |request, next| {
        seen.lock().unwrap().push(request.tool.as_ref().unwrap().name.clone());
        next.run(request)
    });
    host.mount("a_", plugin.clone()).unwrap();
    host.mount("b_", b).unwrap();
    host.mount("c_", plugin).unwrap();
    host.remove_tool("c_echo").unwrap();
    let mut pair = Pair::new(host);
    for (tool, result, expected) in [
        ("a_echo", "plugin", [].as_slice()),
        ("b_echo", "plugin", &["b"]),
        ("a_inner_echo", "inner", &["inner"]),
        ("b_inner_echo", "inner", &["b", "inner"]),
        ("c_inner_echo", "inner", &["inner"]),
    ] {
        assert_eq!(called(&mut pair, tool), result);
        assert_eq!(std::mem::take(&mut *log.lock().unwrap()), expected, "{tool}");
    }
    assert_eq!(*called_as.lock().unwrap(), ["b_echo", "b_inner_echo"]);
}

/// As a server does that loads a plugin again and again.
#[test]
fn functions_around_removed_handlers_are_dropped_by_the_next_mount() {
    let log = Log::default();
    let mut host = registry("host", &log);
    for _ in 0..3 {
        host.remove_tool("plugin_echo");
        let mut plugin = registry("plugin", &log);
        plugin.around_all(noting(&log, "plugin"));
        host.mount("plugin_", plugin).unwrap();
    }
    assert_eq!(Arc::strong_count(&log), 2, "the log and the last function");
    let mut pair = Pair::new(host);
    assert_eq!(called(&mut pair, "plugin_echo"), "plugin");
    assert_eq!(*log.lock().unwrap(), ["plugin"]);
}

#[test]
fn tasks_of_host_and_mounted_registry_share_their_methods() {
    for host_first in [true, false] {
        let log = Log::default();
        let mut host = registry("host", &log);
        let rule = Tasks::After(Duration::from_secs(5));
        if host_first {
            host.tasks("echo", rule).unwrap();
        }
        host.mount("notes_", notes(&log)).unwrap();
        if !host_first {
            host.tasks("echo", rule).unwrap();
        }
        let config = Config::new(Implementation::new("a", "1")).follow_tasks();
        let mut pair = Pair::new(host).client_config(config);
        let client = pair.client();
        let begun = pair.run(client.call_tool("notes_slow", &json!({"text": ""})));
        assert_eq!(begun.unwrap().content[0].as_text(), Some("done"));
        assert!(pair.wire().contains(r#""resultType":"task""#), "{}", pair.wire());
        assert!(pair.wire().contains(r#""method":"tasks/get""#), "{}", pair.wire());
    }
}

#[test]
fn collisions_are_refused_and_change_nothing() {
    type Change = fn(&mut Registry) -> Result<(), UsageError>;
    fn read(uri: String) -> ResourceContents {
        ResourceContents::text(uri, "")
    }
    let cases: [(&str, Change); 5] = [
        ("a tool \"notes_echo\" is already registered", |host| {
            host.tool("notes_echo", "", |_: Text, _| async { "" }).map(|_| ())
        }),
        ("a prompt \"notes_sum\" is already registered", |host| {
            let prompt = Prompt::new("notes_sum");
            host.prompt(prompt, |_: Json, _| async { Vec::<PromptMessage>::new() }).map(|_| ())
        }),
        ("a resource \"notes://all\" is already registered", |host| {
            let resource = Resource::new("notes://all", "all");
            host.resource(resource, |uri, _| async { read(uri) }).map(|_| ())
        }),
        ("a resource template \"notes://one/{number}\" is already registered", |host| {
            let template = ResourceTemplate::new("notes://one/{number}", "one");
            host.resource_template(template, |uri, _: Json, _| async { read(uri) }).map(|_| ())
        }),
        ("a conflicting extension \"com.example/notes\" is already registered", |host| {
            let settings = Json::parse(r#"{"other":1}"#).unwrap();
            host.extension("com.example/notes", settings).map(|_| ())
        }),
    ];
    for (expected, change) in cases {
        let log = Log::default();
        let mut host = registry("host", &log);
        change(&mut host).unwrap();
        let before = names(host.clone());
        let error = host.mount("notes_", notes(&log)).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(names(host), before);
    }
    let mut forwards = Registry::new(Implementation::new("forwards", "1"));
    forwards.forward(mcp_service::Handler::method(|_: Json, _| async { Json::EMPTY_OBJECT }));
    registry("host", &Log::default()).mount("x_", forwards).unwrap_err();
}

#[test]
fn mounted_entries_can_be_removed_and_disabled_by_their_prefixed_names() {
    let log = Log::default();
    let mut host = registry("host", &log);
    host.mount("notes_", notes(&log)).unwrap();
    host.disable(ListEntry::tool("notes_slow")).unwrap();
    assert_eq!(names(host.clone()), ["echo", "notes_echo"]);
    host.enable(&ListEntry::tool("notes_slow")).unwrap();
    assert!(host.remove_tool("notes_echo").is_some());
    assert_eq!(names(host), ["echo", "notes_slow"]);
}

fn notes(log: &Log) -> Registry {
    let mut registry = registry("notes", log);
    registry.instructions("About notes.").logging().subscribe().list_changed(List::Tools);
    registry.extension("com.example/notes", Json::EMPTY_OBJECT).unwrap();
    registry.app("echo", AppPage::new("ui://notes", "<!DOCTYPE html>")).unwrap();
    registry
        .tool("slow", "", |_: Text, context: Context| async move {
            context.sleep(Duration::from_secs(60)).await;
            "done"
        })
        .unwrap();
    registry.tasks("slow", Tasks::After(Duration::from_secs(1))).unwrap();
    registry.tool("hidden", "", |_: Text, _| async { "" }).unwrap();
    registry.only_for(ListEntry::tool("hidden"), |_| false).unwrap();
    let all = Resource::new("notes://all", "all");
    registry.resource(all, |uri, _| async { ResourceContents::text(uri, "") }).unwrap();
    let one = ResourceTemplate::new("notes://one/{number}", "one");
    let read = |uri, _: Json, _| async { ResourceContents::text(uri, "") };
    registry.resource_template(one, read).unwrap();
    let sum = Prompt::of::<Text>("sum").unwrap();
    let say = |it: Text, _| async { PromptMessage::new(Role::User, ContentBlock::text(it.text)) };
    registry.prompt(sum, say).unwrap();
    for reference in
        [CompletionReference::prompt("sum"), CompletionReference::resource("notes://one/{number}")]
    {
        registry.completion(reference, |_, _| async { vec!["whole"] }).unwrap();
    }
    registry
}

fn registry(name: &'static str, _: &Log) -> Registry {
    let mut registry = Registry::new(Implementation::new(name, "1"));
    registry.instructions(format!("About the {name}."));
    registry.tool("echo", "", move |_: Text, _| async move { name }).unwrap();
    registry
}

fn noting(
    log: &Log,
    name: &'static str,
) -> impl Fn(
    HandlerRequest,
    Next,
) -> std::pin::Pin<Box<dyn Future<Output = mcp_proto::server::Outcome> + Send>>
+ Send
+ Sync
+ 'static
+ use<> {
    let log = log.clone();
    move |request, next| {
        log.lock().unwrap().push(name);
        Box::pin(next.run(request))
    }
}

fn names(registry: Registry) -> Vec<String> {
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let tools = pair.run(client.list_tools()).unwrap().tools;
    tools.into_iter().map(|tool| tool.name).collect()
}

fn called(pair: &mut Pair, tool: &str) -> String {
    let client = pair.client();
    let result = pair.run(client.call_tool(tool, &json!({"text": "hello"}))).unwrap();
    result.content[0].as_text().unwrap().to_owned()
}
