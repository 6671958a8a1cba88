//! A server with something of everything, for real clients to try: one declaration, used by the
//! `everything` example of each adapter. Names and texts are those that the official conformance
//! suite looks for.

use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::server::{Progress, Registry};
use mcp_proto::service::{Context, Handler};
use mcp_proto::types::{CallToolResult, ContentBlock, Implementation, ResourceContents};
use schemars::JsonSchema;
use serde::Deserialize;

/// A red pixel as a PNG, in Base64.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV file without samples, in Base64.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Lets a client take note of what was sent before it gets more.
const A_MOMENT: Duration = Duration::from_millis(50);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// For how long.
    seconds: u32,
}

/// The server's registry.
pub fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("everything", env!("CARGO_PKG_VERSION")));
    registry
        .instructions("Every tool shows one thing that a server can do.")
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
            CallToolResult::new(vec![resource("test://embedded-resource")])
        })?
        .tool("test_multiple_content_types", "Returns text and more", |_: Nothing, _| async {
            let text = ContentBlock::text("Multiple content types test:");
            CallToolResult::new(vec![text, image(), resource("test://mixed-content-resource")])
        })?
        .tool("test_tool_with_progress", "Reports progress", with_progress)?
        .tool("test_error_handling", "Fails", |_: Nothing, _| async {
            CallToolResult::error("This tool intentionally returns an error for testing")
        })?;
    Ok(registry)
}

async fn wait(wait: Wait, context: Context) -> &'static str {
    context.sleep(Duration::from_secs(wait.seconds.into())).await;
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

fn image() -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

fn resource(uri: &str) -> ContentBlock {
    let text = ResourceContents::text(uri, "This is an embedded resource content.");
    ContentBlock::resource(text.mime_type("text/plain"))
}
