//! Sessions, calls, tasks, subscriptions and streams that come and go at a server over HTTP, with
//! its own handlers and behind a bridge.

use std::future::poll_fn;
use std::sync::Arc;

use mcp_proto::types::{Implementation, ResourceContents, ResourceTemplate, TaskStatus};
use mcp_proto::{Duration, EraPolicy, http, server};
use mcp_service::runtime::{BridgeTarget, bridge};
use mcp_service::{
    BridgeConfig, Catalog, Context, MemoryStore, Reader, Registry, Sharing, TaskConfig, Tasks,
    Writer,
};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::site::VirtualSite as Site;
use mcp_tests::bridge::world::VirtualRuntime as World;
use serde_json::Value;

use super::Nothing;
use super::{alone, assert_lasting};

/// Tools that answer at once, never, after progress, and after a second; resources `t:…`.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new(Implementation::new("server", "1"));
    registry.subscribe();
    let read = |uri: String, _: Value, _| async { ResourceContents::text(uri, "") };
    registry.resource_template(ResourceTemplate::new("t:{x}", "t"), read).unwrap();
    registry.tool("echo", "", |_: Nothing, _| async { "echo" }).unwrap();
    registry.tool("hold", "", |_: Nothing, _| std::future::pending::<&str>()).unwrap();
    registry
        .tool("steps", "", |_: Nothing, context: Context| async move {
            context.progress(1);
            context.sleep(Duration::from_secs(1)).await;
            context.progress(2);
            context.sleep(Duration::from_secs(1)).await;
            "steps"
        })
        .unwrap();
    registry
        .tool("render", "", |_: Nothing, context: Context| async move {
            context.sleep(Duration::from_secs(1)).await;
            "render"
        })
        .unwrap();
    registry.tasks("render", Tasks::Always).unwrap();
    let mut config = TaskConfig::default();
    config.ttl = Duration::from_secs(60);
    registry.task_config(config);
    // Expired tasks make room when the store is full.
    registry.task_store(Arc::new(MemoryStore::default().max_tasks_per_principal(10)));
    registry
}

/// Where the handlers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Here,
    /// Behind a bridge, at a server of one era.
    Behind(EraPolicy, Sharing),
}

const PLACES: [Place; 4] = [
    Place::Here,
    Place::Behind(EraPolicy::LegacyOnly, Sharing::PerClient),
    Place::Behind(EraPolicy::ModernOnly, Sharing::PerClient),
    Place::Behind(EraPolicy::LegacyOnly, Sharing::Shared),
];

fn site(world: &World, place: Place) -> Site {
    let mut config = http::Config::default();
    config.server.limits.max_sessions_per_holder = 10_000;
    let Place::Behind(policy, sharing) = place else {
        return Site::new(world, registry(), config);
    };
    let runtime = world.clone();
    let target = BridgeTarget::stream(move || Ok(runtime.serve(registry(), server_config(policy))));
    let mut settings = BridgeConfig::new(Implementation::new("bridge", "1"));
    settings.sharing = sharing;
    let catalog: Catalog = bridge(world, target, settings).catalog();
    Site::new(world, catalog, config)
}

/// Runs rounds at each place.
fn everywhere(what: &str, round: &impl AsyncFn(&Site, usize)) {
    let _alone = alone();
    for place in PLACES {
        let world = World::default();
        let site = site(&world, place);
        let what = format!("{what}, {place:?}");
        let rounds = assert_lasting(&world, &what, async |number| round(&site, number).await);
        world.run(rounds).unwrap();
    }
}

fn call(id: usize, tool: &str) -> String {
    let params =
        format!("\"name\":\"{tool}\",\"arguments\":{{}},\"_meta\":{{\"progressToken\":{id}}}");
    request(id, "tools/call", &params)
}

fn request(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}

fn tool(name: &str) -> String {
    format!("\"name\":\"{name}\",\"arguments\":{{}}")
}

#[test]
fn sessions_that_end_leave_nothing() {
    everywhere("sessions", &async |site, number| {
        let session = site.open().await;
        let listed = site.ask(Some(&session), &request(1, "tools/list", "")).await;
        assert!(listed.text.contains("echo"), "{}", listed.text);
        let subscribe = request(2, "resources/subscribe", &format!("\"uri\":\"t:{number}\""));
        assert!(site.ask(Some(&session), &subscribe).await.text.contains("result"));
        if number.is_multiple_of(2) {
            // A call is in flight, whose reader is there or gone.
            let mut held = site.post(Some(&session), &call(3, "hold"));
            held.read(site);
            if number.is_multiple_of(4) {
                drop(held);
                site.delete(&session).await;
            } else {
                site.delete(&session).await;
                held.end(site).await;
            }
        } else if number % 20 == 1 {
            site.world.sleep(Duration::from_secs(31 * 60)).await;
        } else {
            site.delete(&session).await;
        }
        // The server behind a bridge has its time to end.
        site.world.sleep(Duration::from_secs(5)).await;
    });
}

#[test]
fn cancelled_calls_leave_nothing() {
    let _alone = alone();
    for place in PLACES {
        let world = World::default();
        let site = site(&world, place);
        let all = async {
            let session = site.open().await;
            let rounds = async |number: usize| {
                if number == 0 {
                    // It may have been idle for too long.
                    site.delete(&session).await;
                }
                let mut held = site.post(Some(&session), &call(number, "steps"));
                held.read(&site);
                if number.is_multiple_of(3) {
                    site.world.sleep(Duration::from_millis(1500)).await;
                    held.read(&site);
                }
                let cancel = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
                     \"params\":{{\"requestId\":{number}}}}}"
                );
                site.ask(Some(&session), &cancel).await;
                if number.is_multiple_of(2) {
                    held.end(&site).await;
                }
                // A modern client leaves.
                let mut held = site.modern("tools/call", &tool("steps"), "");
                held.read(&site);
                site.world.sleep(Duration::from_millis(1)).await;
                held.read(&site);
            };
            assert_lasting(&world, &format!("cancelled calls, {place:?}"), rounds).await;
        };
        world.run(all).unwrap();
    }
}

#[test]
fn expired_tasks_leave_nothing() {
    const TASKS: &str = "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}";
    everywhere("tasks", &async |site, number| {
        let called = site.modern("tools/call", &tool("render"), TASKS).end(site).await;
        let Some((_, rest)) = called.text.split_once("\"taskId\":\"") else {
            // A server of the legacy era has none.
            assert!(called.text.contains("render"), "{}", called.text);
            return;
        };
        let id = rest.split_once('"').unwrap().0.to_owned();
        let about = format!("\"taskId\":\"{id}\"");
        let mut listening = site.modern(
            "subscriptions/listen",
            &format!("\"notifications\":{{\"taskIds\":[\"{id}\"]}}"),
            TASKS,
        );
        listening.read(site);
        match number % 4 {
            0 => drop(site.modern("tasks/cancel", &about, TASKS).end(site).await),
            1 => {
                site.world.sleep(Duration::from_secs(2)).await;
                let got = site.modern("tasks/get", &about, TASKS).end(site).await;
                assert!(got.text.contains(TaskStatus::Completed.as_str()), "{}", got.text);
            }
            _ => {}
        }
        listening.read(site);
        site.world.sleep(Duration::from_secs(6)).await;
    });
}

#[test]
fn lost_subscriptions_leave_nothing() {
    everywhere("subscriptions", &async |site, number| {
        let filter = format!(
            "\"notifications\":{{\"resourceSubscriptions\":[\"t:{number}\",\"t:a{number}\"]}}"
        );
        let mut listening = site.modern("subscriptions/listen", &filter, "");
        listening.until(site, "acknowledged").await;
        if number.is_multiple_of(2) {
            site.world.sleep(Duration::from_secs(20)).await;
            listening.read(site);
        }
        drop(listening);
        // This one leaves before the acknowledgement.
        let mut listening = site.modern("subscriptions/listen", &filter, "");
        listening.read(site);
        drop(listening);
        site.world.sleep(Duration::from_millis(10)).await;
    });
}

#[test]
fn streams_that_are_resumed_leave_nothing() {
    let _alone = alone();
    for place in PLACES {
        let world = World::default();
        let site = site(&world, place);
        let rounds = async |number: usize| {
            let session = site.open().await;
            let mut called = site.post(Some(&session), &call(number, "steps"));
            called.until(&site, "id: ").await;
            let id = called.text.split_once("id: ").unwrap().1;
            let event = id.split(['\n', '\r']).next().unwrap().to_owned();
            drop(called);
            for _ in 0..3 {
                let mut stream = site.get(&session, None);
                stream.read(&site);
                let mut resumed = site.get(&session, Some(&event));
                resumed.read(&site);
            }
            let mut resumed = site.get(&session, Some(&event));
            resumed.until(&site, "result").await;
            if number.is_multiple_of(2) {
                site.delete(&session).await;
            }
            site.world
                .sleep(Duration::from_secs(if number.is_multiple_of(2) { 5 } else { 31 * 60 }))
                .await;
        };
        let what = format!("resumed, {place:?}");
        world.run(assert_lasting(&world, &what, rounds)).unwrap();
    }
}

#[test]
fn servers_of_one_registry_leave_nothing() {
    let _alone = alone();
    let (world, registry) = (World::default(), registry());
    let listen = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\
        \"notifications\":{\"taskIds\":[\"nobody\"]},\"_meta\":{\
        \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
        \"io.modelcontextprotocol/clientCapabilities\":{\
        \"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}}\n";
    let round = async |_: usize| {
        let mut here = world.serve(registry.clone(), server::Config::default());
        let written = poll_fn(|context| here.poll_write(context, listen.as_bytes())).await;
        assert_eq!(written.unwrap(), listen.len());
        let answer = poll_fn(|context| here.poll_read(context)).await.unwrap();
        assert!(str::from_utf8(&answer).unwrap().contains("acknowledged"), "{answer:?}");
    };
    world.run(assert_lasting(&world, "servers", round)).unwrap();
}
