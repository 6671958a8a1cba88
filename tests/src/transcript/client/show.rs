//! Reports of a client, as `!` lines.

use std::fmt::Write as _;

use mcp_proto::Json;
use mcp_proto::client::{Change, Input, List, Progress, ServerInfo};
use mcp_proto::types::{LoggingMessageNotificationParams, Task};

pub(super) fn connected(server: &ServerInfo) -> String {
    let mut line = format!("! connected {}", server.version.as_str());
    if let Some(by) = &server.implementation {
        let _ = write!(line, " {} {}", by.name, by.version);
    }
    let capabilities = Json::encode(&server.capabilities).unwrap_or(Json::EMPTY_OBJECT);
    if capabilities.as_bytes() != b"{}" {
        let _ = write!(line, " {capabilities}");
    }
    if let Some(instructions) = &server.instructions {
        let _ = write!(line, " {}", quoted(instructions));
    }
    line
}

/// `call` is the name of the call that needs it, if one is known to.
pub(super) fn asked(name: &str, call: Option<&str>, input: &Input) -> String {
    #[derive(serde::Deserialize)]
    struct Request {
        params: Option<Json>,
    }
    let of = call.map(|call| format!(" of {call}")).unwrap_or_default();
    let request = Json::encode(&input.request).ok().and_then(|json| json.decode().ok());
    let params = request.and_then(|request: Request| request.params).unwrap_or(Json::EMPTY_OBJECT);
    format!("! asked {name}{of} {} {params}", input.request.method())
}

pub(super) fn progressed(call: &str, progress: &Progress) -> String {
    let Progress { progress, total, message, .. } = progress;
    let mut line = format!("! progressed {call} {progress}");
    if let Some(total) = total {
        let _ = write!(line, " {total}");
    }
    if let Some(message) = message {
        let _ = write!(line, " {}", quoted(message));
    }
    line
}

pub(super) fn task(call: &str, task: &Task) -> String {
    let status = Json::encode(&task.status).unwrap_or(Json::EMPTY_OBJECT);
    let message = task.status_message.as_deref().map(|text| format!(" {}", quoted(text)));
    let status = status.as_str().trim_matches('"');
    format!("! task {call} {status}{}", message.unwrap_or_default())
}

pub(super) fn logged(message: &LoggingMessageNotificationParams) -> String {
    let by = message.logger.as_deref().map(|logger| format!(" by {}", quoted(logger)));
    format!("! logged {} {}{}", message.level.as_str(), message.data, by.unwrap_or_default())
}

pub(super) fn changed(subscription: Option<&str>, change: &Change) -> String {
    let of = subscription.map(|name| format!("{name} ")).unwrap_or_default();
    #[expect(clippy::wildcard_enum_match_arm, reason = "what has no name yet must not pass")]
    let what = match change {
        Change::ListChanged(List::Tools) => "tools".to_owned(),
        Change::ListChanged(List::Prompts) => "prompts".to_owned(),
        Change::ListChanged(List::Resources) => "resources".to_owned(),
        Change::ResourceUpdated(uri) => format!("resource {uri}"),
        Change::TaskUpdated(update) => format!("task {}", update.task_id()),
        other => format!("{other:?}"),
    };
    format!("! changed {of}{what}")
}

fn quoted(text: &str) -> serde_json::Value {
    text.into()
}
