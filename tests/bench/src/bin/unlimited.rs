//! The tool `echo` on mcp-tokio, for messages of any size.

use mcp_tokio::{Config, Implementation, Registry, serve_stdio_with};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say.
    message: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("unlimited", "0.0.0"));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
    let mut config = Config::default();
    config.limits.max_line_bytes = usize::MAX;
    config.limits.max_in_flight_bytes = usize::MAX;
    Ok(serve_stdio_with(registry, config).await?)
}
