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
use std::time::Instant as Time;

use mcp_proto::server::Config;
use mcp_proto::types::Implementation;
use mcp_service::Registry;
use mcp_service::runtime::{serve, standard_stream};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

#[expect(clippy::disallowed_methods, reason = "its clock begins here")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async move { echo.message })?;
    let threads = runtime::Threads(Time::now());
    let serving = async {
        let stream = standard_stream(&threads)?;
        serve(&threads, registry, Config::default(), stream, future::pending()).await
    };
    Ok(runtime::block_on(serving)?)
}
