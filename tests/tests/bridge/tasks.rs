//! Tasks pass between a client and a server of the modern era as they are. Across eras there are
//! none.

use std::sync::{Arc, Mutex};

use mcp_proto::client::{Config, Negotiation};
use mcp_proto::ext::TASKS;
use mcp_proto::types::{ElicitAction, ElicitResult, Implementation};
use mcp_service::Client;
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::{TRANSPORTS, Transport, attach, bridged};
use super::*;

const LISTENS: &str = "io.modelcontextprotocol/subscriptionId";

/// A task as a server shows it, with members that nobody knows.
fn task(status: &str) -> Value {
    json!({
        "taskId": "786512e2", "status": status, "createdAt": "2026-11-24T10:00:00Z", "new": [1.0],
        "lastUpdatedAt": "2026-11-24T10:00:01Z", "ttlMs": null, "pollIntervalMs": 500.0,
    })
}

fn with(mut task: Value, members: Value) -> Value {
    task.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    task
}

#[test]
fn a_task_in_answer_to_a_call_passes() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let call = json!({"name": "x", "arguments": {}});
    let asked = forwarded(&mut bridged, Era::Modern, 1, "tools/call", call);
    let created = with(task("working"), json!({"resultType": "task", "_meta": {"a/b": 1}}));
    assert_eq!(answered(&mut bridged, &asked, &created)["result"], created);
    // Nobody here follows it.
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
}

#[test]
fn requests_about_tasks_pass_with_their_answers() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let requests = json!({"k": {"method": "elicitation/create", "params": {"new": 1.50}}});
    let answers = [
        ("tasks/get", with(task("input_required"), json!({"inputRequests": requests}))),
        ("tasks/get", with(task("completed"), json!({"result": {"content": [], "n": 1.0}}))),
        ("tasks/get", with(task("failed"), json!({"error": {"code": 7, "message": "m"}}))),
        ("tasks/update", json!({"x": {"y": null}})),
        ("tasks/cancel", json!({})),
    ];
    for (id, (method, answer)) in answers.into_iter().enumerate() {
        let id = id as u64 + 1;
        let params = json!({
            "taskId": "786512e2", "inputResponses": {"k": {"action": "accept", "n": 1.50}}, "new": 1,
        });
        let asked = forwarded(&mut bridged, Era::Modern, id, method, params.clone());
        assert_eq!(asked["method"], method);
        for member in ["taskId", "inputResponses", "new"] {
            assert_eq!(asked["params"][member], params[member], "{method}");
        }
        let answer = with(answer, json!({"resultType": "complete"}));
        assert_eq!(answered(&mut bridged, &asked, &answer)["result"], answer, "{method}");
    }
    for (id, code) in [(8, -32602), (9, -32021), (10, -32603)] {
        let params = json!({"taskId": "786512e2"});
        let asked = forwarded(&mut bridged, Era::Modern, id, "tasks/get", params);
        let error = json!({"code": code, "message": "so", "data": {"n": 1.0}});
        bridged.server(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string());
        assert_eq!(only(bridged.to_client())["error"], error);
    }
}

#[test]
fn a_subscription_to_tasks_passes_with_its_notifications() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let params = json!({"notifications": {"taskIds": ["786512e2", "b"]}});
    let asked = forwarded(&mut bridged, Era::Modern, 9, "subscriptions/listen", params.clone());
    assert_eq!(asked["params"]["notifications"], params["notifications"]);
    let done = with(task("completed"), json!({"result": {"content": [], "n": 1.0}}));
    let honoured = json!({"notifications": {"taskIds": ["786512e2"]}});
    for (method, params) in [
        ("notifications/subscriptions/acknowledged", honoured),
        ("notifications/tasks", task("working")),
        ("notifications/tasks", done),
    ] {
        let of = |id: &Value| with(params.clone(), json!({"_meta": {LISTENS: id, "a/b": 1}}));
        let line = json!({"jsonrpc": "2.0", "method": method, "params": of(&asked["id"])});
        bridged.server(&line.to_string());
        let got = only(bridged.to_client());
        assert_eq!((&got["method"], &got["params"]), (&json!(method), &of(&json!(9))));
    }
}

#[test]
fn requests_about_tasks_are_refused_across_eras() {
    let methods = ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"];
    for (down, up) in pairs().filter(|(down, up)| down != up) {
        let mut bridged = quiet(down, up);
        for (id, method) in methods.into_iter().enumerate() {
            let id = id as u64 + 20;
            bridged.client(&request(id, method, &of_era(down, json!({"taskId": "a"}))));
            assert_eq!(bridged.to_server(), Vec::<Value>::new(), "{method}");
            let answer = only(bridged.to_client());
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32601)));
        }
    }
}

#[test]
fn tasks_of_2025_pass_within_the_legacy_era() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    for (id, method) in
        ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"].iter().enumerate()
    {
        let params = json!({"taskId": "a", "new": 1.0});
        let asked = forwarded(&mut bridged, Era::Legacy, id as u64 + 1, method, params.clone());
        assert_eq!((&asked["method"], &asked["params"]), (&json!(method), &params));
        let result = json!({"taskId": "a", "status": "working", "ttl": 1.0});
        assert_eq!(answered(&mut bridged, &asked, &result)["result"], result);
    }
}

/// A client that follows tasks, of a server that makes some, on each transport.
#[test]
fn tasks_are_followed_through_a_bridge() {
    for down in TRANSPORTS {
        for up in TRANSPORTS {
            let world = World::default();
            let bridge = bridged(&world, up, Era::Modern);
            let config = Config::new(Implementation::new("client", "1.0.0"));
            let modern = Negotiation::Pinned(ProtocolVersion::LATEST_MODERN);
            let client = Client::new(config.negotiation(modern).follow_tasks());
            client.on_form(move |_| async move { ElicitResult::new(ElicitAction::Accept) });
            attach(&world, &client, down, &bridge.catalog());
            let seen = Arc::new(Mutex::new(Vec::new()));
            for (tool, arguments, says) in [
                ("slow_compute", json!({"seconds": 3, "label": "pi"}), "pi"),
                ("confirm_delete", json!({"filename": "a.txt"}), "a.txt"),
            ] {
                let seen = seen.clone();
                let call = client.call_tool(tool, &arguments);
                let call = call.on_task(move |task| {
                    let status = serde_json::to_string(&task.status).unwrap();
                    seen.lock().unwrap().push(status);
                });
                let result = world.run(call).unwrap().unwrap();
                let text = serde_json::to_string(&result.content).unwrap();
                assert!(text.contains(says), "{down:?} {up:?}: {text}");
            }
            let seen = seen.lock().unwrap();
            for status in ["\"working\"", "\"input_required\"", "\"completed\""] {
                assert!(seen.iter().any(|it| it == status), "{down:?} {up:?} {seen:?}");
            }
        }
    }
}

/// The capability of the extension means nothing in the legacy era.
#[test]
fn legacy_client_that_declares_tasks_gets_results() {
    for up in TRANSPORTS {
        let world = World::default();
        let bridge = bridged(&world, up, Era::Modern);
        let mut config = Config::new(Implementation::new("client", "1.0.0"));
        config.capabilities.extensions.insert(TASKS.into(), mcp_proto::Json::EMPTY_OBJECT);
        let client = Client::new(config.negotiation(Negotiation::Legacy));
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let call = client.call_tool("slow_compute", &json!({"seconds": 3, "label": "pi"}));
        let result = world.run(call).unwrap();
        assert!(result.as_ref().is_ok_and(|it| !it.content.is_empty()), "{up:?} {result:?}");
    }
}
