//! Tasks pass between a client and a server of the modern era as they are. Across eras there are
//! none.

use std::sync::{Arc, Mutex};

use mcp_proto::Duration;
use mcp_proto::client::Config;
use mcp_proto::ext::TASKS;
use mcp_proto::types::{ElicitAction, ElicitResult, Implementation, TaskStatus};
use mcp_service::{Bridge, Client, RemoteTask, Started};
use mcp_tests::bridge::world::VirtualRuntime as World;

use super::cells::{TRANSPORTS, Transport, attach, bounded, bridged};
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
fn a_task_counts_until_its_ttl_and_a_day_at_most() {
    const DAY: u64 = 24 * 3600 * 1000;
    for (ttls, counts) in [
        (vec![json!(60_000), json!(1)], 60_000),
        (vec![json!(null)], DAY),
        (vec![json!(1e300)], DAY),
        (vec![json!(2 * DAY)], DAY),
    ] {
        let mut bridged = quiet(Era::Modern, Era::Modern);
        for (id, ttl) in (1..).zip(&ttls) {
            let call = json!({"name": "x", "arguments": {}});
            let asked = forwarded(&mut bridged, Era::Modern, id, "tools/call", call);
            let created = with(task("working"), json!({"resultType": "task", "ttlMs": ttl}));
            answered(&mut bridged, &asked, &created);
        }
        bridged.pass(Duration::from_millis(counts - 1));
        assert!(bridged.has_tasks(), "{ttls:?}");
        bridged.pass(Duration::from_millis(1));
        assert!(!bridged.has_tasks(), "{ttls:?}");
    }
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
            // Each era has this method.
            if method == "tasks/get" {
                let why = format!(
                    "the bridge does not forward `tasks/get` of a {down} client to a {up} server"
                );
                assert_eq!(answer["error"]["message"], why);
            }
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
            let client = Client::new(config.negotiation(negotiation(Era::Modern)).follow_tasks());
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
        let client = Client::new(config.negotiation(negotiation(Era::Legacy)));
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let call = client.call_tool("slow_compute", &json!({"seconds": 3, "label": "pi"}));
        let result = world.run(call).unwrap();
        assert!(result.as_ref().is_ok_and(|it| !it.content.is_empty()), "{up:?} {result:?}");
    }
}

/// A server process has its tasks in memory.
#[test]
fn connection_stays_while_its_server_has_tasks() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = bounded(&world, 64, &opened);
    let client = following("a", &world, &bridge);
    let talk = async {
        let task = started(&client, 40 * 60).await;
        for (minutes, status) in [(30, TaskStatus::Working), (25, TaskStatus::Completed)] {
            world.sleep(Duration::from_secs(minutes * 60)).await;
            assert_eq!(task.status().await.unwrap().task.status, status);
        }
        assert_eq!(*opened.lock().unwrap(), 1);
        // After the TTL of an hour the connection counts as idle.
        world.sleep(Duration::from_secs(16 * 60)).await;
        client.list_tools().await.unwrap();
        assert_eq!(*opened.lock().unwrap(), 2);
    };
    world.run(talk).unwrap();
}

#[test]
fn connection_with_tasks_is_the_last_one_to_be_replaced() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = bounded(&world, 2, &opened);
    let [one, two] = ["a", "b"].map(|name| following(name, &world, &bridge));
    let talk = async {
        let task = started(&one, 1800).await;
        two.list_tools().await.unwrap();
        let three = following("c", &world, &bridge);
        three.list_tools().await.unwrap();
        assert!(task.status().await.is_ok(), "the second client was replaced");
        started(&three, 1800).await;
        // Now all connections have tasks, and the one that was used least recently ends.
        two.list_tools().await.unwrap();
        assert!(task.status().await.is_err());
        assert_eq!(*opened.lock().unwrap(), 5);
    };
    world.run(talk).unwrap();
}

/// A modern client with a capability of this name, which follows tasks.
fn following(name: &str, world: &World, bridge: &Bridge) -> Client {
    let mut config = Config::new(Implementation::new("client", "1.0.0"))
        .negotiation(negotiation(Era::Modern))
        .follow_tasks();
    let experimental = json!({name: {}});
    config.capabilities.experimental = serde_json::from_value(experimental).unwrap();
    let client = Client::new(config);
    attach(world, &client, Transport::Stdio, &bridge.catalog());
    client
}

/// A task that takes so many seconds.
async fn started(client: &Client, seconds: u64) -> RemoteTask {
    match client.start_tool("slow_compute", &json!({"seconds": seconds})).await.unwrap() {
        Started::Task(task) => task,
        Started::Done(result) => unreachable!("{result:?}"),
    }
}
