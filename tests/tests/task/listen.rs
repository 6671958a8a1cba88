//! Subscriptions to tasks: who is told of what, in which order.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use mcp_proto::server::task::TaskId;
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{ErrorData, Json};
use mcp_service::{Context, Interrupt, MemoryStore, Registry, TaskConfig, TaskStore, Tasks};
use serde_json::{Value, json};

use super::input::asking;
use super::jobs::{Jobs, jobs_registry};
use super::registry;
use super::stores::{HardStore, at_once};
use super::world::{Process, Time, pass, request};

const SECOND: Duration = Duration::from_secs(1);
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

async fn works(context: Context) -> &'static str {
    context.sleep(10 * SECOND).await;
    "done"
}

/// Subscribes to tasks; returns the id of the request.
pub(crate) fn listen(process: &mut Process, ids: &[&str]) -> u64 {
    process.send("subscriptions/listen", json!({"notifications": {"taskIds": ids}}))
}

/// The states in notifications about this subscription.
pub(crate) fn states(said: &[Value], id: u64) -> Vec<Value> {
    let of_it = said.iter().filter(|said| said["method"] == "notifications/tasks");
    let of_it = of_it.filter(|said| said["params"]["_meta"][SUBSCRIPTION] == id);
    of_it.map(|said| said["params"]["status"].clone()).collect()
}

#[test]
fn a_subscriber_is_told_of_each_state_as_a_poll_would_show_it() {
    let (registry, _) = asking(&["a"]);
    let mut process = Process::new(registry);
    let id = process.task();
    let subscription = listen(&mut process, &[&id, "nobody"]);
    let said = process.said();
    let acknowledged = &said[0];
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{said:?}");
    assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [id]}));
    assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], subscription);
    assert_eq!(states(&said, subscription), [json!("working")], "{said:?}");
    process.pass(SECOND);
    assert_eq!(states(&process.said(), subscription), [json!("input_required")]);
    process.update(&id, json!({"a": {"roots": []}}));
    assert_eq!(states(&process.said(), subscription), [json!("working")]);
    process.pass(SECOND);
    let said = process.said();
    assert_eq!(said.len(), 1, "{said:?}");
    let (mut told, mut asked) = (said[0]["params"].clone(), process.get(&id));
    for task in [&mut told, &mut asked] {
        let task = task.as_object_mut().unwrap();
        task.retain(|key, _| !["_meta", "resultType"].contains(&key.as_str()));
    }
    assert_eq!(told, asked);
    assert_eq!(told["result"]["content"][0]["text"], r#"["a"]"#);
    process.pass(600 * SECOND);
    assert_eq!((process.said(), process.running()), (vec![], 0));
}

/// The store has done it, and whoever has asked for it does not wait any longer.
#[test]
fn a_subscriber_is_told_of_a_change_whose_future_was_dropped() {
    let store = Arc::new(HardStore::default());
    let mut registry = registry(Tasks::Always, works);
    registry.task_store(store.clone());
    let mut process = Process::new(registry);
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    process.said();
    store.holds.store(true, Ordering::Relaxed);
    let (tasks, id) = (process.catalog.tasks(), TaskId::from(id));
    let error = ErrorData::internal("no");
    let mut failing = Box::pin(tasks.fail(&id, &error));
    let mut context = TaskContext::from_waker(Waker::noop());
    assert!(failing.as_mut().poll(&mut context).is_pending());
    drop(failing);
    store.holds.store(false, Ordering::Relaxed);
    assert_eq!(states(&process.said(), subscription), [json!("failed")]);
}

#[test]
fn task_of_a_mounted_registry_is_reported_to_its_subscriber() {
    for host_has_tasks in [false, true] {
        let mut host = Registry::new(Implementation::new("host", "1"));
        if host_has_tasks {
            let tool = Tool::new("other", Json::parse(r#"{"type":"object"}"#).unwrap());
            host.tool_with(tool, |_: Value, context| works(context)).unwrap();
            host.tasks("other", Tasks::Always).unwrap();
        }
        host.mount("", registry(Tasks::Always, works)).unwrap();
        let mut process = Process::new(host);
        let id = process.task();
        let subscription = listen(&mut process, &[&id]);
        assert_eq!(states(&process.said(), subscription), [json!("working")]);
        process.pass(10 * SECOND);
        assert_eq!(states(&process.said(), subscription), [json!("completed")]);
    }
}

#[test]
fn states_that_nobody_has_taken_are_told_once() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    process.said();
    let (tasks, task) = (process.catalog.tasks(), TaskId::from(id));
    for message in ["one", "two", "three"] {
        assert!(at_once(tasks.status(&task, message)).unwrap());
    }
    let said = process.said();
    assert_eq!(states(&said, subscription), [json!("working")]);
    assert_eq!(said[0]["params"]["statusMessage"], "three");
    assert!(at_once(tasks.status(&task, "four")).unwrap());
    assert!(at_once(tasks.fail(&task, &ErrorData::internal("over"))).unwrap());
    assert!(!at_once(tasks.status(&task, "five")).unwrap());
    assert_eq!(states(&process.said(), subscription), [json!("failed")]);
}

#[test]
fn nothing_is_told_after_the_end() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    process.said();
    process.cancel(&id);
    process.pass(60 * SECOND);
    assert_eq!(states(&process.said(), subscription), [json!("cancelled")]);
    // A task that has ended is told of once.
    let late = listen(&mut process, &[&id]);
    process.pass(600 * SECOND);
    assert_eq!(states(&process.said(), late), [json!("cancelled")]);
}

#[test]
fn a_subscription_to_tasks_that_are_none_ends() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let subscription = listen(&mut process, &["nobody"]);
    let said = process.said();
    assert_eq!(said[0]["params"]["notifications"], json!({}), "{said:?}");
    assert_eq!((&said[1]["id"], said.len()), (&json!(subscription), 2), "{said:?}");
    assert_eq!(said[1]["result"]["resultType"], "complete");
    for wrong in [json!("a"), json!([1]), json!({})] {
        let params = json!({"notifications": {"taskIds": wrong}});
        let error = process.ask("subscriptions/listen", params)["error"].take();
        assert_eq!(error["code"], -32602, "{wrong}");
    }
}

#[test]
fn a_subscription_that_is_cancelled_hears_nothing_more() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let id = process.task();
    let cancel = |process: &mut Process, subscription: u64| {
        let params = json!({"requestId": subscription});
        process.line(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
        }));
    };
    // Before its tasks are looked up, and afterwards.
    store.hangs.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let subscription = listen(&mut process, &[&id]);
        process.pass(SECOND);
        cancel(&mut process, subscription);
        assert_eq!(process.said(), [Value::Null; 0]);
    }
    store.hangs.store(false, Ordering::Relaxed);
    let subscription = listen(&mut process, &[&id]);
    assert_eq!(states(&process.said(), subscription), [json!("working")]);
    cancel(&mut process, subscription);
    process.pass(60 * SECOND);
    assert_eq!(process.said(), [Value::Null; 0]);
}

#[test]
fn what_changes_while_a_task_is_looked_up_is_told() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let id = process.task();
    store.holds_reads.store(true, Ordering::Relaxed);
    let subscription = listen(&mut process, &[&id]);
    process.run();
    // The lookup has read the state before this one.
    store.holds_reads.store(false, Ordering::Relaxed);
    let tasks = process.catalog.tasks();
    assert!(at_once(tasks.status(&TaskId::from(id), "later")).unwrap());
    let said = process.said();
    let last = said.iter().rfind(|said| said["method"] == "notifications/tasks").unwrap();
    assert_eq!(last["params"]["statusMessage"], "later", "{said:?}");
    assert!(states(&said, subscription).len() <= 2, "{said:?}");
}

#[test]
fn a_store_that_fails_leaves_its_clients_to_poll() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut registry = registry(Tasks::Always, works);
    registry.list_changed(mcp_proto::server::List::Tools);
    let mut process = Process::sharing(&Time::default(), &shared, registry);
    let id = process.task();
    store.fails.store(true, Ordering::Relaxed);
    let filter = json!({"taskIds": [id], "toolsListChanged": true});
    process.send("subscriptions/listen", json!({"notifications": filter}));
    let said = process.said();
    assert_eq!(said[0]["params"]["notifications"], json!({"toolsListChanged": true}), "{said:?}");
    assert_eq!(said.len(), 1, "{said:?}");
    store.fails.store(false, Ordering::Relaxed);
    store.hangs.store(true, Ordering::Relaxed);
    process.send("subscriptions/listen", json!({"notifications": filter}));
    process.pass(9 * SECOND);
    assert_eq!(process.said(), [Value::Null; 0]);
    process.pass(2 * SECOND);
    let said = process.said();
    assert_eq!(said[0]["params"]["notifications"], json!({"toolsListChanged": true}), "{said:?}");
}

#[test]
fn subscriber_is_told_of_its_task_though_the_store_panics_when_it_is_watched() {
    let mut store = HardStore::default();
    store.panics_at_watch = true;
    let store: Arc<dyn TaskStore> = Arc::new(store);
    let mut process = Process::sharing(&Time::default(), &store, registry(Tasks::Always, works));
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    assert_eq!(states(&process.said(), subscription), [json!("working")]);
    process.pass(11 * SECOND);
    assert_eq!(states(&process.said(), subscription), [json!("completed")]);
}

#[test]
fn a_task_of_another_process_is_told_of_by_the_store() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let time = Time::default();
    let mut first = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let mut second = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let id = first.task();
    let subscription = listen(&mut second, &[&id]);
    assert_eq!(states(&second.said(), subscription), [json!("working")]);
    pass(&mut [&mut first, &mut second], 11 * SECOND);
    assert_eq!(states(&second.said(), subscription), [json!("completed")]);
    assert_eq!(second.running(), 0);
}

#[test]
fn the_end_of_a_task_by_the_time_is_told_without_a_poll() {
    // A store that tells nothing; the process that ran the task ends.
    let store: Arc<dyn TaskStore> = Arc::new(HardStore::default());
    let time = Time::default();
    let mut first = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let mut second = Process::sharing(&time, &store, registry(Tasks::Always, works));
    let id = first.task();
    let subscription = listen(&mut second, &[&id]);
    first.crash();
    second.said();
    pass(&mut [&mut second], 100 * SECOND);
    assert_eq!(states(&second.said(), subscription), [json!("failed")]);
    // Nobody runs a task that waits for input.
    let asks = |context: Context| async move {
        context.sleep(SECOND).await;
        let roots = context.list_roots("where")?.roots.len();
        Ok::<_, Interrupt>(roots.to_string())
    };
    let mut process = Process::new(registry(Tasks::Always, asks));
    let id = process.task();
    let subscription = listen(&mut process, &[&id]);
    for _ in 0..4 {
        process.pass(1000 * SECOND);
    }
    let told = states(&process.said(), subscription);
    assert_eq!(told, [json!("working"), json!("input_required"), json!("failed")]);
}

#[test]
fn task_t12_subscribed_tasks_are_limited() {
    let mut config = TaskConfig::default();
    config.max_watched_tasks = 2;
    let mut registry = registry(Tasks::Always, works);
    registry.task_config(config);
    let mut process = Process::new(registry);
    let ids: Vec<String> = (0..3).map(|_| process.task()).collect();
    let honoured = |process: &mut Process| {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        listen(process, &ids);
        let said = process.said();
        let acknowledged = said.iter().find(|said| !said["params"]["notifications"].is_null());
        acknowledged.unwrap()["params"]["notifications"]["taskIds"].as_array().unwrap().len()
    };
    assert_eq!(honoured(&mut process), 2);
    assert_eq!(honoured(&mut process), 2);
    process.pass(20 * SECOND);
    // Those that have ended need no watch.
    assert_eq!(honoured(&mut process), 3);
}

#[test]
fn task_t06_a_subscription_is_told_of_tasks_of_its_principal_alone() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let users: [&[(&str, &str)]; 3] =
        [&[("X-User", "https://a ann")], &[("X-User", "https://b ann")], &[]];
    let mut ids = Vec::new();
    for user in users {
        let fields = [&[("Mcp-Name", "t")], user].concat();
        let call = request(1, "tools/call", json!({"name": "t", "arguments": {}}), true);
        let answer = process.post(&fields, &call).1;
        ids.push(answer["result"]["taskId"].as_str().unwrap().to_owned());
    }
    let listen =
        request(7, "subscriptions/listen", json!({"notifications": {"taskIds": ids}}), true);
    let mut streams = users.map(|user| process.listen(user, &listen));
    process.pass(11 * SECOND);
    for (stream, own) in streams.iter_mut().zip(&ids) {
        let said = stream.said(&process);
        assert_eq!(said[0]["params"]["notifications"], json!({"taskIds": [own]}), "{said:?}");
        let told: Vec<_> = said[1..].iter().map(|said| &said["params"]).collect();
        assert!(told.iter().all(|task| task["taskId"] == **own), "{said:?}");
        let statuses: Vec<_> = told.iter().map(|task| task["status"].clone()).collect();
        assert_eq!(statuses, [json!("working"), json!("completed")], "{said:?}");
    }
    let undeclared =
        request(8, "subscriptions/listen", json!({"notifications": {"taskIds": ids}}), false);
    let (status, answer) = process.post(&[], &undeclared);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32021)));
}

/// The store reports nothing, so the process itself does.
#[test]
fn changes_by_its_own_process_reach_each_subscriber_at_once() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let id = process.task();
    let subscriptions = [listen(&mut process, &[&id]), listen(&mut process, &[&id])];
    let all_get = |process: &mut Process, status: &str| {
        let said = process.said();
        for id in subscriptions {
            assert_eq!(states(&said, id), [json!(status)], "{said:?}");
        }
    };
    all_get(&mut process, "working");
    let (tasks, task) = (process.catalog.tasks(), TaskId::from(id));
    assert!(at_once(tasks.status(&task, "half")).unwrap());
    all_get(&mut process, "working");
    // The store has it, and says that it does not answer.
    store.denies.store(true, Ordering::Relaxed);
    assert!(at_once(tasks.fail(&task, &ErrorData::internal("no"))).is_err());
    all_get(&mut process, "failed");
}

#[test]
fn a_subscriber_is_told_of_the_end_after_the_store_has_failed() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let time = Time::default();
    let mut first = Process::sharing(&time, &shared, registry(Tasks::Always, works));
    let mut second = Process::sharing(&time, &shared, registry(Tasks::Always, works));
    let id = first.task();
    let subscription = listen(&mut second, &[&id]);
    second.said();
    first.crash();
    // The lease ends meanwhile.
    store.fails.store(true, Ordering::Relaxed);
    second.pass(70 * SECOND);
    store.fails.store(false, Ordering::Relaxed);
    assert_eq!(second.said(), [Value::Null; 0]);
    second.pass(30 * SECOND);
    assert_eq!(states(&second.said(), subscription), [json!("failed")]);
}

#[test]
fn a_task_that_is_gone_is_watched_no_more() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let registry = jobs_registry(&Jobs::default());
    let mut process = Process::sharing(&Time::default(), &store, registry);
    let id = process.task();
    listen(&mut process, &[&id]);
    assert_eq!(process.running(), 1);
    let (now, task) = (Duration::from_secs(1_800_000_000), TaskId::from(id));
    assert!(at_once(store.change(now, &task, 0, "".into(), Duration::ZERO)).unwrap());
    assert_eq!(process.running(), 0);
}
