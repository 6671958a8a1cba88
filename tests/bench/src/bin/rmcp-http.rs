//! rmcp-http json|session
//!
//! The tool `echo` of rmcp behind hyper: every answer JSON and no sessions, or its defaults, which
//! are sessions for legacy clients and answers as streams of events.

use std::error::Error;
use std::sync::Arc;

use hyper_util::service::TowerToHyperService;
use mcp_bench::{listen, serve_hyper};
use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArguments {
    /// What to say.
    message: String,
}

#[derive(Clone)]
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(description = "Echoes its message")]
    async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> String {
        arguments.message
    }
}

// Without the `router` argument the macro would make a new router for every call.
#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = StreamableHttpServerConfig::default();
    match std::env::args().nth(1).as_deref() {
        Some("json") => config = config.with_legacy_session_mode(false).with_json_response(true),
        Some("session") => {}
        _ => return Err("usage: rmcp-http json|session".into()),
    }
    // Likewise: one that made its router here would make it for every request.
    let echo = Echo { tool_router: Echo::tool_router() };
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
    Ok(serve_hyper(listen().await?, TowerToHyperService::new(service)).await?)
}
