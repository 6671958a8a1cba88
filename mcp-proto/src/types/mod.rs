//! The objects of the MCP schema, of all revisions, as plain typed values.
//!
//! In and out: the `params`, `result` and `error.data` of messages, by [`Json::decode`] and
//! [`Json::encode`]. Unknown members are ignored; they remain in the [`Json`] that a value was
//! decoded from. Members that the schema leaves open stay raw JSON: `_meta`, JSON Schemas,
//! arguments, structured content, and the settings of capabilities.
//!
//! A type serves all revisions that define it, and links to the page of the latest such revision. A
//! member that some revisions lack is optional. An absent flag is `false` and an absent list is
//! empty, and neither is written. The variant of an untagged union follows from its members.
//!
//! [Specification: Schema](https://modelcontextprotocol.io/specification/2026-07-28/schema)
//!
//! [`Json`]: crate::Json
//! [`Json::decode`]: crate::Json::decode
//! [`Json::encode`]: crate::Json::encode

mod annotations;
mod blob;
mod cache;
mod capabilities;
mod codec;
mod completion;
mod content;
#[cfg(feature = "schemars")]
mod derived;
mod elicitation;
mod elicitation_content;
mod elicitation_schema;
mod enum_schema;
mod error_data;
mod implementation;
mod input;
mod input_response;
mod lifecycle;
mod logging;
mod progress;
mod prompt;
mod prompt_argument;
mod request;
mod requested_schema;
mod resource;
mod resource_contents;
mod resource_read;
mod roots;
mod sampling;
mod sampling_content;
mod string_format;
mod structured_error;
mod subscription;
mod task;
mod text_result;
mod tool;
mod tool_reading;

pub use annotations::{Annotations, Icon, IconTheme, Role};
pub use blob::InvalidBase64;
#[cfg(feature = "skills")]
pub(crate) use cache::ttl_ms;
pub use cache::{CacheHint, CacheScope};
pub use capabilities::{
    ClientCapabilities, ElicitationCapability, ListChangedCapability, ResourcesCapability,
    SamplingCapability, ServerCapabilities,
};
pub use completion::{
    CompleteRequestParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use content::{AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent};
pub use elicitation::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams,
    ElicitResult, ElicitationCompleteNotificationParams,
};
pub use elicitation_content::{ContentError, FieldError};
pub use elicitation_schema::{
    BooleanSchema, NumberSchema, NumberType, PrimitiveSchemaDefinition, StringFormat, StringSchema,
};
pub use enum_schema::{
    EnumOption, LegacyTitledEnumSchema, TitledItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
pub use error_data::{
    MissingRequiredClientCapabilityErrorData, URLElicitationRequiredErrorData,
    UnsupportedProtocolVersionErrorData,
};
pub use implementation::Implementation;
pub use input::{InputRequest, InputRequests, InputRequiredResult};
pub use input_response::{InputResponse, InputResponses};
pub use lifecycle::{DiscoverResult, InitializeRequestParams, InitializeResult};
pub use logging::{
    LoggingLevel, LoggingMessageNotificationParams, SetLevelRequestParams, UnknownLoggingLevel,
};
pub use progress::{CancelledNotificationParams, ProgressNotificationParams};
pub use prompt::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptMessage,
};
pub use prompt_argument::PromptArgument;
pub use request::{
    EmptyResult, NotificationParams, PaginatedRequestParams, RequestParams, ResultType,
};
pub use requested_schema::RequestedSchema;
pub use resource::{ListResourceTemplatesResult, ListResourcesResult, Resource, ResourceTemplate};
pub use resource_contents::{BlobResourceContents, ResourceContents, TextResourceContents};
pub use resource_read::{
    ReadResourceRequestParams, ReadResourceResult, ResourceUpdatedNotificationParams,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use sampling_content::{
    SamplingContent, SamplingMessageContentBlock, ToolResultContent, ToolUseContent,
};
pub use serde_json::Number;
pub use structured_error::StructuredError;
pub use subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub(crate) use task::shown_id;
pub use task::{
    CreateTaskResult, DetailedTask, Task, TaskRequestParams, TaskStatus, UpdateTaskRequestParams,
};
pub use tool::{CallToolRequestParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations};

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::fmt::{Debug, Display};

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::json::Json;

    #[test]
    fn texts_of_names_are_those_on_the_wire() {
        check(&[Role::User, Role::Assistant]);
        check(&[ElicitAction::Accept, ElicitAction::Decline, ElicitAction::Cancel]);
        check(&[CacheScope::Public, CacheScope::Private]);
        check(&[TaskStatus::Working, TaskStatus::InputRequired, TaskStatus::Completed]);
        check(&[TaskStatus::Failed, TaskStatus::Cancelled]);
    }

    #[test]
    fn open_names_are_converted_from_text() {
        for (text, reason) in [
            ("endTurn", StopReason::EndTurn),
            ("toolUse", StopReason::ToolUse),
            ("bored", StopReason::Other("bored".into())),
        ] {
            assert_eq!(StopReason::from(text), reason);
            assert_eq!(reason.to_string(), text);
            check(&[reason]);
        }
    }

    #[test]
    fn levels_are_parsed_from_their_names() {
        for level in [LoggingLevel::Debug, LoggingLevel::Warning, LoggingLevel::Emergency] {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        for name in ["", "Debug", "warn", "debug "] {
            assert_eq!(name.parse::<LoggingLevel>(), Err(UnknownLoggingLevel));
        }
    }

    /// Checks that the JSON of each value is its text as a string, and that it is read again.
    fn check<T: Serialize + DeserializeOwned + Display + PartialEq + Debug>(values: &[T]) {
        for value in values {
            let json = Json::encode(value).unwrap();
            assert_eq!(json, Json::encode(&value.to_string()).unwrap());
            assert_eq!(&json.decode::<T>().unwrap(), value);
        }
    }
}
