//! A server whose tool has a page, which hosts with MCP Apps show:
//!
//! ```sh
//! cargo run -p mcp-tokio --example weather_app -- stdio
//! cargo run -p mcp-tokio --example weather_app -- http --listen 127.0.0.1:8000
//! ```
//!
//! Add it to a host that shows pages, and ask for the weather in Oslo. The page is `page.html`.

use std::sync::atomic::{AtomicI32, Ordering};

use mcp_tokio::ext::ui::{AppPage, ToolApp, ToolVisibility};
use mcp_tokio::{
    CallToolResult, Context, Handler, HttpConfig, Implementation, Json, Registry, Tool, UsageError,
    serve_http, serve_stdio,
};
use tokio::net::TcpListener;

const PAGE: &str = "ui://weather/forecast";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Forecast {
    city: String,
    celsius: i32,
    sky: &'static str,
}

fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    let tool = Tool::of::<Place>("forecast")?.output_of::<Forecast>()?;
    registry.tool_with(tool.description("Tells tomorrow's weather"), forecast)?;
    let page = AppPage::new(PAGE, include_str!("page.html"))
        .description("Tomorrow's weather, as a card")
        .prefers_border(true);
    registry.app("forecast", page)?;

    // The page has a button that calls it. No model sees it.
    let tool = Tool::of::<Place>("measure")?
        .output_of::<Forecast>()?
        .with_app(&ToolApp::new(PAGE).visibility(ToolVisibility::APP));
    registry.tool_with(tool.description("Measures again"), forecast)?;
    Ok(registry)
}

async fn forecast(place: Place, context: Context) -> Result<CallToolResult, String> {
    // Stands for a measurement: every call has another result.
    static CELSIUS: AtomicI32 = AtomicI32::new(7);
    let celsius = CELSIUS.fetch_add(1, Ordering::Relaxed);
    let forecast = Forecast { city: place.city, celsius, sky: "rain" };
    let structured = Json::encode(&forecast).map_err(|error| error.to_string())?;
    let Forecast { city, sky, .. } = forecast;
    let text = if context.peer().shows_apps() {
        format!("The user sees the forecast for {city}.")
    } else {
        format!("{city}: {celsius} °C and {sky}.")
    };
    Ok(CallToolResult::text(text).structured_content(structured))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => serve_stdio(registry()?).await?,
        ["http", "--listen", address] => {
            let listener = TcpListener::bind(address).await?;
            let config = HttpConfig::default();
            eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
            serve_http(listener, registry()?, config).await?;
        }
        _ => return Err("usage: weather_app stdio | http --listen ADDRESS".into()),
    }
    Ok(())
}
