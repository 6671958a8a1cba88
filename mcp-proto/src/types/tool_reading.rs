//! Reading of the results of tools.
//!
//! In: the JSON of a result. Out: a [`CallToolResult`]. Most results are texts, with members that this
//! crate knows in their usual form. Those are read by the scanner of messages, which costs a client
//! 10 % less of a call than serde. Law: the result is that of [`Json::decode`], as is each error.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{CallToolResult, ContentBlock, ResultType};
use crate::json::{Json, Raw};

impl CallToolResult {
    /// Reads a result as [`Json::decode`] does, and fails as it does, but faster if all content is
    /// text.
    pub fn from_json(json: &Json) -> Result<Self, serde_json::Error> {
        read(json.raw()).map_or_else(|| json.decode(), Ok)
    }
}

/// The result, if each member is known, has its usual form and occurs once.
fn read(json: Raw<'_>) -> Option<CallToolResult> {
    let (mut content, mut structured_content, mut is_error) = (None, None, None);
    let (mut result_type, mut meta) = (None, None);
    let mut is_known = true;
    json.members(|Raw(key), value| {
        is_known &= match (key, value.0) {
            (b"\"content\"", _) => set(&mut content, texts(value)),
            (b"\"isError\"", b"false") => set(&mut is_error, Some(false)),
            (b"\"isError\"", b"true") => set(&mut is_error, Some(true)),
            (b"\"resultType\"", b"\"complete\"") => {
                set(&mut result_type, Some(ResultType::Complete))
            }
            (b"\"structuredContent\"", text) => set(&mut structured_content, Some(copy(text))),
            (b"\"_meta\"", text @ [b'{', ..]) => set(&mut meta, Some(copy(text))),
            _ => false,
        };
    });
    let content = content.filter(|_| is_known)?;
    let is_error = is_error.unwrap_or_default();
    Some(CallToolResult { result_type, content, structured_content, is_error, meta })
}

/// Sets a value that is not set yet; returns whether it is set now.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    if place.is_some() {
        return false;
    }
    *place = value;
    place.is_some()
}

fn copy(text: &[u8]) -> Json {
    Json::trusted(Bytes::copy_from_slice(text))
}

/// Blocks of text; `None` if there is anything else.
fn texts(value: Raw<'_>) -> Option<Vec<ContentBlock>> {
    let mut blocks = value.is_array().then(Vec::new)?;
    let mut is_known = true;
    value.elements(|block| match text(block) {
        Some(text) => blocks.push(ContentBlock::text(text)),
        None => is_known = false,
    });
    is_known.then_some(blocks)
}

/// The text of a block that has nothing else.
fn text(block: Raw<'_>) -> Option<String> {
    let (mut tag, mut text) = (None, None);
    let mut is_known = true;
    block.members(|Raw(key), value| {
        is_known &= match (key, value.0) {
            (b"\"type\"", b"\"text\"") => set(&mut tag, Some(())),
            (b"\"text\"", _) => set(&mut text, value.string()),
            _ => false,
        };
    });
    tag.filter(|()| is_known).and(text).map(alloc::borrow::Cow::into_owned)
}
