//! JSON-RPC read a second time, slowly and by other means.
//!
//! It rests on `serde_json` alone, keeps duplicate keys, and says "either" where the rules leave
//! a choice to the implementation.

use std::fmt;

use mcp_proto::Limits;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Verdict on a text, by the rules of JSON-RPC 2.0 and the choices that this project documents.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// It is this message; whoever refuses it is wrong.
    Valid(Shape),
    /// It may be refused; whoever accepts it must read this.
    Either(Shape),
    /// It is an array of these texts.
    Array(Vec<String>),
    /// It is no message; whoever accepts it is wrong.
    Invalid,
    /// It is JSON with half a surrogate pair in a key: hard to tell.
    Unknown,
}

/// A message: every part as the text that it came as.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    Request { id: String, method: String, params: Option<String> },
    Notification { method: String, params: Option<String> },
    Response { id: Option<String>, result: Option<String> },
}

/// Judges one text.
pub(super) fn judge(text: &[u8], limits: &Limits) -> Verdict {
    let Some(json) = json(text, limits.max_depth) else { return Verdict::Invalid };
    match json.as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => {
            return Verdict::Array(elements(json).into_iter().map(str::to_owned).collect());
        }
        _ => return Verdict::Invalid,
    }
    let Some(object) = Object::read(json) else { return Verdict::Unknown };
    let mut doubtful = false;
    match object.shape(limits, &mut doubtful) {
        None => Verdict::Invalid,
        Some(shape) if doubtful => Verdict::Either(shape),
        Some(shape) => Verdict::Valid(shape),
    }
}

/// The one JSON value that a text is, without the blanks around it.
pub(super) fn json(text: &[u8], max_depth: usize) -> Option<&str> {
    let text = str::from_utf8(text).ok()?;
    let json = serde_json::from_str::<&RawValue>(text).ok()?.get();
    (depth(json) <= max_depth.min(128)).then_some(json)
}

/// The elements of an array.
pub(super) fn elements(json: &str) -> Vec<&str> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(json).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

/// Depth of a valid JSON text.
pub(super) fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut inside, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !inside => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// The string that a JSON text is.
pub(super) fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// The id that a JSON text is, in one spelling for all that mean the same.
pub(super) fn id_value(json: &str) -> Option<String> {
    match string(json) {
        Some(text) => Some(format!("\"{text}")),
        None => integer(json),
    }
}

/// The decimal digits of a JSON number without a fraction; `None` for all else.
fn integer(json: &str) -> Option<String> {
    if !json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let (sign, magnitude) = match json.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", json),
    };
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let zeros = digits.bytes().rev().take_while(|digit| *digit == b'0').count();
    let significant = digits.get(..digits.len() - zeros)?;
    if significant.is_empty() {
        return Some("0".into());
    }
    let exponent = exponent.parse::<i64>().ok()?;
    let shift = exponent + i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
    let shift = usize::try_from(shift).ok().filter(|shift| *shift < 10_000)?;
    Some(format!("{sign}{}{}", significant.trim_start_matches('0'), "0".repeat(shift)))
}

/// The members of an object in their order, duplicates included.
pub(super) struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// `None` for other values, and where a key is no string of Unicode.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The same where half a surrogate pair in a key or a text counts as what it is spelled as.
    pub(super) fn read_spelled(
        json: &str,
        read: impl FnOnce(&Object<'_>) -> Option<String>,
    ) -> Option<String> {
        match Object::read(json) {
            Some(object) => read(&object),
            None => read(&Object::read(&json.replace("\\u", "\\\\u"))?),
        }
    }

    /// The last member with this key.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.get())
    }

    /// All of them.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    /// Returns whether a key stands twice.
    pub(super) fn repeats(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.0.iter().filter(|(name, _)| name == key).count() > 1)
    }

    fn repeats_any(&self) -> bool {
        let keys: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        self.repeats(&keys)
    }

    /// `None` if it is no message; `doubtful` is set where the rules leave a choice.
    fn shape(&self, limits: &Limits, doubtful: &mut bool) -> Option<Shape> {
        if self.repeats(&["jsonrpc", "id", "method", "params", "result", "error"]) {
            return None;
        }
        if string(self.get("jsonrpc")?)? != "2.0" {
            return None;
        }
        let id = self.get("id");
        let (result, error) = (self.get("result"), self.get("error"));
        if let Some(method) = self.get("method") {
            if result.is_some() || error.is_some() {
                return None;
            }
            let method = string(method).filter(|name| !name.is_empty())?;
            let params = self.get("params");
            if let Some(params) = params {
                *doubtful |= ambiguous_params(params)?;
            }
            let params = params.map(str::to_owned);
            return Some(match id {
                Some(id) => Shape::Request { id: valid_id(id, limits, doubtful)?, method, params },
                None => Shape::Notification { method, params },
            });
        }
        // What a response does with `params` is nobody's business.
        *doubtful |= self.get("params").is_some();
        let id = match (id, error) {
            (None | Some("null"), Some(_)) => None,
            (id, _) => Some(valid_id(id?, limits, doubtful)?),
        };
        match (result, error) {
            (Some(_), None) => {}
            (None, Some(error)) => *doubtful |= ambiguous_error(error)?,
            _ => return None,
        }
        Some(Shape::Response { id, result: result.map(str::to_owned) })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(Self)
    }
}

/// The id as it came, if it is a string or an integer of permitted length.
fn valid_id(id: &str, limits: &Limits, doubtful: &mut bool) -> Option<String> {
    if id.len() > limits.max_id_bytes {
        return None;
    }
    let plain = id.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    // How long an integer may be that is written as a float is for the implementation to say.
    *doubtful |= !plain && !id.starts_with('"') && (id.len() > 20 || id_value(id)?.len() > 20);
    id_value(id)?;
    Some(id.to_owned())
}

/// Returns whether readers may disagree about these parameters; `None` if they are no object.
fn ambiguous_params(params: &str) -> Option<bool> {
    if !params.starts_with('{') {
        return None;
    }
    let Some(object) = Object::read(params) else { return Some(true) };
    let meta = object.get("_meta").filter(|meta| meta.starts_with('{')).unwrap_or("{}");
    let meta = Object::read(meta);
    Some(object.repeats_any() || meta.is_none_or(|meta| meta.repeats_any()))
}

/// Returns whether readers may disagree about this error; `None` if it is none.
fn ambiguous_error(error: &str) -> Option<bool> {
    if !error.starts_with('{') {
        return None;
    }
    let Some(object) = Object::read(error) else { return Some(true) };
    if object.repeats_any() {
        return Some(true);
    }
    string(object.get("message")?)?;
    let code = object.get("code")?;
    integer(code)?;
    Some(code.parse::<i64>().is_err())
}
