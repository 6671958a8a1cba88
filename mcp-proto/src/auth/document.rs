//! A JSON object of a peer, read member by member.
//!
//! In: the body of an answer, or stored text. Out: members that have the expected type. A member of
//! another type counts as absent, so that the other members remain usable.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::json::integer::read_integer;
use crate::json::{BYTE_ORDER_MARK, Json};

/// The maximum length of a body: 256 KiB.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// The maximum number of decoded elements of an array; the rest are ignored.
const MAX_ELEMENTS: usize = 256;

/// A JSON object.
pub(super) struct Document(Json);

impl Document {
    /// Reads an object, whatever its media type and with or without a byte order mark; `None` if
    /// the text is not an object, or is too long.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        if body.len() > MAX_BODY_BYTES {
            return None;
        }
        let text = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
        let json = Json::parse(Bytes::copy_from_slice(text)).ok()?;
        json.raw().is_object().then_some(Self(json))
    }

    /// A member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        Some(self.0.raw().member(name)?.string()?.into_owned())
    }

    /// A member that is a string with at least one character. Some servers send empty strings for
    /// members that they leave out.
    pub(super) fn filled_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// The strings of a member that is an array, at most 256; `None` if the member is not an array.
    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let array = self.0.raw().member(name).filter(|value| value.is_array())?;
        let mut texts = Vec::new();
        array.elements(|element| {
            if let Some(text) = element.string().filter(|_| texts.len() < MAX_ELEMENTS) {
                texts.push(text.into_owned());
            }
        });
        Some(texts)
    }

    /// True if a member is `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.raw().member(name).is_some_and(|value| value.0 == b"true")
    }

    /// A member that is a whole number, or a string that is one.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let value = self.0.raw().member(name)?;
        let text = value.string();
        let digits = match &text {
            Some(text) => text.as_ref(),
            None => core::str::from_utf8(value.0).ok()?,
        };
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(digits.parse().unwrap_or(u64::MAX));
        }
        read_integer(digits.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_other_types_are_absent() {
        let text = br#"{"a":"x","b":["y",1,"z"],"c":true,"d":17,"e":"18","f":-1,"g":1.5,"h":""}"#;
        let document = Document::read(text).unwrap();
        assert_eq!((document.text("a").as_deref(), document.text("b")), (Some("x"), None));
        assert_eq!(document.filled_text("a").as_deref(), Some("x"));
        assert_eq!((document.text("h").as_deref(), document.filled_text("h")), (Some(""), None));
        assert_eq!(document.texts("b").unwrap(), ["y", "z"]);
        assert_eq!(document.texts("a"), None);
        assert_eq!([document.flag("c"), document.flag("a")], [true, false]);
        let numbers = ["d", "e", "f", "g", "h", "i"].map(|name| document.number(name));
        assert_eq!(numbers, [Some(17), Some(18), None, None, None, None]);
    }

    #[test]
    fn t102_a_byte_order_mark_is_skipped() {
        let document = Document::read("\u{feff}{\"a\":\"x\"}".as_bytes()).unwrap();
        assert_eq!(document.text("a").as_deref(), Some("x"));
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in ["", "<html>", "[]", "\"a\"", "{", "{\"a\":1} x", "\u{feff}\u{feff}{}"] {
            assert!(Document::read(text.as_bytes()).is_none(), "{text}");
        }
        let long = alloc::format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BODY_BYTES));
        assert!(Document::read(long.as_bytes()).is_none());
        let deep = "{\"a\":".repeat(1000) + "1" + &"}".repeat(1000);
        assert!(Document::read(deep.as_bytes()).is_none());
    }
}
