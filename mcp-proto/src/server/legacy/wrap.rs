//! Structured content for legacy clients, which only know objects.
//!
//! In: an output schema whose type is not an object, and a result with such content. Out: both,
//! wrapped in an object with the member `result`, as other implementations do. References inside of
//! the schema (`#/$defs/…`) are adapted to the new position.
//!
//! [Specification: Structured Content](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content)

use alloc::vec::Vec;

use crate::json::scan::MAX_DEPTH;
use crate::json::write::{self, List};
use crate::json::{Json, Raw};

/// JSON pointer to the wrapped schema.
const PLACE: &str = "#/properties/result";

/// A schema of an object whose member `result` has the schema `schema`.
pub(crate) fn wrapped_schema(schema: &Json) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    schema.raw().members(|key, value| {
        // Only a `$schema` at the root counts.
        if key.0 == b"\"$schema\"" {
            object.member("$schema", value.0);
        }
    });
    object.text("type", "object");
    object.key("properties");
    let mut properties = List::object(object.out());
    properties.key("result");
    write_schema(properties.out(), schema.raw(), Position::Schema, MAX_DEPTH);
    properties.end();
    object.member("required", b"[\"result\"]");
    object.end();
    Json::trusted(out)
}

/// The result with its structured content wrapped in an object. If the tool's schema is wrapped
/// (`wraps`), any content is wrapped, otherwise only content that is not an object.
pub(crate) fn wrapped_content(result: Json, wraps: bool) -> Json {
    if !wraps && all_are_objects(result.as_bytes()) {
        return result;
    }
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    result.raw().members(|key, value| {
        if key.0 == b"\"structuredContent\"" && (wraps || !value.is_object()) {
            object.key("structuredContent");
            let mut content = List::object(object.out());
            content.member("result", value.0);
            content.end();
        } else {
            object.copy(key, value);
        }
    });
    object.end();
    Json::trusted(out)
}

/// Returns whether each member `structuredContent` in the text, at any depth, is an object. This
/// scan is cheaper than reading the members: for 10,000 items (2 MB in all) it saves
/// half of all instructions.
fn all_are_objects(text: &[u8]) -> bool {
    memchr::memchr_iter(b'C', text).all(|at| {
        let (head, tail) = text.split_at(at);
        let Some(after) = tail.strip_prefix(b"Content\"") else { return true };
        let value = after.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        !head.ends_with(b"\"structured") || value.is_none_or(|value| value.starts_with(b"{"))
    })
}

/// Role of a value inside a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Schema,
    /// An object with schemas as values, and names that the author chooses.
    Names,
    /// Data, which contains no references.
    Data,
}

/// Writes `value`. References below `depth` levels are not adapted.
fn write_schema(out: &mut Vec<u8>, value: Raw<'_>, position: Position, depth: usize) {
    let moves = position != Position::Data && depth > 0 && !has_base(value, position);
    match value.0.first() {
        Some(b'{') if moves => {
            let mut object = List::object(out);
            value.members(|key, value| {
                let name = key.string().unwrap_or_default();
                // `$schema` belongs to the root, where it is written already.
                if position == Position::Schema && name == "$schema" {
                    return;
                }
                let item = object.item();
                item.extend_from_slice(key.0);
                item.push(b':');
                let is_reference =
                    position == Position::Schema && matches!(&*name, "$ref" | "$dynamicRef");
                match value.string().filter(|_| is_reference) {
                    Some(reference) => write_reference(item, &reference),
                    None => write_schema(item, value, nested(position, &name), depth - 1),
                }
            });
            object.end();
        }
        Some(b'[') if moves => {
            let mut array = List::array(out);
            value.elements(|element| {
                write_schema(array.item(), element, Position::Schema, depth - 1);
            });
            array.end();
        }
        _ => out.extend_from_slice(value.0),
    }
}

/// Writes a reference. A reference within the document is adapted to the new position.
fn write_reference(out: &mut Vec<u8>, reference: &str) {
    match reference.strip_prefix('#') {
        Some(place) if place.is_empty() || place.starts_with('/') => {
            write::string(out, &[PLACE, place].concat());
        }
        _ => write::string(out, reference),
    }
}

/// Role of the value of member `name`.
fn nested(position: Position, name: &str) -> Position {
    match (position, name) {
        (Position::Names, _) => Position::Schema,
        (_, "const" | "enum" | "default" | "examples") => Position::Data,
        (
            _,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            | "dependencies",
        ) => Position::Names,
        _ => Position::Schema,
    }
}

/// Returns whether references inside of the value are relative to a document of its own: the value
/// has an `$id` that is not a fragment.
fn has_base(value: Raw<'_>, position: Position) -> bool {
    let mut found = false;
    value.members(|key, value| {
        let id = value.string().filter(|_| key.0 == b"\"$id\"");
        found |= id.is_some_and(|id| !id.starts_with('#'));
    });
    found && position == Position::Schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_is_no_object_is_wrapped_wherever_others_are_mentioned() {
        let text = "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"structuredContent\\\":[]\"}],";
        for (content, wrapped) in [
            ("{}", "{}"),
            ("[1]", "{\"result\":[1]}"),
            ("\"structuredContent\"", "{\"result\":\"structuredContent\"}"),
            ("[{\"structuredContent\":{}}]", "{\"result\":[{\"structuredContent\":{}}]}"),
            ("{\"structuredContent\":[]}", "{\"structuredContent\":[]}"),
            ("{\"a\":\"structuredContent\"}", "{\"a\":\"structuredContent\"}"),
        ] {
            let result = |content: &str| [text, "\"structuredContent\":", content, "}"].concat();
            let given = Json::parse(result(content)).unwrap();
            assert_eq!(wrapped_content(given, false).as_str(), result(wrapped));
        }
        let spaced = "{\"structuredContent\" : [1]}";
        let wrapped = wrapped_content(Json::constant(spaced), false);
        assert_eq!(wrapped.as_str(), "{\"structuredContent\":{\"result\":[1]}}");
        let object = Json::constant("{\"structuredContent\":{}}");
        let wrapped = wrapped_content(object, true);
        assert_eq!(wrapped.as_str(), "{\"structuredContent\":{\"result\":{}}}");
    }
}
