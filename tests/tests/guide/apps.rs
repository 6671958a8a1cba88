//! The code of `docs/guide/apps.md`.

use std::error::Error;

use mcp_tokio::ext::ui::{self, AppPage, Csp, ToolApp, ToolVisibility};
use mcp_tokio::testing::Pair;
use mcp_tokio::types::{ReadResourceResult, Tool};
use mcp_tokio::{CallToolResult, Client, Context, Handler, Implementation, Registry, UsageError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

type Tested = Result<(), Box<dyn Error>>;

const HTML: &str = "<!DOCTYPE html><title>Weather</title>";

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
}

fn weather() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("forecast", "Tells tomorrow's weather", forecast)?;
    let page = AppPage::new("ui://weather/forecast", HTML)
        .csp(Csp::default().resource("https://tiles.example.com"))
        .prefers_border(true);
    registry.app("forecast", page)?;
    Ok(registry)
}

async fn forecast(place: Place, context: Context) -> String {
    if context.peer().shows_apps() {
        return format!("The user sees the forecast for {}.", place.city);
    }
    format!("In {}: rain in the morning, 7 °C, wind from the west.", place.city)
}

fn with_button(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let tool = Tool::of::<Place>("measure")?
        .description("Measures again")
        .with_app(&ToolApp::new("ui://weather/forecast").visibility(ToolVisibility::APP));
    registry.tool_with(tool, forecast)?;
    Ok(())
}

async fn show(client: &Client, tool: &Tool) -> Result<Option<AppPage>, Box<dyn Error>> {
    let Some(uri) = tool.app().and_then(|app| app.resource_uri) else { return Ok(None) };
    let ReadResourceResult { contents, .. } = client.read_resource(&uri).await?;
    Ok(contents.first().and_then(AppPage::read))
}

#[test]
fn a_host_shows_the_page_of_a_tool() -> Tested {
    let mut registry = weather()?;
    with_button(&mut registry)?;
    let mut pair = Pair::new(registry);
    let client = pair.client();
    client.declare(ui::declare);
    let tools = pair.run(client.list_tools())?.tools;
    let for_model: Vec<&Tool> = ui::for_model(&tools).collect();
    assert_eq!(for_model.len(), 1);
    let page = pair.run(show(&client, for_model[0]))?.ok_or("no page")?;
    let (policy, allow) = (page.meta.csp.policy(), page.meta.permissions.allow());
    assert!(policy.contains("img-src 'self' data: https://tiles.example.com;"));
    assert_eq!((page.html.as_str(), allow.as_str()), (HTML, ""));
    let result: CallToolResult =
        pair.run(client.call_tool("forecast", &json!({ "city": "Oslo" })))?;
    assert_eq!(result.content[0].as_text(), Some("The user sees the forecast for Oslo."));
    Ok(())
}

#[test]
fn others_read_text() -> Tested {
    let mut pair = Pair::new(weather()?);
    let result = pair.run(pair.client().call_tool("forecast", &json!({ "city": "Oslo" })))?;
    let text = result.content[0].as_text();
    assert_eq!(text, Some("In Oslo: rain in the morning, 7 °C, wind from the west."));
    Ok(())
}
