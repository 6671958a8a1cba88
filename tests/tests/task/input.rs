//! Input within a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_proto::ErrorData;
use mcp_proto::server::{InputRequired, ListEntry};
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ImageContent, InputRequest, InputRequests, RequestedSchema, Role,
    SamplingMessage, SamplingMessageContentBlock,
};
use mcp_service::{
    Context, HandlerKind, Interrupt, MemoryStore, Registry, TaskStore, Tasks, limit_rate,
};
use serde_json::json;

use super::registry;
use super::stores::HardStore;
use super::world::{Process, Time, pass, request};

const MOMENT: Duration = Duration::from_millis(100);

/// A server whose tool asks within its task, for all `keys` at once; it counts its calls.
pub(crate) fn asking(keys: &'static [&'static str]) -> (Registry, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let registry = registry(Tasks::Always, move |context: Context| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move {
            context.sleep(MOMENT).await;
            let requests = keys.iter().map(|key| ((*key).to_owned(), InputRequest::list_roots()));
            let answers = context.ask(requests.collect::<InputRequests>())?;
            context.sleep(MOMENT).await;
            Ok::<_, Interrupt>(format!("{:?}", answers.keys().collect::<Vec<_>>()))
        }
    });
    (registry, calls)
}

#[test]
fn task_t08_a_part_of_the_input_leaves_the_rest_open() {
    let (registry, calls) = asking(&["a", "b"]);
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(2 * MOMENT);
    let task = process.get(&id);
    assert_eq!(task["status"], "input_required");
    assert_eq!(task["inputRequests"]["a"], json!({"method": "roots/list"}));
    assert_eq!((task.get("requestState"), process.running()), (None, 0));
    let ignored = json!({"unknown": {"roots": []}});
    assert_eq!(process.update(&id, ignored)["resultType"], "complete");
    for _ in 0..2 {
        process.update(&id, json!({"a": {"roots": []}}));
        let task = process.get(&id);
        assert_eq!(task["status"], "input_required");
        assert_eq!(task["inputRequests"], json!({"b": {"method": "roots/list"}}));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let acknowledged = process.update(&id, json!({"a": {"roots": []}, "b": {"roots": []}}));
    assert_eq!((acknowledged.get("taskId"), acknowledged.get("status")), (None, None));
    let task = process.get(&id);
    assert_eq!((&task["status"], task.get("inputRequests")), (&json!("working"), None));
    process.update(&id, json!({"a": {"roots": []}, "b": {"roots": []}}));
    process.pass(4 * MOMENT);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], r#"["a", "b"]"#);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_task_asks_only_for_what_its_client_declares() {
    let mut process = Process::new(asking(&["a"]).0);
    let mut call = request(77, "tools/call", json!({"name": "t", "arguments": {}}), true);
    let capabilities = &mut call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    capabilities.as_object_mut().unwrap().remove("roots");
    process.line(&call);
    let id = process.answer(77).unwrap()["result"]["taskId"].as_str().unwrap().to_owned();
    process.pass(2 * MOMENT);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32021)));
    assert_eq!(task["error"]["data"], json!({"requiredCapabilities": {"roots": {}}}));
}

#[test]
fn task_whose_input_cannot_be_written_fails() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        let picture = ImageContent::new("picture.png", "image/png");
        let block = SamplingMessageContentBlock::Image(picture);
        let messages = vec![SamplingMessage::new(Role::User, block)];
        let params = CreateMessageRequestParams::new(messages, 10);
        context.create_message("model", params).map(|answer| answer.model)
    }));
    let id = process.task();
    process.pass(2 * MOMENT);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the input `model` cannot be written as JSON: "), "{message}");
}

#[test]
fn a_task_fails_with_the_codes_of_its_era() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        Err::<String, _>(ErrorData::resource_not_found("test:a"))
    }));
    let id = process.task();
    process.pass(2 * MOMENT);
    assert_eq!(process.get(&id)["error"]["code"], -32602);
}

#[test]
fn a_task_asks_by_url_without_the_id_of_an_earlier_revision() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        let mut url = ElicitRequestURLParams::new("Pay", "https://pay.example/");
        url.elicitation_id = Some("1".into());
        context.elicit("paid", ElicitRequestParams::Url(url))?;
        Ok::<_, Interrupt>("paid")
    }));
    let mut call = request(77, "tools/call", json!({"name": "t", "arguments": {}}), true);
    let capabilities = &mut call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    capabilities["elicitation"] = json!({"url": {}});
    process.line(&call);
    let id = process.answer(77).unwrap()["result"]["taskId"].as_str().unwrap().to_owned();
    process.pass(2 * MOMENT);
    let task = process.get(&id);
    assert_eq!(task["inputRequests"]["paid"]["params"]["url"], "https://pay.example/");
    assert_eq!(task["inputRequests"]["paid"]["params"].get("elicitationId"), None);
}

#[test]
fn task_t08_rounds_of_input_follow_each_other() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        let first = context.list_roots("first")?.roots.len();
        let second = context.list_roots("second")?.roots.len();
        Ok::<_, Interrupt>(format!("{first} {second}"))
    }));
    let id = process.task();
    process.pass(2 * MOMENT);
    process.update(&id, json!({"first": {"roots": [{"uri": "file:///a"}]}}));
    process.pass(2 * MOMENT);
    let task = process.get(&id);
    assert_eq!(task["inputRequests"], json!({"second": {"method": "roots/list"}}));
    process.update(&id, json!({"second": {"roots": []}}));
    process.pass(2 * MOMENT);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "1 0");
}

#[test]
fn unreadable_input_is_refused() {
    let (registry, _) = asking(&["a"]);
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(2 * MOMENT);
    for responses in [json!(null), json!([]), json!("a")] {
        let params = json!({"taskId": id, "inputResponses": responses});
        let error = process.ask("tasks/update", params)["error"].take();
        assert_eq!(error["code"], -32602, "{responses}");
    }
    for params in [json!({}), json!({"taskId": 7})] {
        assert_eq!(process.ask("tasks/get", params)["error"]["code"], -32602);
    }
}

#[test]
fn input_of_another_type_is_refused_and_stays_open() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        let form = ElicitRequestFormParams::new("Delete?", RequestedSchema::new());
        let action = context.elicit("sure", form)?.action;
        Ok::<_, Interrupt>(format!("{action:?}"))
    }));
    let id = process.task();
    process.pass(2 * MOMENT);
    for answer in [json!("x"), json!(5), json!(null), json!({}), json!({"action": "zz"})] {
        let params = json!({"taskId": id, "inputResponses": {"sure": answer, "else": "x"}});
        let error = process.ask("tasks/update", params)["error"].take();
        assert_eq!(error["code"], -32602, "{answer}");
        assert_eq!(process.get(&id)["status"], "input_required", "{answer}");
    }
    // Answers to nothing are ignored, whatever they are.
    process.update(&id, json!({"sure": {"action": "accept"}, "else": "x"}));
    process.pass(2 * MOMENT);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "Accept");
}

#[test]
fn task_t11_another_process_goes_on_after_input() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
    let time = Time::default();
    let (registry, calls) = asking(&["a"]);
    let mut first = Process::sharing(&time, &store, registry);
    let (registry, others) = asking(&["a"]);
    let mut second = Process::sharing(&time, &store, registry);
    let id = first.task();
    pass(&mut [&mut first, &mut second], 2 * MOMENT);
    first.crash();
    // Who waits for input has no lease.
    pass(&mut [&mut first, &mut second], Duration::from_secs(600));
    assert_eq!(second.get(&id)["status"], "input_required");
    second.update(&id, json!({"a": {"roots": []}}));
    pass(&mut [&mut first, &mut second], 4 * MOMENT);
    assert_eq!(second.get(&id)["result"]["content"][0]["text"], r#"["a"]"#);
    assert_eq!(first.get(&id)["status"], "completed");
    assert_eq!((calls.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (1, 1));
}

/// Two processes give input and cancel at the same time, and the store lets them meet in every way.
#[test]
fn task_t07_input_and_a_cancellation_meet() {
    for loses in [false, true] {
        for delay in 0..4 {
            for cancels_first in [false, true] {
                let (mut store, time) = (HardStore::default(), Time::default());
                (store.loses, store.delay) = (loses, delay);
                let store: Arc<dyn TaskStore> = Arc::new(store);
                let (registry, _) = asking(&["a"]);
                let mut first = Process::sharing(&time, &store, registry);
                let (registry, calls) = asking(&["a"]);
                let mut second = Process::sharing(&time, &store, registry);
                let id = first.task();
                pass(&mut [&mut first, &mut second], 4 * MOMENT);
                assert_eq!(first.get(&id)["status"], "input_required");
                let responses = json!({"a": {"roots": []}});
                let params = json!({"taskId": id, "inputResponses": responses});
                let cancel = first.send("tasks/cancel", json!({"taskId": id}));
                let update = second.send("tasks/update", params);
                let mut both = [&mut first, &mut second];
                if !cancels_first {
                    both.reverse();
                }
                for _ in 0..3 {
                    for process in &mut both {
                        process.run();
                    }
                }
                assert!(first.answer(cancel).unwrap().get("result").is_some());
                assert!(second.answer(update).unwrap().get("result").is_some());
                pass(&mut [&mut first, &mut second], Duration::from_secs(25));
                assert_eq!(first.get(&id)["status"], "cancelled", "{loses} {delay}");
                assert_eq!(second.get(&id)["status"], "cancelled");
                assert!(calls.load(Ordering::Relaxed) <= 1);
                assert_eq!((first.running(), second.running()), (0, 0));
            }
        }
    }
}

/// The last input comes twice at the same time: the handler is called once more, and only once.
#[test]
fn task_t07_the_last_input_resumes_a_task_once() {
    for delay in 0..4 {
        let (mut store, time) = (HardStore::default(), Time::default());
        store.delay = delay;
        let store: Arc<dyn TaskStore> = Arc::new(store);
        let (registry, calls) = asking(&["a"]);
        let mut first = Process::sharing(&time, &store, registry);
        let (registry, others) = asking(&["a"]);
        let mut second = Process::sharing(&time, &store, registry);
        let id = first.task();
        pass(&mut [&mut first, &mut second], 4 * MOMENT);
        let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
        first.send("tasks/update", params.clone());
        second.send("tasks/update", params);
        pass(&mut [&mut first, &mut second], 8 * MOMENT);
        assert_eq!(first.get(&id)["status"], "completed");
        assert_eq!(calls.load(Ordering::Relaxed) + others.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn a_tool_that_is_removed_while_its_task_waits_fails_it() {
    let (registry, _) = asking(&["a"]);
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(2 * MOMENT);
    process.catalog.update(|registry| Ok(registry.remove_tool("t"))).unwrap();
    process.update(&id, json!({"a": {"roots": []}}));
    assert_eq!(process.get(&id)["status"], "failed");
}

#[test]
fn a_tool_that_is_disabled_or_hidden_while_its_task_waits_fails_it() {
    for is_disabled in [true, false] {
        let (registry, calls) = asking(&["a"]);
        let mut process = Process::new(registry);
        let id = process.task();
        process.pass(2 * MOMENT);
        let tool = ListEntry::tool("t");
        let hide = |registry: &mut Registry| {
            if is_disabled {
                registry.disable(tool.clone())?;
            } else {
                registry.only_for(tool.clone(), |_| false)?;
            }
            Ok(())
        };
        process.catalog.update(hide).unwrap();
        process.update(&id, json!({"a": {"roots": []}}));
        process.pass(2 * MOMENT);
        assert_eq!(process.get(&id)["status"], "failed");
        assert_eq!(calls.load(Ordering::Relaxed), 1, "the handler runs only once");
    }
}

#[test]
fn a_task_that_has_ended_asks_for_nothing() {
    let mut process = Process::new(asking(&["a"]).0);
    let id = process.task();
    process.pass(2 * MOMENT);
    assert!(process.get(&id)["inputRequests"].is_object());
    process.cancel(&id);
    let task = process.get(&id);
    assert_eq!((&task["status"], task.get("inputRequests")), (&json!("cancelled"), None));
}

/// The client cannot repeat it, so its layers let it pass; its progress is a status message.
#[test]
fn a_handler_that_is_called_again_is_in_its_task() {
    let mut registry = registry(Tasks::Always, async |context: Context| {
        context.sleep(MOMENT).await;
        context.list_roots("a")?;
        context.progress(7);
        context.sleep(10 * MOMENT).await;
        Ok::<_, Interrupt>(format!("{}", context.may_be_task()))
    });
    registry.around(HandlerKind::Tool, limit_rate(1, Duration::from_secs(3600)));
    let mut process = Process::new(registry);
    let id = process.task();
    process.pass(2 * MOMENT);
    process.update(&id, json!({"a": {"roots": []}}));
    process.pass(2 * MOMENT);
    assert_eq!(process.get(&id)["statusMessage"], "7");
    process.pass(11 * MOMENT);
    assert_eq!(process.get(&id)["result"]["content"][0]["text"], "false");
}

/// A server whose tool asks for `rounds` calls with only a state, and nothing else.
fn repeating(rounds: usize) -> Registry {
    registry(Tasks::Always, move |context: Context| async move {
        context.sleep(MOMENT).await;
        let state = context.input().and_then(|input| input.state.as_deref());
        let state = state.map_or(0, |state| state.parse().unwrap());
        if state < rounds {
            let next = InputRequired::default().state((state + 1).to_string());
            return Err(Interrupt::from(next));
        }
        Ok(format!("{state} rounds"))
    })
}

#[test]
fn task_whose_handler_returns_only_a_state_is_called_again_at_once() {
    let mut process = Process::new(repeating(10));
    let id = process.task();
    process.pass(5 * MOMENT);
    let task = process.get(&id);
    assert_eq!((&task["status"], task.get("inputRequests")), (&json!("working"), None));
    process.pass(20 * MOMENT);
    let task = process.get(&id);
    assert_eq!(task["result"]["content"][0]["text"], "10 rounds", "{task}");
    assert_eq!(process.running(), 0);
}

#[test]
fn task_whose_handler_returns_only_states_fails() {
    let mut process = Process::new(repeating(11));
    let id = process.task();
    process.pass(30 * MOMENT);
    let task = process.get(&id);
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert_eq!(process.running(), 0);
}

#[test]
fn task_that_is_called_again_at_once_can_be_cancelled_and_lose_its_tool() {
    for removes in [false, true] {
        let mut process = Process::new(repeating(10));
        let id = process.task();
        process.pass(5 * MOMENT);
        if removes {
            process.catalog.update(|registry| Ok(registry.remove_tool("t"))).unwrap();
        } else {
            process.cancel(&id);
        }
        process.pass(5 * MOMENT);
        assert_eq!(process.get(&id)["status"], if removes { "failed" } else { "cancelled" });
        assert_eq!(process.running(), 0);
    }
}

/// The write of the state has succeeded, and its answer is lost.
#[test]
fn task_is_called_again_once_after_a_write_that_timed_out() {
    let store = Arc::new(HardStore::default());
    let shared: Arc<dyn TaskStore> = store.clone();
    let mut process = Process::sharing(&Time::default(), &shared, repeating(1));
    let id = process.task();
    store.holds.store(true, Ordering::Relaxed);
    process.pass(Duration::from_secs(11));
    store.holds.store(false, Ordering::Relaxed);
    process.pass(Duration::from_secs(20));
    let task = process.get(&id);
    assert_eq!(task["result"]["content"][0]["text"], "1 rounds", "{task}");
    assert_eq!(process.running(), 0);
}
