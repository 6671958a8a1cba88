//! A server with the tool `echo`, written with rmcp.

use std::error::Error;

use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
use rmcp::transport::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

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
    let echo = Echo { tool_router: Echo::tool_router() };
    echo.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
