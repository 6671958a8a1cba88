//! The smallest server, with one tool, which the README shows.
//!
//! `cargo run -p mcp-tokio --example weather` waits for a client on standard input, such as the
//! example `forecast`.

use mcp_tokio::{Implementation, Registry, serve_stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// The name of a city.
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("forecast", "Tells tomorrow's weather", |place: Place, _| async move {
        format!("Rain in {}.", place.city)
    })?;
    Ok(serve_stdio(registry).await?)
}
