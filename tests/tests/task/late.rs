//! Stores that answer late or not at all, time that jumps, and runs that meet because of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use mcp_service::{Context, Interrupt, MemoryStore, Registry, TaskConfig, TaskStore, Tasks};
use serde_json::json;

use super::input::asking;
use super::jobs::{Jobs, jobs_registry};
use super::registry;
use super::stores::HardStore;
use super::world::{Process, Time, pass, request};

const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(100);
const ROOM: usize = 5;

/// A server whose tool works for so long.
pub(super) fn working(duration: Duration) -> Registry {
    registry(Tasks::Always, move |context: Context| async move {
        context.sleep(duration).await;
        "done"
    })
}

/// A server whose tool works until it is cancelled, and counts that.
pub(super) fn waiting() -> (Registry, Arc<AtomicUsize>) {
    let cancellations = Arc::new(AtomicUsize::new(0));
    let seen = cancellations.clone();
    let registry = registry(Tasks::Always, move |context: Context| {
        let seen = seen.clone();
        async move {
            context.cancelled().await;
            seen.fetch_add(1, Ordering::Relaxed);
            "too late"
        }
    });
    (registry, cancellations)
}

/// A process with this store.
pub(super) fn with(store: &Arc<HardStore>, registry: Registry) -> Process {
    let shared: Arc<dyn TaskStore> = store.clone();
    Process::sharing(&Time::default(), &shared, registry)
}

/// The lease would be over: the handler still works, or has ended meanwhile.
#[test]
fn a_process_keeps_its_tasks_while_the_store_is_down() {
    for seconds in [100, 65] {
        let store = Arc::new(HardStore::default());
        let mut process = with(&store, working(Duration::from_secs(seconds)));
        let id = process.task();
        store.fails.store(true, Ordering::Relaxed);
        process.pass(70 * SECOND);
        store.fails.store(false, Ordering::Relaxed);
        assert_eq!(process.get(&id)["status"], "working", "{seconds}");
        process.pass(50 * SECOND);
        assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done", "{seconds}");
    }
}

#[test]
fn a_calendar_that_jumps_ends_no_task() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let time = Time::default();
    let mut process = Process::sharing(&time, &store, working(30 * SECOND));
    let id = process.task();
    time.jump(120 * SECOND);
    process.pass(25 * SECOND);
    assert_eq!(process.get(&id)["status"], "working");
    time.jump(120 * SECOND);
    process.pass(10 * SECOND);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done");
    // The TTL counts as ever.
    let id = process.task();
    time.jump(3600 * SECOND);
    assert_eq!(process.get(&id)["status"], "failed");
}

#[test]
fn a_dead_process_ends_its_task_when_the_lease_is_over() {
    for seconds in [6, 90] {
        let lease = seconds * SECOND;
        let registry = || {
            let mut config = TaskConfig::default();
            config.lease = lease;
            let mut registry = working(1000 * SECOND);
            registry.task_config(config);
            registry
        };
        let (shared, time): (Arc<dyn TaskStore>, _) =
            (Arc::<HardStore>::default(), Time::default());
        let mut first = Process::sharing(&time, &shared, registry());
        let mut second = Process::sharing(&time, &shared, registry());
        let id = first.task();
        // It is renewed after each third.
        pass(&mut [&mut first, &mut second], 3 * lease);
        drop(first);
        second.pass(lease / 2);
        assert_eq!(second.get(&id)["status"], "working", "{seconds}");
        second.pass(lease / 2 + SECOND);
        assert_eq!(second.get(&id)["status"], "failed", "{seconds}");
    }
}

#[test]
fn a_result_that_waits_for_the_store_keeps_its_lease() {
    let store = Arc::new(HardStore::default());
    let (shared, time): (Arc<dyn TaskStore>, _) = (store.clone(), Time::default());
    let mut first = Process::sharing(&time, &shared, working(SECOND));
    let mut second = Process::sharing(&time, &shared, working(SECOND));
    let id = first.task();
    store.refuses_results.store(true, Ordering::Relaxed);
    pass(&mut [&mut first, &mut second], 100 * SECOND);
    assert_eq!(second.get(&id)["status"], "working");
    store.refuses_results.store(false, Ordering::Relaxed);
    pass(&mut [&mut first, &mut second], 5 * SECOND);
    assert_eq!(second.get(&id)["result"]["content"][0]["text"], "done");
}

#[test]
fn input_counts_if_its_request_ends_before_the_store_answers() {
    let (registry, calls) = asking(&["a"]);
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, registry);
    let id = process.task();
    process.pass(2 * MOMENT);
    store.holds.store(true, Ordering::Relaxed);
    let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
    let update = process.send("tasks/update", params);
    assert_eq!(process.answer(update), None);
    process.line(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": update},
    }));
    process.run();
    store.holds.store(false, Ordering::Relaxed);
    process.pass(4 * MOMENT);
    assert_eq!(process.get(&id)["status"], "completed");
    assert_eq!((calls.load(Ordering::Relaxed), process.running()), (2, 0));
}

/// The client is told of an error after 10 s. The handler is called once the store answers, as long
/// as the task has a lease; after that the task fails.
#[test]
fn input_for_a_store_that_answers_late_is_not_lost() {
    for (late, ends) in [(40, "completed"), (100, "failed")] {
        let (registry, calls) = asking(&["a"]);
        let store = Arc::new(HardStore::default());
        let mut process = with(&store, registry);
        let id = process.task();
        process.pass(2 * MOMENT);
        store.holds.store(true, Ordering::Relaxed);
        let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
        let update = process.send("tasks/update", params.clone());
        process.pass(11 * SECOND);
        assert_eq!(process.answer(update).unwrap()["error"]["code"], -32603);
        process.pass(late * SECOND);
        store.holds.store(false, Ordering::Relaxed);
        process.pass(SECOND);
        // The client tries again, which changes nothing.
        assert!(process.ask("tasks/update", params)["result"].is_object());
        let task = process.get(&id);
        assert_eq!(task["status"], ends, "{task}");
        assert_eq!(task["statusMessage"].is_string(), ends == "failed");
        let called = calls.load(Ordering::Relaxed);
        assert_eq!((called, process.running()), (1 + usize::from(ends == "completed"), 0));
    }
}

/// The store has cancelled the task, and its answer comes after the end of the request.
#[test]
fn cancellation_counts_if_its_request_ends_before_the_store_answers() {
    for over_http in [false, true] {
        let (registry, cancellations) = waiting();
        let store = Arc::new(HardStore::default());
        let mut process = with(&store, registry);
        let id = process.task();
        store.holds.store(true, Ordering::Relaxed);
        let params = json!({"taskId": id});
        if over_http {
            let message = request(1, "tasks/cancel", params, true);
            let mut answering = process.answering(&[("Mcp-Name", &id)], &message);
            assert!(answering.turn(process.time.now(), Waker::noop()).is_none());
            process.run();
        } else {
            let cancel = process.send("tasks/cancel", params);
            assert_eq!(process.answer(cancel), None);
            process.line(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": cancel},
            }));
            process.run();
        }
        store.holds.store(false, Ordering::Relaxed);
        assert_eq!(process.running(), 0, "{over_http}");
        assert_eq!(cancellations.load(Ordering::Relaxed), 1, "{over_http}");
        assert_eq!(process.get(&id)["status"], "cancelled", "{over_http}");
    }
}

#[test]
fn store_that_does_not_answer_fails_each_request_about_a_task_after_10_s() {
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let store = Arc::new(HardStore::default());
        let mut process = with(&store, working(60 * SECOND));
        let id = process.task();
        store.hangs.store(true, Ordering::Relaxed);
        let request = process.send(method, json!({"taskId": id, "inputResponses": {}}));
        process.pass(9 * SECOND);
        assert_eq!(process.answer(request), None, "{method}");
        process.pass(2 * SECOND);
        let answer = process.answer(request).unwrap();
        assert_eq!(answer["error"]["code"], -32603, "{method} {answer}");
        store.hangs.store(false, Ordering::Relaxed);
        assert_eq!(process.get(&id)["status"], "working", "{method}");
    }
}

/// The answers of the read and of the write come late: together they may take 10 s.
#[test]
fn cancellation_by_a_slow_store_fails_after_10_s_and_counts() {
    let (registry, cancellations) = waiting();
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, registry);
    let id = process.task();
    store.holds_reads.store(true, Ordering::Relaxed);
    let cancel = process.send("tasks/cancel", json!({"taskId": id}));
    process.pass(6 * SECOND);
    store.holds.store(true, Ordering::Relaxed);
    store.holds_reads.store(false, Ordering::Relaxed);
    process.pass(5 * SECOND);
    assert_eq!(process.answer(cancel).unwrap()["error"]["code"], -32603);
    store.holds.store(false, Ordering::Relaxed);
    assert_eq!((process.running(), cancellations.load(Ordering::Relaxed)), (0, 1));
}

/// A task whose question is in the store, which did not say so in time.
fn question_that_is_stored_late() -> (Process, String) {
    let asks = async |context: Context| {
        context.sleep(MOMENT).await;
        context.list_roots("a")?;
        context.sleep(30 * SECOND).await;
        Ok::<_, Interrupt>("done")
    };
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, registry(Tasks::Always, asks));
    let id = process.task();
    store.holds.store(true, Ordering::Relaxed);
    process.pass(11 * SECOND);
    store.holds.store(false, Ordering::Relaxed);
    (process, id)
}

/// The store has the question, and says so too late: it is asked no second time, whether it is
/// answered meanwhile or not.
#[test]
fn a_question_is_asked_once() {
    for is_answered in [false, true] {
        let (mut process, id) = question_that_is_stored_late();
        let answer = json!({"a": {"roots": []}});
        if is_answered {
            process.update(&id, answer.clone());
        }
        process.pass(9 * SECOND);
        let task = process.get(&id);
        if is_answered {
            assert_eq!((&task["status"], process.running()), (&json!("working"), 1), "{task}");
        } else {
            assert_eq!(task["inputRequests"], json!({"a": {"method": "roots/list"}}), "{task}");
            process.update(&id, answer);
        }
        process.pass(31 * SECOND);
        assert_eq!(process.get(&id)["result"]["content"][0]["text"], "done");
    }
}

#[test]
fn a_handler_whose_task_is_cancelled_before_it_begins_never_runs() {
    let begun = Arc::new(AtomicUsize::new(0));
    let asks = || {
        let begun = begun.clone();
        registry(Tasks::Always, move |context: Context| {
            let begun = begun.clone();
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                context.sleep(MOMENT).await;
                context.list_roots("a")?;
                Ok::<_, Interrupt>("done")
            }
        })
    };
    let store = Arc::new(HardStore::default());
    let (shared, time): (Arc<dyn TaskStore>, _) = (store.clone(), Time::default());
    let mut first = Process::sharing(&time, &shared, asks());
    let mut second = Process::sharing(&time, &shared, asks());
    let id = first.task();
    pass(&mut [&mut first, &mut second], 2 * MOMENT);
    store.holds.store(true, Ordering::Relaxed);
    let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
    first.send("tasks/update", params);
    first.run();
    second.send("tasks/cancel", json!({"taskId": id}));
    second.run();
    store.holds.store(false, Ordering::Relaxed);
    pass(&mut [&mut first, &mut second], 4 * MOMENT);
    assert_eq!(first.get(&id)["status"], "cancelled");
    assert_eq!((begun.load(Ordering::Relaxed), first.running()), (1, 0));
}

/// The store answers at the same time, or later.
#[test]
fn call_that_is_cancelled_while_its_task_is_stored_does_not_go_on() {
    for is_stored in [true, false] {
        let cancelled = Arc::new(AtomicUsize::new(0));
        let counter = cancelled.clone();
        let works = move |context: Context| {
            let counter = counter.clone();
            async move {
                context.cancelled().await;
                counter.fetch_add(1, Ordering::Relaxed);
                context.sleep(SECOND).await;
                "done"
            }
        };
        let store = Arc::new(HardStore::default());
        let mut process = with(&store, registry(Tasks::Always, works));
        store.blocks.store(true, Ordering::Relaxed);
        let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
        assert_eq!(process.answer(call), None);
        store.blocks.store(!is_stored, Ordering::Relaxed);
        process.line(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": call},
        }));
        assert_eq!((process.answer(call), process.running()), (None, 0), "{is_stored}");
        assert_eq!(cancelled.load(Ordering::Relaxed), 1, "{is_stored}");
    }
}

/// The store answers after the client has left, at the same time, or after 10 s.
#[test]
fn tasks_whose_clients_do_not_know_them_take_no_room() {
    for (leaves, late) in [(true, MOMENT), (true, Duration::ZERO), (false, 11 * SECOND)] {
        let store = Arc::new(HardStore::small(ROOM));
        let mut process = with(&store, working(30 * SECOND));
        store.holds_new.store(true, Ordering::Relaxed);
        for _ in 0..ROOM {
            let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
            assert_eq!(process.answer(call), None);
            if leaves {
                process.line(&json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": call},
                }));
            }
            if late.is_zero() {
                store.holds_new.store(false, Ordering::Relaxed);
                process.run();
                store.holds_new.store(true, Ordering::Relaxed);
            }
        }
        process.pass(late);
        store.holds_new.store(false, Ordering::Relaxed);
        process.pass(MOMENT);
        assert_eq!(process.running(), 0, "{leaves} {late:?}");
        process.task();
    }
}

/// The same for a handler that makes the task itself.
#[test]
fn tasks_of_handlers_that_are_gone_before_they_know_them_take_no_room() {
    let store = Arc::new(HardStore::small(ROOM));
    let jobs = Jobs::default();
    let mut process = with(&store, jobs_registry(&jobs));
    store.holds_new.store(true, Ordering::Relaxed);
    for _ in 0..ROOM {
        let call = request(1, "tools/call", json!({"name": "t", "arguments": {}}), true);
        let mut answering = process.answering(&[("Mcp-Name", "t")], &call);
        assert!(answering.turn(process.time.now(), Waker::noop()).is_none());
    }
    store.holds_new.store(false, Ordering::Relaxed);
    process.pass(MOMENT);
    process.task();
}

/// The store has the task, and says that it does not answer. Its removal loses a race first.
#[test]
fn tasks_of_a_store_that_denies_them_take_no_room() {
    let mut store = HardStore::small(ROOM);
    store.loses = true;
    let store = Arc::new(store);
    let mut process = with(&store, working(SECOND));
    store.denies.store(true, Ordering::Relaxed);
    for _ in 0..ROOM {
        let call = process.send("tools/call", json!({"name": "t", "arguments": {}}));
        process.pass(2 * SECOND);
        let answer = process.answer(call).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
    store.denies.store(false, Ordering::Relaxed);
    process.task();
}

/// The write of the question has timed out, so the first run has not ended when the second begins.
#[test]
fn a_run_that_ends_late_leaves_the_next_run_alone() {
    let (mut process, id) = question_that_is_stored_late();
    process.update(&id, json!({"a": {"roots": []}}));
    assert_eq!(process.running(), 2);
    process.pass(9 * SECOND);
    assert_eq!(process.running(), 1);
    process.cancel(&id);
    assert_eq!(process.running(), 0);
}

#[test]
fn input_is_refused_at_once_if_the_runtime_has_ended() {
    let store = Arc::new(HardStore::default());
    let mut process = with(&store, asking(&["a"]).0);
    let id = process.task();
    process.pass(2 * MOMENT);
    store.holds.store(true, Ordering::Relaxed);
    let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
    let update = process.send("tasks/update", params);
    assert_eq!(process.answer(update), None);
    process.crash();
    assert_eq!(process.answer(update).unwrap()["error"]["code"], -32603);
}
