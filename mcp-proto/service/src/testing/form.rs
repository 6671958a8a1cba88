//! Encoding and decoding of `application/x-www-form-urlencoded`.

use alloc::collections::BTreeMap;
use alloc::string::String;

use mcp_proto::internals::percent;

/// Names and values.
pub(super) type Params = BTreeMap<String, String>;

/// The parameters of a query or a form.
pub(super) fn params(text: &str) -> Params {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// Decodes a name or a value.
pub(super) fn decode(text: &str) -> String {
    String::from_utf8_lossy(&percent::decode(&text.replace('+', " "))).into_owned()
}

/// Percent-encodes a text for a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    percent::encode(text, &mut encoded);
    encoded
}
