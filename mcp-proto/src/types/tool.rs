use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::ContentBlock;
#[cfg(feature = "schemars")]
use crate::error::UsageError;
use crate::json::Json;

/// A tool as it is listed.
///
/// [Schema: Tool](https://modelcontextprotocol.io/specification/2026-07-28/schema#tool)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// For display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object with `"type": "object"`.
    pub input_schema: Json,
    /// The JSON Schema of its structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
    /// Hints about its behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
}

impl Tool {
    /// A tool with the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, input_schema: Json) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: None,
        }
    }

    /// A tool with arguments of type `A`.
    ///
    /// Fails with [`UsageError::NotJson`] if the schema of `A` cannot be written.
    #[cfg(feature = "schemars")]
    pub fn of<A: schemars::JsonSchema>(name: impl Into<String>) -> Result<Self, UsageError> {
        let name = name.into();
        let settings = schemars::generate::SchemaSettings::draft2020_12();
        let mut schema = settings.into_generator().into_root_schema_for::<A>();
        // The dialect is the default one, and the type's name says nothing to a model.
        schema.remove("$schema");
        schema.remove("title");
        match Json::encode(&schema) {
            Ok(schema) => Ok(Self::new(name, schema)),
            Err(_) => Err(UsageError::NotJson { name }),
        }
    }

    /// Sets what it does.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the hints about its behaviour.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// Hints about a tool's behaviour; a client must not trust them.
///
/// [Schema: `ToolAnnotations`](https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// For display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy; default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice is calling it once; default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches into an open world; default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// What a tool returns.
///
/// [Schema: `CallToolResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#calltoolresult)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// What a program reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// Whether the call failed, in a way that the model can act on.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_error: bool,
}

impl CallToolResult {
    /// A result with this content.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self { content, structured_content: None, is_error: false }
    }

    /// A result of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(alloc::vec![ContentBlock::text(text)])
    }

    /// A failure that the model is told of.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
