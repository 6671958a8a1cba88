//! Content of tools and prompts for clients whose revision does not define some types of blocks.
//!
//! In: a result. Out: the result with blocks of older types.
//!
//! | block | defined from | becomes |
//! |---|---|---|
//! | `audio` | 2025-03-26 | an embedded resource with the same data |
//! | `resource_link` | 2025-06-18 | a text: the title or the name, the URI, and the description |
//!
//! Results whose text mentions none of these types are not read.
//!
//! [Specification: Tool Result](https://modelcontextprotocol.io/specification/2024-11-05/server/tools#tool-result)

use alloc::format;
use alloc::vec::Vec;

use super::super::call::CallKind;
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::version::ProtocolVersion;

/// The result of a handler for a client of this revision.
pub(in super::super) fn older_content(
    kind: CallKind,
    result: Json,
    version: ProtocolVersion,
) -> Json {
    let is_newer = |name| result.raw().may_contain(&[name]);
    if version.has_resource_links() || !is_newer("resource_link") && !is_newer("audio") {
        return result;
    }
    let (member, write): (&[u8], WriteElement) = match kind {
        CallKind::Tool { .. } => (b"\"content\"", write_block),
        CallKind::Prompt => (b"\"messages\"", write_message),
        CallKind::Resource { .. }
        | CallKind::Completion
        | CallKind::Subscription
        | CallKind::Other
        | CallKind::Forwarded(_) => return result,
    };
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    result.raw().members(|key, value| {
        if key.0 != member || !value.is_array() {
            return object.copy(key, value);
        }
        let item = object.item();
        item.extend_from_slice(key.0);
        item.push(b':');
        let mut array = List::array(item);
        let mut number = 0;
        value.elements(|element| {
            number += 1;
            write(array.item(), element, (version, number));
        });
        array.end();
    });
    object.end();
    Json::trusted(out)
}

/// Writes an element of a list, which has this number in the list.
type WriteElement = fn(&mut Vec<u8>, Raw<'_>, (ProtocolVersion, usize));

fn write_message(out: &mut Vec<u8>, message: Raw<'_>, place: (ProtocolVersion, usize)) {
    if !message.is_object() {
        return out.extend_from_slice(message.0);
    }
    let mut object = List::object(out);
    message.members(|key, value| {
        if key.0 == b"\"content\"" {
            object.key("content");
            write_block(object.out(), value, place);
        } else {
            object.copy(key, value);
        }
    });
    object.end();
}

fn write_block(out: &mut Vec<u8>, block: Raw<'_>, (version, number): (ProtocolVersion, usize)) {
    let text = |name| block.member(name).and_then(Raw::string);
    match text("type").as_deref() {
        Some("audio") if !version.has_audio() => {
            let mut object = List::object(out);
            object.text("type", "resource");
            object.key("resource");
            let mut resource = List::object(object.out());
            // The data has no URI of its own, and the type requires one.
            resource.text("uri", &format!("audio:{number}"));
            for (name, older) in [("mimeType", "mimeType"), ("data", "blob")] {
                if let Some(value) = block.member(name) {
                    resource.member(older, value.0);
                }
            }
            resource.end();
            end_block(object, block);
        }
        Some("resource_link") => {
            let name = text("title").or_else(|| text("name")).unwrap_or_default();
            let uri = text("uri").unwrap_or_default();
            let description = text("description").map(|text| format!("\n{text}"));
            let mut object = List::object(out);
            object.text("type", "text");
            object.text("text", &format!("{name}: {uri}{}", description.unwrap_or_default()));
            end_block(object, block);
        }
        _ => out.extend_from_slice(block.0),
    }
}

/// Ends a block with the members that blocks of all types may have.
fn end_block(mut object: List<'_, Vec<u8>>, block: Raw<'_>) {
    for name in ["annotations", "_meta"] {
        if let Some(value) = block.member(name) {
            object.member(name, value.0);
        }
    }
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_has_blocks_of_older_types() {
        let prompt = |content: &str| {
            let text = r#"{"messages":[{"role":"user","content":$},5]}"#.replace('$', content);
            Json::parse(text).unwrap()
        };
        let link = prompt(r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#);
        let audio = prompt(r#"{"type":"audio","mimeType":"audio/wav","data":"AA=="}"#);
        let text = prompt(r#"{"type":"text","text":"a: file:///a"}"#);
        let resource = prompt(concat!(
            r#"{"type":"resource","resource":"#,
            r#"{"uri":"audio:1","mimeType":"audio/wav","blob":"AA=="}}"#
        ));
        for (version, sent, received) in [
            (ProtocolVersion::V2024_11_05, &link, &text),
            (ProtocolVersion::V2025_03_26, &link, &text),
            (ProtocolVersion::V2025_06_18, &link, &link),
            (ProtocolVersion::V2024_11_05, &audio, &resource),
            (ProtocolVersion::V2025_03_26, &audio, &audio),
            (ProtocolVersion::V2024_11_05, &text, &text),
        ] {
            assert_eq!(older_content(CallKind::Prompt, sent.clone(), version), *received);
        }
    }
}
