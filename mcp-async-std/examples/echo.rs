//! A server with one tool: `echo stdio`.

use mcp_async_std::{Implementation, Registry, serve_stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say.
    message: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: echo stdio".into());
    }
    let mut registry = Registry::new(Implementation::new("echo", env!("CARGO_PKG_VERSION")));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
    Ok(async_std::task::block_on(serve_stdio(registry))?)
}
