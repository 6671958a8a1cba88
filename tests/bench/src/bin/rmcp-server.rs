//! rmcp-server stdio | json | session
//!
//! The tools to measure on rmcp: over pipes, or behind hyper. There every answer is JSON and there
//! are no sessions; or it has its defaults, sessions for legacy clients and streams of events.

use std::error::Error;
use std::sync::{Arc, LazyLock};

use hyper_util::service::TowerToHyperService;
use mcp_bench::listening::{listen, serve_hyper};
use mcp_bench::tools::{Echo, ITEMS, Items, Report, TEXT, more_tools};
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    RequestMetaObject, ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router,
};

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    #[tool(description = "Echoes its message")]
    async fn echo(&self, Parameters(echo): Parameters<Echo>) -> String {
        echo.message
    }

    #[tool(description = "Reports progress")]
    async fn report(
        &self,
        Parameters(report): Parameters<Report>,
        meta: RequestMetaObject,
        client: Peer<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = meta.get_progress_token();
        let token = token.ok_or(ErrorData::invalid_params("no progress token", None))?;
        for step in 1..=report.count.unwrap_or(1) {
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
            // The client reports what it misses.
            let _ = client.notify_progress(progress).await;
        }
        Ok(report.message)
    }

    #[tool(description = "Lists items")]
    async fn items(&self, Parameters(_): Parameters<Echo>) -> Json<&'static Items> {
        Json(LazyLock::force(&ITEMS))
    }
}

// Without the `router` argument the macro would make a new router for every call.
#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text(TEXT.clone(), request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut tool_router = Server::tool_router();
    for number in 0..more_tools() {
        let mut tool = Server::echo_tool_attr();
        tool.name = format!("tool-{number}").into();
        tool_router.add_route(ToolRoute::new(tool, Server::echo));
    }
    let server = Server { tool_router };
    let mut config = StreamableHttpServerConfig::default();
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => {
            let (reader, writer) = stdio_pipes();
            let transport = AsyncRwTransport::new_server(reader, writer);
            let transport = transport.with_max_line_length(usize::MAX);
            server.serve(transport).await?.waiting().await?;
            return Ok(());
        }
        Some("json") => config = config.with_legacy_session_mode(false).with_json_response(true),
        Some("session") => {}
        _ => return Err("usage: rmcp-server stdio | json | session".into()),
    }
    // Likewise: a router that was made here would be made for every request.
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    Ok(serve_hyper(listen().await?, TowerToHyperService::new(service)).await?)
}
