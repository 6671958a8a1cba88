//! Encoding and decoding of `application/x-www-form-urlencoded`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Names and values.
pub(super) type Params = BTreeMap<String, String>;

/// The parameters of a query or a form.
pub(super) fn params(text: &str) -> Params {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// Decodes a name or a value.
pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let value = high.zip(low).map(|(high, low)| high * 16 + low);
                value.and_then(|value| u8::try_from(value).ok()).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Percent-encodes a text for a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string does not fail.
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}
