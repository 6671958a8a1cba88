//! The code of `docs/guide/follow-tasks.md`, with a server whose task is scripted.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use mcp_tests::scripted::Scripted;
use mcp_tokio::testing::Pair;
use mcp_tokio::types::ContentBlock;
use mcp_tokio::{CallError, CallToolResult, Client, ClientConfig, Implementation, Started};
use serde_json::{Value, json};

/// A client that follows tasks.
fn follower() -> Client {
    let config = ClientConfig::new(Implementation::new("app", "1.0.0")).follow_tasks();
    Client::new(config)
}

/// Renders, however long it takes.
async fn render(client: &Client) -> Result<CallToolResult, CallError> {
    client
        .call_tool("render", &json!({ "scene": 12 }))
        .max_total(Duration::MAX)
        .on_task(|task| eprintln!("{:?} {}", task.status, task.status_message.unwrap_or_default()))
        .await
}

/// Begins to render; returns the film, or the id of the task to be kept.
async fn begin(client: &Client) -> Result<Result<CallToolResult, String>, CallError> {
    match client.start_tool("render", &json!({ "scene": 12 })).await? {
        Started::Done(film) => Ok(Ok(film)),
        Started::Task(task) => Ok(Err(task.id().to_owned())),
    }
}

/// Waits for a task that was begun elsewhere.
async fn go_on(client: &Client, id: &str) -> Result<CallToolResult, CallError> {
    let task = client.task(id);
    eprintln!("{:?}", task.status().await?.task.status);
    match task.result().await {
        Err(CallError::TaskGone { .. }) => {
            client.call_tool("render", &json!({ "scene": 12 })).await
        }
        result => result,
    }
}

#[test]
fn calls_follow_tasks_and_are_taken_up_again() -> Result<(), Box<dyn Error>> {
    assert!(follower().server().is_none(), "it is not connected");
    let mut pair = pair(&["working", "working", "completed"]);
    let client = pair.client();
    assert_eq!(text(&pair.run(render(&client))?), Some("a film"));

    let mut pair = self::pair(&["working", "working", "completed"]);
    let client = pair.client();
    let Err(id) = pair.run(begin(&client))? else { panic!("it was not a task") };
    assert_eq!(text(&pair.run(go_on(&client, &id))?), Some("a film"));

    let mut pair = self::pair(&["done"]);
    let client = pair.client();
    assert!(pair.run(begin(&client))?.is_ok());
    assert_eq!(text(&pair.run(render(&client))?), Some("a film"));
    Ok(())
}

fn text(result: &CallToolResult) -> Option<&str> {
    result.content.first().and_then(ContentBlock::as_text)
}

/// A server whose answers show these states of a task, the last one for ever.
fn pair(states: &[&'static str]) -> Pair {
    let states = Rc::new(RefCell::new(states.to_vec()));
    let pair = Pair::with_server(move |_| {
        let states = states.clone();
        Scripted::new(move |method, _| Some(answer(method, &mut states.borrow_mut())))
    });
    pair.client_config(ClientConfig::new(Implementation::new("app", "1.0.0")).follow_tasks())
}

fn answer(method: &str, states: &mut Vec<&'static str>) -> Value {
    let state = if states.len() == 1 { states[0] } else { states.remove(0) };
    let film =
        json!({ "resultType": "complete", "content": [{ "type": "text", "text": "a film" }] });
    if state == "done" {
        return json!({ "result": film });
    }
    let kind = if method == "tools/call" { "task" } else { "complete" };
    json!({ "result": {
        "resultType": kind, "taskId": "b1946ac92492d234", "status": state, "ttlMs": 3_600_000,
        "createdAt": "2026-11-24T12:00:00Z", "lastUpdatedAt": "2026-11-24T12:00:00Z",
        "result": film,
    } })
}
