//! Bytes in Base64: the members `data` and `blob`, which the schema calls `format: byte`.
//!
//! In: the text of such a member. Out: its bytes, or [`InvalidBase64`]. [`serialize`] fails for
//! text that is not Base64, so that the sender finds the error. Received text is not checked until
//! `bytes` is called. Text in the alphabet for URLs, or without padding, is converted: some servers
//! send it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::{Engine as _, alphabet};
use serde::ser::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

/// Decoder of all texts that [`is_base64`] accepts.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Error for text that is not Base64 with the standard alphabet and padding (RFC 4648, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidBase64;

impl fmt::Display for InvalidBase64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not in Base64 with the standard alphabet and padding")
    }
}

impl core::error::Error for InvalidBase64 {}

/// Serializes a member; fails unless it is Base64.
pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if !is_base64(text.as_bytes()) {
        return Err(S::Error::custom(InvalidBase64));
    }
    text.serialize(serializer)
}

/// Deserializes a member. Programs pass its text on, so it gets the standard alphabet and padding.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(standard)
}

/// The text with the standard alphabet and padding; unchanged if it then still is no Base64.
fn standard(text: String) -> String {
    let is_for_urls = memchr::memchr2(b'-', b'_', text.as_bytes()).is_some();
    if !is_for_urls && text.len().is_multiple_of(4) {
        return text;
    }
    let mut standard = text.replace('-', "+").replace('_', "/");
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    if is_base64(standard.as_bytes()) { standard } else { text }
}

pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64> {
    LENIENT.decode(text).map_err(|_| InvalidBase64)
}

/// Returns whether a text is Base64. The unused bits before the padding may have any value:
/// ignoring them loses no data.
fn is_base64(text: &[u8]) -> bool {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let (digits, _) = text.split_at(text.len() - padding);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && padding <= 2 && digits.iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use crate::json::Json;
    use crate::types::{
        AudioContent, BlobResourceContents, ContentBlock, ImageContent, ResourceContents,
    };

    use super::*;

    #[test]
    fn second_hour_18_bytes_that_are_no_base64_are_not_written() {
        for (text, is_right) in [
            ("", true),
            ("AA==", true),
            ("AAA=", true),
            ("AA+/", true),
            ("AB==", true),
            ("A", false),
            ("AA", false),
            ("AA=A", false),
            ("A===", false),
            ("====", false),
            ("AA-_", false),
            ("AAAA\nAAA=", false),
            ("/tmp/picture.png", false),
            ("C:\\picture.png", false),
        ] {
            let written = |block: ContentBlock| Json::encode(&block).is_ok();
            assert_eq!(written(ContentBlock::image(text, "image/png")), is_right, "{text}");
            assert_eq!(written(ContentBlock::audio(text, "audio/wav")), is_right, "{text}");
            let blob = ResourceContents::blob("a:b", text);
            assert_eq!(written(ContentBlock::resource(blob)), is_right, "{text}");
        }
    }

    #[test]
    fn second_hour_18_bytes_are_read_or_refused() {
        let image = ImageContent::of_bytes(b"\x00\xff", "image/png");
        assert_eq!(image.data, "AP8=");
        assert_eq!(image.bytes().as_deref(), Ok(&b"\x00\xff"[..]));
        assert_eq!(AudioContent::of_bytes(b"", "audio/wav").bytes().as_deref(), Ok(&b""[..]));
        let blob = BlobResourceContents::of_bytes("a:b", b"\x01");
        assert_eq!(blob.bytes().as_deref(), Ok(&b"\x01"[..]));
        // What is written is read, also with unused bits.
        assert_eq!(decode("AB==").as_deref(), Ok(&b"\0"[..]));
        // Invalid Base64 does not fail the rest of a result.
        let text = r#"{"type":"image","data":"no Base64","mimeType":"image/png"}"#;
        let block: ContentBlock = Json::parse(text).unwrap().decode().unwrap();
        let ContentBlock::Image(image) = block else { unreachable!("{block:?}") };
        assert_eq!(image.bytes(), Err(InvalidBase64));
    }
}
