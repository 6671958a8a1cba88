use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::codec::{is_false, or_default};
use super::setters::described;

/// An argument of a prompt.
///
/// [Schema: `PromptArgument`](https://modelcontextprotocol.io/specification/2026-07-28/schema#promptargument)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// For programs, and for display if there is no title.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// True if the argument is required; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub required: bool,
}

impl PromptArgument {
    /// An optional argument.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: false }
    }

    /// A required argument.
    pub fn required(name: impl Into<String>) -> Self {
        Self { required: true, ..Self::new(name) }
    }
}

described! { PromptArgument }
