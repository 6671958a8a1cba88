//! Values that have every member of their definition, in every revision that has the definition.

use std::collections::BTreeSet;

use mcp_proto::types::{
    Annotations, CallToolRequestParams, CallToolResult, CancelledNotificationParams,
    ClientCapabilities, CompleteRequestParams, CompleteResult, ContentBlock,
    CreateMessageRequestParams, CreateMessageResult, DiscoverResult, ElicitRequestParams,
    ElicitResult, ElicitationCompleteNotificationParams, GetPromptRequestParams, GetPromptResult,
    Icon, Implementation, InitializeRequestParams, InitializeResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, LoggingMessageNotificationParams, ModelHint, ModelPreferences,
    PaginatedRequestParams, PrimitiveSchemaDefinition, ProgressNotificationParams, Prompt,
    PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParams, Root, SamplingMessage,
    SamplingMessageContentBlock, ServerCapabilities, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, Tool, ToolAnnotations, ToolChoice, UnsubscribeRequestParams,
};
use mcp_tests::spec::{REVISIONS, Schema};
use serde_json::Value;

use super::{Check, same};

type Read = fn(&str) -> Check;

/// The definitions. Of a request or a notification, the parameters are read.
const DEFINITIONS: &[(&str, Read)] = &[
    ("Annotations", same::<Annotations>),
    ("AudioContent", same::<ContentBlock>),
    ("BlobResourceContents", same::<ResourceContents>),
    ("CallToolRequest", same::<CallToolRequestParams>),
    ("CallToolResult", same::<CallToolResult>),
    ("CancelledNotification", same::<CancelledNotificationParams>),
    ("ClientCapabilities", same::<ClientCapabilities>),
    ("CompleteRequest", same::<CompleteRequestParams>),
    ("CompleteResult", same::<CompleteResult>),
    ("ContentBlock", same::<ContentBlock>),
    ("CreateMessageRequest", same::<CreateMessageRequestParams>),
    ("CreateMessageResult", same::<CreateMessageResult>),
    ("DiscoverResult", same::<DiscoverResult>),
    ("ElicitRequest", same::<ElicitRequestParams>),
    ("ElicitResult", same::<ElicitResult>),
    ("ElicitationCompleteNotification", same::<ElicitationCompleteNotificationParams>),
    ("EmbeddedResource", same::<ContentBlock>),
    ("GetPromptRequest", same::<GetPromptRequestParams>),
    ("GetPromptResult", same::<GetPromptResult>),
    ("Icon", same::<Icon>),
    ("ImageContent", same::<ContentBlock>),
    ("Implementation", same::<Implementation>),
    ("InitializeRequest", same::<InitializeRequestParams>),
    ("InitializeResult", same::<InitializeResult>),
    ("InputRequiredResult", same::<InputRequiredResult>),
    ("ListPromptsRequest", same::<PaginatedRequestParams>),
    ("ListPromptsResult", same::<ListPromptsResult>),
    ("ListResourceTemplatesResult", same::<ListResourceTemplatesResult>),
    ("ListResourcesResult", same::<ListResourcesResult>),
    ("ListRootsResult", same::<ListRootsResult>),
    ("ListToolsResult", same::<ListToolsResult>),
    ("LoggingMessageNotification", same::<LoggingMessageNotificationParams>),
    ("ModelHint", same::<ModelHint>),
    ("ModelPreferences", same::<ModelPreferences>),
    ("PrimitiveSchemaDefinition", same::<PrimitiveSchemaDefinition>),
    ("ProgressNotification", same::<ProgressNotificationParams>),
    ("Prompt", same::<Prompt>),
    ("PromptArgument", same::<PromptArgument>),
    ("PromptMessage", same::<PromptMessage>),
    ("ReadResourceRequest", same::<ReadResourceRequestParams>),
    ("ReadResourceResult", same::<ReadResourceResult>),
    ("Resource", same::<Resource>),
    ("ResourceLink", same::<ContentBlock>),
    ("ResourceTemplate", same::<ResourceTemplate>),
    ("ResourceUpdatedNotification", same::<ResourceUpdatedNotificationParams>),
    ("Root", same::<Root>),
    ("SamplingMessage", same::<SamplingMessage>),
    ("SamplingMessageContentBlock", same::<SamplingMessageContentBlock>),
    ("ServerCapabilities", same::<ServerCapabilities>),
    ("SetLevelRequest", same::<SetLevelRequestParams>),
    ("SubscribeRequest", same::<SubscribeRequestParams>),
    ("SubscriptionsAcknowledgedNotification", same::<SubscriptionsAcknowledgedNotificationParams>),
    ("SubscriptionsListenRequest", same::<SubscriptionsListenRequestParams>),
    ("SubscriptionsListenResult", same::<SubscriptionsListenResult>),
    ("TextContent", same::<ContentBlock>),
    ("TextResourceContents", same::<ResourceContents>),
    ("Tool", same::<Tool>),
    ("ToolAnnotations", same::<ToolAnnotations>),
    ("ToolChoice", same::<ToolChoice>),
    ("UnsubscribeRequest", same::<UnsubscribeRequestParams>),
];

#[test]
fn values_with_every_member_survive_in_every_revision() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut without_value: BTreeSet<_> = DEFINITIONS.iter().map(|(name, _)| *name).collect();
    for revision in REVISIONS {
        let schema = Schema::of(revision);
        for (definition, check) in DEFINITIONS {
            for mut value in schema.values(definition) {
                if value.get("method").is_some() {
                    value = value["params"].take();
                }
                remove_tasks(&mut value);
                count += 1;
                without_value.remove(definition);
                if let Err(why) = check(&value.to_string()) {
                    wrong.push(format!("{revision} {definition}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(without_value.is_empty(), "{without_value:?}");
}

/// Removes the members of the tasks of 2025-11-25, an experiment that no type has.
fn remove_tasks(value: &mut Value) {
    if let Value::Object(members) = value {
        for name in ["task", "tasks", "execution"] {
            members.remove(name);
        }
        members.values_mut().for_each(remove_tasks);
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(remove_tasks);
    }
}
