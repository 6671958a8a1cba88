use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::{is_false, or_default, present, tagged_by_type, variant};
use super::{AudioContent, ContentBlock, ImageContent, TextContent};
use crate::json::Json;

/// The content of a message to or from a model: one block, or a list of them since 2025-11-25.
///
/// A single block is written without a list, which all revisions allow. To a legacy client, a list
/// of one block is sent as that block.
#[derive(Clone, PartialEq, Debug)]
pub enum SamplingContent {
    /// One block.
    One(SamplingMessageContentBlock),
    /// A list of blocks.
    Many(Vec<SamplingMessageContentBlock>),
}

impl SamplingContent {
    /// The blocks.
    pub fn blocks(&self) -> &[SamplingMessageContentBlock] {
        match self {
            Self::One(block) => core::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Replaces a list of one block by this block.
    pub(super) fn unwrap_single(&mut self) {
        if let Self::Many(blocks) = self
            && blocks.len() == 1
            && let Some(block) = blocks.pop()
        {
            *self = Self::One(block);
        }
    }
}

impl From<SamplingMessageContentBlock> for SamplingContent {
    fn from(block: SamplingMessageContentBlock) -> Self {
        Self::One(block)
    }
}

/// A list of one block becomes this block.
impl From<Vec<SamplingMessageContentBlock>> for SamplingContent {
    fn from(blocks: Vec<SamplingMessageContentBlock>) -> Self {
        let mut content = Self::Many(blocks);
        content.unwrap_single();
        content
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        if json.raw().is_object() {
            variant(&json).map(Self::One)
        } else {
            variant(&json).map(Self::Many)
        }
    }
}

/// A piece of a message to or from a model.
///
/// [Schema: `SamplingMessageContentBlock`](https://modelcontextprotocol.io/specification/2026-07-28/schema#samplingmessagecontentblock)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock {
    /// `text`.
    Text(TextContent),
    /// `image`.
    Image(ImageContent),
    /// `audio`, since 2025-03-26.
    Audio(AudioContent),
    /// `tool_use`, since 2025-11-25: the model calls a tool.
    ToolUse(ToolUseContent),
    /// `tool_result`, since 2025-11-25: the result of a tool.
    ToolResult(ToolResultContent),
    /// A block of another kind, with its `type`.
    Other(Json),
}

tagged_by_type! {
    SamplingMessageContentBlock {
        "text" => Text(TextContent),
        "image" => Image(ImageContent),
        "audio" => Audio(AudioContent),
        "tool_use" => ToolUse(ToolUseContent),
        "tool_result" => ToolResult(ToolResultContent),
    }
}

impl SamplingMessageContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text; `None` for other kinds.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Image(_)
            | Self::Audio(_)
            | Self::ToolUse(_)
            | Self::ToolResult(_)
            | Self::Other(_) => None,
        }
    }
}

/// A model calls a tool.
///
/// [Schema: `ToolUseContent`](https://modelcontextprotocol.io/specification/2026-07-28/schema#toolusecontent)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUseContent {
    /// The id that the result will name.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, an object.
    pub input: Json,
    /// Metadata of the call (`_meta`); to be kept when the call is sent again.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ToolUseContent {
    /// A call of this tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Json) -> Self {
        Self { id: id.into(), name: name.into(), input, meta: None }
    }
}

/// The result of a tool, for a model.
///
/// [Schema: `ToolResultContent`](https://modelcontextprotocol.io/specification/2026-07-28/schema#toolresultcontent)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The `id` of the call.
    pub tool_use_id: String,
    /// The content for the model.
    #[serde(default, deserialize_with = "or_default")]
    pub content: Vec<ContentBlock>,
    /// The content for programs: any JSON, `null` too.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Json>,
    /// True if the call failed; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Metadata of the result (`_meta`); to be kept when the result is sent again.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ToolResultContent {
    /// The result of the call with this `id`.
    pub fn new(tool_use_id: impl Into<String>, content: Vec<ContentBlock>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: false,
            meta: None,
        }
    }
}
