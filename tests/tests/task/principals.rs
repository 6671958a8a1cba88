//! Tasks over HTTP: whose they are, and the headers of requests about them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_service::{Context, Tasks};
use serde_json::{Value, json};

use super::input::asking;
use super::jobs::{Jobs, jobs_registry};
use super::registry;
use super::world::{Process, request};

async fn works(context: Context) -> &'static str {
    context.sleep(Duration::from_secs(60)).await;
    "done"
}

/// Calls the tool as this user; returns the id of the task.
fn task(process: &mut Process, user: &[(&str, &str)]) -> String {
    let fields = [&[("Mcp-Name", "t")], user].concat();
    let call = request(1, "tools/call", json!({"name": "t", "arguments": {}}), true);
    let (status, answer) = process.post(&fields, &call);
    assert_eq!(status, 200, "{answer}");
    answer["result"]["taskId"].as_str().unwrap().to_owned()
}

fn about(process: &mut Process, method: &str, id: &str, user: &[(&str, &str)]) -> Value {
    let fields = [&[("Mcp-Name", id)], user].concat();
    let params = json!({"taskId": id, "inputResponses": {}});
    process.post(&fields, &request(2, method, params, true)).1
}

#[test]
fn task_t06_a_task_is_of_its_principal_alone() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let users: [&[(&str, &str)]; 3] =
        [&[("X-User", "https://a ann")], &[("X-User", "https://b ann")], &[]];
    for (at, owner) in users.iter().enumerate() {
        let id = task(&mut process, owner);
        let unknown = about(&mut process, "tasks/get", "nobody", owner);
        for (other, user) in users.iter().enumerate().filter(|(other, _)| *other != at) {
            for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
                let answer = about(&mut process, method, &id, user);
                assert_eq!(answer["error"]["code"], -32602, "{at} {other} {method}");
                assert_eq!(answer, unknown);
            }
        }
        assert_eq!(about(&mut process, "tasks/get", &id, owner)["result"]["status"], "working");
        let cancelled = about(&mut process, "tasks/cancel", &id, owner);
        assert_eq!(cancelled["result"]["resultType"], "complete");
    }
}

#[test]
fn task_for_a_job_is_of_the_principal_of_its_call() {
    let mut process = Process::new(jobs_registry(&Jobs::default()));
    let (ann, bob) = ([("X-User", "ann")], [("X-User", "bob")]);
    let id = task(&mut process, &ann);
    for other in [&bob[..], &[]] {
        assert_eq!(about(&mut process, "tasks/get", &id, other)["error"]["code"], -32602);
    }
    assert_eq!(about(&mut process, "tasks/get", &id, &ann)["result"]["status"], "working");
}

/// The call had a token with the scope that the tool requires.
#[test]
fn input_needs_the_scopes_of_the_tool_and_stays_open_without() {
    let (mut registry, calls) = asking(&["a"]);
    registry.require_scopes("t", "write").unwrap();
    let mut process = Process::new(registry);
    let call = request(1, "tools/call", json!({"name": "t", "arguments": {}}), true);
    let (status, _) = process.post(&[("Mcp-Name", "t"), ("X-Scopes", "read")], &call);
    assert_eq!((status, calls.load(Ordering::Relaxed)), (403, 0));
    let id = task(&mut process, &[("X-Scopes", "read write")]);
    process.pass(Duration::from_secs(1));
    let mut update = |fields: &[(&str, &str)]| {
        let fields = [&[("Mcp-Name", &*id)], fields].concat();
        let params = json!({"taskId": id, "inputResponses": {"a": {"roots": []}}});
        let answer = process.post(&fields, &request(2, "tasks/update", params, true)).1;
        process.pass(Duration::from_secs(1));
        (answer, process.get(&id)["status"].take(), calls.load(Ordering::Relaxed))
    };
    for fields in [&[("X-Scopes", "read")][..], &[]] {
        let (answer, status, calls) = update(fields);
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("the request needs \"write\""), "{answer}");
        assert_eq!((status, calls), (json!("input_required"), 1));
    }
    let (answer, status, calls) = update(&[("X-Scopes", "write")]);
    assert_eq!((status, calls), (json!("completed"), 2), "{answer}");
}

#[test]
fn task_t16_the_name_of_a_request_is_the_id() {
    let mut process = Process::new(registry(Tasks::Always, works));
    let id = task(&mut process, &[]);
    let encoded = format!("=?base64?{}?=", base64(&id));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        let message = request(2, method, params, true);
        for name in [None, Some("another"), Some("")] {
            let fields: Vec<_> = name.map(|name| ("Mcp-Name", name)).into_iter().collect();
            let (status, answer) = process.post(&fields, &message);
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{name:?}");
        }
        for name in [&id, &encoded] {
            let (status, answer) = process.post(&[("Mcp-Name", name)], &message);
            assert_eq!(status, 200, "{name} {answer}");
        }
    }
    let undeclared = request(3, "tasks/get", json!({"taskId": id}), false);
    let (status, answer) = process.post(&[("Mcp-Name", &id)], &undeclared);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32021)));
}

fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bytes = [0; 3];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for at in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap();
            out.push(if at <= chunk.len() { char::from(ALPHABET[index]) } else { '=' });
        }
    }
    out
}
