use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::codec::is_false;

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
    /// True if it must be given; default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
}

impl PromptArgument {
    /// An argument that may be left out.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: false }
    }

    /// An argument that must be given.
    pub fn required(name: impl Into<String>) -> Self {
        Self { required: true, ..Self::new(name) }
    }

    /// Sets what it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}
