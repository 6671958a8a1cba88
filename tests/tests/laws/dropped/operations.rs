//! The futures of a client's methods, each dropped after 0, 1, 2, … polls.

use std::future::Future;
use std::pin::Pin;

use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, LoggingLevel, SubscriptionFilter,
};
use mcp_proto::{EraPolicy, Json};
use mcp_service::{Client, Started};
use serde_json::json;

use crate::site::{Place, RESOURCE, SECOND, Site, places};

/// A future of a client; it ends with the error that it fails with.
type Operation = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Most futures of one place that are dropped after the same number of polls, one by one. The
/// limits of both sides have room for as many at the same time.
const REPEATS: usize = 4;

/// Drops the futures that `begin` makes, after each number of polls until they are ready. `begin`
/// gets a text that no other has.
fn drop_everywhere(place: Place, begin: &dyn Fn(&Site, &str) -> Operation, leaves: Leaves) {
    for polls in 0.. {
        let site = if place.is_decided() { Site::new(place) } else { Site::connecting(place) };
        let mut is_ready = false;
        for n in 0..REPEATS {
            let operation = begin(&site, &format!("call {n}"));
            let ended = site.poll(operation, polls);
            is_ready = ended.is_some();
            if let Some(Err(error)) = ended {
                panic!("{place:?}, {polls} polls: {error}\n{}", site.wire());
            }
            site.settle();
            let running = site.running();
            let may_run = match leaves {
                Leaves::Nothing => may_overtake(&site),
                Leaves::Task => true,
                Leaves::UnseenTask => site.place.is_http && !has_seen_task(&site),
            };
            let wire = site.wire();
            assert!(running == 0 || may_run, "{place:?}, {polls} polls: handlers run\n{wire}");
            if running > 0 {
                site.run(site.world.sleep(10 * SECOND));
            }
            assert_eq!(site.running(), 0, "{place:?}, {polls} polls\n{}", site.wire());
            site.wire.lock().unwrap().clear();
        }
        site.assert_unsubscribed();
        site.assert_works("echo");
        if is_ready {
            return;
        }
    }
}

/// The handlers that may run after the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaves {
    Nothing,
    /// That of a task, which does not end with its operation.
    Task,
    /// That of a task over HTTP whose id was on its way when the client closed the stream.
    UnseenTask,
}

/// Returns whether the cancellation, on another connection, may have overtaken its request: while
/// the client begins to connect, the request is the first on its connection.
fn may_overtake(site: &Site) -> bool {
    let is_legacy_http = site.place.is_http && !site.place.is_modern();
    is_legacy_http && !site.place.is_decided() && site.wire().contains("notifications/cancelled")
}

fn has_seen_task(site: &Site) -> bool {
    site.wire().contains("\"taskId\"")
}

/// Drops the futures in both eras, over both transports: of a client that is connected, of one
/// that begins to connect, and before a bridge.
fn drop_at_all_places(begin: impl Fn(&Client, &str) -> Operation) {
    drop_at(places().flat_map(before_and_behind), begin);
}

fn before_and_behind(place: Place) -> [Place; 4] {
    let [legacy, modern] =
        [EraPolicy::LegacyOnly, EraPolicy::ModernOnly].map(|policy| place.behind(policy));
    [place, place.undecided(), legacy, modern]
}

fn drop_at(places: impl Iterator<Item = Place>, begin: impl Fn(&Client, &str) -> Operation) {
    for place in places {
        drop_everywhere(place, &|site, text| begin(&site.client, text), Leaves::Nothing);
    }
}

/// Drops the futures in the era that has tasks.
fn drop_tasks(leaves: Leaves, begin: impl Fn(&Site, &str) -> Operation) {
    for place in places().filter(|place| place.is_modern()) {
        drop_everywhere(place, &begin, leaves);
    }
}

fn operation<T, E: std::fmt::Display>(
    future: impl Future<Output = Result<T, E>> + 'static,
) -> Operation {
    Box::pin(async { future.await.map(drop).map_err(|error| error.to_string()) })
}

#[test]
fn calls_may_be_dropped_at_any_time() {
    drop_at_all_places(|client, text| operation(client.call_tool("steps", &json!({"text": text}))));
    drop_at_all_places(|client, text| {
        let call = client.call_tool("steps", &json!({"text": text}));
        operation(call.on_progress(|_| ()).log_level(LoggingLevel::Debug))
    });
}

#[test]
fn calls_that_ask_for_input_may_be_dropped_at_any_time() {
    // Behind a bridge a legacy server may still wait for the input of a call that a modern client
    // has dropped. Over HTTP its next question may be for either call, and is refused.
    let all = places().flat_map(before_and_behind);
    let all = all.filter(|place| !(place.is_http && place.is_modern() && place.is_behind()));
    drop_at(all, |client, text| operation(client.call_tool("ask", &json!({"text": text}))));
}

#[test]
fn lists_may_be_dropped_at_any_time() {
    drop_at_all_places(|client, _| operation(client.list_tools()));
    drop_at_all_places(|client, _| operation(client.list_prompts()));
    drop_at_all_places(|client, _| operation(client.list_resources()));
    drop_at_all_places(|client, _| operation(client.list_resource_templates()));
}

#[test]
fn other_requests_may_be_dropped_at_any_time() {
    drop_at_all_places(|client, _| operation(client.read_resource(RESOURCE)));
    drop_at_all_places(|client, _| operation(client.get_prompt("prompt", &json!({"text": "a"}))));
    drop_at_all_places(|client, _| {
        let prompt = CompletionReference::prompt("prompt");
        operation(client.complete(&CompleteRequestParams::new(prompt, "text", "v")))
    });
    drop_at_all_places(|client, _| operation(client.call::<Json>("com.example/wait", &json!({}))));
    drop_at_all_places(|client, _| operation(client.ping()));
    drop_at_all_places(|client, _| operation(client.set_log_level(LoggingLevel::Error)));
}

#[test]
fn subscriptions_may_be_dropped_at_any_time() {
    let filter = || SubscriptionFilter::new().resource(RESOURCE);
    drop_at_all_places(move |client, _| operation(client.subscribe(filter())));
    let begin = |site: &Site, _: &str| {
        let (client, catalog) = (site.client.clone(), site.catalog.clone());
        let filter = SubscriptionFilter::new().resource(RESOURCE);
        operation(async move {
            let mut open = client.subscribe(filter).await?;
            for _ in 0..2 {
                let change = mcp_proto::server::Change::ResourceUpdated(RESOURCE.into());
                catalog.publish(&change).unwrap();
                open.changed().await;
            }
            Ok::<_, mcp_proto::client::CallError>(())
        })
    };
    for place in places() {
        drop_everywhere(place, &begin, Leaves::Nothing);
    }
}

#[test]
fn followed_tasks_may_be_dropped_at_any_time() {
    for tool in ["render", "survey"] {
        drop_tasks(Leaves::UnseenTask, |site, text| {
            operation(site.client.call_tool(tool, &json!({"text": text})))
        });
    }
}

#[test]
fn requests_about_tasks_may_be_dropped_at_any_time() {
    drop_tasks(Leaves::Task, |site, text| {
        operation(site.client.start_tool("render", &json!({"text": text})))
    });
    let start = |site: &Site, text: &str| match site
        .run(site.client.start_tool("render", &json!({"text": text})))
    {
        Ok(Started::Task(task)) => task,
        other => panic!("{other:?}"),
    };
    drop_tasks(Leaves::Task, |site, text| operation(start(site, text).status()));
    drop_tasks(Leaves::Task, |site, text| operation(start(site, text).cancel()));
    drop_tasks(Leaves::Task, |site, text| operation(start(site, text).result()));
}

#[test]
fn futures_that_wait_for_the_client_may_be_dropped_at_any_time() {
    drop_at_all_places(|client, _| operation(client.connected()));
    drop_at_all_places(|client, _| {
        let closed = client.closed();
        let client = client.clone();
        operation(async move {
            let echo = client.call_tool("echo", &json!({"text": "a"}));
            let mut closed = Box::pin(closed);
            let mut echo = Box::pin(echo);
            std::future::poll_fn(move |context| {
                assert!(closed.as_mut().poll(context).is_pending());
                echo.as_mut().poll(context)
            })
            .await
        })
    });
}
