use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::codec::{number, open_strings, or_default};
use super::{Role, SamplingContent, SamplingMessageContentBlock, Tool};
use crate::json::Json;
use crate::json::integer::integer;

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
    #[serde(deserialize_with = "integer")]
    pub max_tokens: u64,
    /// Texts that end the answer.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
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

    /// Sets the preferred model.
    pub fn model_preferences(mut self, preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(preferences);
        self
    }

    /// Sets the temperature, on the scale of the model.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Adds a text that ends the answer.
    pub fn stop_sequence(mut self, text: impl Into<String>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Adds a tool that the model may use; only for clients with the capability `sampling.tools`.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.get_or_insert_default().push(tool);
        self
    }

    /// Sets the use of tools by the model; only for clients with the capability `sampling.tools`.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Returns whether each message with tool uses is followed by a message of the user that has
    /// exactly their results, and whether there are no other results.
    ///
    /// [Specification: Tool Use and Result Balance](https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#tool-use-and-result-balance)
    pub(crate) fn has_balanced_tools(&self) -> bool {
        let mut open = Vec::new();
        for message in &self.messages {
            let (uses, results) = message.tool_ids();
            let fits = match (uses.is_empty(), results.is_empty()) {
                (true, true) => open.is_empty(),
                (false, true) => open.is_empty() && message.role == Role::Assistant,
                (true, false) => {
                    let has_only_results = results.len() == message.content.blocks().len();
                    results == open && has_only_results && message.role == Role::User
                }
                (false, false) => false,
            };
            if !fits {
                return false;
            }
            open = uses;
        }
        open.is_empty()
    }

    /// Returns whether a message has no block or several, as only revisions since 2025-11-25 allow.
    pub(crate) fn needs_lists(&self) -> bool {
        self.messages.iter().any(|message| message.content.blocks().len() != 1)
    }

    /// Replaces lists of one block by this block, which all revisions allow.
    pub(crate) fn unwrap_single_blocks(&mut self) {
        self.messages.iter_mut().for_each(|message| message.content.unwrap_single());
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

    /// The ids of the tool uses, and those of the tool uses that the results name; both sorted.
    fn tool_ids(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut uses, mut results) = (Vec::new(), Vec::new());
        for block in self.content.blocks() {
            match block {
                SamplingMessageContentBlock::ToolUse(tool) => uses.push(&*tool.id),
                SamplingMessageContentBlock::ToolResult(tool) => results.push(&*tool.tool_use_id),
                SamplingMessageContentBlock::Text(_)
                | SamplingMessageContentBlock::Image(_)
                | SamplingMessageContentBlock::Audio(_)
                | SamplingMessageContentBlock::Other(_) => {}
            }
        }
        uses.sort_unstable();
        results.sort_unstable();
        (uses, results)
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

    /// Sets the reason for the end of the message.
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.stop_reason = Some(reason);
        self
    }

    /// The text of the first block that has one; `None` if there is no such block.
    pub fn as_text(&self) -> Option<&str> {
        self.content.blocks().iter().find_map(SamplingMessageContentBlock::as_text)
    }
}

/// The model that a server prefers; the client may choose another. Priorities go from 0, not
/// important, to 1, the most important.
///
/// ```
/// use mcp_proto::types::{CreateMessageRequestParams, ModelHint, ModelPreferences};
///
/// let fast = ModelPreferences::default().hint(ModelHint::new("haiku")).speed_priority(0.9);
/// let request = CreateMessageRequestParams::new(Vec::new(), 256).model_preferences(fast);
/// ```
///
/// [Schema: `ModelPreferences`](https://modelcontextprotocol.io/specification/2026-07-28/schema#modelpreferences)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Models by preference; the client uses the first that it has.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
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

impl ModelPreferences {
    /// Adds a hint at a model; the earlier hints are preferred.
    pub fn hint(mut self, hint: ModelHint) -> Self {
        self.hints.push(hint);
        self
    }

    /// Sets the weight of a low price.
    pub fn cost_priority(mut self, weight: f64) -> Self {
        self.cost_priority = Some(weight);
        self
    }

    /// Sets the weight of a fast answer.
    pub fn speed_priority(mut self, weight: f64) -> Self {
        self.speed_priority = Some(weight);
        self
    }

    /// Sets the weight of a good answer.
    pub fn intelligence_priority(mut self, weight: f64) -> Self {
        self.intelligence_priority = Some(weight);
        self
    }
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

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use super::*;

    #[test]
    fn results_of_tools_follow_their_uses() {
        let use_of = |id| format!(r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#);
        let result_of = |id| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[]}}"#);
        let text = String::from(r#"{"type":"text","text":"t"}"#);
        let user = |blocks: &[&str]| message("user", blocks);
        let model = |blocks: &[&str]| message("assistant", blocks);
        let (use_a, use_b) = (&*use_of("a"), &*use_of("b"));
        let (result_a, result_b, text) = (&*result_of("a"), &*result_of("b"), &*text);
        let balanced = [
            vec![],
            vec![user(&[text]), model(&[text]), user(&[]), user(&[text])],
            vec![user(&[text]), model(&[use_a]), user(&[result_a])],
            vec![model(&[text, use_a, use_b]), user(&[result_b, result_a]), model(&[use_a])]
                .into_iter()
                .chain([user(&[result_a]), model(&[text])])
                .collect(),
        ];
        let unbalanced = [
            vec![model(&[use_a])],
            vec![user(&[result_a])],
            vec![user(&[use_a]), user(&[result_a])],
            vec![model(&[use_a]), model(&[result_a])],
            vec![model(&[use_a]), user(&[text])],
            vec![model(&[use_a]), user(&[]), user(&[result_a])],
            vec![model(&[use_a]), user(&[result_a, text])],
            vec![model(&[use_a, use_b]), user(&[result_a])],
            vec![model(&[use_a, use_b]), user(&[result_a]), user(&[result_b])],
            vec![model(&[use_a]), user(&[result_a, result_a])],
            vec![model(&[use_a, result_a]), user(&[result_a])],
        ];
        for (cases, expected) in [(&balanced[..], true), (&unbalanced[..], false)] {
            for messages in cases {
                let params = CreateMessageRequestParams::new(messages.clone(), 1);
                assert_eq!(params.has_balanced_tools(), expected, "{messages:?}");
            }
        }
    }

    fn message(role: &str, blocks: &[&str]) -> SamplingMessage {
        let blocks = blocks.join(",");
        let text = format!(r#"{{"role":"{role}","content":[{blocks}]}}"#);
        Json::parse(text).unwrap().decode().unwrap()
    }
}
