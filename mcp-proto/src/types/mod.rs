//! The objects of the MCP schema, of all revisions, as plain typed values.
//!
//! In and out: the `params`, `result` and `error.data` of messages, by [`Json::decode`] and
//! [`Json::encode`]. Unknown members are ignored; they remain in the [`Json`] that a value was
//! decoded from. Members that the schema leaves open stay raw JSON: `_meta`, JSON Schemas,
//! arguments, structured content, and the settings of capabilities.
//!
//! A type serves all revisions that define it, and links to the page of the latest such revision. A
//! member that some revisions lack is optional. A flag that is absent or `null` is `false`, and
//! such a list is empty; neither is written. The variant of an untagged union follows from its
//! members.
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
mod setters;
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
pub(crate) use capabilities::read_capabilities;
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
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;
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

    #[test]
    fn setters_of_listed_entries_write_their_members() {
        let icon = Icon::new("i").mime_type("image/png").size("48x48").size("any");
        let icon = icon.theme(IconTheme::Dark);
        let icons = r#""icons":[{"src":"i","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]"#;
        let hints = Annotations::default().audience(Role::User).priority(0.5).last_modified("m");
        let annotations =
            r#""annotations":{"audience":["user"],"priority":0.5,"lastModified":"m"}"#;

        let info = Implementation::new("n", "1").website_url("w").icon(icon.clone());
        written(&info, &format!(r#"{{"name":"n","version":"1","websiteUrl":"w",{icons}}}"#));
        let tool = Tool::new("n", Json::EMPTY_OBJECT).icon(icon.clone());
        written(&tool, &format!(r#"{{"name":"n","inputSchema":{{}},{icons}}}"#));
        let argument = PromptArgument::new("a").title("A");
        let prompt = Prompt::new("n").title("t").argument(argument).icon(icon.clone());
        let arguments = r#""arguments":[{"name":"a","title":"A"}]"#;
        written(&prompt, &format!(r#"{{"name":"n","title":"t",{arguments},{icons}}}"#));
        let resource = Resource::new("u:", "n").title("t").annotations(hints.clone()).size(7);
        let expected = r#"{"uri":"u:","name":"n","title":"t","#;
        written(
            &resource.icon(icon.clone()),
            &format!(r#"{expected}{annotations},"size":7,{icons}}}"#),
        );
        let template = ResourceTemplate::new("u:{x}", "n").title("t").annotations(hints.clone());
        let expected = r#"{"uriTemplate":"u:{x}","name":"n","title":"t","#;
        written(&template.icon(icon), &format!("{expected}{annotations},{icons}}}"));

        let text = TextContent::new("x").annotations(hints.clone());
        written(&text, &format!(r#"{{"text":"x",{annotations}}}"#));
        let image = ImageContent::of_bytes(b"", "m").annotations(hints.clone());
        written(&image, &format!(r#"{{"data":"","mimeType":"m",{annotations}}}"#));
        let audio = AudioContent::of_bytes(b"", "m").annotations(hints.clone());
        written(&audio, &format!(r#"{{"data":"","mimeType":"m",{annotations}}}"#));
        let embedded = EmbeddedResource::new(ResourceContents::text("u:", "x")).annotations(hints);
        let expected = r#"{"resource":{"uri":"u:","text":"x"},"#;
        written(&embedded, &format!("{expected}{annotations}}}"));
    }

    #[test]
    fn setters_of_fields_of_forms_write_their_members() {
        let text = StringSchema::new().min_length(1).max_length(9).format(StringFormat::Date);
        let expected =
            r#"{"type":"string","minLength":1,"maxLength":9,"format":"date","default":"d"}"#;
        written(&text.default_value("d"), expected);
        let number = NumberSchema::integer().minimum(-1).maximum(9).default_value(2);
        let expected = r#"{"type":"integer","minimum":-1,"maximum":9,"default":2}"#;
        written(&number, expected);
        let flag = BooleanSchema::new().default_value(true);
        written(&flag, r#"{"type":"boolean","default":true}"#);

        let one = UntitledSingleSelectEnumSchema::new(["a"]).title("t").description("d");
        let expected =
            r#"{"type":"string","title":"t","description":"d","enum":["a"],"default":"a"}"#;
        written(&one.default_value("a"), expected);
        let many = UntitledMultiSelectEnumSchema::new(["a"]).min_items(1).max_items(2);
        let expected = r#"{"type":"array","minItems":1,"maxItems":2,"#;
        let items = r#""items":{"type":"string","enum":["a"]},"default":["a"]}"#;
        written(&many.default_value([String::from("a")]), &format!("{expected}{items}"));
        let titled = TitledMultiSelectEnumSchema::new([]).min_items(1).max_items(2);
        written(&titled, &format!(r#"{expected}"items":{{"anyOf":[]}}}}"#));
    }

    #[test]
    fn setters_of_requests_and_results_write_their_members() {
        let preferences = ModelPreferences::default().hint(ModelHint::new("m")).cost_priority(0.0);
        let preferences = preferences.speed_priority(0.5).intelligence_priority(1.0);
        let request = CreateMessageRequestParams::new(Vec::new(), 1)
            .model_preferences(preferences)
            .temperature(0.5)
            .stop_sequence("a")
            .stop_sequence("b")
            .tool(Tool::new("n", Json::EMPTY_OBJECT))
            .tool_choice(ToolChoice::new(ToolChoiceMode::Required));
        written(
            &request,
            concat!(
                r#"{"messages":[],"modelPreferences":{"hints":[{"name":"m"}],"costPriority":0,"#,
                r#""speedPriority":0.5,"intelligencePriority":1},"temperature":0.5,"maxTokens":1,"#,
                r#""stopSequences":["a","b"],"tools":[{"name":"n","inputSchema":{}}],"#,
                r#""toolChoice":{"mode":"required"}}"#,
            ),
        );
        let block = SamplingMessageContentBlock::text("x");
        let answer = CreateMessageResult::new("m", block).stop_reason(StopReason::EndTurn);
        assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
        let message = LoggingMessageNotificationParams::new(LoggingLevel::Info, Json::EMPTY_OBJECT);
        written(&message.logger("l"), r#"{"level":"info","logger":"l","data":{}}"#);
        let result = GetPromptResult::new(Vec::new()).description("d");
        written(&result, r#"{"description":"d","messages":[]}"#);
    }

    fn written<T: Serialize>(value: &T, expected: &str) {
        assert_eq!(Json::encode(value).unwrap().as_str(), expected);
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
