//! Every official example survives being read and written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_proto::message::{self, Incoming, Message};
use mcp_proto::types::{
    CallToolRequestParams, CallToolResult, CancelledNotificationParams, ClientCapabilities,
    CompleteRequestParams, CompleteResult, ContentBlock, CreateMessageRequestParams,
    CreateMessageResult, DiscoverResult, ElicitRequestParams, ElicitResult, GetPromptRequestParams,
    GetPromptResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, LoggingMessageNotificationParams, MissingRequiredClientCapabilityErrorData,
    ModelPreferences, NotificationParams, PaginatedRequestParams, PrimitiveSchemaDefinition,
    ProgressNotificationParams, ReadResourceRequestParams, ReadResourceResult, RequestParams,
    Resource, ResourceContents, ResourceUpdatedNotificationParams, Root, SamplingMessage,
    SamplingMessageContentBlock, ServerCapabilities, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult, Tool,
    UnsupportedProtocolVersionErrorData,
};
use mcp_proto::{ErrorData, Json, Limits};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Check, expect, read, same};

type Read = fn(&str) -> Check;

/// The folders of the examples, and what reads and writes an example.
const EXAMPLES: &[(&str, Read)] = &[
    ("AudioContent", same::<ContentBlock>),
    ("BlobResourceContents", same::<ResourceContents>),
    ("BooleanSchema", same::<PrimitiveSchemaDefinition>),
    ("CallToolRequest", |text| asks::<CallToolRequestParams>("tools/call", text)),
    ("CallToolRequestParams", same::<CallToolRequestParams>),
    ("CallToolResult", same::<CallToolResult>),
    ("CallToolResultResponse", |text| answers::<CallToolResult>(text)),
    ("CancelledNotification", |text| {
        tells::<CancelledNotificationParams>("notifications/cancelled", text)
    }),
    ("CancelledNotificationParams", same::<CancelledNotificationParams>),
    ("ClientCapabilities", same::<ClientCapabilities>),
    ("CompleteRequest", |text| asks::<CompleteRequestParams>("completion/complete", text)),
    ("CompleteRequestParams", same::<CompleteRequestParams>),
    ("CompleteResult", same::<CompleteResult>),
    ("CompleteResultResponse", |text| answers::<CompleteResult>(text)),
    ("CreateMessageRequest", same::<InputRequest>),
    ("CreateMessageRequestParams", same::<CreateMessageRequestParams>),
    ("CreateMessageResult", same::<CreateMessageResult>),
    ("DiscoverRequest", |text| asks::<RequestParams>("server/discover", text)),
    ("DiscoverResult", same::<DiscoverResult>),
    ("DiscoverResultResponse", |text| answers::<DiscoverResult>(text)),
    ("ElicitRequest", same::<InputRequest>),
    ("ElicitRequestFormParams", same::<ElicitRequestParams>),
    ("ElicitRequestURLParams", same::<ElicitRequestParams>),
    ("ElicitResult", same::<ElicitResult>),
    ("EmbeddedResource", same::<ContentBlock>),
    ("GetPromptRequest", |text| asks::<GetPromptRequestParams>("prompts/get", text)),
    ("GetPromptRequestParams", same::<GetPromptRequestParams>),
    ("GetPromptResult", same::<GetPromptResult>),
    ("GetPromptResultResponse", |text| answers::<GetPromptResult>(text)),
    ("HeaderMismatchError", |text| fails(-32020, text)),
    ("ImageContent", same::<ContentBlock>),
    ("InputRequests", same::<InputRequests>),
    ("InputRequiredResult", same::<InputRequiredResult>),
    ("InputResponses", input_responses),
    ("InternalError", |text| fails(-32603, &enveloped(text))),
    ("InvalidParamsError", |text| fails(-32602, &enveloped(text))),
    ("ListPromptsRequest", |text| asks::<PaginatedRequestParams>("prompts/list", text)),
    ("ListPromptsResult", same::<ListPromptsResult>),
    ("ListPromptsResultResponse", |text| answers::<ListPromptsResult>(text)),
    ("ListResourceTemplatesRequest", |text| {
        asks::<PaginatedRequestParams>("resources/templates/list", text)
    }),
    ("ListResourceTemplatesResult", same::<ListResourceTemplatesResult>),
    ("ListResourceTemplatesResultResponse", |text| answers::<ListResourceTemplatesResult>(text)),
    ("ListResourcesRequest", |text| asks::<PaginatedRequestParams>("resources/list", text)),
    ("ListResourcesResult", same::<ListResourcesResult>),
    ("ListResourcesResultResponse", |text| answers::<ListResourcesResult>(text)),
    ("ListRootsRequest", |text| same::<InputRequest>(&without_id(text))),
    ("ListRootsResult", same::<ListRootsResult>),
    ("ListToolsRequest", |text| asks::<PaginatedRequestParams>("tools/list", text)),
    ("ListToolsResult", same::<ListToolsResult>),
    ("ListToolsResultResponse", |text| answers::<ListToolsResult>(text)),
    ("LoggingMessageNotification", |text| {
        tells::<LoggingMessageNotificationParams>("notifications/message", text)
    }),
    ("LoggingMessageNotificationParams", same::<LoggingMessageNotificationParams>),
    ("MethodNotFoundError", |text| fails(-32601, &enveloped(text))),
    ("MissingRequiredClientCapabilityError", |text| {
        fails_with::<MissingRequiredClientCapabilityErrorData>(-32021, text)
    }),
    ("ModelPreferences", same::<ModelPreferences>),
    ("NumberSchema", same::<PrimitiveSchemaDefinition>),
    ("PaginatedRequestParams", same::<PaginatedRequestParams>),
    ("ParseError", |text| fails(-32700, &enveloped(text))),
    ("ProgressNotification", |text| {
        tells::<ProgressNotificationParams>("notifications/progress", text)
    }),
    ("ProgressNotificationParams", same::<ProgressNotificationParams>),
    ("PromptListChangedNotification", |text| {
        tells::<NotificationParams>("notifications/prompts/list_changed", text)
    }),
    ("ReadResourceRequest", |text| asks::<ReadResourceRequestParams>("resources/read", text)),
    ("ReadResourceResult", same::<ReadResourceResult>),
    ("ReadResourceResultResponse", |text| answers::<ReadResourceResult>(text)),
    ("Resource", same::<Resource>),
    ("ResourceLink", same::<ContentBlock>),
    ("ResourceListChangedNotification", |text| {
        tells::<NotificationParams>("notifications/resources/list_changed", text)
    }),
    ("ResourceUpdatedNotification", |text| {
        tells::<ResourceUpdatedNotificationParams>("notifications/resources/updated", text)
    }),
    ("ResourceUpdatedNotificationParams", same::<ResourceUpdatedNotificationParams>),
    ("Root", same::<Root>),
    ("SamplingMessage", same::<SamplingMessage>),
    ("ServerCapabilities", same::<ServerCapabilities>),
    ("StringSchema", same::<PrimitiveSchemaDefinition>),
    ("SubscriptionsAcknowledgedNotification", |text| {
        tells::<SubscriptionsAcknowledgedNotificationParams>(
            "notifications/subscriptions/acknowledged",
            text,
        )
    }),
    ("SubscriptionsListenRequest", |text| {
        asks::<SubscriptionsListenRequestParams>("subscriptions/listen", text)
    }),
    ("SubscriptionsListenResult", same::<SubscriptionsListenResult>),
    ("SubscriptionsListenResultResponse", |text| answers::<SubscriptionsListenResult>(text)),
    ("TextContent", same::<ContentBlock>),
    ("TextResourceContents", same::<ResourceContents>),
    ("TitledMultiSelectEnumSchema", same::<PrimitiveSchemaDefinition>),
    ("TitledSingleSelectEnumSchema", same::<PrimitiveSchemaDefinition>),
    ("Tool", same::<Tool>),
    ("ToolListChangedNotification", |text| {
        tells::<NotificationParams>("notifications/tools/list_changed", text)
    }),
    ("ToolResultContent", same::<SamplingMessageContentBlock>),
    ("ToolUseContent", same::<SamplingMessageContentBlock>),
    ("UnsupportedProtocolVersionError", |text| {
        fails_with::<UnsupportedProtocolVersionErrorData>(-32022, text)
    }),
    ("UntitledMultiSelectEnumSchema", same::<PrimitiveSchemaDefinition>),
    ("UntitledSingleSelectEnumSchema", same::<PrimitiveSchemaDefinition>),
];

#[test]
fn every_official_example_survives() {
    let (mut wrong, mut examples) = (Vec::new(), 0);
    let mut unused: BTreeMap<_, _> = EXAMPLES.iter().copied().collect();
    for folder in entries(&root().join("2026-07-28/examples")) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let Some(check) = unused.remove(name) else {
            wrong.push(format!("{name}: nothing reads it"));
            continue;
        };
        for file in entries(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            examples += 1;
            if let Err(why) = check(&text) {
                wrong.push(format!("{}: {why}", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    wrong.extend(unused.keys().map(|name| format!("{name}: no such folder")));
    assert!(wrong.is_empty(), "{} of {examples}:\n{}", wrong.len(), wrong.join("\n"));
}

fn asks<P: DeserializeOwned + Serialize>(method: &str, text: &str) -> Check {
    let Message::Request(request) = parse(text) else {
        return Err("no request".to_owned());
    };
    if request.method.name() != method {
        return Err(format!("not {method}"));
    }
    same::<P>(request.params.json().as_str())
}

fn tells<P: DeserializeOwned + Serialize>(method: &str, text: &str) -> Check {
    let Message::Notification(notification) = parse(text) else {
        return Err("no notification".to_owned());
    };
    if notification.method.name() != method {
        return Err(format!("not {method}"));
    }
    same::<P>(notification.params.json().as_str())
}

fn answers<R: DeserializeOwned + Serialize>(text: &str) -> Check {
    same::<R>(response(text)?.unwrap().as_str())
}

fn fails(code: i64, text: &str) -> Check {
    let error = error(text)?;
    let original: Value = serde_json::from_str(text).unwrap();
    let mut read = json!({ "code": error.code.0, "message": error.message });
    if let Some(data) = error.data {
        read["data"] = data.decode().unwrap();
    }
    if error.code.0 == code { expect(&read, &original["error"]) } else { Err(format!("{code}?")) }
}

fn fails_with<D: DeserializeOwned + Serialize>(code: i64, text: &str) -> Check {
    fails(code, text)?;
    same::<D>(error(text)?.data.unwrap().as_str())
}

fn error(text: &str) -> Result<ErrorData, String> {
    response(text)?.err().ok_or_else(|| "a result".to_owned())
}

fn response(text: &str) -> Result<Result<Json, ErrorData>, String> {
    let Message::Response(response) = parse(text) else { return Err("no response".to_owned()) };
    Ok(response.body)
}

/// The answers to [`InputRequest`]s are what those ask for.
fn input_responses(text: &str) -> Check {
    same::<InputResponses>(text)?;
    let responses: InputResponses = read(text);
    let login = responses["github_login"].elicit().map_err(|error| error.to_string())?;
    let capital = responses["capital_of_france"].create_message();
    same::<ElicitResult>(Json::encode(&login).unwrap().as_str())?;
    same::<CreateMessageResult>(responses["capital_of_france"].json().as_str())?;
    capital.map(drop).map_err(|error| error.to_string())
}

/// An error without the response around it.
fn enveloped(error: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)
}

/// A part of a result has no id; the example of this one does.
fn without_id(text: &str) -> String {
    let mut request: Value = serde_json::from_str(text).unwrap();
    request.as_object_mut().unwrap().remove("id");
    request.to_string()
}

fn parse(text: &str) -> Message {
    let parsed = message::parse(&text.to_owned().into(), &Limits::default()).unwrap();
    let Incoming::Message(message) = parsed else { panic!("a batch") };
    message
}

/// Entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spec")
}
