//! Host of a client: a user, a model and a workspace, and a log of the server's messages.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
        Implementation, ListRootsResult, LoggingMessageNotificationParam,
        ProgressNotificationParam, ResourceUpdatedNotificationParam, Root, RootsCapabilities,
        SamplingCapability, SamplingMessage,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};

pub const ROOT: &str = "file:///home/user/project";
pub const MODEL_TEXT: &str = "It is Paris.";

#[derive(Default)]
pub struct Host(Mutex<Seen>);

/// Requests and notifications of the server since the last look.
#[derive(Default)]
pub struct Seen {
    /// The methods of its requests, as they came.
    pub asked: Vec<&'static str>,
    /// Does the user decline every form?
    pub declines: bool,
    pub progress: Vec<(f64, Option<f64>)>,
    /// The level and data of every log message.
    pub logs: Vec<Value>,
    /// The method of every changed list, the URI of every updated resource.
    pub changes: Vec<String>,
}

impl Host {
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take_asked(&self) -> Vec<&'static str> {
        mem::take(&mut self.seen().asked)
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.roots = Some(RootsCapabilities::default());
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut seen = self.seen();
        seen.asked.push("elicitation/create");
        if seen.declines {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        let ElicitRequestParams::FormElicitationParams { requested_schema, .. } = params else {
            return Err(ErrorData::invalid_params("no form", None));
        };
        let names = requested_schema.properties.keys();
        let content = names.map(|name| (name.clone(), json!(format!("my {name}")))).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.seen().asked.push("sampling/createMessage");
        let answer = SamplingMessage::assistant_text(MODEL_TEXT);
        Ok(CreateMessageResult::new(answer, "model".into()))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.seen().asked.push("roots/list");
        Ok(ListRootsResult::new(vec![Root::new(ROOT)]))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().progress.push((params.progress, params.total));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().logs.push(json!([params.level, params.data]));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.seen().changes.push("notifications/tools/list_changed".into());
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.seen().changes.push("notifications/prompts/list_changed".into());
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().changes.push(params.uri);
    }
}
