//! All that the machine writes in the transcripts is valid by the official schema of the revision
//! that is spoken.
//!
//! Where a handler of a transcript returns what is not, a comment says so: `# not by the schema: why`
//! is about the next `S>` line. Methods that begin with `custom/` are in no schema, and have any result.
//!
//! The revisions before 2025-11-25 have no form for an error about a message whose id could not be
//! read. It is judged by 2025-11-25.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends here, and says why")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use mcp_tests::transcript::{self, Transcript};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";
/// What a legacy request is judged by before its client has said which revision it speaks.
const LATEST_LEGACY: &str = "2025-11-25";

#[test]
fn what_the_machine_writes_is_valid() {
    let mut schemas = Schemas::default();
    let (mut wrong, mut lines) = (Vec::new(), 0);
    for path in transcript::files().unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(transcript::folder()).unwrap().display();
        let mut conversation = Conversation::default();
        let mut exempt = false;
        for (at, line) in text.lines().enumerate() {
            exempt |= line.starts_with("# not by the schema: ");
            if line == "! eof" {
                conversation.client_sends(b"\n");
            } else if line.starts_with("C>") || line.starts_with("C*") {
                let client = Transcript::parse("line", &format!("# A line.\n{line}")).unwrap();
                conversation.client_sends(&client.client_bytes());
            } else if let Some(sent) = line.strip_prefix("S> ") {
                let faults = conversation.server_sends(&mut schemas, sent);
                if exempt && faults.is_empty() {
                    wrong.push(format!("{name}:{}: valid, but exempt", at + 1));
                } else if !exempt {
                    wrong.extend(faults.iter().map(|why| format!("{name}:{}: {why}", at + 1)));
                }
                exempt = false;
                lines += 1;
            }
        }
        if exempt {
            wrong.push(format!("{name}: an exemption of nothing"));
        }
    }
    assert!(wrong.is_empty(), "{} of {lines} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// What has been said so far.
#[derive(Default)]
struct Conversation {
    /// What the client has sent since its last newline.
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

/// What matters of a message that a client sends. The rest is not looked at: it may be nested
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
    fn client_sends(&mut self, bytes: &[u8]) {
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

    /// What is wrong with a line that the server sends.
    fn server_sends(&mut self, schemas: &mut Schemas, line: &str) -> Vec<String> {
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
        if let Some(code) = message["error"]["code"].as_i64() {
            let no_form = message.get("id").is_none() && revision != MODERN;
            let revision = if no_form { LATEST_LEGACY } else { revision };
            let names = [error_of(code), Some("JSONRPCErrorResponse"), Some("JSONRPCError")];
            let name = names.into_iter().flatten().find(|name| schemas.defines(revision, name));
            return schemas.check(revision, name.unwrap(), message);
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
        let envelope = ["JSONRPCResultResponse", "JSONRPCResponse"];
        let envelope = envelope.into_iter().find(|name| schemas.defines(&revision, name));
        let mut faults = schemas.check(&revision, envelope.unwrap(), message);
        faults.extend(schemas.check(&revision, name, result));
        if method == "initialize" {
            self.session = Some(revision);
        }
        faults
    }
}

/// The definition of the result of a request.
fn result_of(method: &str) -> Option<&'static str> {
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
fn unasked(method: &str) -> Option<&'static str> {
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

/// The definition of an error that has one of its own.
fn error_of(code: i64) -> Option<&'static str> {
    Some(match code {
        -32020 => "HeaderMismatchError",
        -32021 => "MissingRequiredClientCapabilityError",
        -32022 => "UnsupportedProtocolVersionError",
        -32042 => "URLElicitationRequiredError",
        _ => return None,
    })
}

/// The official schemas, each read and each definition compiled when it is first needed.
#[derive(Default)]
struct Schemas {
    files: BTreeMap<String, Value>,
    validators: BTreeMap<(String, String), Validator>,
}

impl Schemas {
    /// Whether a revision has this definition.
    fn defines(&mut self, revision: &str, name: &str) -> bool {
        let schema = self.schema(revision);
        schema[container(schema)].get(name).is_some()
    }

    /// What is wrong with a value that should be as defined.
    fn check(&mut self, revision: &str, name: &str, value: &Value) -> Vec<String> {
        if !self.defines(revision, name) {
            return vec![format!("{revision} has no {name}")];
        }
        let key = (revision.to_owned(), name.to_owned());
        if !self.validators.contains_key(&key) {
            let mut schema = self.schema(revision).clone();
            schema["allOf"] = json!([{ "$ref": format!("#/{}/{name}", container(&schema)) }]);
            self.validators.insert(key.clone(), jsonschema::validator_for(&schema).unwrap());
        }
        let faults = self.validators.get(&key).unwrap().iter_errors(value);
        faults.map(|fault| format!("no {name} of {revision}: {fault}")).collect()
    }

    fn schema(&mut self, revision: &str) -> &Value {
        self.files.entry(revision.to_owned()).or_insert_with(|| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec").join(revision);
            serde_json::from_slice(&fs::read(folder.join("schema.json")).unwrap()).unwrap()
        })
    }
}

/// The member that holds the definitions.
fn container(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() { "$defs" } else { "definitions" }
}
