//! A server on threads of the standard library, on stdio. `runtime.rs` implements [`Runtime`], and
//! `mcp-service` does the rest:
//!
//! ```sh
//! cargo run -p mcp-service --example thread_runtime
//! ```
//!
//! [`Runtime`]: mcp_service::runtime::Runtime

mod runtime;

use std::future;

use mcp_proto::server::Config;
use mcp_proto::types::Implementation;
use mcp_service::Registry;
use mcp_service::runtime::{epoch, serve, standard_stream};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async move { echo.message })?;
    let threads = runtime::Threads(epoch());
    let serving = async {
        let stream = standard_stream(&threads)?;
        serve(&threads, registry, Config::default(), stream, future::pending()).await
    };
    Ok(runtime::block_on(serving)?)
}
