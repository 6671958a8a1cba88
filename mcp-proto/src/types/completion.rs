use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::ResultType;
use super::codec::{is_false, or_default};
use crate::json::Json;
use crate::json::integer::optional_integer;

/// The parameters of `completion/complete`.
///
/// [Schema: `CompleteRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#completerequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// The prompt or resource template that has the argument.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument to complete.
    pub argument: CompletionArgument,
    /// The values of other arguments; since 2025-06-18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CompleteRequestParams {
    /// Asks for completions of an argument that has this value so far.
    pub fn new(
        reference: CompletionReference,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let argument = CompletionArgument { name: name.into(), value: value.into() };
        Self { reference, argument, context: None, meta: None }
    }

    /// Adds the value of another argument to the context; since 2025-06-18.
    ///
    /// ```
    /// use mcp_proto::types::{CompleteRequestParams, CompletionReference};
    ///
    /// let prompt = CompletionReference::prompt("review");
    /// let params = CompleteRequestParams::new(prompt, "framework", "fla")
    ///     .known_argument("language", "python");
    /// assert_eq!(params.context.unwrap().arguments["language"], "python");
    /// ```
    pub fn known_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let context = self.context.get_or_insert_default();
        context.arguments.insert(name.into(), value.into());
        self
    }
}

/// The prompt or resource template that has the argument to complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl CompletionReference {
    /// The prompt of this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference { name: name.into(), title: None })
    }

    /// The resource template with this URI template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference { uri: uri.into() })
    }
}

/// A reference to a prompt.
///
/// [Schema: `PromptReference`](https://modelcontextprotocol.io/specification/2026-07-28/schema#promptreference)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptReference {
    /// The name.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A reference to a resource template or a resource; called `ResourceReference` before 2025-06-18.
///
/// [Schema: `ResourceTemplateReference`](https://modelcontextprotocol.io/specification/2026-07-28/schema#resourcetemplatereference)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The URI or URI template.
    pub uri: String,
}

/// The argument to complete.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The name.
    pub name: String,
    /// The value so far.
    pub value: String,
}

/// The context of a completion.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The values of arguments that are known already.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}

/// The result of `completion/complete`.
///
/// [Schema: `CompleteResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#completeresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The completions.
    pub completion: Completion,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CompleteResult {
    /// The maximum number of completions in a result.
    pub const MAX_VALUES: usize = 100;

    /// A result for all completions; it contains the first [`MAX_VALUES`](Self::MAX_VALUES) of
    /// them.
    pub fn new(mut values: Vec<String>) -> Self {
        let all = values.len();
        values.truncate(Self::MAX_VALUES);
        let completion =
            Completion { has_more: values.len() < all, total: u64::try_from(all).ok(), values };
        Self { result_type: None, completion, meta: None }
    }
}

/// Completions of an argument.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The values, at most 100.
    #[serde(deserialize_with = "or_default")]
    pub values: Vec<String>,
    /// The number of all completions, if known.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub total: Option<u64>,
    /// True if there are more completions than `values`; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub has_more: bool,
}
