//! Bounds of tasks, and what is shown of them.

use std::sync::Arc;
use std::time::Duration;

use mcp_proto::ext::{Feature, TASKS};
use mcp_proto::server::task::TaskId;
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_proto::{Bytes, ErrorData, Json, UsageError};
use mcp_service::{Context, MemoryStore, Registry, StoreError, TaskConfig, TaskStore, Tasks};
use serde_json::{Value, json};

use super::input::asking;
use super::jobs::{Jobs, jobs_registry};
use super::registry;
use super::stores::{HardStore, at_once};
use super::world::{Process, Time};

const SECOND: Duration = Duration::from_secs(1);

async fn works(context: Context) -> &'static str {
    context.sleep(SECOND).await;
    "done"
}

#[test]
fn task_t12_a_full_store_makes_no_more_tasks() {
    for (tasks, runs_on) in [(Tasks::Always, true), (Tasks::Required, false)] {
        for store in [
            MemoryStore::default().max_tasks(2),
            MemoryStore::default().max_tasks_per_principal(2),
            MemoryStore::default().max_bytes(1025),
            MemoryStore::default().max_bytes_per_principal(1025),
        ] {
            let store: Arc<dyn TaskStore> = Arc::new(store);
            let mut process = Process::sharing(&Time::default(), &store, registry(tasks, works));
            let ids = [process.task(), process.task()];
            let id = process.send("tools/call", json!({"name": "t"}));
            process.pass(2 * SECOND);
            let answer = process.answer(id).unwrap();
            assert_eq!(answer["result"]["content"][0]["text"] == "done", runs_on, "{answer}");
            assert_eq!(answer["error"]["code"] == -32603, !runs_on, "{answer}");
            // Those that are there end as ever, and then there is room.
            for id in &ids {
                assert_eq!(process.get(id)["status"], "completed");
            }
            process.pass(4000 * SECOND);
            process.task();
        }
    }
}

/// Clients in JavaScript and Go cannot read larger numbers.
#[test]
fn times_without_end_are_sent_as_exact_integers() {
    let mut config = TaskConfig::default();
    (config.ttl, config.poll_interval) = (Duration::MAX, Duration::MAX);
    let mut registry = registry(Tasks::Always, works);
    registry.task_config(config);
    let mut process = Process::new(registry);
    let id = process.task();
    let task = process.get(&id);
    assert_eq!(task["ttlMs"], (1_u64 << 53) - 1);
    assert_eq!(task["pollIntervalMs"], (1_u64 << 53) - 1);
    process.pass(2 * SECOND);
    assert_eq!(process.get(&id)["status"], "completed");
}

#[test]
fn rule_that_cannot_be_registered_declares_nothing() {
    let mut registry = Registry::new(Implementation::new("tasks", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema), |_: Value, context| works(context)).unwrap();
    let method = async |_: Json, _: Context| Ok::<_, ErrorData>(Json::EMPTY_OBJECT);
    registry.method("tasks/update", method).unwrap();
    let refused = registry.tasks("t", Tasks::Always).map(|_| ());
    assert!(matches!(refused, Err(UsageError::Duplicate { .. })), "{refused:?}");
    let undeclared = registry.requires_extension(Feature::tool("t"), TASKS).map(|_| ());
    assert!(matches!(undeclared, Err(UsageError::UndeclaredExtension { .. })), "{undeclared:?}");
    registry.method("tasks/get", method).unwrap();
}

#[test]
fn task_t12_a_result_that_is_too_long_fails() {
    let mut config = TaskConfig::default();
    config.max_task_bytes = 1000;
    let mut registry = registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        "long".repeat(300)
    });
    registry.task_config(config);
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(2 * SECOND);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert!(task.to_string().len() < 1000);
}

#[test]
fn a_result_of_a_job_that_is_too_long_fails() {
    let jobs = Jobs::default();
    let mut config = TaskConfig::default();
    config.max_task_bytes = 1000;
    let mut registry = jobs_registry(&jobs);
    registry.task_config(config);
    let mut process = Process::new(registry);
    let id = process.task();
    let job = jobs.lock().unwrap()[0].clone();
    let long = CallToolResult::text("long".repeat(300));
    assert!(at_once(process.catalog.tasks().complete(&job, &long)).unwrap());
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
}

#[test]
fn task_t17_the_wire_shows_eight_characters_of_an_id() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let shown = process.show_wire();
    let id = process.task();
    process.get(&id);
    process.run();
    let shown = shown.lock().unwrap().clone();
    let cut = format!(r#""taskId":"{}…""#, id.get(..8).unwrap());
    assert_eq!(shown.matches(&cut).count(), 3, "{shown}");
    assert!(!shown.contains(&id), "{shown}");
}

/// A message may be 128 levels deep, of which the arguments of a call are the third.
#[test]
fn parameters_that_nobody_could_read_again_make_no_task() {
    let deep = |levels: u32| (0..levels).fold(json!(0), |inner, _| Value::from(vec![inner]));
    for (tasks, runs_on) in [(Tasks::Always, true), (Tasks::Required, false)] {
        let mut process = Process::new(registry(tasks, works));
        let params = json!({"name": "t", "arguments": {"a": deep(124)}});
        let created = process.ask("tools/call", params);
        assert_eq!(created["result"]["resultType"], "task", "{created}");
        assert_eq!(process.get(created["result"]["taskId"].as_str().unwrap())["status"], "working");
        let params = json!({"name": "t", "arguments": {"a": deep(125)}});
        let id = process.send("tools/call", params);
        process.pass(2 * SECOND);
        let answer = process.answer(id).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"] == "done", runs_on, "{answer}");
        assert_eq!(answer["error"]["code"] == -32603, !runs_on, "{answer}");
    }
}

#[test]
fn a_result_that_nobody_could_read_again_fails_its_task() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(SECOND).await;
        let deep = [r#"{"a":"#.repeat(126), "{}".into(), "}".repeat(126)].concat();
        CallToolResult::text("deep").structured_content(Json::parse(deep).unwrap())
    }));
    let id = process.task();
    process.pass(2 * SECOND);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert_eq!(process.running(), 0);
}

#[test]
fn a_result_without_room_fails_its_task_and_says_so() {
    for store in [
        MemoryStore::default().max_bytes(2000),
        MemoryStore::default().max_bytes_per_principal(2000),
    ] {
        let store: Arc<dyn TaskStore> = Arc::new(store);
        let long = async |context: Context| {
            context.sleep(SECOND).await;
            "long".repeat(1000)
        };
        let registry = registry(Tasks::Always, long);
        let mut process = Process::sharing(&Time::default(), &store, registry);
        let id = process.task();
        process.pass(2 * SECOND);
        let task = process.get(&id);
        let text = "the store of tasks has no room for the result";
        assert_eq!((&task["status"], &task["error"]["message"]), (&json!("failed"), &json!(text)));
        assert_eq!(process.running(), 0);
    }
}

/// Such as one that a later version of this library has written.
#[test]
fn record_that_cannot_be_read_is_left_as_it_is() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let mut process = Process::sharing(&Time::default(), &store, jobs_registry(&Jobs::default()));
    let id = process.task();
    let task = TaskId::from(id.clone());
    let (_, known) = at_once(store.get(NOW, &task)).unwrap().unwrap();
    let known = String::from_utf8(known.to_vec()).unwrap();
    let later = known.replace(r#""version":1"#, r#""version":2"#);
    assert_ne!(later, known);
    for (revision, record) in (0..).zip(["", "{}", &later]) {
        let record = Bytes::from(record.to_owned());
        let changed = store.change(NOW, &task, revision, record.clone(), 60 * SECOND);
        assert!(at_once(changed).unwrap());
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": id, "inputResponses": {}});
            let error = process.ask(method, params)["error"].take();
            let text = "the task cannot be read or written";
            assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!(text)));
        }
        assert_eq!(at_once(store.get(NOW, &task)).unwrap(), Some((revision + 1, record)));
    }
}

#[test]
fn input_without_room_is_refused_and_says_so() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default().max_bytes(2000));
    let mut process = Process::sharing(&Time::default(), &store, asking(&["a"]).0);
    let id = process.task();
    process.pass(SECOND);
    let root = json!({"uri": "file:///a", "name": "long".repeat(1000)});
    let input = json!({"taskId": id, "inputResponses": {"a": {"roots": [root]}}});
    let error = process.ask("tasks/update", input)["error"].take();
    let text = "the store of tasks is full";
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!(text)));
    assert_eq!(process.get(&id)["status"], "input_required");
}

const NOW: Duration = Duration::from_secs(1_800_000_000);

fn id(byte: u8) -> TaskId {
    TaskId::from_bits([byte; 16])
}

#[test]
fn a_record_that_grows_takes_the_room_of_those_that_have_expired() {
    for store in
        [MemoryStore::default().max_bytes(10), MemoryStore::default().max_bytes_per_principal(10)]
    {
        at_once(store.create(NOW, &id(1), None, "12345".into(), SECOND)).unwrap();
        at_once(store.create(NOW, &id(2), None, "1234".into(), 10 * SECOND)).unwrap();
        let grow = |now| at_once(store.change(now, &id(2), 0, "123456789".into(), 10 * SECOND));
        assert!(matches!(grow(NOW), Err(StoreError::Full)));
        assert!(grow(NOW + 2 * SECOND).unwrap());
    }
}

#[test]
fn a_record_is_created_once() {
    let store = MemoryStore::default();
    let create =
        |record: &'static str| at_once(store.create(NOW, &id(1), None, record.into(), SECOND));
    create("first").unwrap();
    assert!(matches!(create("second"), Err(StoreError::Exists)));
    assert_eq!(at_once(store.get(NOW, &id(1))).unwrap().unwrap().1, "first");
}

/// A store may remove them later.
#[test]
fn a_record_that_has_expired_is_no_task() {
    let mut store = HardStore::default();
    store.keeps = true;
    let store: Arc<dyn TaskStore> = Arc::new(store);
    let mut process = Process::sharing(&Time::default(), &store, jobs_registry(&Jobs::default()));
    let id = process.task();
    process.pass(3661 * SECOND);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        assert_eq!(process.ask(method, params)["error"]["code"], -32602, "{method}");
    }
}

/// Whoever has read an earlier state of a task decides nothing about it.
#[test]
fn a_record_is_changed_once_from_each_state() {
    let store = MemoryStore::default();
    at_once(store.create(NOW, &id(1), None, "0".into(), SECOND)).unwrap();
    let change = |from, record: &'static str| {
        at_once(store.change(NOW, &id(1), from, record.into(), SECOND)).unwrap()
    };
    let from = || at_once(store.get(NOW, &id(1))).unwrap().unwrap();
    let (first, _) = from();
    assert!(change(first, "1"));
    assert!(!change(first, "other"));
    let (second, record) = from();
    assert_eq!(record, "1");
    assert!(change(second, "2"));
    assert!(!change(second, "other") && !change(first, "other"));
    assert_eq!(from().1, "2");
}

#[test]
fn one_principal_cannot_take_the_bytes_of_all() {
    let store = MemoryStore::default().max_bytes_per_principal(10);
    let create = |byte, owner, record: &'static str| {
        at_once(store.create(NOW, &id(byte), owner, record.into(), SECOND))
    };
    let change = |byte, from, record: &'static str| {
        at_once(store.change(NOW, &id(byte), from, record.into(), SECOND))
    };
    for (byte, owner) in [(0, None), (10, Some("ann")), (20, Some("bob"))] {
        create(byte, owner, "12345678").unwrap();
        assert!(matches!(create(byte + 1, owner, "123"), Err(StoreError::Full)));
        assert!(matches!(change(byte, 0, "12345678901"), Err(StoreError::Full)));
        assert!(change(byte, 0, "1234567890").unwrap());
        assert!(change(byte, 1, "12345").unwrap());
        create(byte + 1, owner, "12345").unwrap();
        assert!(matches!(change(byte, 2, "123456"), Err(StoreError::Full)));
    }
    let store = MemoryStore::default();
    let long = vec![b'a'; 16 * 1024 * 1024 + 1];
    let created = at_once(store.create(NOW, &id(1), Some("ann"), long.into(), SECOND));
    assert!(matches!(created, Err(StoreError::Full)));
}

#[test]
fn task_t17_debug_of_a_store_shows_no_record() {
    let store = MemoryStore::default();
    at_once(store.create(NOW, &id(1), Some("ann"), "secret".into(), SECOND)).unwrap();
    let shown = format!("{store:?}");
    assert_eq!(shown, "MemoryStore { tasks: 1, bytes: 6, .. }");
}

#[test]
fn expired_task_is_removed_by_the_next_access() {
    type Access = fn(&MemoryStore);
    let accesses: [Access; 3] = [
        |store| assert_eq!(at_once(store.get(NOW + SECOND, &id(9))).unwrap(), None),
        |store| {
            assert!(!at_once(store.change(NOW + SECOND, &id(9), 0, "".into(), SECOND)).unwrap());
        },
        |store| assert!(at_once(store.change(NOW + SECOND, &id(2), 1, "".into(), SECOND)).unwrap()),
    ];
    for access in accesses {
        let store = MemoryStore::default();
        at_once(store.create(NOW, &id(1), Some("ann"), "secret".into(), SECOND)).unwrap();
        at_once(store.create(NOW, &id(2), None, "".into(), SECOND)).unwrap();
        // A task that was renewed stays.
        assert!(at_once(store.change(NOW, &id(2), 0, "".into(), 2 * SECOND)).unwrap());
        access(&store);
        assert_eq!(format!("{store:?}"), "MemoryStore { tasks: 1, bytes: 0, .. }");
    }
}
