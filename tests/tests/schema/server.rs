//! Messages of a server in a transcript, checked against the schemas.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::schemas::{LATEST_LEGACY, MODERN, Schemas};

/// Conversation so far.
#[derive(Default)]
pub(crate) struct Conversation {
    /// Text of the client since its last newline.
    rest: Vec<u8>,
    /// The requests in flight, by id.
    requests: BTreeMap<String, Request>,
    /// The revision that `initialize` agreed on.
    session: Option<String>,
}

struct Request {
    method: String,
    modern: bool,
    cancelled: bool,
}

/// Members of a client's message that matter here. The rest is not looked at: it may be nested
/// deeper than a `Value` can be.
#[derive(Deserialize)]
struct Sent {
    method: Option<String>,
    id: Option<Value>,
    #[serde(default)]
    params: SentParams,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentParams {
    request_id: Option<Value>,
    #[serde(rename = "_meta", default)]
    meta: SentMeta,
}

#[derive(Default, Deserialize)]
struct SentMeta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    claim: Option<IgnoredAny>,
}

impl Conversation {
    pub(crate) fn client_sends(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while let Some(at) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=at).collect();
            let text = str::from_utf8(&line).unwrap_or_default().trim_start_matches('\u{feff}');
            // What cannot be read is answered with an error, for which the request does not matter.
            if let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(text) {
                for message in batch {
                    self.client_says(message.get());
                }
            } else {
                self.client_says(text);
            }
        }
    }

    fn client_says(&mut self, message: &str) {
        let Ok(Sent { method: Some(method), id, params }) = serde_json::from_str(message) else {
            return;
        };
        if let Some(id) = id {
            let id = id.to_string();
            // A second request with an id in flight is refused without naming it.
            if self.requests.get(&id).is_none_or(|request| request.cancelled) {
                let modern = params.meta.claim.is_some();
                self.requests.insert(id, Request { method, modern, cancelled: false });
            }
        } else if let ("notifications/cancelled", Some(id)) = (&*method, params.request_id) {
            // It may have been answered already.
            if let Some(request) = self.requests.get_mut(&id.to_string()) {
                request.cancelled = true;
            }
        }
    }

    /// Faults of a line that the server sends.
    pub(crate) fn server_sends(&mut self, schemas: &mut Schemas, line: &str) -> Vec<String> {
        let message: Value = serde_json::from_str(line).unwrap();
        let Some(batch) = message.as_array() else { return self.server_says(schemas, &message) };
        if self.session.as_deref() != Some("2025-03-26") {
            return vec!["only 2025-03-26 has batches".to_owned()];
        }
        batch.iter().flat_map(|message| self.server_says(schemas, message)).collect()
    }

    fn server_says(&mut self, schemas: &mut Schemas, message: &Value) -> Vec<String> {
        let session = self.session.as_deref().unwrap_or(MODERN);
        if let Some(method) = message["method"].as_str() {
            if message.get("id").is_some() && self.session.is_none() {
                return vec![format!("only a legacy client is asked, and not {method}")];
            }
            return match unasked(method) {
                Some(name) => schemas.check(session, name, message),
                None => vec![format!("a server does not send {method}")],
            };
        }
        let request = message.get("id").and_then(|id| self.requests.remove(&id.to_string()));
        let revision = match &request {
            Some(request) if request.modern => MODERN,
            Some(_) => self.session.as_deref().unwrap_or(LATEST_LEGACY),
            None => session,
        };
        if message.get("error").is_some() {
            return schemas.check_error(revision, message);
        }
        let Some(Request { method, .. }) = request else {
            return vec![format!("no request is in flight with the id {}", message["id"])];
        };
        let result = &message["result"];
        let name = match result["resultType"].as_str() {
            Some("input_required") => match &*method {
                "tools/call" | "prompts/get" | "resources/read" => Some("InputRequiredResult"),
                _ => return vec![format!("{method} cannot ask for input")],
            },
            _ => result_of(&method),
        };
        let Some(name) = name else { return vec![format!("there is no {method}")] };
        let revision = match result["protocolVersion"].as_str() {
            Some(agreed) if method == "initialize" => agreed.to_owned(),
            _ => revision.to_owned(),
        };
        let faults = schemas.check_result(&revision, name, message);
        if method == "initialize" {
            self.session = Some(revision);
        }
        faults
    }
}

/// The definition of the result of a request.
pub(crate) fn result_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "completion/complete" => "CompleteResult",
        "initialize" => "InitializeResult",
        "logging/setLevel" | "ping" | "resources/subscribe" | "resources/unsubscribe" => {
            "EmptyResult"
        }
        "prompts/get" => "GetPromptResult",
        "prompts/list" => "ListPromptsResult",
        "resources/list" => "ListResourcesResult",
        "resources/read" => "ReadResourceResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "server/discover" => "DiscoverResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        "tools/call" => "CallToolResult",
        "tools/list" => "ListToolsResult",
        custom if custom.starts_with("custom/") => "Result",
        _ => return None,
    })
}

/// The definition of what a server sends unasked.
pub(crate) fn unasked(method: &str) -> Option<&'static str> {
    Some(match method {
        "elicitation/create" => "ElicitRequest",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/elicitation/complete" => "ElicitationCompleteNotification",
        "notifications/message" => "LoggingMessageNotification",
        "notifications/progress" => "ProgressNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "ping" => "PingRequest",
        "roots/list" => "ListRootsRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        custom if custom.starts_with("custom/") => "JSONRPCNotification",
        _ => return None,
    })
}
