use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::codec::{number, open_strings};
use super::{Role, SamplingContent, Tool};
use crate::json::Json;

/// The parameters of `sampling/createMessage`.
///
/// [Schema: `CreateMessageRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#createmessagerequestparams)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The preferred model; the client may choose another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The context of other conversations that the client should add; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The temperature, on the scale of the model.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub temperature: Option<f64>,
    /// The maximum number of tokens in the answer.
    pub max_tokens: u64,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Metadata for the provider of the model, in the provider's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The tools that the model may use; only for clients with the capability `sampling.tools`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The use of tools by the model; only for clients with the capability `sampling.tools`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Metadata of the request (`_meta`); legacy.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CreateMessageRequestParams {
    /// A request for an answer of at most `max_tokens` tokens.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: Vec::new(),
            metadata: None,
            tools: None,
            tool_choice: None,
            meta: None,
        }
    }

    /// Sets the system prompt.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Returns whether the request requires the capability `sampling.tools`.
    pub(crate) fn needs_tools(&self) -> bool {
        self.tools.is_some() || self.tool_choice.is_some()
    }
}

/// A message to or from a model.
///
/// [Schema: `SamplingMessage`](https://modelcontextprotocol.io/specification/2026-07-28/schema#samplingmessage)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The role of the sender.
    pub role: Role,
    /// The content.
    pub content: SamplingContent,
    /// Metadata of the message (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl SamplingMessage {
    /// A message with this content.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self { role, content: content.into(), meta: None }
    }
}

/// The result of `sampling/createMessage`: a message of the model.
///
/// [Schema: `CreateMessageResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#createmessageresult)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The role of the sender.
    pub role: Role,
    /// The content.
    pub content: SamplingContent,
    /// The name of the model.
    pub model: String,
    /// The reason for the end of the message, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Metadata of the message (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CreateMessageResult {
    /// The content of the model.
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
        }
    }
}

/// The model that a server prefers; the client may choose another. Priorities go from 0, not
/// important, to 1, the most important.
///
/// [Schema: `ModelPreferences`](https://modelcontextprotocol.io/specification/2026-07-28/schema#modelpreferences)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Models by preference; the client uses the first that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// The weight of a low price.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub cost_priority: Option<f64>,
    /// The weight of a fast answer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub speed_priority: Option<f64>,
    /// The weight of a good answer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub intelligence_priority: Option<f64>,
}

/// A hint at a preferred model.
///
/// [Schema: `ModelHint`](https://modelcontextprotocol.io/specification/2026-07-28/schema#modelhint)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelHint {
    /// A part of the model's name; the client may map it to a model of another provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelHint {
    /// A model with this text in its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }
}

/// The use of tools by a model.
///
/// [Schema: `ToolChoice`](https://modelcontextprotocol.io/specification/2026-07-28/schema#toolchoice)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// The mode: may, must or must not; default [`Auto`](ToolChoiceMode::Auto).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

impl ToolChoice {
    /// A choice with this mode.
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self { mode: Some(mode) }
    }
}

open_strings! {
    /// The mode in which a model uses tools.
    ToolChoiceMode {
        /// The model may use tools.
        Auto = "auto",
        /// The model must use at least one tool before it ends.
        Required = "required",
        /// The model must not use tools.
        None = "none",
    }
}

open_strings! {
    /// The context of other conversations that a client should add. All but [`None`](Self::None)
    /// are deprecated, and only for clients with the capability `sampling.context`.
    IncludeContext {
        /// Nothing.
        None = "none",
        /// The conversation with this server.
        ThisServer = "thisServer",
        /// The conversations with all servers.
        AllServers = "allServers",
    }
}

open_strings! {
    /// The reason for the end of a model's message.
    StopReason {
        /// The model finished its turn.
        EndTurn = "endTurn",
        /// The model generated one of `stopSequences`.
        StopSequence = "stopSequence",
        /// The model generated `maxTokens` tokens.
        MaxTokens = "maxTokens",
        /// The model calls tools.
        ToolUse = "toolUse",
    }
}
