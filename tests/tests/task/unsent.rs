//! Tasks whose requests get no response: nobody learns their ids, so they are removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_service::{Context, Interrupt, MemoryStore, NewTask, Registry, TaskStore, Tasks};
use serde_json::json;

use super::jobs::Jobs;
use super::registry;
use super::stores::{HardStore, at_once};
use super::world::{Process, Time};

/// A server whose tool creates a task, and returns it when the request is cancelled.
fn returns_late(tasks: Tasks, created: &Arc<AtomicUsize>) -> Registry {
    let created = created.clone();
    registry(tasks, move |context: Context| {
        let created = created.clone();
        async move {
            let (_, task) = context.create_task(NewTask::default()).await.unwrap();
            created.fetch_add(1, Ordering::Relaxed);
            context.cancelled().await;
            Err::<String, _>(Interrupt::Task(task))
        }
    })
}

#[test]
fn task_of_a_call_without_response_is_removed() {
    for (spawns, leaves) in [(false, false), (true, false), (false, true), (true, true)] {
        let store = Arc::new(MemoryStore::default());
        let shared: Arc<dyn TaskStore> = store.clone();
        let created = Arc::default();
        let registry = returns_late(Tasks::Manual, &created);
        let mut process = Process::sharing(&Time::default(), &shared, registry);
        if spawns {
            process.spawn_handlers();
        }
        let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
        assert_eq!(process.answer(call), None);
        assert_eq!(created.load(Ordering::Relaxed), 1);
        if leaves {
            process.reconnect();
        } else {
            let params = json!({"requestId": call});
            process.line(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
            }));
        }
        assert_eq!(process.said(), [""; 0]);
        assert_eq!(process.running(), 0);
        // The next access removes what has expired.
        process.pass(Duration::from_millis(100));
        process.get("another");
        let left = format!("{store:?}");
        assert_eq!(left, "MemoryStore { tasks: 0, bytes: 0, .. }", "{spawns} {leaves}");
    }
}

/// A spawned handler responds, and the service may be dropped before its next turn.
#[test]
fn task_of_a_queued_response_is_removed_with_the_service() {
    for (tasks, leaves) in
        [Tasks::Manual, Tasks::Always].map(|it| [(it, false), (it, true)]).concat()
    {
        let store = Arc::new(HardStore::small(1));
        store.blocks.store(true, Ordering::Relaxed);
        let shared: Arc<dyn TaskStore> = store.clone();
        let registry = registry(tasks, move |context: Context| async move {
            if tasks == Tasks::Always {
                context.cancelled().await;
                return Ok("cancelled");
            }
            let (_, task) = context.create_task(NewTask::default()).await.unwrap();
            Err(Interrupt::Task(task))
        });
        let mut process = Process::sharing(&Time::default(), &shared, registry);
        process.spawn_handlers();
        let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
        assert_eq!(process.answer(call), None);
        store.blocks.store(false, Ordering::Relaxed);
        process.run_tasks();
        if !leaves {
            let answer = process.answer(call).unwrap();
            assert_eq!(answer["result"]["resultType"], "task", "{answer}");
            continue;
        }
        process.reconnect();
        assert_eq!(process.running(), 0, "{tasks:?}");
        process.pass(Duration::from_millis(100));
        // The store has room for one task.
        process.task();
    }
}

/// A handler in a task cannot return another one, also not when its task is cancelled.
#[test]
fn task_of_a_cancelled_task_is_cancelled() {
    let jobs = Jobs::default();
    let created = jobs.clone();
    let mut process = Process::new(registry(Tasks::Always, move |context: Context| {
        let created = created.clone();
        async move {
            let (id, task) = context.create_task(NewTask::default()).await.unwrap();
            created.lock().unwrap().push(id);
            context.cancelled().await;
            Err::<String, _>(Interrupt::Task(task))
        }
    }));
    let id = process.task();
    process.cancel(&id);
    assert_eq!(process.running(), 0);
    let job = jobs.lock().unwrap().pop().unwrap();
    assert!(at_once(process.catalog.tasks().has_ended(&job)).unwrap());
}
