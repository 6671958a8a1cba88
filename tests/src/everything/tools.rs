//! Tools that ask for nothing: content of every kind, progress, logs, changes, schemas, headers.

use std::time::Duration;

use mcp_proto::headers::Header;
use mcp_proto::server::{Change, List, Progress};
use mcp_proto::types::{CallToolResult, ContentBlock, LoggingLevel, ResourceContents, Tool};
use mcp_proto::{Json, UsageError, header_name};
use mcp_service::{Context, Handler, Registry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{A_MOMENT, Nothing, PIXEL, SILENCE};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The message to send back.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// For how long.
    seconds: u32,
    /// Kept while it waits.
    #[serde(default)]
    #[schemars(skip)]
    text: String,
}

header_name!(ValueName = "Value");
header_name!(TextName = "Text");
header_name!(CountName = "Count");
header_name!(FlagName = "Flag");
header_name!(RegionName = "Region");

#[derive(Deserialize, JsonSchema)]
struct MirroredValue {
    /// Stands in the header `Mcp-Param-Value` too.
    value: Header<String, ValueName>,
}

/// Arguments of every type that can stand in a header.
#[derive(Serialize, Deserialize, JsonSchema)]
struct MirroredHeaders {
    #[serde(default, skip_serializing_if = "is_none")]
    text: Header<Option<String>, TextName>,
    #[serde(default, skip_serializing_if = "is_none")]
    count: Header<Option<i32>, CountName>,
    #[serde(default, skip_serializing_if = "is_none")]
    flag: Header<Option<bool>, FlagName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Config>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Config {
    #[serde(default, skip_serializing_if = "is_none")]
    region: Header<Option<String>, RegionName>,
}

fn is_none<T, N>(header: &Header<Option<T>, N>) -> bool
where
    Option<T>: mcp_proto::headers::HeaderValue,
    N: mcp_proto::headers::HeaderName,
{
    header.is_none()
}

/// The schema that the conformance suite looks for, keyword by keyword.
const JSON_SCHEMA_2020_12: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;

/// A union with null, which most clients leave out of their lists.
const HEADER_UNION: &str = r#"{"type":"object","properties":{"maybe":{"type":["integer","null"],"x-mcp-header":"Maybe"}}}"#;

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry
        .tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?
        .tool("wait", "Waits, and can be cancelled", wait)?
        .tool("test_simple_text", "Returns text", |_: Nothing, _| async {
            "This is a simple text response for testing."
        })?
        .tool("test_image_content", "Returns an image", |_: Nothing, _| async {
            CallToolResult::new(vec![image()])
        })?
        .tool("test_audio_content", "Returns a sound", |_: Nothing, _| async {
            CallToolResult::new(vec![ContentBlock::audio(SILENCE, "audio/wav")])
        })?
        .tool("test_embedded_resource", "Returns a resource", |_: Nothing, _| async {
            let text = "This is an embedded resource content.";
            let text = ResourceContents::text("test://embedded-resource", text);
            CallToolResult::new(vec![ContentBlock::resource(text.mime_type("text/plain"))])
        })?
        .tool("test_multiple_content_types", "Returns text and more", |_: Nothing, _| async {
            let text = ContentBlock::text("Multiple content types test:");
            let data = r#"{"test":"data","value":123}"#;
            let data = ResourceContents::text("test://mixed-content-resource", data);
            let data = ContentBlock::resource(data.mime_type("application/json"));
            CallToolResult::new(vec![text, image(), data])
        })?
        .tool("test_error_handling", "Fails", |_: Nothing, _| async {
            CallToolResult::error("This tool intentionally returns an error for testing")
        })?
        .tool("test_tool_with_progress", "Reports progress", with_progress)?
        .tool("test_tool_with_logging", "Logs three messages", with_logging)?
        .tool("test_logging_tool", "Logs messages of several levels", logging)?
        .tool(
            "test_reconnection",
            "Has its client come back",
            |_: Nothing, context: Context| async move {
                context.close_stream();
                context.sleep(A_MOMENT).await;
                "Reconnection test completed"
            },
        )?;
    trigger(registry, "test_trigger_tool_change", Change::ListChanged(List::Tools))?;
    trigger(registry, "test_trigger_prompt_change", Change::ListChanged(List::Prompts))?;
    let watched = Change::ResourceUpdated(super::resources::WATCHED.into());
    trigger(registry, "test_trigger_resource_update", watched)?;
    // The conformance suite takes the first tool that mirrors an argument, which must have one of
    // type `string`: `test_header_types` comes behind it.
    registry
        .tool("test_x_mcp_header", "Returns its argument", |mirrored: MirroredValue, _| async {
            mirrored.value.into_inner()
        })?
        .tool(
            "test_header_types",
            "Returns its arguments",
            |mirrored: MirroredHeaders, _| async move { json(&mirrored) },
        )?
        .tool_with(
            Tool::new("test_header_union", constant(HEADER_UNION))
                .description("Returns its arguments"),
            |arguments: Value, _| async move { arguments.to_string() },
        )?
        .tool_with(
            Tool::new("json_schema_2020_12_tool", constant(JSON_SCHEMA_2020_12))
                .description("Tool with JSON Schema 2020-12 features"),
            |arguments: Value, _| async move { arguments.to_string() },
        )?;
    Ok(())
}

fn trigger(registry: &mut Registry<Handler>, name: &str, change: Change) -> Result<(), UsageError> {
    registry.tool(name, "Tells clients of a change", move |_: Nothing, context: Context| {
        let change = change.clone();
        async move { context.publish(&change).map(|()| "published").map_err(|error| error.to_string()) }
    })?;
    Ok(())
}

async fn wait(wait: Wait, context: Context) -> &'static str {
    context.sleep(Duration::from_secs(wait.seconds.into())).await;
    drop(wait.text);
    "waited"
}

async fn with_progress(_: Nothing, context: Context) -> &'static str {
    for progress in [0.0, 50.0, 100.0] {
        let message = format!("Completed step {progress} of 100");
        context.progress(Progress::new(progress).total(100.0).message(message));
        // Some clients lose progress that arrives together with the result.
        context.sleep(A_MOMENT).await;
    }
    "done"
}

async fn with_logging(_: Nothing, context: Context) -> &'static str {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.log(LoggingLevel::Info, text);
        context.sleep(A_MOMENT).await;
    }
    "logged"
}

async fn logging(_: Nothing, context: Context) -> &'static str {
    for level in
        [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Warning, LoggingLevel::Error]
    {
        context.log(level, format!("a message of the level {level:?}"));
    }
    "logged"
}

fn image() -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn constant(text: &'static str) -> Json {
    Json::parse(text).unwrap_or(Json::EMPTY_OBJECT)
}
