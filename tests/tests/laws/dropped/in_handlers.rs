//! The futures that a handler awaits, each dropped after 0, 1, 2, … polls. The client is told, its
//! own handlers end, and the request of the handler is answered.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use mcp_proto::Duration;
use mcp_proto::server::Notification;
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, LoggingLevel, RequestedSchema, Role,
    SamplingMessage, SamplingMessageContentBlock,
};
use mcp_service::{Catalog, Context};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::site::{Site, places};

/// The time between two polls.
const PAUSE: Duration = Duration::from_millis(400);

/// Calls of the handler on one site.
const REPEATS: usize = 4;

/// A future in a handler; whatever it ends with, the handler goes on.
type Awaited = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes the future; `None` if there is none in this era.
type Begin = fn(&Context) -> Option<Awaited>;

fn awaited<T>(future: impl Future<Output = T> + Send + 'static) -> Awaited {
    Box::pin(async { drop(future.await) })
}

fn form() -> ElicitRequestFormParams {
    ElicitRequestFormParams::new("?", RequestedSchema::new())
}

const BEGIN: [(&str, Begin); 9] = [
    ("sleep", |context| Some(awaited(context.sleep(2 * PAUSE)))),
    ("long sleep", |context| Some(awaited(context.sleep(Duration::MAX)))),
    ("cancelled", |context| Some(awaited(context.cancelled()))),
    ("elicit", |context| {
        let session = context.session()?;
        Some(awaited(session.elicit(form()).about(context)))
    }),
    ("elicit outside", |context| Some(awaited(context.session()?.elicit(form())))),
    ("create_message", |context| {
        let messages =
            vec![SamplingMessage::new(Role::User, SamplingMessageContentBlock::text("?"))];
        let params = CreateMessageRequestParams::new(messages, 10);
        Some(awaited(context.session()?.create_message(params).about(context)))
    }),
    ("list_roots", |context| Some(awaited(context.session()?.list_roots()))),
    ("log", |context| Some(awaited(context.session()?.log(LoggingLevel::Error, None, "text")))),
    ("notify", |context| {
        let notification = Notification::Other {
            method: "notifications/com.example/x".into(),
            params: mcp_proto::Json::EMPTY_OBJECT,
        };
        Some(awaited(context.session()?.notify(notification)))
    }),
];

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Adds a tool that polls a future some times, drops the future, and answers.
fn add_tool(catalog: &Catalog, begin: Begin, polls: usize) {
    let partly = move |_: Nothing, context: Context| async move {
        let Some(mut future) = begin(&context) else { return "nothing" };
        for _ in 0..polls {
            let poll = poll_fn(|task| Poll::Ready(future.as_mut().poll(task).is_ready()));
            if poll.await {
                return "ready";
            }
            context.sleep(PAUSE).await;
        }
        drop(future);
        context.sleep(PAUSE).await;
        "dropped"
    };
    catalog.update(|registry| registry.tool("partly", "", partly).map(drop)).unwrap();
}

#[test]
fn futures_of_handlers_may_be_dropped_at_any_time() {
    for place in places() {
        for (name, begin) in BEGIN {
            for polls in 0..6 {
                let site = Site::new(place);
                add_tool(&site.catalog, begin, polls);
                site.settle();
                for _ in 0..REPEATS {
                    let called = site.run(site.client.call_tool("partly", &json!({})));
                    let running = site.running();
                    let wire = site.wire();
                    assert!(called.is_ok(), "{place:?}, {name}, {polls}: {called:?}\n{wire}");
                    assert_eq!(running, 0, "{place:?}, {name}, {polls}: handlers run\n{wire}");
                }
                site.assert_works("echo");
            }
        }
    }
}
