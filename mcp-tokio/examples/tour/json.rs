//! Messages, made short: an object that was shown before is `…`, and `jsonrpc` is left out.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object that is shorter than this is shown again, in bytes.
const SHORT: usize = 24;

/// Of a longer string the beginning is shown, in characters.
const LONG: usize = 64;

/// Texts that were shown before.
#[derive(Default)]
pub(super) struct Shown(BTreeSet<String>);

impl Shown {
    /// A line, shortened; nothing if it is a field of MCP's that this side has shown before.
    pub(super) fn shorten(&mut self, side: &str, line: &str) -> Option<String> {
        let Some(at) = line.find('{') else {
            let is_of_mcp = line.to_ascii_lowercase().starts_with("mcp-");
            // The client shows its conversation without what lets others join it.
            let shown = line.replace(": ***", ": (masked)");
            return (!is_of_mcp || self.0.insert(format!("{side} {line}"))).then_some(shown);
        };
        let (before, message) = line.split_at_checked(at)?;
        let mut out = before.to_owned();
        self.object(message, 0, &mut out);
        Some(out)
    }

    /// Of a message, and of its parameters and its result, there is always what is in it.
    fn object(&mut self, text: &str, depth: usize, out: &mut String) {
        let Ok(Members(members)) = serde_json::from_str(text) else {
            return out.push_str(text);
        };
        let mut between = '{';
        for (key, value) in members {
            let value = value.get();
            // It is in every message, and always the same.
            if key == "jsonrpc" {
                continue;
            }
            out.push(between);
            between = ',';
            out.extend(["\"", &key, "\":"]);
            // It holds random bits.
            if key == "requestState" {
                out.push_str("(masked)");
                continue;
            }
            let is_object = value.starts_with('{');
            let may_hide = is_object && depth > 0 && value.len() >= SHORT;
            if may_hide && !self.0.insert(format!("{key} {value}")) {
                out.push('…');
            } else if is_object {
                self.object(value, depth + 1, out);
            } else {
                out.push_str(&beginning(value));
            }
        }
        out.push_str(if between == '{' { "{}" } else { "}" });
    }
}

/// A value that is no object; of a long string the whole words of its beginning.
fn beginning(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(LONG) {
        Some((at, _)) if value.starts_with('"') => {
            let beginning = value.get(..at).unwrap_or_default();
            let words = beginning.rsplit_once(' ').map_or(beginning, |(words, _)| words);
            format!("{words} …\"").into()
        }
        _ => value.into(),
    }
}

/// The members of an object, in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
