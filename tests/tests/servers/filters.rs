//! Entries that are hidden from some callers, or disabled: answered like unknown ones, everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::client::{self, CallError, Negotiation};
use mcp_proto::frame::http1::Head;
use mcp_proto::http::{Authorization, Config, Sessions};
use mcp_proto::server::{Cacheable, Change, Extensions, List, ListEntry, Peer};
use mcp_proto::types::{
    CacheHint, CompleteRequestParams, CompletionReference, Implementation, Prompt, PromptMessage,
    Resource, ResourceContents, ResourceTemplate, SubscriptionFilter,
};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Context, HttpClientConfig, Registry, Subscription};
use serde_json::json;

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A value of a token, as filters see it.
struct Role(String);

#[test]
fn lists_have_what_the_caller_may_see() {
    for (mut pair, _) in pairs("alice") {
        assert_eq!(listed(&mut pair), (["a", "c"].map(String::from).to_vec(), 1, 1, 1));
    }
    for (mut pair, _) in pairs("root") {
        let tools = ["a", "b", "c", "scoped"].map(String::from).to_vec();
        assert_eq!(listed(&mut pair), (tools, 2, 2, 2));
    }
}

#[test]
fn entries_whose_filter_panics_are_hidden() {
    for negotiation in ERAS {
        let mut registry = Registry::new(Implementation::new("notes", "1"));
        let read = |uri, _| async { ResourceContents::text(uri, "") };
        registry.list_changed(List::Tools).subscribe();
        for uri in ["notes://a", "notes://b"] {
            registry.resource(Resource::new(uri, uri), read).unwrap();
        }
        let panics = |_: &Peer| -> bool { std::panic::resume_unwind(Box::new("quiet")) };
        registry.only_for(ListEntry::resource("notes://a"), panics).unwrap();
        let catalog = Catalog::from(registry);
        let mut pair = over_http(catalog.clone(), "alice", negotiation, Sessions::Stateful);
        let mut subscription = subscribe(&mut pair, &["notes://a", "notes://b"]);
        for uri in ["notes://a", "notes://b"] {
            catalog.publish(&Change::ResourceUpdated(uri.into())).unwrap();
        }
        assert_eq!(changed(&mut pair, &mut subscription).as_deref(), Some("notes://b"));
        assert_eq!(pair.run(pair.client().list_resources()).unwrap().resources.len(), 1);
    }
}

#[test]
fn hidden_entries_are_answered_like_unknown_ones() {
    for (mut pair, calls) in pairs("alice") {
        let client = pair.client();
        let nothing = json!({});
        for (hidden, unknown) in [("b", "zzz"), ("scoped", "zzz")] {
            let called = pair.run(client.call_tool(hidden, &nothing)).unwrap_err();
            let other = pair.run(client.call_tool(unknown, &nothing)).unwrap_err();
            assert_same(&called, hidden, &other, unknown);
        }
        for (hidden, unknown) in [("notes://b", "notes://zzz"), ("secret://b/1", "secret://zzz/1")]
        {
            let read = pair.run(client.read_resource(hidden)).unwrap_err();
            let other = pair.run(client.read_resource(unknown)).unwrap_err();
            assert_same(&read, hidden, &other, unknown);
        }
        let got = pair.run(client.get_prompt("b", &nothing)).unwrap_err();
        let other = pair.run(client.get_prompt("zzz", &nothing)).unwrap_err();
        assert_same(&got, "b", &other, "zzz");
        for (hidden, unknown) in [
            (CompletionReference::prompt("b"), CompletionReference::prompt("zzz")),
            (
                CompletionReference::resource("secret://b/{n}"),
                CompletionReference::resource("secret://zzz/{n}"),
            ),
        ] {
            let complete = |reference| CompleteRequestParams::new(reference, "n", "");
            let completed = pair.run(client.complete(&complete(hidden))).unwrap_err();
            let other = pair.run(client.complete(&complete(unknown))).unwrap_err();
            assert_same(&completed, "b", &other, "zzz");
        }
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        // What is not hidden works.
        pair.run(client.call_tool("a", &nothing)).unwrap();
        pair.run(client.read_resource("notes://a")).unwrap();
    }
    for (mut pair, _) in pairs("root") {
        let client = pair.client();
        pair.run(client.call_tool("b", &json!({}))).unwrap();
        pair.run(client.read_resource("notes://b")).unwrap();
        pair.run(client.read_resource("secret://b/1")).unwrap();
        pair.run(client.get_prompt("b", &json!({}))).unwrap();
        // It sees this one, and lacks its scopes.
        let error = pair.run(client.call_tool("scoped", &json!({}))).unwrap_err();
        assert!(error.to_string().contains("files:write"), "{error}");
    }
}

#[test]
fn updates_of_hidden_resources_are_not_told() {
    let hidden = ["notes://b", "secret://b/1"];
    for user in ["alice", "root"] {
        for (pair, catalog) in subscribing(user) {
            let mut pair = pair;
            let mut subscription = subscribe(&mut pair, &["notes://a", hidden[0], hidden[1]]);
            for uri in hidden {
                catalog.publish(&Change::ResourceUpdated(uri.into())).unwrap();
                pair.pass(Duration::from_secs(1));
            }
            if user == "root" {
                assert_eq!(changed(&mut pair, &mut subscription), Some(hidden[0].into()));
                assert_eq!(changed(&mut pair, &mut subscription), Some(hidden[1].into()));
            }
            catalog.publish(&Change::ResourceUpdated("notes://a".into())).unwrap();
            assert_eq!(changed(&mut pair, &mut subscription), Some("notes://a".into()));
            if user == "alice" {
                assert!(!pair.wire().contains("S> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"notes://b"));
                assert_eq!(pair.wire().matches("notifications/resources/updated").count(), 1);
            }
        }
    }
}

#[test]
fn subscription_from_before_the_filter_is_filtered_as_well() {
    for (mut pair, catalog) in subscribing("alice") {
        let mut subscription = subscribe(&mut pair, &["notes://a", "notes://free"]);
        catalog.edit(|it| it.only_for(ListEntry::resource("notes://free"), is_root)).unwrap();
        catalog.publish(&Change::ResourceUpdated("notes://free".into())).unwrap();
        pair.pass(Duration::from_secs(1));
        catalog.publish(&Change::ResourceUpdated("notes://a".into())).unwrap();
        assert_eq!(changed(&mut pair, &mut subscription), Some("notes://a".into()));
    }
}

/// A subscription lasts, so it keeps no more of its sender than `Limits::max_client_bytes`.
#[test]
fn long_description_of_a_client_is_not_kept_for_its_subscription() {
    for (length, is_kept) in [(10_000, true), (20_000, false)] {
        let (mut registry, _) = registry();
        let seen = Arc::new(AtomicUsize::new(0));
        let noted = seen.clone();
        let note = move |peer: &Peer| {
            noted.store(peer.client().map_or(0, |client| client.name.len()), Ordering::Relaxed);
            true
        };
        registry.only_for(ListEntry::resource("notes://a"), note).unwrap();
        let catalog = Catalog::from(registry);
        let config = client::Config::new(Implementation::new("n".repeat(length), "1"));
        let mut pair = Pair::new(catalog.clone()).client_config(config);
        let client = pair.client();
        pair.run(client.read_resource("notes://a")).unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), length);
        let mut subscription = subscribe(&mut pair, &["notes://a"]);
        catalog.publish(&Change::ResourceUpdated("notes://a".into())).unwrap();
        assert_eq!(changed(&mut pair, &mut subscription), Some("notes://a".into()));
        assert_eq!(seen.load(Ordering::Relaxed), if is_kept { length } else { 0 });
    }
}

#[test]
fn entries_are_disabled_and_enabled_and_clients_are_told() {
    for (mut pair, catalog) in subscribing("root") {
        let client = pair.client();
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = true;
        let mut subscription = pair.run(client.subscribe(filter)).unwrap();
        let all = listed(&mut pair).0;
        for (uri, entry) in [
            ("notes://b", ListEntry::resource("notes://b")),
            ("secret://b/1", ListEntry::resource_template("secret://b/{n}")),
        ] {
            catalog.edit(|it| it.disable(entry.clone())).unwrap();
            pair.run(client.read_resource(uri)).unwrap_err();
            catalog.edit(|it| it.enable(&entry)).unwrap();
            pair.run(client.read_resource(uri)).unwrap();
        }
        for _ in 0..2 {
            catalog.edit(|it| it.disable(ListEntry::tool("a"))).unwrap();
            let change = pair.run(subscription.changed());
            assert_eq!(change, Some(Change::ListChanged(List::Tools)));
            assert!(!listed(&mut pair).0.contains(&"a".into()));
            let called = pair.run(client.call_tool("a", &json!({}))).unwrap_err();
            let other = pair.run(client.call_tool("zzz", &json!({}))).unwrap_err();
            assert_same(&called, "a", &other, "zzz");
            catalog.edit(|it| it.enable(&ListEntry::tool("a"))).unwrap();
            assert!(pair.run(subscription.changed()).is_some());
            // It is where it was.
            assert_eq!(listed(&mut pair).0, all);
        }
        // A filter changes the list too.
        catalog.edit(|it| it.only_for(ListEntry::tool("c"), |_| true)).unwrap();
        assert!(pair.run(subscription.changed()).is_some());
        let unknown = catalog.edit(|it| it.disable(ListEntry::prompt("x"))).unwrap_err();
        assert_eq!(unknown.to_string(), "no prompt \"x\" is registered");
    }
}

#[test]
fn removed_entry_takes_its_filter_along() {
    let mut registry = Registry::new(Implementation::new("filters", "1"));
    for _ in 0..2 {
        registry.tool("a", "", |_: Nothing, _| async { "done" }).unwrap();
        let mut pair = Pair::new(registry.clone());
        let client = pair.client();
        pair.run(client.call_tool("a", &json!({}))).unwrap();
        registry.only_for(ListEntry::tool("a"), |_| false).unwrap();
        registry.disable(ListEntry::tool("a")).unwrap();
        registry.remove_tool("a").unwrap();
    }
}

#[test]
fn lists_that_depend_on_the_caller_are_private_and_pages_tell_no_count() {
    for user in ["alice", "root"] {
        let (mut registry, _) = registry();
        registry.page_size(1);
        for what in [Cacheable::Tools, Cacheable::Prompts, Cacheable::Contents] {
            registry.cache(what, CacheHint::public(1000));
        }
        registry.cache(Cacheable::Discover, CacheHint::public(1000));
        let mut pair = over_http(registry, user, Negotiation::Auto, Sessions::Stateful);
        let (tools, ..) = listed(&mut pair);
        let client = pair.client();
        pair.run(client.read_resource("notes://a")).unwrap();
        let wire = pair.wire();
        assert_eq!(wire.matches(r#""cacheScope":"public""#).count(), 1, "discover alone: {wire}");
        assert!(wire.contains(r#""ttlMs":1000,"cacheScope":"private""#), "{wire}");
        let last = format!(r#""nextCursor":"{}""#, tools.len() - 1);
        let beyond = format!(r#""nextCursor":"{}""#, tools.len());
        assert!(wire.contains(&last) && !wire.contains(&beyond), "{wire}");
    }
}

/// What a session knows of its client is no part of the check of scopes before the session is
/// known.
#[test]
fn scopes_hold_for_tools_that_are_filtered_by_the_client() {
    for negotiation in ERAS {
        for sessions in [Sessions::Stateful, Sessions::Stateless] {
            let (mut registry, calls) = registry();
            let counted = calls.clone();
            registry
                .tool("named", "", move |_: Nothing, _| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    async { "done" }
                })
                .unwrap();
            registry.require_scopes("named", "files:write").unwrap();
            let has_name = |peer: &Peer| peer.client_info.is_some();
            registry.only_for(ListEntry::tool("named"), has_name).unwrap();
            let mut pair = over_http(registry, "root", negotiation, sessions);
            let client = pair.client();
            pair.run(client.call_tool("named", &json!({}))).unwrap_err();
            assert_eq!(calls.load(Ordering::Relaxed), 0, "{negotiation:?} {sessions:?}");
        }
    }
}

#[test]
fn filters_see_streams_too_and_a_state() {
    for negotiation in ERAS {
        let (registry, _) = registry();
        let mut pair = Pair::new(registry).negotiation(negotiation);
        assert_eq!(listed(&mut pair).0, ["a", "c"]);
    }
}

fn is_root(peer: &Peer) -> bool {
    peer.principal.as_deref() == Some("root")
        && peer.is_http
        && peer.get::<Role>().is_none_or(|role| role.0 == "role of root")
}

fn registry() -> (Registry, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut registry = Registry::new(Implementation::new("filters", "1"));
    registry.list_changed(List::Tools).list_changed(List::Resources).subscribe();
    for name in ["a", "b", "c", "scoped"] {
        let calls = calls.clone();
        let handler = move |_: Nothing, _: Context| {
            calls.fetch_add(usize::from(name != "a"), Ordering::Relaxed);
            async { "done" }
        };
        registry.tool(name, "", handler).unwrap();
    }
    registry.require_scopes("scoped", "files:write").unwrap();
    let read = |uri, _| async { ResourceContents::text(uri, "") };
    for uri in ["notes://a", "notes://b"] {
        registry.resource(Resource::new(uri, uri), read).unwrap();
    }
    let read = |uri, _: Json, _| async { ResourceContents::text(uri, "") };
    for uri in ["open://a/{n}", "secret://b/{n}"] {
        registry.resource_template(ResourceTemplate::new(uri, uri), read).unwrap();
        let reference = CompletionReference::resource(uri);
        registry.completion(reference, |_, _| async { vec!["1"] }).unwrap();
    }
    for name in ["a", "b"] {
        let say = |_: Json, _| async { Vec::<PromptMessage>::new() };
        registry.prompt(Prompt::new(name), say).unwrap();
        let reference = CompletionReference::prompt(name);
        registry.completion(reference, |_, _| async { vec!["1"] }).unwrap();
    }
    for entry in [
        ListEntry::tool("b"),
        ListEntry::tool("scoped"),
        ListEntry::resource("notes://b"),
        ListEntry::resource_template("secret://b/{n}"),
        ListEntry::prompt("b"),
    ] {
        registry.only_for(entry, is_root).unwrap();
    }
    (registry, calls)
}

fn over_http(
    catalog: impl Into<Catalog>,
    user: &str,
    negotiation: Negotiation,
    sessions: Sessions,
) -> Pair {
    let mut config = Config::default();
    config.authorize = Some(Arc::new(authorize));
    config.sessions = sessions;
    let server = HttpClientConfig::parse("http://localhost/mcp").unwrap();
    let server = server.field("Authorization", user).unwrap();
    Pair::over_http(catalog).negotiation(negotiation).http_config(config).http_client_config(server)
}

fn authorize(head: &Head) -> Authorization {
    let user = head.field("authorization").and_then(|field| str::from_utf8(field).ok());
    let user = user.unwrap_or_default();
    let extensions = Extensions::default().with(Role(format!("role of {user}")));
    Authorization::AllowWith(Some(user.into()), extensions)
}

/// In both eras, with and without sessions.
fn pairs(user: &'static str) -> impl Iterator<Item = (Pair, Arc<AtomicUsize>)> {
    let ways = [Sessions::Stateful, Sessions::Stateless];
    ERAS.into_iter().flat_map(move |negotiation| {
        ways.map(|sessions| {
            let (registry, calls) = registry();
            (over_http(registry, user, negotiation, sessions), calls)
        })
    })
}

/// In both eras, with a catalog to publish changes in.
fn subscribing(user: &'static str) -> impl Iterator<Item = (Pair, Catalog)> {
    ERAS.into_iter().map(move |negotiation| {
        let (mut registry, _) = registry();
        let read = |uri, _| async { ResourceContents::text(uri, "") };
        registry.resource(Resource::new("notes://free", "free"), read).unwrap();
        let catalog = Catalog::from(registry);
        (over_http(catalog.clone(), user, negotiation, Sessions::Stateful), catalog)
    })
}

fn subscribe(pair: &mut Pair, uris: &[&str]) -> Subscription {
    let client = pair.client();
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = uris.iter().map(|uri| (*uri).into()).collect();
    let subscription = pair.run(client.subscribe(filter)).unwrap();
    // A hidden resource is subscribed to like one that may come to exist.
    assert_eq!(subscription.honoured().resource_subscriptions.len(), uris.len());
    subscription
}

fn changed(pair: &mut Pair, subscription: &mut Subscription) -> Option<String> {
    match pair.run(subscription.changed()) {
        Some(Change::ResourceUpdated(uri)) => Some(uri),
        _ => None,
    }
}

/// The tools, and the numbers of prompts, resources and templates.
fn listed(pair: &mut Pair) -> (Vec<String>, usize, usize, usize) {
    let client = pair.client();
    let tools = pair.run(client.list_tools()).unwrap().tools;
    let prompts = pair.run(client.list_prompts()).unwrap().prompts.len();
    let resources = pair.run(client.list_resources()).unwrap().resources.len();
    let templates = pair.run(client.list_resource_templates()).unwrap();
    let names = tools.into_iter().map(|tool| tool.name).collect();
    (names, prompts, resources, templates.resource_templates.len())
}

fn assert_same(hidden: &CallError, name: &str, unknown: &CallError, other: &str) {
    let expected = format!("{unknown:?}").replace(other, name);
    assert_eq!(format!("{hidden:?}"), expected);
}
