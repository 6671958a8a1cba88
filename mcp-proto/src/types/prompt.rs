use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::codec::or_default;
#[cfg(feature = "schemars")]
use super::derived;
use super::setters::{described, with_icons};
use super::{CacheScope, ContentBlock, Icon, InputResponses, PromptArgument, ResultType, Role};
#[cfg(feature = "schemars")]
use crate::error::UsageError;
use crate::json::Json;

/// A prompt, as listed by `prompts/list`.
///
/// [Schema: Prompt](https://modelcontextprotocol.io/specification/2026-07-28/schema#prompt)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// The name, and the text for display if there is no title.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// For display, in several sizes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata of the prompt (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: Vec::new(),
            meta: None,
        }
    }

    /// A prompt with arguments of type `A`: a struct whose fields are strings, enums of strings, or
    /// an `Option` of these. Their doc comments become the descriptions. The required arguments
    /// come first, in the order of the fields. The others follow by name, or in the order of the
    /// fields with the feature `preserve_order` of `serde_json`.
    ///
    /// ```
    /// use mcp_proto::types::{Prompt, PromptArgument};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Review {
    ///     /// The code to look at.
    ///     code: String,
    ///     language: Option<String>,
    /// }
    ///
    /// let prompt = Prompt::of::<Review>("review")?;
    /// assert_eq!(prompt.arguments, [
    ///     PromptArgument::required("code").description("The code to look at."),
    ///     PromptArgument::new("language"),
    /// ]);
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// Fails with [`UsageError::InvalidPromptArguments`] if `A` is not such a struct, and with
    /// [`UsageError::InvalidPromptArgument`] if a field has another type.
    #[cfg(feature = "schemars")]
    pub fn of<A: schemars::JsonSchema>(name: impl Into<String>) -> Result<Self, UsageError> {
        let name = name.into();
        let arguments = derived::prompt_arguments::<A>(&name)?;
        Ok(Self { arguments, ..Self::new(name) })
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }
}

described! { Prompt }
with_icons! { Prompt }

/// The result of `prompts/list`.
///
/// [Schema: `ListPromptsResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#listpromptsresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// The type of the result; absent from legacy results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The prompts of this page.
    pub prompts: Vec<Prompt>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The milliseconds for which the result is fresh; 0 means never.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The scope of the caches that may store the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters of `prompts/get`.
///
/// [Schema: `GetPromptRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#getpromptrequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    /// The name of the prompt.
    pub name: String,
    /// The arguments.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// The answers to the input requests of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The `requestState` of the last `input_required` result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `prompts/get`.
///
/// [Schema: `GetPromptResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#getpromptresult)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// A description of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    #[serde(deserialize_with = "or_default")]
    pub messages: Vec<PromptMessage>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl GetPromptResult {
    /// A result with these messages.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Sets the description of the prompt.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// A message of a prompt.
///
/// [Schema: `PromptMessage`](https://modelcontextprotocol.io/specification/2026-07-28/schema#promptmessage)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The role of the sender.
    pub role: Role,
    /// The content.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// A message with this content.
    pub fn new(role: Role, content: ContentBlock) -> Self {
        Self { role, content }
    }
}
