//! Encoding of text in the value of a header.
//!
//! Most text is written unchanged. Text that a header cannot contain, or that would be decoded
//! differently, is wrapped: `=?base64?` and `?=` around the Base64 of its UTF-8.
//!
//! [Specification: Value Encoding](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding)

use alloc::borrow::Cow;
use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::ValueError;

/// Prefix of a wrapped value; case-sensitive.
const OPEN: &str = "=?base64?";

/// Suffix of a wrapped value.
const CLOSE: &str = "?=";

/// The header value for `text`: the text itself, or its wrapped form. A text is wrapped if it is
/// empty, has bytes outside of 0x20 to 0x7E, or begins or ends with a space. A text that begins and
/// ends as wrapped texts do is wrapped as well.
///
/// ```
/// use mcp_proto::headers::encode;
///
/// assert_eq!(encode("us-west1"), "us-west1");
/// assert_eq!(encode("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
/// assert_eq!(encode(""), "=?base64??=");
/// ```
pub fn encode(text: &str) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) && !(text.starts_with(OPEN) && text.ends_with(CLOSE)) {
        return Cow::Borrowed(text);
    }
    let mut value = String::from(OPEN);
    STANDARD.encode_string(text, &mut value);
    value.push_str(CLOSE);
    Cow::Owned(value)
}

/// Decodes the value of a header. Surrounding whitespace is ignored.
///
/// ```
/// use mcp_proto::headers::{ValueError, decode};
///
/// assert_eq!(decode(b" us-west1\t")?, "us-west1");
/// assert_eq!(decode(b"=?base64?SGVsbG8sIOS4lueVjA==?=")?, "Hello, 世界");
/// assert_eq!(decode("世界".as_bytes()), Err(ValueError::InvalidCharacter));
/// # Ok::<(), ValueError>(())
/// ```
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, ValueError> {
    let text = plain(value)?;
    // `=?base64?=` is not wrapped: the prefix and the suffix would share a `?`.
    let Some(wrapped) = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(wrapped).map_err(|_| ValueError::InvalidBase64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| ValueError::InvalidUtf8)
}

/// A value as written, without surrounding whitespace.
pub(super) fn plain(value: &[u8]) -> Result<&str, ValueError> {
    let value = trim(value);
    if !value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return Err(ValueError::InvalidCharacter);
    }
    core::str::from_utf8(value).map_err(|_| ValueError::InvalidCharacter)
}

/// Returns whether a header can contain `text` unchanged, and the text is not empty.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, None | Some(b' '));
    !blank(text.first()) && !blank(text.last()) && text.iter().all(|b| matches!(b, b' '..=b'~'))
}

/// The value without optional whitespace (OWS of RFC 9110) at either end.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
