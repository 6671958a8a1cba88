//! How a call becomes a task, and when it does not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcp_proto::ext::{Feature, TASKS};
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{ErrorData, Json, UsageError};
use mcp_service::{Context, Interrupt, MemoryStore, Registry, TaskStore, Tasks};
use serde_json::{Value, json};

use super::jobs::{Jobs, jobs_registry};
use super::registry;
use super::stores::{HardStore, at_once};
use super::world::{Process, Time, request};

const SECOND: Duration = Duration::from_secs(1);

async fn works(context: Context) -> &'static str {
    context.sleep(3 * SECOND).await;
    "done"
}

#[test]
fn a_call_becomes_a_task_and_its_result_is_fetched() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let created = process.call();
    assert_eq!(created["status"], "working");
    assert_eq!((&created["ttlMs"], &created["pollIntervalMs"]), (&json!(3_600_000), &json!(1000)));
    assert_eq!(created["createdAt"], "2027-01-15T08:00:00.000Z");
    assert_eq!(created["lastUpdatedAt"], created["createdAt"]);
    let id = created["taskId"].as_str().unwrap();
    assert_eq!(id.len(), 22);
    assert_eq!(process.get(id)["status"], "working");
    process.pass(4 * SECOND);
    let task = process.get(id);
    assert_eq!((&task["status"], &task["resultType"]), (&json!("completed"), &json!("complete")));
    assert_eq!(task["result"]["content"][0]["text"], "done");
    assert_eq!(process.running(), 0);
}

/// The server was busy, and reads both at once.
#[test]
fn a_call_that_is_cancelled_with_its_first_turn_leaves_no_task() {
    let store = Arc::new(MemoryStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(&Time::default(), &shared, registry(Tasks::Always, works));
    let call = request(1, "tools/call", json!({"name": "t", "arguments": {}}), true);
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1},
    });
    process.lines(&[call, cancel]);
    assert_eq!(process.said(), [""; 0]);
    assert_eq!(process.running(), 0);
    // The next access removes what has expired.
    process.pass(Duration::from_millis(100));
    process.get("another");
    assert_eq!(format!("{store:?}"), "MemoryStore { tasks: 0, bytes: 0, .. }");
}

#[test]
fn last_choice_for_a_tool_decides_whether_its_clients_must_declare_tasks() {
    for (last, runs_on) in [(Tasks::Always, true), (Tasks::Required, false)] {
        let mut registry = registry(Tasks::Required, works);
        registry.tasks("t", last).unwrap();
        let mut process = Process::new(registry);
        let id = process.send_as("tools/call", json!({"name": "t"}), false);
        process.pass(4 * SECOND);
        let answer = process.answer(id).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"] == "done", runs_on, "{answer}");
        assert_eq!(answer["error"]["code"] == -32021, !runs_on, "{answer}");
    }
}

#[test]
fn requirement_of_the_application_stays_when_the_choice_for_its_tool_changes() {
    for order in [[true, false], [false, true]] {
        let mut registry = registry(Tasks::Manual, works);
        for requires in order {
            if requires {
                registry.requires_extension(Feature::tool("t"), TASKS).unwrap();
            } else {
                registry.tasks("t", Tasks::Required).unwrap();
            }
        }
        registry.tasks("t", Tasks::Always).unwrap();
        let mut process = Process::new(registry);
        let id = process.send_as("tools/call", json!({"name": "t"}), false);
        let answer = process.answer(id).unwrap();
        assert_eq!(answer["error"]["code"], -32021, "{answer}");
    }
}

#[test]
fn settings_of_the_extension_stay_when_a_tool_gets_tasks() {
    let mut registry = Registry::new(Implementation::new("tasks", "1.0.0"));
    registry.extension(TASKS, Json::parse(r#"{"vendor":true}"#).unwrap()).unwrap();
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema), |_: Value, context| works(context)).unwrap();
    registry.tasks("t", Tasks::Always).unwrap();
    let mut process = Process::new(registry);
    let found = process.ask("server/discover", json!({}));
    let settings = &found["result"]["capabilities"]["extensions"][TASKS];
    assert_eq!(settings, &json!({"vendor": true}), "{found}");
}

#[test]
fn last_tool_with_tasks_may_be_replaced() {
    let mut registry = registry(Tasks::Always, works);
    registry.remove_tool("t").unwrap();
    let schema = || Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema()), |_: Value, context| works(context)).unwrap();
    registry.tasks("t", Tasks::Always).unwrap();
    assert_eq!(Process::new(registry).call()["status"], "working");
}

#[test]
fn registries_that_have_lost_their_tasks_are_mounted() {
    let tasks = || registry(Tasks::Always, works);
    let without_tasks = || {
        let mut registry = tasks();
        registry.remove_tool("t").unwrap();
        registry
    };
    for (mut host, mounted) in [(without_tasks(), tasks()), (tasks(), without_tasks())] {
        host.mount("", mounted).unwrap();
        assert_eq!(Process::new(host).call()["status"], "working");
    }
}

#[test]
fn tools_of_a_registry_that_is_mounted_twice_keep_their_tasks() {
    let plugin = registry(Tasks::Always, works);
    let mut host = Registry::new(Implementation::new("host", "1"));
    host.mount("a_", plugin.clone()).unwrap();
    host.mount("b_", plugin).unwrap();
    let mut process = Process::new(host);
    for tool in ["a_t", "b_t"] {
        let id = process.send("tools/call", json!({"name": tool}));
        let created = process.answer(id).unwrap()["result"].take();
        assert_eq!(created["status"], "working", "{tool}");
    }
}

#[test]
fn methods_of_the_application_are_no_methods_of_tasks() {
    let mut other = Registry::new(Implementation::new("other", "1"));
    let own = |_: Value, _: Context| async { Json::EMPTY_OBJECT };
    other.method("tasks/get", own).unwrap();
    let mut host = registry(Tasks::Always, works);
    let error = host.mount("", other).unwrap_err();
    assert!(matches!(error, UsageError::Duplicate { .. }), "{error}");
}

#[test]
fn a_call_that_ends_in_time_is_no_task() {
    for (after, is_task) in [(2, true), (4, false)] {
        let tasks = Tasks::After(after * SECOND);
        let mut process = Process::new(registry(tasks, works));
        let id = process.send("tools/call", json!({"name": "t"}));
        assert_eq!(process.answer(id), None);
        process.pass(SECOND);
        assert_eq!(process.answer(id), None);
        process.pass(3 * SECOND);
        let result = process.answer(id).unwrap()["result"].take();
        assert_eq!(result["resultType"] == "task", is_task, "{result}");
        if is_task {
            process.pass(SECOND);
            let task = process.get(result["taskId"].as_str().unwrap());
            assert_eq!(task["status"], "completed");
        }
    }
    let mut process = Process::new(registry(Tasks::Required, async |_| "at once"));
    assert_eq!(process.call()["content"][0]["text"], "at once");
}

#[test]
fn task_t01_a_client_that_does_not_declare_gets_no_task() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let task = process.task();
    let id = process.send_as("tools/call", json!({"name": "t"}), false);
    process.pass(4 * SECOND);
    let result = process.answer(id).unwrap()["result"].take();
    assert_eq!((&result["resultType"], result.get("taskId")), (&json!("complete"), None));
    assert_eq!(result["content"][0]["text"], "done");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for task in [task.as_str(), "nobody"] {
            let id = process.send_as(method, json!({"taskId": task}), false);
            let error = process.answer(id).unwrap()["error"].take();
            assert_eq!(error["code"], -32021, "{method} {error}");
        }
    }
    let mut process = Process::new(registry(Tasks::Required, works));
    let id = process.send_as("tools/call", json!({"name": "t"}), false);
    let error = process.answer(id).unwrap()["error"].take();
    assert_eq!(error["code"], -32021);
    let extensions = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    assert_eq!(error["data"]["requiredCapabilities"], extensions);
}

#[test]
fn task_t01_a_client_that_does_not_declare_hears_of_no_task() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let task = process.task();
    let params = json!({"notifications": {"taskIds": [task], "toolsListChanged": true}});
    let id = process.send_as("subscriptions/listen", params, false);
    let error = process.answer(id).unwrap()["error"].take();
    assert_eq!(error["code"], -32021);
    process.pass(4 * SECOND);
    assert_eq!(process.said(), [Value::Null; 0]);
    // A server without tasks does not know the member.
    let mut process = Process::new(Registry::new(Implementation::new("none", "1")));
    let id =
        process.send_as("subscriptions/listen", json!({"notifications": {"taskIds": []}}), false);
    assert_eq!(process.answer(id).unwrap()["result"]["resultType"], "complete");
}

#[test]
fn task_t02_input_before_the_task_is_a_round_trip() {
    let asks = |context: Context| async move {
        let roots = context.list_roots("where")?;
        context.sleep(SECOND).await;
        Ok::<_, Interrupt>(format!("{} roots", roots.roots.len()))
    };
    let mut process = Process::new(registry(Tasks::Required, asks));
    let first = process.call();
    assert_eq!((&first["resultType"], first.get("taskId")), (&json!("input_required"), None));
    let responses = json!({"where": {"roots": [{"uri": "file:///a"}]}});
    let params = json!({"name": "t", "arguments": {}, "inputResponses": responses});
    let second = process.ask("tools/call", params)["result"].take();
    assert_eq!((&second["resultType"], second.get("requestState")), (&json!("task"), None));
    process.pass(2 * SECOND);
    let task = process.get(second["taskId"].as_str().unwrap());
    assert_eq!(task["result"]["content"][0]["text"], "1 roots");
}

#[test]
fn task_t03_what_tasks_were_in_2025_is_gone() {
    let mut process = Process::new(registry(Tasks::Manual, works));
    let hint = json!({"name": "t", "task": {"ttl": 60_000}});
    let id = process.send("tools/call", hint);
    process.pass(4 * SECOND);
    assert_eq!(process.answer(id).unwrap()["result"]["resultType"], "complete");
    for method in ["tasks/result", "tasks/list"] {
        let error = process.ask(method, json!({"taskId": "t"}))["error"].take();
        assert_eq!(error["code"], -32601, "{method}");
    }
    let mut legacy = Process::new(registry(Tasks::Always, works));
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"extensions": extensions},
        "clientInfo": {"name": "c", "version": "1"},
    });
    legacy.line(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}));
    legacy.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (id, method) in ["result", "list", "get", "update", "cancel"].into_iter().enumerate() {
        let method = format!("tasks/{method}");
        let params = json!({"taskId": "t", "inputResponses": {}});
        let id = id + 2;
        legacy.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }
    let call = json!({"name": "t", "task": {"ttl": 60_000}});
    legacy.line(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}));
    legacy.pass(4 * SECOND);
    let said = legacy.said();
    let errors = said.iter().filter(|said| said["error"]["code"] == -32601).count();
    assert_eq!(errors, 5, "{said:?}");
    assert!(said.iter().any(|said| said["result"]["content"][0]["text"] == "done"), "{said:?}");
}

#[test]
fn task_t05_a_task_is_kept_before_its_client_knows_of_it() {
    let store = Arc::new(HardStore::default());
    store.blocks.store(true, Ordering::Relaxed);
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(
        &Time::default(),
        &shared,
        registry(Tasks::Always, async |context| {
            context.sleep(60 * SECOND).await;
            "done"
        }),
    );
    let id = process.send("tools/call", json!({"name": "t"}));
    process.pass(5 * SECOND);
    assert_eq!(process.answer(id), None);
    store.blocks.store(false, Ordering::Relaxed);
    let created = process.answer(id).unwrap()["result"].take();
    assert_eq!(created["resultType"], "task");
    assert_eq!(process.get(created["taskId"].as_str().unwrap())["status"], "working");
}

/// The store would be waited for 10 s; the task is removed once it is stored.
#[test]
fn a_call_that_ends_while_its_task_is_stored_has_its_result() {
    let store = Arc::new(HardStore::small(1));
    let shared: Arc<dyn TaskStore> = store.clone();
    let registry = registry(Tasks::Required, works);
    let mut process = Process::sharing(&Time::default(), &shared, registry);
    store.holds_new.store(true, Ordering::Relaxed);
    let id = process.send("tools/call", json!({"name": "t"}));
    process.pass(4 * SECOND);
    let answer = process.answer(id).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    store.holds_new.store(false, Ordering::Relaxed);
    process.pass(SECOND);
    assert_eq!(process.running(), 0);
    process.task();
}

#[test]
fn a_store_that_fails_makes_no_task() {
    for (tasks, runs_on) in [(Tasks::After(SECOND), true), (Tasks::Required, false)] {
        let store = Arc::new(HardStore::default());
        store.fails.store(true, Ordering::Relaxed);
        let shared: Arc<dyn TaskStore> = store;
        let mut process = Process::sharing(&Time::default(), &shared, registry(tasks, works));
        let id = process.send("tools/call", json!({"name": "t"}));
        process.pass(4 * SECOND);
        let answer = process.answer(id).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"] == "done", runs_on, "{answer}");
        assert_eq!(answer["error"]["code"] == -32603, !runs_on, "{answer}");
        assert_eq!(process.running(), 0);
        let found = process.ask("tasks/get", json!({"taskId": "t"}));
        assert_eq!(found["error"]["code"], -32603);
    }
}

#[test]
fn a_client_that_leaves_before_the_task_cancels_the_call() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let seen = cancelled.clone();
    let mut process = Process::new(registry(Tasks::After(60 * SECOND), move |context| {
        let seen = seen.clone();
        async move {
            context.cancelled().await;
            seen.store(true, Ordering::Relaxed);
            "cancelled"
        }
    }));
    let id = process.send("tools/call", json!({"name": "t"}));
    process.run();
    let params = json!({"requestId": id});
    process.line(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
    }));
    assert_eq!(process.answer(id), None);
    assert!(cancelled.load(Ordering::Relaxed));
    process.pass(120 * SECOND);
    assert_eq!((process.said(), process.running()), (vec![], 0));
}

#[test]
fn progress_is_sent_first_and_a_status_message_afterwards() {
    let reports = |context: Context| async move {
        for minute in 1..=20 {
            context.progress(mcp_proto::server::Progress::new(minute).total(20).message("film"));
            context.sleep(SECOND).await;
        }
        "done"
    };
    let mut process = Process::new(registry(Tasks::After(5 * SECOND), reports));
    let mut call = request(77, "tools/call", json!({"name": "t"}), true);
    call["params"]["_meta"]["progressToken"] = json!("p");
    process.line(&call);
    process.pass(10 * SECOND);
    let said = process.said();
    let is_progress = |said: &&Value| said["method"] == "notifications/progress";
    let before = said.iter().filter(is_progress).count();
    assert!((5..=6).contains(&before), "{said:?}");
    let created = said.iter().find(|said| said["id"] == 77).unwrap();
    let id = created["result"]["taskId"].as_str().unwrap();
    let message = process.get(id)["statusMessage"].clone();
    assert!(["10 of 20: film", "11 of 20: film"].map(|text| json!(text)).contains(&message));
    assert_eq!(process.said(), [Value::Null; 0]);
}

#[test]
fn handler_knows_whether_the_client_of_its_call_wants_progress() {
    let (heard, seen) = mpsc::channel();
    let registry = registry(Tasks::Always, move |context: Context| {
        let heard = heard.clone();
        async move {
            heard.send(context.wants_progress()).unwrap();
            context.sleep(SECOND).await;
            context.progress(1);
            context.sleep(SECOND).await;
            if context.may_be_task() {
                context.list_roots("a")?;
            }
            Ok::<_, Interrupt>("done")
        }
    });
    let mut process = Process::new(registry);
    for token in [None, Some("p")] {
        let mut call = request(77, "tools/call", json!({"name": "t"}), true);
        if let Some(token) = token {
            call["params"]["_meta"]["progressToken"] = json!(token);
        }
        process.line(&call);
        let created = process.answer(77).unwrap();
        let id = created["result"]["taskId"].as_str().unwrap().to_owned();
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [token.is_some()]);
        process.pass(3 * SECOND / 2);
        let task = process.get(&id);
        assert_eq!(task["statusMessage"], "1", "{task}");
        process.pass(SECOND);
        // The update that resumes the task has no token.
        process.update(&id, json!({"a": {"roots": []}}));
        process.pass(3 * SECOND);
        assert_eq!(process.get(&id)["status"], "completed");
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [false]);
    }
}

#[test]
fn a_job_that_runs_elsewhere_is_a_task() {
    let jobs = Jobs::default();
    let mut process = Process::new(jobs_registry(&jobs));
    let ids: Vec<String> = (0..2).map(|_| process.task()).collect();
    let tasks = process.catalog.tasks();
    let jobs = jobs.lock().unwrap().clone();
    assert!(at_once(tasks.status(&jobs[0], "half")).unwrap());
    assert_eq!(process.get(&ids[0])["statusMessage"], "half");
    let result = CallToolResult::text("done");
    assert!(at_once(tasks.complete(&jobs[0], &result)).unwrap());
    assert_eq!(process.get(&ids[0])["result"]["content"][0]["text"], "done");
    process.cancel(&ids[1]);
    assert!(at_once(tasks.has_ended(&jobs[1])).unwrap());
    assert!(!at_once(tasks.fail(&jobs[1], &ErrorData::internal("late"))).unwrap());
    assert_eq!(process.get(&ids[1])["status"], "cancelled");
}
