//! Encoder and decoder of `application/x-www-form-urlencoded`.
//!
//! In: names and values, or encoded text. Out: encoded text, or names and values. Requests to token
//! endpoints, queries of authorization URLs, and redirects have this format.
//!
//! [RFC 6749, appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)

use alloc::string::String;
use alloc::vec::Vec;

use crate::url::percent;

/// The maximum number of decoded parameters; the rest are ignored.
const MAX_PARAMS: usize = 64;

/// Encodes parameters.
pub(super) fn encode<'a>(params: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (name, value) in params {
        if !out.is_empty() {
            out.push('&');
        }
        push(&mut out, name);
        out.push('=');
        push(&mut out, value);
    }
    out
}

/// Encodes one name or value.
pub(super) fn encode_part(text: &str) -> String {
    let mut out = String::new();
    push(&mut out, text);
    out
}

/// Decodes parameters, at most 64.
pub(super) fn decode(text: &str) -> Vec<(String, String)> {
    let params = text.split('&').filter(|param| !param.is_empty()).take(MAX_PARAMS);
    let params = params.map(|param| param.split_once('=').unwrap_or((param, "")));
    params.map(|(name, value)| (decode_part(name), decode_part(value))).collect()
}

fn push(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'*') {
            out.push(char::from(byte));
        } else if byte == b' ' {
            out.push('+');
        } else {
            out.extend(percent::encoded(byte).map(char::from));
        }
    }
}

/// Decodes one part; bytes that are not UTF-8 become replacement characters.
fn decode_part(text: &str) -> String {
    String::from_utf8_lossy(&percent::decode(&text.replace('+', " "))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_round_trip() {
        let params = [("a b", "1&2=3"), ("ä", "%+/?\"\r\n"), ("empty", "")];
        let text = encode(params);
        assert_eq!(text, "a+b=1%262%3D3&%C3%A4=%25%2B%2F%3F%22%0D%0A&empty=");
        let decoded = decode(&text);
        let decoded: Vec<_> = decoded.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(decoded, params);
    }

    #[test]
    fn malformed_escapes_stay() {
        let decoded = decode("a=%4&b=%zz&&c&d=%C3");
        let decoded: Vec<_> = decoded.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(decoded, [("a", "%4"), ("b", "%zz"), ("c", ""), ("d", "\u{fffd}")]);
    }
}
