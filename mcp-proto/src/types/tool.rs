use alloc::string::String;
use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cache::ttl_ms;
use super::codec::{is_false, or_default, present};
#[cfg(feature = "schemars")]
use super::derived::{self, Derivation};
use super::setters::{described, with_icons};
use super::structured_error::StructuredError;
use super::text_result::{plain_result, result_around, text_in_place};
use super::{CacheScope, ContentBlock, Icon, InputResponses, ResultType, TextContent};
#[cfg(feature = "schemars")]
use crate::error::UsageError;
use crate::json::spare::MAX_KEPT;
use crate::json::{Json, Spare};

/// A tool, as listed by `tools/list`.
///
/// [Schema: Tool](https://modelcontextprotocol.io/specification/2026-07-28/schema#tool)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name.
    pub name: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object with `"type": "object"`.
    pub input_schema: Json,
    /// The JSON Schema of its structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
    /// Hints about its behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// For display, in several sizes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata of the tool (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
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
            icons: Vec::new(),
            meta: None,
        }
    }

    /// A tool with arguments of type `A`. The input schema describes the JSON that deserializes as
    /// an `A`, without `$schema` and `title`.
    /// [`Registry::add_tool`](crate::server::Registry::add_tool) rejects the tool unless `A` is a
    /// struct with named fields. Fields may be [headers](crate::headers::Header).
    ///
    /// The schema is portable: it follows the rules of
    /// [`PortabilityRule`](crate::schema::PortabilityRule), so that all known hosts accept it. For
    /// example, an optional `Option` field does not allow `null`, and `u8` has no `format`.
    /// [`Tool::of_verbatim`] does not change the schema.
    ///
    /// Fails with [`UsageError::NotJson`] if the schema of `A` cannot be written.
    #[cfg(feature = "schemars")]
    pub fn of<A: schemars::JsonSchema>(name: impl Into<String>) -> Result<Self, UsageError> {
        let name = name.into();
        let schema = derived::input_schema::<A>(&name, Derivation::Portable)?;
        Ok(Self::new(name, schema))
    }

    /// A tool as [`Tool::of`] makes it, but with the schema as schemars derives it, which some
    /// hosts reject. Fails as [`Tool::of`] does.
    #[cfg(feature = "schemars")]
    pub fn of_verbatim<A: schemars::JsonSchema>(
        name: impl Into<String>,
    ) -> Result<Self, UsageError> {
        let name = name.into();
        let schema = derived::input_schema::<A>(&name, Derivation::Verbatim)?;
        Ok(Self::new(name, schema))
    }

    /// Sets the JSON Schema of the structured content.
    pub fn output_schema(mut self, schema: Json) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets the JSON Schema of the structured content to the schema of the JSON that a `T`
    /// serializes to, without `$schema` and `title`. `T` need not be an object.
    ///
    /// ```
    /// use mcp_proto::types::Tool;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     name: String,
    /// }
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     celsius: i32,
    /// }
    ///
    /// let tool = Tool::of::<City>("weather")?.output_of::<Weather>()?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// The schema is portable, as in [`Tool::of`]. A field that is omitted if it is `None` does not
    /// allow `null`; use [`Tool::output_of_verbatim`] for an `Option<Option<_>>`.
    ///
    /// Fails with [`UsageError::NotJson`] if the schema of `T` cannot be written.
    #[cfg(feature = "schemars")]
    pub fn output_of<T: schemars::JsonSchema>(self) -> Result<Self, UsageError> {
        let schema = derived::output_schema::<T>(&self.name, Derivation::Portable)?;
        Ok(self.output_schema(schema))
    }

    /// Sets the JSON Schema of the structured content as [`Tool::output_of`] does, but as schemars
    /// derives it. Fails as [`Tool::output_of`] does.
    #[cfg(feature = "schemars")]
    pub fn output_of_verbatim<T: schemars::JsonSchema>(self) -> Result<Self, UsageError> {
        let schema = derived::output_schema::<T>(&self.name, Derivation::Verbatim)?;
        Ok(self.output_schema(schema))
    }

    /// Sets the hints about the tool's behaviour.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Changes the hints about the tool's behaviour, starting from those set before.
    ///
    /// ```
    /// use mcp_proto::{Json, types::Tool};
    ///
    /// let tool = Tool::new("look_up", Json::parse(r#"{"type":"object"}"#)?)
    ///     .annotate(|hints| hints.read_only_hint(true).open_world_hint(false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn annotate(self, hints: impl FnOnce(ToolAnnotations) -> ToolAnnotations) -> Self {
        let before = self.annotations.clone().unwrap_or_default();
        self.annotations(hints(before))
    }
}

described! { Tool }
with_icons! { Tool }

/// Hints about a tool's behaviour; a client must not trust them.
///
/// [Schema: `ToolAnnotations`](https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool only reads; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may make destructive changes; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating a call has no further effect; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with external entities; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// Sets the name for display.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets whether the tool only reads.
    pub fn read_only_hint(mut self, hint: bool) -> Self {
        self.read_only_hint = Some(hint);
        self
    }

    /// Sets whether the tool may make destructive changes.
    pub fn destructive_hint(mut self, hint: bool) -> Self {
        self.destructive_hint = Some(hint);
        self
    }

    /// Sets whether repeating a call has no further effect.
    pub fn idempotent_hint(mut self, hint: bool) -> Self {
        self.idempotent_hint = Some(hint);
        self
    }

    /// Sets whether the tool interacts with external entities.
    pub fn open_world_hint(mut self, hint: bool) -> Self {
        self.open_world_hint = Some(hint);
        self
    }
}

/// The result of `tools/list`.
///
/// [Schema: `ListToolsResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#listtoolsresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// The type of the result; absent from legacy results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The tools of this page.
    pub tools: Vec<Tool>,
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

/// The parameters of `tools/call`.
///
/// [Schema: `CallToolRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#calltoolrequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolRequestParams {
    /// The name of the tool.
    pub name: String,
    /// The arguments, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
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

/// The result of a tool.
///
/// [Schema: `CallToolResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#calltoolresult)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The type of the result; the server machine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The content for the model. Some servers omit it if there is structured content.
    #[serde(default, deserialize_with = "or_default")]
    pub content: Vec<ContentBlock>,
    /// The content for programs: any JSON, `null` too.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// True if the call failed, in a way that the model can act on.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CallToolResult {
    /// A result with this content.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A result of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(alloc::vec![ContentBlock::text(text)])
    }

    /// A failed call (`isError`), with an error text for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A result with one block of text, as JSON.
    pub fn text_json(text: &str, spare: &mut Spare) -> Json {
        plain_result(text, None, false, spare)
    }

    /// The same as [`text_json`](Self::text_json). A text that is too large for `spare` keeps its
    /// memory if it needs no escape.
    #[doc(hidden)]
    pub fn owned_text_json(text: String, spare: &mut Spare) -> Json {
        if text.len() <= MAX_KEPT {
            return Self::text_json(&text, spare);
        }
        text_in_place(text).unwrap_or_else(|text| Self::text_json(&text, spare))
    }

    /// A result with structured content and the same content as a block of text, as JSON.
    pub fn structured_json(content: &Json, spare: &mut Spare) -> Json {
        plain_result(content.as_str(), Some(content), false, spare)
    }

    /// The same as [`structured_json`](Self::structured_json); `escaped` is the text of `content`
    /// with the escapes that a JSON string needs.
    #[doc(hidden)]
    pub fn escaped_structured_json(escaped: &[u8], content: &Json, spare: &mut Spare) -> Json {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(escaped);
        result_around(escaped.len(), write, Some(content), false, spare)
    }

    /// The result as JSON.
    ///
    /// Fails as [`Json::encode`] does.
    pub fn to_json(&self) -> Result<Json, serde_json::Error> {
        self.to_json_in(&mut Spare::new())
    }

    /// The result as JSON. A result of one text, with or without structured content, is written
    /// without serde, and a large one into spare memory.
    ///
    /// Fails as [`Json::encode`] does.
    pub fn to_json_in(&self, spare: &mut Spare) -> Result<Json, serde_json::Error> {
        if let Self { result_type: None, content, structured_content, is_error, meta: None } = self
            && let [ContentBlock::Text(TextContent { text, annotations: None, meta: None })] =
                &**content
        {
            return Ok(plain_result(text, structured_content.as_ref(), *is_error, spare));
        }
        Json::encode(self)
    }

    /// The content for programs, as a `T`.
    ///
    /// ```
    /// use mcp_proto::{Json, types::CallToolResult};
    ///
    /// let result = CallToolResult::default().structured_content(Json::parse(r#"{"celsius":7}"#)?);
    /// let content = result.structured::<serde_json::Value>()?;
    /// assert_eq!(content["celsius"], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Legacy revisions allow only objects, so their servers send any other value as the member
    /// `result` of an object. If `T` does not fit the whole object, that member is decoded instead.
    /// This happens only if the object has no other member and the result has no `resultType`.
    /// `structured::<Vec<i32>>()` thus reads both `[1,2]` and `{"result":[1,2]}`. A `T` that fits
    /// any object, such as a [`Value`](serde_json::Value), a map, or a struct without required
    /// fields, is decoded from the whole object.
    ///
    /// Fails with [`StructuredError`] if the tool failed (with its text), if there is no content,
    /// and if the whole content does not fit.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, StructuredError> {
        if self.is_error {
            let texts = self.content.iter().filter_map(ContentBlock::as_text);
            return Err(StructuredError::Failed(texts.collect::<Vec<_>>().join("\n")));
        }
        let Some(content) = &self.structured_content else { return Err(StructuredError::Missing) };
        let whole = content.decode_located();
        if whole.is_ok() || self.result_type.is_some() {
            return whole.map_err(StructuredError::Mismatch);
        }
        let inner = sole_result(content).and_then(|inner| inner.decode_arguments().ok());
        inner.map_or(whole, Ok).map_err(StructuredError::Mismatch)
    }

    /// Sets the structured content.
    pub fn structured_content(mut self, content: Json) -> Self {
        self.structured_content = Some(content);
        self
    }
}

/// The member `result` of an object that has no other members.
fn sole_result(content: &Json) -> Option<Json> {
    let mut count = 0_usize;
    let mut result = None;
    content.raw().members(|key, value| {
        count += 1;
        result = Some(value).filter(|_| key.string().as_deref() == Some("result"));
    });
    result.filter(|_| count == 1).map(|value| Json::trusted(value.0.to_vec()))
}
