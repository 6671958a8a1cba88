//! Messages of a client in a transcript, checked against the schemas.
//!
//! A request says itself whether it is modern; all else is judged by the revision that `initialize`
//! has agreed on, if there was one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schemas::{LATEST_LEGACY, MODERN, Schemas};

/// Conversation so far.
#[derive(Default)]
pub(crate) struct Conversation {
    /// The methods of the server's requests that have had no response, by id.
    asked: BTreeMap<String, String>,
    /// Those that have had one, which may be sent again.
    answered: BTreeMap<String, String>,
    /// The revision that `initialize` agreed on.
    session: Option<String>,
}

impl Conversation {
    /// A line of the server's. What cannot be read is answered by nobody.
    pub(crate) fn server_sends(&mut self, line: &[u8]) {
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        match serde_json::from_slice(text) {
            Ok(Value::Array(batch)) => batch.iter().for_each(|message| self.server_says(message)),
            Ok(message) => self.server_says(&message),
            Err(_) => {}
        }
    }

    fn server_says(&mut self, message: &Value) {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            self.asked.entry(id_of(id)).or_insert_with(|| method.to_owned());
        }
        if let Some(version) = message["result"]["protocolVersion"].as_str() {
            self.session = Some(version.to_owned()).filter(|version| version != MODERN);
        }
    }

    /// Faults of a line that the client sends.
    pub(crate) fn client_sends(&mut self, schemas: &mut Schemas, line: &str) -> Vec<String> {
        let message: Value = serde_json::from_str(line).unwrap();
        let Some(batch) = message.as_array() else { return self.client_says(schemas, &message) };
        if self.session.as_deref() != Some("2025-03-26") {
            return vec!["only 2025-03-26 has batches".to_owned()];
        }
        batch.iter().flat_map(|message| self.client_says(schemas, message)).collect()
    }

    fn client_says(&mut self, schemas: &mut Schemas, message: &Value) -> Vec<String> {
        let session = self.session.clone().unwrap_or_else(|| MODERN.to_owned());
        let session = session.as_str();
        if let Some(method) = message["method"].as_str() {
            let claim = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let revision = match (method, message.get("id"), claim.as_str()) {
                ("initialize", ..) => message["params"]["protocolVersion"].as_str(),
                (_, Some(_), Some(claim)) => Some(claim),
                (_, Some(_), None) if session == MODERN => {
                    return vec![format!("{method} without a version, and without a session")];
                }
                (_, _, _) => Some(session),
            };
            let revision = revision.unwrap_or(LATEST_LEGACY);
            let envelope =
                if message.get("id").is_some() { "JSONRPCRequest" } else { "JSONRPCNotification" };
            let mut faults = schemas.check(revision, envelope, message);
            match asked(method) {
                Some(name) => faults.extend(schemas.check(revision, name, message)),
                None => faults.push(format!("a client does not send {method}")),
            }
            return faults;
        }
        // Only a legacy server asks, be it before its era is known.
        let revision = if session == MODERN { LATEST_LEGACY } else { session };
        let method = message.get("id").and_then(|id| self.answered(id_of(id)));
        if message.get("error").is_some() {
            return schemas.check_error(revision, message);
        }
        let name = match method.as_deref() {
            Some("ping") => "EmptyResult",
            Some("roots/list") => "ListRootsResult",
            Some("sampling/createMessage") => "CreateMessageResult",
            Some("elicitation/create") => "ElicitResult",
            other => return vec![format!("a result of {other:?}")],
        };
        schemas.check_result(revision, name, message)
    }

    /// The method of the request that is answered.
    fn answered(&mut self, id: String) -> Option<String> {
        let Some(method) = self.asked.remove(&id) else { return self.answered.get(&id).cloned() };
        self.answered.insert(id, method.clone());
        Some(method)
    }
}

/// An id by its value.
fn id_of(id: &Value) -> String {
    id.as_f64().map_or_else(|| id.to_string(), |number| number.to_string())
}

/// The definition of a request or a notification of a client's.
fn asked(method: &str) -> Option<&'static str> {
    Some(match method {
        "completion/complete" => "CompleteRequest",
        "initialize" => "InitializeRequest",
        "logging/setLevel" => "SetLevelRequest",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/initialized" => "InitializedNotification",
        "notifications/roots/list_changed" => "RootsListChangedNotification",
        "ping" => "PingRequest",
        "prompts/get" => "GetPromptRequest",
        "prompts/list" => "ListPromptsRequest",
        "resources/list" => "ListResourcesRequest",
        "resources/read" => "ReadResourceRequest",
        "resources/subscribe" => "SubscribeRequest",
        "resources/templates/list" => "ListResourceTemplatesRequest",
        "resources/unsubscribe" => "UnsubscribeRequest",
        "server/discover" => "DiscoverRequest",
        "subscriptions/listen" => "SubscriptionsListenRequest",
        "tools/call" => "CallToolRequest",
        "tools/list" => "ListToolsRequest",
        // Of an extension.
        "tasks/get" | "tasks/update" | "tasks/cancel" => "JSONRPCRequest",
        custom if custom.starts_with("com.example/") => "JSONRPCRequest",
        custom if custom.starts_with("notifications/com.example/") => "JSONRPCNotification",
        _ => return None,
    })
}
