//! Tasks of a server whose registry is replaced by another one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::server::task::TaskId;
use mcp_proto::types::CallToolResult;
use mcp_service::{
    Context, Interrupt, MemoryStore, NewTask, Registry, TaskConfig, TaskStore, Tasks,
};
use serde_json::json;

use super::input::asking;
use super::registry;
use super::stores::at_once;
use super::world::{Process, Time, request};

const MOMENT: Duration = Duration::from_millis(100);

async fn works(context: Context) -> &'static str {
    context.sleep(10 * MOMENT).await;
    "done"
}

/// Replaces the registry of a process.
fn replace(process: &Process, registry: Registry) {
    let replaced = process.catalog.update(|before| {
        *before = registry;
        Ok(())
    });
    replaced.unwrap();
}

#[test]
fn calls_become_tasks_after_the_registry_was_replaced() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let first = process.task();
    for tasks in [Tasks::Always, Tasks::Required, Tasks::After(MOMENT)] {
        replace(&process, registry(tasks, works));
        let call = process.send("tools/call", json!({"name": "t"}));
        process.pass(2 * MOMENT);
        let created = process.answer(call).unwrap();
        assert_eq!(created["result"]["resultType"], "task", "{tasks:?}");
        process.pass(10 * MOMENT);
        let id = created["result"]["taskId"].as_str().unwrap().to_owned();
        assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done");
    }
    assert_eq!(process.get(&first)["result"]["content"][0]["text"], "done");
}

#[test]
fn running_task_can_be_cancelled_after_the_registry_was_replaced() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let id = process.task();
    replace(&process, registry(Tasks::Always, works));
    assert_eq!(process.running(), 1);
    process.cancel(&id);
    assert_eq!(process.get(&id)["status"], "cancelled");
    assert_eq!(process.running(), 0);
}

#[test]
fn waiting_task_gets_its_input_after_the_registry_was_replaced() {
    let mut process = Process::new(asking(&["a"]).0);
    let id = process.task();
    process.pass(2 * MOMENT);
    let (replacement, calls) = asking(&["a"]);
    replace(&process, replacement);
    process.update(&id, json!({"a": {"roots": []}}));
    process.pass(4 * MOMENT);
    assert_eq!(process.get(&id)["status"], "completed");
    assert_eq!(calls.load(Ordering::Relaxed), 1, "the handler is that of the other registry");
}

#[test]
fn job_that_runs_elsewhere_ends_after_the_registry_was_replaced() {
    let jobs = || {
        registry(Tasks::Manual, async |context: Context| {
            let (_, task) = context.create_task(NewTask::default()).await.unwrap();
            Err::<&str, _>(Interrupt::Task(task))
        })
    };
    let mut process = Process::new(jobs());
    let manager = process.catalog.tasks();
    let ids = [process.task(), {
        replace(&process, jobs());
        process.task()
    }];
    for id in ids {
        let result = CallToolResult::text("rendered");
        assert!(at_once(manager.complete(&TaskId::from(id.clone()), &result)).unwrap());
        assert_eq!(process.get(&id)["status"], "completed");
    }
}

#[test]
fn settings_of_tasks_stay_unless_the_other_registry_has_its_own() {
    let stores = [0, 1].map(|_| Arc::new(MemoryStore::default()));
    let shared = stores.clone().map(|store| -> Arc<dyn TaskStore> { store });
    let ttl = |seconds| {
        let mut config = TaskConfig::default();
        config.ttl = Duration::from_secs(seconds);
        config
    };
    let mut first = registry(Tasks::Always, works);
    first.task_config(ttl(10));
    let mut process = Process::sharing(&Time::default(), &shared[0], first);
    let shown = |number: usize| format!("{:?}", stores[number]);
    assert_eq!(process.call()["ttlMs"], 10_000);
    replace(&process, registry(Tasks::Always, works));
    assert_eq!(process.call()["ttlMs"], 10_000);
    assert!(shown(0).starts_with("MemoryStore { tasks: 2,"), "{}", shown(0));
    let mut other = registry(Tasks::Always, works);
    other.task_config(ttl(20)).task_store(shared[1].clone());
    // The same store again is no other store.
    for count in [1, 2] {
        replace(&process, other.clone());
        assert_eq!(process.call()["ttlMs"], 20_000);
        let text = format!("MemoryStore {{ tasks: {count},");
        assert!(shown(1).starts_with(&text), "{}", shown(1));
    }
    assert!(shown(0).starts_with("MemoryStore { tasks: 2,"), "{}", shown(0));
}

#[test]
fn update_that_fails_keeps_the_settings_of_tasks() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let failed = process.catalog.update(|before| {
        let mut other = registry(Tasks::Always, works);
        let mut config = TaskConfig::default();
        config.ttl = MOMENT;
        other.task_config(config);
        *before = other;
        Err::<(), _>(UsageError::UnknownTool { name: "axe".into() })
    });
    assert!(failed.is_err());
    assert_eq!(process.call()["ttlMs"], 3_600_000);
}

#[test]
fn update_that_fails_keeps_the_store_and_the_configuration_that_it_has_changed() {
    let stores = [0, 1].map(|_| Arc::new(MemoryStore::default()));
    let shared = stores.clone().map(|store| -> Arc<dyn TaskStore> { store });
    let works = registry(Tasks::Always, works);
    let mut process = Process::sharing(&Time::default(), &shared[0], works);
    let id = process.task();
    let failed = process.catalog.update(|registry| {
        let mut config = TaskConfig::default();
        config.ttl = MOMENT;
        registry.task_store(shared[1].clone()).task_config(config);
        Err::<(), _>(UsageError::UnknownTool { name: "axe".into() })
    });
    assert!(failed.is_err());
    assert_eq!(process.get(&id)["status"], "working");
    assert_eq!(process.call()["ttlMs"], 3_600_000);
    let shown = stores.map(|store| format!("{store:?}"));
    assert!(shown[0].starts_with("MemoryStore { tasks: 2,"), "{shown:?}");
    assert!(shown[1].starts_with("MemoryStore { tasks: 0,"), "{shown:?}");
}

#[test]
fn settings_of_a_copy_are_not_those_of_the_registry() {
    let original = registry(Tasks::Always, works);
    let mut config = TaskConfig::default();
    config.ttl = MOMENT;
    original.clone().task_config(config);
    assert_eq!(Process::new(original).call()["ttlMs"], 3_600_000);
}

/// The subscription was acknowledged before.
#[test]
fn subscriber_hears_of_a_task_after_the_registry_was_replaced() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let id = process.task();
    let params = json!({"notifications": {"taskIds": [id]}});
    process.line(&request(900, "subscriptions/listen", params, true));
    process.said();
    replace(&process, registry(Tasks::Always, works));
    process.pass(12 * MOMENT);
    let said = process.said();
    assert!(said.iter().any(|it| it["params"]["status"] == "completed"), "{said:?}");
}
