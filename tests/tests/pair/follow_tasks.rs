//! A client that follows tasks, and a server whose tasks are scripted.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use mcp_proto::client::{CallError, Config};
use mcp_proto::types::{ElicitAction, ElicitResult, Implementation, Task, TaskStatus, Tool};
use mcp_proto::{Instant, Json};
use mcp_service::testing::Pair;
use mcp_service::{Client, Context, Handler, Registry, Started, Tasks};
use mcp_tests::scripted::Scripted;
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn followed_call_has_the_result_of_its_task() {
    let (mut pair, server) = pair(["working", "working: 1 of 2", "completed"]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = heard.clone();
    let call = call(&pair.client())
        .on_task(move |task: Task| noted.lock().unwrap().push((task.status, task.status_message)));
    assert_eq!(pair.run(call).unwrap().content[0].as_text(), Some("rendered"));
    assert_eq!(pair.now().as_micros(), 1_000_000, "polls are half a second apart");
    assert_eq!(server.methods(), ["tools/call", "tasks/get", "tasks/get"]);
    let heard = heard.lock().unwrap();
    let told: Vec<_> = heard.iter().map(|(status, text)| (*status, text.as_deref())).collect();
    assert_eq!(
        told,
        [
            (TaskStatus::Working, None),
            (TaskStatus::Working, Some("1 of 2")),
            (TaskStatus::Completed, None)
        ]
    );
}

#[test]
fn task_t14_a_call_that_is_dropped_cancels_its_task() {
    let (mut pair, server) = pair(["working"]);
    let mut call = call(&pair.client());
    assert!(pair.poll(&mut call).is_pending());
    drop(call);
    pair.pass(100 * SECOND);
    assert_eq!(server.methods(), ["tools/call", "tasks/cancel"]);
}

#[test]
fn task_t14_a_call_that_is_dropped_before_its_task_is_told() {
    let (mut pair, server) = pair(["silence"]);
    let mut call = call(&pair.client());
    assert!(pair.poll(&mut call).is_pending());
    assert_eq!(call.detach(), None, "there is no task");
    assert!(pair.poll(&mut call).is_pending(), "the call goes on");
    drop(call);
    pair.pass(SECOND);
    assert_eq!(server.methods(), ["tools/call", "notifications/cancelled"]);
}

#[test]
fn task_t14_a_detached_task_goes_on_and_is_followed_again() {
    let (mut pair, server) = pair(["working", "working"]);
    let client = pair.client();
    let mut call = call(&client);
    assert!(pair.poll(&mut call).is_pending());
    let id = call.detach().unwrap();
    assert_eq!(call.detach(), None, "it is over");
    assert_eq!(pair.poll(&mut call), Poll::Ready(Err(CallError::Closed)));
    drop(call);
    pair.pass(100 * SECOND);
    assert_eq!(server.methods(), ["tools/call"]);

    let task = client.task(&*id);
    assert_eq!(pair.run(task.status()).unwrap().task.status, TaskStatus::Working);
    // Dropping a call that follows the task by its id leaves the task alone.
    server.set(["working", "working", "completed"]);
    let mut result = task.result();
    assert!(pair.poll(&mut result).is_pending());
    drop(result);
    pair.pass(SECOND);
    assert_eq!(pair.run(task.result()).unwrap().content[0].as_text(), Some("rendered"));
    assert!(!server.methods().contains(&"tasks/cancel".to_owned()), "{:?}", server.methods());
    pair.run(task.cancel()).unwrap();
    assert_eq!(server.methods().last().unwrap(), "tasks/cancel");
}

#[test]
fn task_t14_a_lost_connection_leaves_the_id() {
    let (mut pair, _) = pair(["working"]);
    let mut call = call(&pair.client());
    assert!(pair.poll(&mut call).is_pending());
    pair.cut();
    assert_eq!(pair.run(call), Err(CallError::TaskLeft { task_id: ID.into() }));
}

#[test]
fn task_t14_a_task_that_nobody_knows_is_gone() {
    let (mut pair, _) = pair(["gone"]);
    let task = pair.client().task("another");
    let gone = Err(CallError::TaskGone { task_id: "another".into() });
    assert_eq!(pair.run(task.result()), gone);
    let text = CallError::TaskGone { task_id: ID.into() }.to_string();
    assert!(!text.contains(ID) && text.contains("01234567"), "an id is a secret: {text}");
    assert!(!format!("{task:?}").contains("another"));
}

#[test]
fn started_tool_has_a_result_or_a_task() {
    let (mut pair, server) = pair(["working", "completed"]);
    let client = pair.client();
    let started = pair.run(client.start_tool("render", &json!({ "scene": 1 }))).unwrap();
    let Started::Task(task) = started else { panic!("{started:?}") };
    assert_eq!(task.id(), ID);
    pair.pass(100 * SECOND);
    assert_eq!(server.methods(), ["tools/call"], "nobody follows it");
    pair.run(task.cancel()).unwrap();

    server.set(["at once"]);
    let started = pair.run(client.start_tool("render", &json!({}))).unwrap();
    let Started::Done(result) = started else { panic!("{started:?}") };
    assert_eq!(result.content[0].as_text(), Some("rendered"));
}

#[test]
fn input_of_a_task_is_given_by_the_functions_for_input() {
    let (mut pair, server) = pair(["working", "input", "input", "input again", "completed"]);
    let client = pair.client();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    client.on_form(move |form| {
        noted.lock().unwrap().push(form.message);
        async { ElicitResult::new(ElicitAction::Decline) }
    });
    assert_eq!(pair.run(call(&client)).unwrap().content[0].as_text(), Some("rendered"));
    assert_eq!(*asked.lock().unwrap(), ["sure?", "really?"]);
    let [first, second] = &*server.given() else { panic!("{:?}", server.given()) };
    assert_eq!(*first, json!({ "a": { "action": "decline" } }));
    assert_eq!(*second, json!({ "b": { "action": "decline" } }));
}

#[test]
fn client_that_follows_no_tasks_is_as_ever() {
    let (pair, server) = pair(["working"]);
    let mut pair = pair.client_config(Config::new(Implementation::new("a", "1")));
    let client = pair.client();
    let error = pair.run(call(&client)).unwrap_err();
    assert!(matches!(error, CallError::Protocol(_)), "{error}");
    let error = pair.run(client.task(ID).result()).unwrap_err();
    assert!(matches!(error, CallError::Usage(_)), "{error}");
    assert_eq!(server.methods(), ["tools/call"]);
}

/// The two halves of this library, on both transports.
#[test]
fn followed_call_of_a_server_with_tasks_ends_with_its_result() {
    let registry = || {
        let mut registry = Registry::new(Implementation::new("studio", "1"));
        let render = |_: Value, context: Context| async move {
            context.sleep(20 * SECOND).await;
            "rendered"
        };
        let tool = Tool::new("render", Json::parse(r#"{"type":"object"}"#).unwrap());
        registry.add_tool(tool, Handler::tool(render)).unwrap();
        registry.tasks("render", Tasks::Always).unwrap();
        registry
    };
    for pair in [Pair::new(registry()), Pair::over_http(registry())] {
        let config = Config::new(Implementation::new("a", "1")).follow_tasks();
        let mut pair = pair.client_config(config);
        let client = pair.client();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = heard.clone();
        let call = call(&client).on_task(move |task| noted.lock().unwrap().push(task.status));
        assert_eq!(pair.run(call).unwrap().content[0].as_text(), Some("rendered"));
        assert_eq!(*heard.lock().unwrap(), [TaskStatus::Working, TaskStatus::Completed]);
        let passed = pair.now().duration_since(Instant::ZERO);
        assert!((20 * SECOND..25 * SECOND).contains(&passed), "{passed:?}");
    }
}

#[test]
fn task_with_an_id_of_more_than_8_kib_is_refused() {
    for (length, is_followed) in [(8 * 1024, true), (8 * 1024 + 1, false)] {
        let id = "i".repeat(length);
        let mut pair = scripted(move |method, _| {
            let kind = if method == "tools/call" { "task" } else { "complete" };
            Some(json!({ "result": { "resultType": kind, "taskId": id, "status": "completed",
                "createdAt": "", "lastUpdatedAt": "", "ttlMs": null, "result": rendered() } }))
        });
        let result = pair.run(call(&pair.client()));
        assert_eq!(result.is_ok(), is_followed, "{length}");
        assert!(matches!(result, Ok(_) | Err(CallError::Protocol(_))));
    }
}

/// Each poll has another question.
#[test]
fn task_that_asks_without_end_is_cancelled() {
    for (key_bytes, questions) in [(1, 256), (20 * 1024, 3)] {
        let server = Server::default();
        let script = server.clone();
        let pair = scripted(move |method, params| {
            let asked = script.given().len();
            // The rest of it is about the same task as ever.
            let mut answer = script.answer(method, params)?;
            if method == "tasks/get" {
                let key = format!("{asked}{}", "k".repeat(key_bytes));
                answer["result"]["inputRequests"] = json!({ key: form("again?") });
            }
            Some(answer)
        });
        server.set(["working", "input"]);
        let mut config = Config::new(Implementation::new("a", "1")).follow_tasks();
        config.limits.max_input_rounds = usize::MAX;
        let mut pair = pair.client_config(config);
        let client = pair.client();
        client.on_form(|_| async { ElicitResult::new(ElicitAction::Decline) });
        let error = pair.run(call(&client)).unwrap_err();
        assert!(matches!(error, CallError::Protocol(_)), "{error}");
        pair.pass(SECOND);
        assert_eq!(server.given().len(), questions);
        assert_eq!(server.methods().last().unwrap(), "tasks/cancel");
    }
}

const ID: &str = "0123456789abcdef";

fn call(client: &Client) -> mcp_service::Call<mcp_proto::types::CallToolResult> {
    client.call_tool("render", &json!({ "scene": 1 }))
}

/// The states of the one task of a server, each for one request, the last one for ever.
#[derive(Clone, Default)]
struct Server(Rc<RefCell<Script>>);

#[derive(Default)]
struct Script {
    states: Vec<&'static str>,
    methods: Vec<String>,
    given: Vec<Value>,
}

impl Server {
    fn set<const N: usize>(&self, states: [&'static str; N]) {
        self.0.borrow_mut().states = states.into();
    }

    /// The methods that the client has sent.
    fn methods(&self) -> Vec<String> {
        self.0.borrow().methods.clone()
    }

    /// The input that the client has given.
    fn given(&self) -> Vec<Value> {
        self.0.borrow().given.clone()
    }

    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        let mut script = self.0.borrow_mut();
        script.methods.push(method.into());
        if method == "tasks/update" {
            script.given.push(params["inputResponses"].clone());
        }
        if !matches!(method, "tools/call" | "tasks/get") {
            return Some(json!({ "result": { "resultType": "complete" } }));
        }
        let is_last = script.states.len() == 1;
        let state = if is_last { script.states[0] } else { script.states.remove(0) };
        let (status, text) = state.split_once(": ").map_or((state, None), |(a, b)| (a, Some(b)));
        let (status, requests) = match status {
            "silence" => return None,
            "gone" => return Some(json!({ "error": { "code": -32602, "message": "no task" } })),
            "at once" => return Some(json!({ "result": rendered() })),
            "input" => ("input_required", json!({ "a": form("sure?") })),
            "input again" => {
                ("input_required", json!({ "a": form("sure?"), "b": form("really?") }))
            }
            status => (status, Value::Null),
        };
        let kind = if method == "tools/call" { "task" } else { "complete" };
        let mut task = json!({
            "resultType": kind, "taskId": ID, "status": status, "createdAt": "2026-11-24T12:00:00Z",
            "lastUpdatedAt": "2026-11-24T12:00:00Z", "ttlMs": 3_600_000, "pollIntervalMs": 500,
            "inputRequests": requests, "result": rendered(),
        });
        if let Some(text) = text {
            task["statusMessage"] = json!(text);
        }
        Some(json!({ "result": task }))
    }
}

fn rendered() -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": "rendered" }] })
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn pair<const N: usize>(states: [&'static str; N]) -> (Pair, Server) {
    let server = Server::default();
    server.set(states);
    let script = server.clone();
    (scripted(move |method, params| script.answer(method, params)), server)
}

/// A client that follows tasks, and a server that answers so.
fn scripted(answer: impl Fn(&str, &Value) -> Option<Value> + Clone + 'static) -> Pair {
    let pair = Pair::with_server(move |_| Scripted::new(answer.clone()));
    pair.client_config(Config::new(Implementation::new("a", "1")).follow_tasks())
}
