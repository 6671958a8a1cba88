//! Tasks of a server that several adapters serve, some of which end.

use std::future::pending;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use mcp_proto::{ErrorData, http, server};
use mcp_service::{Catalog, Context, Spawned, Tasks, runtime};
use mcp_tests::bridge::world::{VirtualRuntime, stream};
use serde_json::json;

use super::jobs::{Jobs, jobs_registry};
use super::listen::{listen, states};
use super::registry;
use super::stores::at_once;
use super::world::Process;

const SECOND: Duration = Duration::from_secs(1);

/// A future of an adapter that serves a catalog.
type Adapter = fn(VirtualRuntime, Catalog) -> Spawned;

const ADAPTERS: [(&str, Adapter); 3] = [
    ("a stream", |world, catalog| {
        Box::pin(async move {
            let (_client, stream) = stream();
            let config = server::Config::default();
            runtime::serve(&world, catalog, config, stream, pending()).await.unwrap();
        })
    }),
    ("a listener", |world, catalog| {
        Box::pin(async move {
            let (listener, config) = (world.listen(80), http::Config::default());
            runtime::serve_http(&world, listener, catalog, config, pending()).await;
        })
    }),
    ("a server for streams", |world, catalog| {
        Box::pin(async move {
            let _server = runtime::http_server(&world, catalog, http::Config::default());
            pending::<()>().await;
        })
    }),
];

/// Begins to serve; dropping the future ends the adapter.
fn begin(adapter: Adapter, world: &VirtualRuntime, process: &Process) -> Spawned {
    let mut serving = adapter(world.clone(), process.catalog.clone());
    let mut context = TaskContext::from_waker(Waker::noop());
    assert!(serving.as_mut().poll(&mut context).is_pending());
    serving
}

async fn works(context: Context) -> &'static str {
    context.sleep(10 * SECOND).await;
    "done"
}

#[test]
fn task_runs_on_the_adapter_that_is_left() {
    for (name, adapter) in ADAPTERS {
        let world = VirtualRuntime::default();
        let mut process = Process::new(registry(Tasks::Always, works));
        let serving = begin(adapter, &world, &process);
        drop(serving);
        let id = process.task();
        assert_eq!(process.running(), 1, "{name}");
        process.pass(11 * SECOND);
        assert_eq!(process.get(&id)["status"], "completed", "{name}");
    }
}

#[test]
fn call_becomes_a_task_after_the_end_of_the_adapter_that_hosted_it() {
    for (name, adapter) in ADAPTERS {
        let world = VirtualRuntime::default();
        let mut process = Process::new(registry(Tasks::After(SECOND), works));
        let serving = begin(adapter, &world, &process);
        let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
        assert_eq!(process.answer(call), None, "{name}");
        drop(serving);
        world.jump(2 * SECOND);
        let task = process.answer(call).unwrap()["result"].clone();
        assert_eq!(process.running(), 1, "{name}: {task}");
    }
}

#[test]
fn task_fails_if_its_host_drops_it() {
    let world = VirtualRuntime::default();
    let mut process = Process::new(registry(Tasks::Always, works));
    let _serving = begin(ADAPTERS[0].1, &world, &process);
    process.host_tasks();
    let id = process.task();
    assert_eq!((process.running(), process.get(&id)["status"].clone()), (1, json!("working")));
    process.crash();
    while world.turn() {}
    let task = process.get(&id);
    let expected = json!({"code": -32603, "message": "the runtime of the task has ended"});
    assert_eq!((&task["status"], &task["error"]), (&json!("failed"), &expected));
}

#[test]
fn watch_of_a_task_moves_if_its_host_drops_it() {
    let (world, jobs) = (VirtualRuntime::default(), Jobs::default());
    let mut process = Process::new(jobs_registry(&jobs));
    let _serving = begin(ADAPTERS[0].1, &world, &process);
    process.host_tasks();
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    assert_eq!(states(&process.said(), subscription), [json!("working")]);
    process.crash();
    while world.turn() {}
    let job = jobs.lock().unwrap().pop().unwrap();
    let error = ErrorData::internal("no");
    assert!(at_once(process.catalog.tasks().fail(&job, &error)).unwrap());
    assert_eq!(states(&process.said(), subscription), [json!("failed")]);
}
