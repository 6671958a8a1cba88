//! The steps of the client. Results are looked at as they were on the wire, as JSON.

use std::{error::Error, fmt::Debug, time::Duration};

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequestParams,
        LoggingLevel, PingRequest, ProtocolVersion, ReadResourceRequestParams, RequestMetaObject,
        SetLevelRequestParams,
    },
    service::{PeerRequestOptions, RunningService},
};
use serde_json::{Value, from_str, json, to_value};
use tokio::time;

use crate::{
    host::{Host, MODEL_TEXT, ROOT},
    watch::Watch,
};

const TOOLS: [&str; 9] = [
    "echo",
    "test_elicitation",
    "test_error_handling",
    "test_image_content",
    "test_sampling",
    "test_simple_text",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "wait",
];
const RESOURCES: [&str; 3] = ["test://static-text", "test://static-binary", WATCHED];
const PROMPTS: [&str; 2] = ["test_simple_prompt", "test_prompt_with_arguments"];
const LOGGED: [&str; 3] =
    ["Tool execution started", "Tool processing data", "Tool execution completed"];
pub const WATCHED: &str = "test://watched-resource";
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;
/// The first bytes of a PNG in Base64.
const PNG: &str = "iVBORw0KGgo";

pub type Client = RunningService<RoleClient, Host>;
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub async fn take(client: &Client, version: ProtocolVersion) -> Outcome {
    let is_legacy = version != ProtocolVersion::V_2026_07_28;
    meet(client, version)?;
    use_tools(client).await?;
    read_resources(client, is_legacy).await?;
    get_prompts(client).await?;
    complete(client).await?;
    see_progress(client).await?;
    see_logs(client, is_legacy).await?;
    answer_one_request(client).await?;
    answer_many_requests(client).await?;
    see_changes(client, is_legacy).await?;
    cancel(client).await?;
    if is_legacy {
        client.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
        ok("ping");
    }
    Ok(())
}

fn meet(client: &Client, version: ProtocolVersion) -> Outcome {
    let server = client.peer_info().ok_or("the client knows nothing of its server")?;
    expect(&server.protocol_version, &version)?;
    ok("protocol version");
    let info = server.server_info.as_ref().ok_or("the server has not said who it is")?;
    expect(info.name.as_str(), "everything")?;
    expect(info.version.split('.').count(), 3)?;
    ok("server info");
    Ok(())
}

async fn use_tools(client: &Client) -> Outcome {
    let tools = client.list_all_tools().await?;
    expect_all(&TOOLS, tools.iter().map(|tool| tool.name.as_ref()))?;
    ok("list tools");
    echo(client, "hello, ✓ wörld").await?;
    ok("tool with text");
    let image = call(client, "test_image_content", json!({})).await?;
    expect(&image["content"][0]["mimeType"], &json!("image/png"))?;
    expect_in(PNG, &image["content"][0]["data"])?;
    ok("tool with an image");
    expect(types(&call(client, "test_audio_content", json!({})).await?), vec!["audio"])?;
    expect(types(&call(client, "test_embedded_resource", json!({})).await?), vec!["resource"])?;
    let mixed = call(client, "test_multiple_content_types", json!({})).await?;
    expect(types(&mixed), vec!["text", "image", "resource"])?;
    ok("tools with other contents");
    let failed = call(client, "test_error_handling", json!({})).await?;
    expect(&failed["isError"], &json!(true))?;
    expect_text(&failed, "This tool intentionally returns an error for testing")?;
    ok("tool error");
    let unknown = client.call_tool(CallToolRequestParams::new("no_such_tool")).await;
    expect_code(unknown, INVALID_PARAMS)?;
    ok("unknown tool");
    Ok(())
}

async fn read_resources(client: &Client, is_legacy: bool) -> Outcome {
    let read = async |uri: &str| -> Outcome<Value> {
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        Ok(to_value(read)?["contents"][0].take())
    };

    let resources = client.list_all_resources().await?;
    expect_all(&RESOURCES, resources.iter().map(|resource| resource.uri.as_str()))?;
    ok("list resources");
    let templates = client.list_all_resource_templates().await?;
    let templates: Vec<_> = templates.iter().map(|template| &*template.uri_template).collect();
    expect(templates, vec!["test://template/{id}/data"])?;
    ok("list resource templates");

    let text = &read("test://static-text").await?["text"];
    expect(text, &json!("This is the content of the static text resource."))?;
    ok("resource");
    let binary = read("test://static-binary").await?;
    expect(&binary["mimeType"], &json!("image/png"))?;
    expect_in(PNG, &binary["blob"])?;
    ok("binary resource");
    expect_in("123", &read("test://template/123/data").await?["text"])?;
    ok("resource by template");

    let code = if is_legacy { RESOURCE_NOT_FOUND } else { INVALID_PARAMS };
    let unknown = ReadResourceRequestParams::new("test://no-such-resource");
    expect_code(client.read_resource(unknown).await, code)?;
    ok("unknown resource");
    Ok(())
}

async fn get_prompts(client: &Client) -> Outcome {
    let get = async |name: &str, arguments: Value| -> Outcome<Value> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        let prompt = client.get_prompt(params).await?;
        Ok(to_value(prompt)?["messages"][0]["content"].take())
    };

    let prompts = client.list_all_prompts().await?;
    expect_all(&PROMPTS, prompts.iter().map(|prompt| prompt.name.as_str()))?;
    ok("list prompts");
    let text =
        &get("test_prompt_with_arguments", json!({ "arg1": "one", "arg2": "two" })).await?["text"];
    expect_in("one", text)?;
    expect_in("two", text)?;
    ok("prompt with arguments");
    let uri = json!({ "resourceUri": "test://static-text" });
    let embedded = get("test_prompt_with_embedded_resource", uri).await?;
    expect(&embedded["resource"]["uri"], &json!("test://static-text"))?;
    ok("prompt with a resource");
    let asking = get("test_input_required_result_prompt", Value::Null).await?;
    expect_in("my context", &asking["text"])?;
    expect(client.service().take_asked(), vec!["elicitation/create"])?;
    ok("prompt that asks");
    Ok(())
}

async fn complete(client: &Client) -> Outcome {
    let prompt = "test_prompt_with_arguments";
    let values = client.complete_prompt_simple(prompt, "arg1", "test").await?;
    expect(values, vec!["testValue1".to_owned(), "testValue2".to_owned()])?;
    expect(client.complete_prompt_simple(prompt, "arg1", "no").await?, vec![])?;
    ok("complete a prompt argument");
    let template = "test://template/{id}/data";
    let values = client.complete_resource_simple(template, "id", "12").await?;
    expect(values, vec!["123".to_owned(), "124".to_owned()])?;
    ok("complete a resource template");
    Ok(())
}

async fn see_progress(client: &Client) -> Outcome {
    call_with_progress(client, json!({})).await?;
    ok("progress");
    Ok(())
}

/// Calls the tool that tells how far it is, and sees all that it tells.
pub async fn call_with_progress(client: &Client, arguments: Value) -> Outcome {
    client.service().seen().progress.clear();
    call(client, "test_tool_with_progress", arguments).await?;
    until(|| client.service().seen().progress.len() >= 3).await;
    let seen = [0.0, 50.0, 100.0].map(|progress| (progress, Some(100.0)));
    expect(client.service().seen().progress.as_slice(), &seen)
}

async fn see_logs(client: &Client, is_legacy: bool) -> Outcome {
    let call_logging = async |level: Option<LoggingLevel>| -> Outcome {
        let mut params = CallToolRequestParams::new("test_tool_with_logging");
        if let Some(level) = level {
            if is_legacy {
                client.set_level(SetLevelRequestParams::new(level)).await?;
            } else {
                params.meta.insert(RequestMetaObject::new()).set_log_level(level);
            }
        }
        client.call_tool(params).await?;
        Ok(())
    };

    call_logging(Some(LoggingLevel::Error)).await?;
    // A legacy server decides itself what a client that has set no level gets.
    if !is_legacy {
        call_logging(None).await?;
    }
    echo(client, "the logs are over").await?;
    expect(client.service().seen().logs.as_slice(), &[])?;
    ok("no logs unless asked for");

    call_logging(Some(LoggingLevel::Info)).await?;
    until(|| client.service().seen().logs.len() >= LOGGED.len()).await;
    let logged = LOGGED.map(|data| json!(["info", data]));
    expect(client.service().seen().logs.as_slice(), &logged)?;
    ok("logs");
    Ok(())
}

async fn answer_one_request(client: &Client) -> Outcome {
    let elicit = async |action: &str| -> Outcome<String> {
        let asked = json!({ "message": "Who are you?" });
        let result = call(client, "test_elicitation", asked).await?;
        let text = text(&result)?;
        let prefix = format!("User response: {action}: ");
        let content = text.strip_prefix(&prefix).ok_or_else(|| format!("no {action}: {text}"))?;
        Ok(content.to_owned())
    };

    let content: Value = from_str(&elicit("accept").await?)?;
    expect(content, json!({ "username": "my username", "email": "my email" }))?;
    ok("elicitation, accepted");
    client.service().seen().declines = true;
    elicit("decline").await?;
    client.service().seen().declines = false;
    ok("elicitation, declined");
    let sampled = call(client, "test_sampling", json!({ "prompt": "Which capital?" })).await?;
    expect_text(&sampled, &format!("LLM response: {MODEL_TEXT}"))?;
    ok("sampling");
    Ok(())
}

async fn answer_many_requests(client: &Client) -> Outcome {
    let call = async |name: &str, asked: &[&str]| -> Outcome<Value> {
        client.service().take_asked();
        let name = format!("test_input_required_result_{name}");
        let mut result = call(client, &name, json!({})).await?;
        let mut seen = client.service().take_asked();
        seen.sort_unstable();
        expect(seen.as_slice(), asked)?;
        text(&result)?;
        Ok(result["content"][0]["text"].take())
    };

    let greeting = call("elicitation", &["elicitation/create"]).await?;
    expect(greeting, json!("Hello, my name!"))?;
    ok("input required: elicitation");
    expect_in(MODEL_TEXT, &call("sampling", &["sampling/createMessage"]).await?)?;
    ok("input required: sampling");
    expect_in(ROOT, &call("list_roots", &["roots/list"]).await?)?;
    ok("input required: roots");
    let rounds = call("multi_round", &["elicitation/create", "elicitation/create"]).await?;
    expect_in("my name", &rounds)?;
    expect_in("my color", &rounds)?;
    ok("input required: two rounds");
    let asked = ["elicitation/create", "roots/list", "sampling/createMessage"];
    call("multiple_inputs", &asked).await?;
    ok("input required: all kinds at once");
    Ok(())
}

async fn see_changes(client: &Client, is_legacy: bool) -> Outcome {
    let mut watch = Watch::start(client, is_legacy, WATCHED).await?;
    ok("subscribe");
    call(client, "test_trigger_tool_change", json!({})).await?;
    watch.expect_change(client, "notifications/tools/list_changed").await?;
    ok("changed tools");
    call(client, "test_trigger_prompt_change", json!({})).await?;
    watch.expect_change(client, "notifications/prompts/list_changed").await?;
    ok("changed prompts");
    call(client, "test_trigger_resource_update", json!({})).await?;
    watch.expect_change(client, WATCHED).await?;
    ok("updated resource");

    watch.stop(client).await?;
    call(client, "test_trigger_resource_update", json!({})).await?;
    echo(client, "the updates are over").await?;
    expect(client.service().seen().changes.as_slice(), &[])?;
    ok("unsubscribe");
    Ok(())
}

async fn cancel(client: &Client) -> Outcome {
    let wait = ClientRequest::CallToolRequest(CallToolRequest::new(params(
        "wait",
        json!({ "seconds": 30 }),
    )));
    let waiting = client.send_cancellable_request(wait, PeerRequestOptions::no_options()).await?;
    time::sleep(Duration::from_millis(200)).await;
    waiting.cancel(Some("changed my mind".into())).await?;
    // An answer that came all the same would be dropped by the SDK without a word.
    ok("cancel");
    echo(client, "still here").await?;
    ok("tool after cancel");
    Ok(())
}

pub async fn call(client: &Client, name: &str, arguments: Value) -> Outcome<Value> {
    Ok(to_value(client.call_tool(params(name, arguments)).await?)?)
}

pub fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(name.to_owned());
    params.arguments = arguments.as_object().cloned();
    params
}

pub async fn echo(client: &Client, message: &str) -> Outcome {
    expect_text(&call(client, "echo", json!({ "message": message })).await?, message)
}

fn types(result: &Value) -> Vec<&str> {
    let contents = result["content"].as_array().into_iter().flatten();
    contents.filter_map(|content| content["type"].as_str()).collect()
}

/// The text of a result that is one text and nothing else.
fn text(result: &Value) -> Outcome<&str> {
    match result["content"].as_array().map(Vec::as_slice) {
        Some([only]) => Ok(only["text"].as_str().ok_or("no text")?),
        _ => Err(format!("not one content: {result}").into()),
    }
}

/// Waits for what a notification will make true; the deadline ends a wait in vain.
pub async fn until(is_true: impl Fn() -> bool) {
    while !is_true() {
        time::sleep(Duration::from_millis(10)).await;
    }
}

pub fn expect_text(result: &Value, expected: &str) -> Outcome {
    expect(text(result)?, expected)
}

fn expect_in(part: &str, whole: &Value) -> Outcome {
    match whole.as_str() {
        Some(text) if text.contains(part) => Ok(()),
        _ => Err(format!("no {part:?} in {whole}").into()),
    }
}

fn expect_all<'a>(expected: &[&str], actual: impl Iterator<Item = &'a str>) -> Outcome {
    let actual: Vec<_> = actual.collect();
    let missing = expected.iter().filter(|name| !actual.contains(name));
    expect(missing.collect(), Vec::<&&str>::new())
}

fn expect_code<T: Debug>(result: Result<T, ServiceError>, code: i32) -> Outcome {
    match result {
        Err(ServiceError::McpError(error)) => expect(error.code.0, code),
        other => Err(format!("no JSON-RPC error but {other:?}").into()),
    }
}

pub fn expect<T: PartialEq + Debug>(actual: T, expected: T) -> Outcome {
    if actual == expected {
        return Ok(());
    }
    Err(format!("got {actual:?}, not {expected:?}").into())
}

pub fn ok(step: &str) {
    println!("ok {step}");
}
