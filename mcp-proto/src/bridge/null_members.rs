//! Members that are `null` in results of legacy servers, for modern clients.
//!
//! In: the result of a method of the specification. Out: the same without the members that no
//! schema allows to be `null`, in the result, in the items of its lists, and in what the server
//! says of itself. A list that is `null` becomes an empty one. Servers in several languages write
//! what is absent as `null`, which strict clients cannot read. Members that no revision defines
//! pass.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::json::write::List;
use crate::json::{Json, Raw};

/// The lists of results.
const LISTS: [&str; 7] =
    ["tools", "resources", "resourceTemplates", "prompts", "contents", "messages", "content"];

/// The objects of `initialize` whose members all may be absent, or are no `null`.
const OBJECTS: [&str; 2] = ["capabilities", "serverInfo"];

/// The other members of results that may be absent.
const OF_RESULTS: [&str; 6] =
    ["_meta", "description", "instructions", "isError", "nextCursor", "structuredContent"];

/// The members of items that may be absent.
const OF_ITEMS: [&str; 9] = [
    "_meta",
    "annotations",
    "arguments",
    "description",
    "icons",
    "mimeType",
    "outputSchema",
    "size",
    "title",
];

/// The result without members that are `null`.
pub(super) fn without_nulls(result: &Json) -> Cow<'_, Json> {
    let raw = result.raw();
    if !raw.may_have_null() {
        return Cow::Borrowed(result);
    }
    let mut out = Vec::with_capacity(result.as_bytes().len());
    let mut object = List::object(&mut out);
    raw.members(|key, value| {
        let name = key.string().unwrap_or_default();
        if LISTS.contains(&&*name) && (value.is_array() || is_null(value)) {
            object.key(&name);
            let mut list = List::array(object.out());
            if value.is_array() {
                let may_be_absent = |name: &str| OF_ITEMS.contains(&name);
                value.elements(|item| write_object(item, list.item(), may_be_absent));
            }
            list.end();
        } else if OBJECTS.contains(&&*name) {
            object.key(&name);
            write_object(value, object.out(), |_| true);
        } else if !is_null(value) || !OF_RESULTS.contains(&&*name) {
            object.copy(key, value);
        }
    });
    object.end();
    Cow::Owned(Json::trusted(out))
}

/// Writes a value; an object without the members that are `null` and may be absent.
fn write_object(value: Raw<'_>, out: &mut Vec<u8>, may_be_absent: impl Fn(&str) -> bool) {
    if !value.is_object() {
        return out.extend_from_slice(value.0);
    }
    let mut object = List::object(out);
    value.members(|key, value| {
        if !is_null(value) || !may_be_absent(&key.string().unwrap_or_default()) {
            object.copy(key, value);
        }
    });
    object.end();
}

fn is_null(Raw(value): Raw<'_>) -> bool {
    value == b"null"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::translate::discovered;

    #[test]
    fn discovered_server_has_no_null_members() {
        let initialized = r#"{"protocolVersion":"2025-06-18","capabilities":{"prompts":null,
            "tools":{}},"serverInfo":{"name":"x","title":null},"instructions":null,"new":null}"#;
        let discovered = discovered(&Json::parse(initialized).unwrap());
        let text = discovered.as_str();
        assert_eq!(text.matches("null").count(), 1, "{text}");
        assert!(text.contains(r#""capabilities":{"tools":{}}"#), "{text}");
        assert!(text.contains(r#""new":null"#), "{text}");
    }
}
