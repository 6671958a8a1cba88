//! `interop-rmcp-dual [sessions|stateless|json]`: an rmcp server, which speaks both eras. With an
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
    handler::server::{
        tool::{InputResponses, RequestState},
        wrapper::Parameters,
    },
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
        ElicitResult, ElicitationAction, ElicitationSchema, Implementation, InputRequest,
        InputRequiredResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
        ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    prompt, prompt_handler, prompt_router,
    service::{RequestContext, ServerInitializeError, SubscriptionContext, SubscriptionSink},
    tool, tool_handler, tool_router,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{net::TcpListener, time::sleep};

const COUNTER: &str = "test://counter";
const STATE: &str = "asked for a name";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(serving) = env::args().nth(1) {
        return serve_http(&serving).await;
    }
    match Fixtures::default().serve(stdio()).await {
        // The input ended before the era was known.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        service => drop(service?.waiting().await?),
    }
    Ok(())
}

async fn serve_http(serving: &str) -> Result<(), Box<dyn Error>> {
    let port: u16 = env::var("PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(serving == "sessions")
        .with_json_response(serving == "json");
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
    /// True if a client of the legacy era wants to know of updates of the counter.
    is_subscribed: bool,
    /// Number of subscriptions of the modern era so far, also those that are over.
    accepted: usize,
    subscriptions: Vec<SubscriptionSink>,
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
        if let Some(token) = context.meta.get_progress_token() {
            for done in 1..=3 {
                let step =
                    ProgressNotificationParam::new(token.clone(), done.into()).with_total(3.0);
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
    async fn ask(
        &self,
        context: RequestContext<RoleServer>,
        RequestState(state): RequestState,
        InputResponses(responses): InputResponses,
    ) -> Outcome<CallToolResponse> {
        if !is_modern(&context) {
            return reply(context.peer.create_elicitation(question()).await.map_err(internal)?);
        }
        let answer = responses.and_then(|mut responses| responses.remove("name"));
        match (state.as_deref(), answer) {
            (Some(STATE), Some(answer)) => reply(serde_json::from_value(answer).map_err(internal)?),
            _ => {
                let question = InputRequest::Elicitation(ElicitRequest::new(question()));
                let requests = [("name".to_owned(), question)].into();
                Ok(InputRequiredResult::new(Some(requests), Some(STATE.to_owned())).into())
            }
        }
    }

    #[tool]
    async fn touch(&self, context: RequestContext<RoleServer>) -> Outcome {
        while self.has_late_subscriptions() {
            sleep(Duration::from_millis(1)).await;
        }
        let (is_subscribed, subscriptions) = {
            let mut state = self.state();
            state.touches += 1;
            (state.is_subscribed, state.subscriptions.clone())
        };
        for subscription in subscriptions {
            // What was not asked for, or comes too late, is refused.
            let _ = subscription.notify_resource_updated(COUNTER).await;
            let _ = subscription.notify_tool_list_changed().await;
        }
        if is_subscribed {
            let update = ResourceUpdatedNotificationParam::new(COUNTER);
            context.peer.notify_resource_updated(update).await.map_err(internal)?;
        }
        if !is_modern(&context) {
            context.peer.notify_tool_list_changed().await.map_err(internal)?;
        }
        Ok("touched".to_owned())
    }

    #[tool]
    fn touched(&self) -> String {
        "touched".to_owned()
    }

    /// The SDK acknowledges a subscription before `listen` hears of it, and may serve other
    /// requests in between.
    fn has_late_subscriptions(&self) -> bool {
        let state = self.state();
        state.subscriptions.len() < state.accepted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[prompt_router]
impl Fixtures {
    #[prompt]
    async fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {name}"))]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        let name = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    /// Lists the tool `touched` only after the first touch.
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ListToolsResult> {
        let is_touched = self.state().touches > 0;
        let mut tools = Self::tool_router().list_all();
        tools.retain(|tool| is_touched || tool.name != "touched");
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ListResourcesResult> {
        let counter = Resource::new(COUNTER, "counter").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![counter]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Outcome<ReadResourceResponse> {
        if request.uri != COUNTER {
            return Err(ErrorData::resource_not_found("no such resource", None));
        }
        let text = ResourceContents::text(self.state().touches.to_string(), COUNTER)
            .with_mime_type("text/plain");
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Outcome<()> {
        self.state().is_subscribed |= request.uri == COUNTER;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Outcome<()> {
        self.state().is_subscribed &= request.uri != COUNTER;
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.state().accepted += 1;
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Outcome<()> {
        self.state().subscriptions.push(subscription.sink().clone());
        subscription.cancelled().await;
        Ok(())
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn question() -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "What is your name?".to_owned(),
        requested_schema: ElicitationSchema::builder().required_string("name").build_unchecked(),
    }
}

fn reply(answer: ElicitResult) -> Outcome<CallToolResponse> {
    let text = match answer.action {
        ElicitationAction::Accept => {
            let name = answer.content.as_ref().and_then(|content| content["name"].as_str());
            format!("hello {}", name.ok_or_else(|| internal("no name"))?)
        }
        ElicitationAction::Decline => "declined".to_owned(),
        _ => "cancelled".to_owned(),
    };
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
