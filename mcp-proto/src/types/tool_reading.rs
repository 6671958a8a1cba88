//! Reading of the results of tools.
//!
//! In: the JSON of a result. Out: a [`CallToolResult`]. Most results are texts, and most servers
//! write them without whitespace. Those are compared with the usual form, which costs a client 10
//! to 20 % less of a call than serde. Law: the result is that of [`Json::decode_lossy`], as is each
//! error (the fuzz target `message`).

use alloc::vec::Vec;

use bytes::Bytes;

use super::{CallToolResult, ContentBlock, ResultType};
use crate::json::scan::{MAX_DEPTH, Scanner};
use crate::json::{Json, Raw};

impl CallToolResult {
    /// Reads a result as [`Json::decode_lossy`] does, and fails as it does, but faster if all
    /// content is text.
    pub fn from_json(json: &Json) -> Result<Self, serde_json::Error> {
        read(json.raw()).map_or_else(|| json.decode_lossy(), Ok)
    }
}

/// The result, if each member is known, has its usual form and occurs once, without whitespace.
fn read(json: Raw<'_>) -> Option<CallToolResult> {
    let (mut content, mut structured_content, mut is_error) = (None, None, None);
    let (mut result_type, mut meta) = (None, None);
    let mut rest = Rest(json.0);
    let mut goes_on = rest.take(b"{");
    while goes_on {
        let is_set = if rest.take(b"\"content\":[") {
            set(&mut content, rest.texts())
        } else if rest.take(b"\"isError\":") {
            set(&mut is_error, rest.flag())
        } else if rest.take(b"\"resultType\":\"complete\"") {
            set(&mut result_type, Some(ResultType::Complete))
        } else if rest.take(b"\"structuredContent\":") {
            set(&mut structured_content, rest.value().map(copy))
        } else if rest.take(b"\"_meta\":") {
            set(&mut meta, rest.value().filter(|value| value.is_object()).map(copy))
        } else {
            false
        };
        if !is_set {
            return None;
        }
        goes_on = rest.take(b",");
    }
    let content = content.filter(|_| rest.0 == b"}")?;
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

fn copy(value: Raw<'_>) -> Json {
    Json::trusted(Bytes::copy_from_slice(value.0))
}

/// The rest of a valid JSON text.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Takes `text`, if the rest begins with it.
    fn take(&mut self, text: &[u8]) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes the next value.
    fn value(&mut self) -> Option<Raw<'a>> {
        let text = self.0;
        let value = Scanner::new(text, MAX_DEPTH).skip_unchecked().ok()?;
        self.0 = text.get(value.end()..)?;
        Some(Raw(value.of(text)))
    }

    fn flag(&mut self) -> Option<bool> {
        let is_true = self.take(b"true");
        (is_true || self.take(b"false")).then_some(is_true)
    }

    /// Takes an array of blocks of text after its bracket; `None` if there is anything else.
    fn texts(&mut self) -> Option<Vec<ContentBlock>> {
        let mut goes_on = !self.take(b"]");
        // Most results have one block.
        let mut blocks = Vec::with_capacity(goes_on.into());
        while goes_on {
            if !self.take(b"{\"type\":\"text\",\"text\":") {
                return None;
            }
            blocks.push(ContentBlock::text(self.value()?.string()?));
            goes_on = self.take(b"},");
            if !goes_on && !self.take(b"}]") {
                return None;
            }
        }
        Some(blocks)
    }
}
