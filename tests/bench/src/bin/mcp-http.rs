//! mcp-http own|tower
//!
//! The tools `echo` and `report`, which reports progress once, on mcp-tokio's own HTTP stack or on
//! its tower service behind hyper.

use std::error::Error;

use hyper_util::service::TowerToHyperService;
use mcp_bench::{listen, serve_hyper};
use mcp_tokio::{Context, HttpConfig, HttpService, Implementation, Registry, serve_http};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say.
    message: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::new(Implementation::new("mcp-http", "0.0.0"));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
    registry.tool(
        "report",
        "Echoes it after a report",
        |echo: Echo, context: Context| async move {
            context.progress(1.0);
            echo.message
        },
    )?;

    let (listener, config) = (listen().await?, HttpConfig::default());
    match std::env::args().nth(1).as_deref() {
        Some("own") => serve_http(listener, registry, config).await?,
        Some("tower") => {
            let service = TowerToHyperService::new(HttpService::new(registry, config));
            serve_hyper(listener, service).await?;
        }
        _ => return Err("usage: mcp-http own|tower".into()),
    }
    Ok(())
}
