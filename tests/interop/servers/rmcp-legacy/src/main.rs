//! `interop-rmcp-legacy [sessions|stateless]`: an rmcp server from before the modern era. With an
//! argument it serves over HTTP, on PORT.

use std::{
    env,
    error::Error,
    fs::OpenOptions,
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    handler::server::{tool::ToolCallContext, wrapper::Parameters},
    model::{
        AnnotateAble, CallToolRequestParam, CallToolResult, CreateElicitationRequestParam,
        ElicitationAction, ElicitationSchema, GetPromptRequestParam, GetPromptResult,
        Implementation, ListPromptsResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParam, ProgressNotificationParam, PromptMessage, PromptMessageRole,
        ProtocolVersion, RawResource, ReadResourceRequestParam, ReadResourceResult,
        ResourceContents, ResourceUpdatedNotificationParam, ServerCapabilities, ServerInfo,
        SubscribeRequestParam, UnsubscribeRequestParam,
    },
    prompt, prompt_handler, prompt_router,
    service::RequestContext,
    tool, tool_router,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{net::TcpListener, time::sleep};

const COUNTER: &str = "test://counter";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(serving) = env::args().nth(1) {
        return serve_http(&serving).await;
    }
    Fixtures::default().serve(stdio()).await?.waiting().await?;
    Ok(())
}

async fn serve_http(serving: &str) -> Result<(), Box<dyn Error>> {
    let port: u16 = env::var("PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let stateful_mode = serving == "sessions";
    let config = StreamableHttpServerConfig { stateful_mode, ..Default::default() };
    let fixtures = Fixtures::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(fixtures.clone()), sessions, config);
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

/// State that all sessions share.
#[derive(Clone, Default)]
struct Fixtures(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    touches: u32,
    is_subscribed: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

type Outcome<T = String> = Result<T, ErrorData>;

#[tool_router]
impl Fixtures {
    #[tool]
    fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> Outcome {
        if let Some(echoes) = env::var_os("ECHOES") {
            let file = OpenOptions::new().append(true).create(true).open(echoes);
            let line = format!("{message}\n");
            file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(internal)?;
        }
        Ok(message)
    }

    #[tool]
    async fn progress(&self, context: RequestContext<RoleServer>) -> Outcome {
        if let Some(progress_token) = context.meta.get_progress_token() {
            for done in 1..=3 {
                let step = ProgressNotificationParam {
                    progress_token: progress_token.clone(),
                    progress: done.into(),
                    total: Some(3.0),
                    message: None,
                };
                context.peer.notify_progress(step).await.map_err(internal)?;
            }
        }
        sleep(Duration::from_millis(50)).await;
        Ok("done".to_owned())
    }

    #[tool]
    async fn wait(&self, context: RequestContext<RoleServer>) -> String {
        tokio::select! {
            () = context.ct.cancelled() => eprintln!("cancelled"),
            () = sleep(Duration::from_secs(60)) => {}
        }
        "waited".to_owned()
    }

    #[tool]
    async fn ask(&self, context: RequestContext<RoleServer>) -> Outcome {
        let question = CreateElicitationRequestParam {
            message: "What is your name?".to_owned(),
            requested_schema: ElicitationSchema::builder()
                .required_string("name")
                .build_unchecked(),
        };
        let answer = context.peer.create_elicitation(question).await.map_err(internal)?;
        match answer.action {
            ElicitationAction::Accept => {
                let name = answer.content.as_ref().and_then(|content| content["name"].as_str());
                Ok(format!("hello {}", name.ok_or_else(|| internal("no name"))?))
            }
            ElicitationAction::Decline => Ok("declined".to_owned()),
            ElicitationAction::Cancel => Ok("cancelled".to_owned()),
        }
    }

    #[tool]
    async fn touch(&self, context: RequestContext<RoleServer>) -> Outcome {
        let is_subscribed = {
            let mut state = self.state();
            state.touches += 1;
            state.is_subscribed
        };
        if is_subscribed {
            let update = ResourceUpdatedNotificationParam { uri: COUNTER.to_owned() };
            context.peer.notify_resource_updated(update).await.map_err(internal)?;
        }
        context.peer.notify_tool_list_changed().await.map_err(internal)?;
        Ok("touched".to_owned())
    }

    #[tool]
    fn touched(&self) -> String {
        "touched".to_owned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[prompt_router]
impl Fixtures {
    #[prompt]
    async fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(PromptMessageRole::User, format!("Greet {name}"))]
    }
}

#[prompt_handler(router = Self::prompt_router())]
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerInfo {
        ServerInfo {
            // The newest that it knows, and the first to have elicitation.
            protocol_version: ProtocolVersion::V_2025_06_18,
            capabilities: ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_prompts()
                .build(),
            server_info: Implementation {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..Implementation::default()
            },
            instructions: None,
        }
    }

    /// Lists the tool `touched` only after the first touch.
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParam>,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ListToolsResult> {
        let is_touched = self.state().touches > 0;
        let mut tools = Self::tool_router().list_all();
        tools.retain(|tool| is_touched || tool.name != "touched");
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParam,
        context: RequestContext<RoleServer>,
    ) -> Outcome<CallToolResult> {
        Self::tool_router().call(ToolCallContext::new(self, request, context)).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParam>,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ListResourcesResult> {
        let mut counter = RawResource::new(COUNTER, "counter");
        counter.mime_type = Some("text/plain".to_owned());
        Ok(ListResourcesResult::with_all_items(vec![counter.no_annotation()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParam,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ReadResourceResult> {
        if request.uri != COUNTER {
            return Err(ErrorData::resource_not_found("no such resource", None));
        }
        let text = ResourceContents::TextResourceContents {
            uri: COUNTER.to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: self.state().touches.to_string(),
            meta: None,
        };
        Ok(ReadResourceResult { contents: vec![text] })
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParam,
        _: RequestContext<RoleServer>,
    ) -> Outcome<()> {
        self.state().is_subscribed |= request.uri == COUNTER;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParam,
        _: RequestContext<RoleServer>,
    ) -> Outcome<()> {
        self.state().is_subscribed &= request.uri != COUNTER;
        Ok(())
    }
}

fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
