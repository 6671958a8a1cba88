//! The script of the sixteen cells: all that a client does with the server `everything`, and what
//! it gets.
//!
//! In: a client that is being connected, and how time passes. Out: the steps, to be compared.
//! Nothing here knows a runtime.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a script that cannot go on ends, and says why"
)]

use std::sync::{Arc, Mutex};

use mcp_proto::client::{CallError, CallOptions};
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, CreateMessageResult, ElicitAction, ElicitResult,
    LoggingLevel, Root, SamplingMessageContentBlock, SubscriptionFilter,
};
use mcp_proto::{Duration, Json};
use mcp_service::Client;
use serde_json::{Value, json};

/// The names and the results of all steps.
pub type CellSteps = Vec<(String, String)>;

/// Takes all steps, and closes the client.
pub async fn take(client: &Client, sleep: impl AsyncFn(Duration)) -> CellSteps {
    let logged = Arc::new(Mutex::new(Vec::new()));
    let logs = logged.clone();
    client.on_log(move |log| logs.lock().unwrap().push(serde_json::to_string(log).unwrap()));
    let mut steps = CellSteps::new();
    let server = client.connected().await.unwrap();
    let known = json!([server.capabilities, server.implementation, server.instructions]);
    steps.push(("server".into(), known.to_string()));
    lists(client, &mut steps).await;
    tools(client, &mut steps).await;
    others(client, &mut steps).await;
    changes(&sleep, client, &mut steps).await;
    // A log message may come on another stream than the response of its call. That stream brings
    // the changes as well, after it.
    steps.push(("logs".into(), format!("{:?}", logged.lock().unwrap())));
    cancellation(&sleep, client, &mut steps).await;
    client.close().await;
    assert!(steps.len() > 50, "{} steps", steps.len());
    steps
}

/// Sets the answers of the client to the server.
pub fn equip(client: &Client) {
    client.on_form(|form| async move {
        let mut result = ElicitResult::new(ElicitAction::Accept);
        let text = serde_json::to_string(&form).unwrap();
        let content = if text.contains("\"name\"") { r#"{"name":"Ada"}"# } else { "{}" };
        result.content = serde_json::from_str(content).unwrap();
        result
    });
    client.on_create_message(|asked| async move {
        let text = format!("so many messages: {}", asked.messages.len());
        CreateMessageResult::new("model", SamplingMessageContentBlock::text(text))
    });
    // It is a file URI.
    let _ = client.set_roots(vec![Root::new("file:///home/a")]);
}

async fn lists(client: &Client, steps: &mut CellSteps) {
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let result = client.call::<Json>(method, &json!({})).await;
        steps.push((method.into(), plain(&result)));
    }
    let wrong = client.call::<Json>("tools/list", &json!({"cursor": "nonsense"})).await;
    steps.push(("wrong cursor".into(), plain(&wrong)));
}

/// Calls every tool.
async fn tools(client: &Client, steps: &mut CellSteps) {
    client.set_log_level(LoggingLevel::Debug).await.unwrap();
    let tools = client.list_tools().await.unwrap().tools;
    assert!(tools.len() > 30);
    for name in tools.iter().map(|tool| &*tool.name).chain(["no_such_tool"]) {
        // These wait, or have random states; or they need tasks, which is another error in each
        // era.
        if ["wait", "test_reconnection", "failing_job", "test_tool_with_task"].contains(&name) {
            continue;
        }
        let big = "x".repeat(300_000);
        let arguments = match name {
            "echo" => json!({"message": big}),
            "test_sampling" => json!({"prompt": "Say so"}),
            "test_elicitation" => json!({"message": "Sure?"}),
            _ => json!({}),
        };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let progress = seen.clone();
        let call = client.call_tool(name, &arguments).on_progress(move |told| {
            progress.lock().unwrap().push(format!("{told:?}"));
        });
        let result = call.await;
        let told = std::mem::take(&mut *seen.lock().unwrap());
        let result = plain(&result.map(|result| Json::encode(&result).unwrap()));
        steps.push((name.into(), format!("{result} {told:?}")));
    }
}

async fn others(client: &Client, steps: &mut CellSteps) {
    let resources =
        ["test://static-text", "test://template/7/data", "test://nothing", "no uri at all"];
    for uri in resources {
        let result = client.call::<Json>("resources/read", &json!({"uri": uri})).await;
        steps.push((uri.into(), plain(&result)));
    }
    for prompt in ["test_simple_prompt", "test_input_required_result_prompt", "no such prompt"] {
        let result = client.get_prompt(prompt, &()).await;
        steps.push((prompt.into(), plain(&result.map(|it| Json::encode(&it).unwrap()))));
    }
    let params = CompleteRequestParams::new(
        CompletionReference::prompt("test_prompt_with_arguments"),
        "arg1",
        "t",
    );
    let completed = client.complete(&params).await;
    steps.push(("completion".into(), plain(&completed.map(|it| Json::encode(&it).unwrap()))));
    let unknown = client.call::<Json>("com.example/unknown", &json!({})).await;
    steps.push(("unknown method".into(), plain(&unknown)));
    steps.push(("ping".into(), format!("{:?}", client.ping().await.is_ok())));
}

async fn changes(sleep: &impl AsyncFn(Duration), client: &Client, steps: &mut CellSteps) {
    let filter = SubscriptionFilter::new().tools_list_changed().resource("test://watched-resource");
    let mut subscription = client.subscribe(filter).await.unwrap();
    steps.push(("honoured".into(), format!("{:?}", subscription.honoured())));
    // A legacy client over HTTP opens its stream.
    sleep(Duration::from_millis(10)).await;
    for tool in ["test_trigger_tool_change", "test_trigger_resource_update"] {
        client.call_tool(tool, &()).await.unwrap();
        let changed = subscription.changed().await;
        steps.push((tool.into(), format!("{changed:?}")));
    }
}

async fn cancellation(sleep: &impl AsyncFn(Duration), client: &Client, steps: &mut CellSteps) {
    let options = CallOptions::default().timeout(Duration::from_millis(5));
    let call = client.call_tool("wait", &json!({"seconds": 3600})).options(options);
    steps.push(("timeout".into(), format!("{:?}", call.await.map(|_| ()))));
    sleep(Duration::from_millis(5)).await;
    let after = client.call_tool("echo", &json!({"message": "after"})).await;
    steps.push(("after".into(), format!("{:?}", after.map(|result| result.content))));
}

/// A result without what an era adds to it; the code of an error.
fn plain(result: &Result<Json, CallError>) -> String {
    match result {
        Err(CallError::Error { error, .. }) => format!("error {}", error.code.0),
        Err(error) => format!("{error:?}"),
        Ok(result) => {
            let mut value: Value = result.decode().unwrap();
            if let Some(object) = value.as_object_mut() {
                for added in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                    object.remove(added);
                }
            }
            value.to_string()
        }
    }
}

/// The steps that differ.
pub fn differences(one: &CellSteps, other: &CellSteps) -> Vec<String> {
    let shown = |text: &str| text.chars().take(400).collect::<String>();
    let pairs = one.iter().zip(other).filter(|(one, other)| one != other);
    let mut found: Vec<String> = pairs
        .map(|(one, other)| {
            format!(
                "{}\n  direct  {}\n  bridged {}: {}\n",
                one.0,
                shown(&one.1),
                other.0,
                shown(&other.1)
            )
        })
        .collect();
    if one.len() != other.len() {
        found.push(format!("{} steps, and {}", one.len(), other.len()));
    }
    found
}
