//! How a task ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_proto::ErrorData;
use mcp_proto::types::CallToolResult;
use mcp_service::{Context, MemoryStore, TaskConfig, TaskError, TaskStore, Tasks};
use serde_json::{Value, json};

use super::jobs::{Jobs, jobs_registry};
use super::late::{waiting, with, working};
use super::registry;
use super::stores::{HardStore, at_once};
use super::world::{Process, Time, pass};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn task_t04_a_failed_tool_completes_and_an_error_fails() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        Err::<String, _>("no film")
    }));
    let id = process.task();
    process.pass(2 * SECOND);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["result"]["isError"]), (&json!("completed"), &json!(true)));
    assert_eq!(task.get("error"), None);

    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        Err::<String, _>(ErrorData::invalid_params("no such film"))
    }));
    let id = process.task();
    process.pass(2 * SECOND);
    let task = process.get(&id);
    assert_eq!(
        (&task["status"], &task["statusMessage"]),
        (&json!("failed"), &json!("no such film"))
    );
    assert_eq!(task["error"], json!({"code": -32602, "message": "no such film"}));
    assert_eq!(task.get("result"), None);
}

#[test]
fn task_t09_the_call_cannot_be_cancelled_any_more() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        if context.is_cancelled() { "cancelled" } else { "done" }
    }));
    let call = process.send("tools/call", json!({"name": "t"}));
    let id = process.answer(call).unwrap()["result"]["taskId"].as_str().unwrap().to_owned();
    let params = json!({"requestId": call});
    process.line(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
    }));
    assert_eq!(process.get(&id)["status"], "working");
    process.pass(2 * SECOND);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done");
}

#[test]
fn task_t10_a_cancelled_task_is_so_at_once_whatever_its_handler_does() {
    let cancellations = Arc::new(AtomicUsize::new(0));
    let seen = cancellations.clone();
    let mut process = Process::new(registry(Tasks::Always, move |context: Context| {
        let seen = seen.clone();
        async move {
            context.cancelled().await;
            seen.fetch_add(1, Ordering::Relaxed);
            "too late"
        }
    }));
    let id = process.task();
    let acknowledged = process.cancel(&id);
    assert_eq!(acknowledged["resultType"], "complete");
    assert_eq!((acknowledged.get("taskId"), acknowledged.get("status")), (None, None));
    let task = process.get(&id);
    assert_eq!((&task["status"], task.get("result")), (&json!("cancelled"), None));
    assert_eq!((cancellations.load(Ordering::Relaxed), process.running()), (1, 0));
    // Once more is acknowledged too.
    assert_eq!(process.cancel(&id)["resultType"], "complete");
    assert_eq!(process.get(&id)["status"], "cancelled");
}

#[test]
fn task_t10_a_panic_is_a_failure() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        assert!(!context.may_be_task(), "the test wants it");
        "done"
    }));
    let id = process.task();
    process.pass(2 * SECOND);
    std::panic::set_hook(hook);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
}

#[test]
fn task_t10_a_task_that_never_ends_fails_at_the_end_of_its_time() {
    let mut config = TaskConfig::default();
    config.ttl = 90 * SECOND;
    let mut registry = registry(Tasks::Always, async |context: Context| {
        context.sleep(Duration::from_secs(1_000_000)).await;
        "never"
    });
    registry.task_config(config);
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(80 * SECOND);
    assert_eq!(process.get(&id)["status"], "working");
    process.pass(20 * SECOND);
    assert_eq!(process.running(), 0);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    // Gone is the same as never there.
    process.pass(60 * SECOND);
    let gone = process.ask("tasks/get", json!({"taskId": id}))["error"].take();
    let never = process.ask("tasks/get", json!({"taskId": "nobody"}))["error"].take();
    assert_eq!((gone["code"].as_i64(), &gone), (Some(-32602), &never));
}

#[test]
fn task_t11_a_task_whose_process_has_ended_fails() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let time = Time::default();
    let works = async |context: Context| {
        context.sleep(600 * SECOND).await;
        "done"
    };
    let mut first = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let mut second = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let (id, other) = (first.task(), first.task());
    // As long as it lives, it says so.
    pass(&mut [&mut first, &mut second], 300 * SECOND);
    assert_eq!(second.get(&id)["status"], "working");
    first.crash();
    pass(&mut [&mut first, &mut second], 50 * SECOND);
    assert_eq!(second.get(&id)["status"], "working");
    pass(&mut [&mut first, &mut second], 20 * SECOND);
    for id in [&id, &other] {
        let task = second.get(id);
        assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    }
}

#[test]
fn a_task_that_is_cancelled_elsewhere_stops() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let time = Time::default();
    let works = async |context: Context| {
        context.sleep(600 * SECOND).await;
        "done"
    };
    let mut first = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let mut second = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let id = first.task();
    second.cancel(&id);
    assert_eq!((first.get(&id)["status"].clone(), first.running()), (json!("cancelled"), 1));
    pass(&mut [&mut first, &mut second], 25 * SECOND);
    assert_eq!(first.running(), 0);
}

#[test]
fn a_result_waits_for_a_store_that_does_not_answer() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let works = async |context: Context| {
        context.sleep(SECOND).await;
        CallToolResult::text("done")
    };
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let id = process.task();
    store.fails.store(true, Ordering::Relaxed);
    process.pass(30 * SECOND);
    store.fails.store(false, Ordering::Relaxed);
    assert_eq!(process.get(&id)["status"], "working");
    process.pass(5 * SECOND);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done");
}

#[test]
fn what_is_written_of_a_task_is_bounded() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let works = async |context: Context| {
        for step in 0..10_000 {
            context.progress(step);
            context.sleep(Duration::from_millis(1)).await;
        }
        "done"
    };
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let id = process.task();
    for _ in 0..500 {
        process.pass(Duration::from_millis(10));
    }
    let changes = store.changes.load(Ordering::Relaxed);
    assert!(changes <= 5 * 4 + 2, "{changes}");
    process.pass(20 * SECOND);
    let changes = store.changes.load(Ordering::Relaxed);
    assert!(changes <= 80, "{changes}");
    let task: Value = process.get(&id);
    assert!(task["statusMessage"].is_string() || task["status"] == "completed", "{task}");
}

/// A job that runs elsewhere hears of the end of its task when it asks for input.
#[test]
fn there_is_no_input_for_a_task_that_has_ended() {
    let jobs = Jobs::default();
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default().max_bytes(2000));
    let mut process = Process::sharing(&Time::default(), &store, jobs_registry(&jobs));
    let manager = process.catalog.tasks();
    let ids = [process.task(), process.task(), process.task()];
    let jobs = jobs.lock().unwrap().clone();
    let input = |at: usize| at_once(manager.input(&jobs[at]));
    assert!(input(0).unwrap().is_some());
    process.cancel(&ids[0]);
    assert!(matches!(input(0), Err(TaskError::Ended)));
    // Nor for one whose result has no room.
    let long = CallToolResult::text("long".repeat(1000));
    assert!(at_once(manager.complete(&jobs[1], &long)).unwrap());
    assert_eq!(process.get(&ids[1])["status"], "failed");
    assert!(matches!(input(1), Err(TaskError::Ended)));
    process.pass(3601 * SECOND);
    assert!(matches!(input(2), Err(TaskError::Ended)));
}

#[test]
fn a_status_message_waits_for_its_turn_and_goes_with_the_result() {
    let step = Duration::from_millis(50);
    let mut process = Process::new(registry(Tasks::Always, move |context: Context| async move {
        for report in 1..=2 {
            context.sleep(step).await;
            context.progress(report);
        }
        // It is polled once more before the second message may be written.
        context.sleep(step).await;
        context.sleep(SECOND).await;
        "done"
    }));
    let id = process.task();
    process.pass(10 * step);
    let task = process.get(&id);
    assert_eq!(task["statusMessage"], "2");
    assert_ne!(task["lastUpdatedAt"], task["createdAt"]);
    process.pass(SECOND);
    let task = process.get(&id);
    assert_eq!((&task["status"], task.get("statusMessage")), (&json!("completed"), None));
}

#[test]
fn a_handler_hears_of_the_end_of_its_task() {
    let ends = || {
        let (mut registry, cancellations) = waiting();
        let mut config = TaskConfig::default();
        config.ttl = 90 * SECOND;
        registry.task_config(config);
        (registry, cancellations)
    };
    let ((registry, by_time), (other, _)) = (ends(), ends());
    let (shared, time): (Arc<dyn TaskStore>, _) = (Arc::<HardStore>::default(), Time::default());
    let mut first = Process::sharing(&time, &shared, registry);
    let mut second = Process::sharing(&time, &shared, other);
    let (cancelled, _) = (first.task(), first.task());
    second.cancel(&cancelled);
    for (seconds, heard) in [(25, 1), (80, 2)] {
        pass(&mut [&mut first, &mut second], seconds * SECOND);
        assert_eq!(by_time.load(Ordering::Relaxed), heard, "{seconds}");
        assert_eq!(first.running(), 2 - heard);
    }
}

#[test]
fn a_result_that_no_store_takes_is_dropped_at_the_end_of_the_ttl() {
    let mut registry = working(SECOND);
    let mut config = TaskConfig::default();
    config.ttl = 90 * SECOND;
    registry.task_config(config);
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, registry);
    process.task();
    store.fails.store(true, Ordering::Relaxed);
    process.pass(80 * SECOND);
    assert_eq!(process.running(), 1);
    process.pass(20 * SECOND);
    assert_eq!(process.running(), 0);
}

/// Each access to the store times out after 10 s, and is repeated.
#[test]
fn a_handler_works_while_the_store_does_not_answer() {
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = steps.clone();
    let works = move |context: Context| {
        let counter = counter.clone();
        async move {
            for step in 1..=30 {
                context.sleep(SECOND).await;
                counter.store(step, Ordering::Relaxed);
                context.progress(u32::try_from(step).unwrap());
            }
            "done"
        }
    };
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, registry(Tasks::Always, works));
    let id = process.task();
    store.hangs.store(true, Ordering::Relaxed);
    for _ in 0..25 {
        process.pass(SECOND);
    }
    assert!(steps.load(Ordering::Relaxed) >= 24, "{steps:?}");
    process.pass(20 * SECOND);
    store.hangs.store(false, Ordering::Relaxed);
    process.pass(5 * SECOND);
    assert_eq!(process.get(&id)["status"], "completed");
}
