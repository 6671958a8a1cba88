//! Members that are `null` in results of legacy servers, for modern clients.
//!
//! In: the result of a method of the specification. Out: the same without the members that no
//! schema allows to be `null`, in the result and in the items of its lists. A list that is `null`
//! becomes an empty one. Servers in several languages write what is absent as `null`, which strict
//! clients cannot read. Members that no revision defines pass.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::json::write::List;
use crate::json::{Json, Raw};

/// The lists of results.
const LISTS: [&str; 7] =
    ["tools", "resources", "resourceTemplates", "prompts", "contents", "messages", "content"];

/// The other members of results and of the items of lists that may be absent.
const OPTIONAL: [&str; 12] = [
    "_meta",
    "annotations",
    "arguments",
    "description",
    "icons",
    "isError",
    "mimeType",
    "nextCursor",
    "outputSchema",
    "size",
    "structuredContent",
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
        let is_list = key.string().is_some_and(|key| LISTS.contains(&&*key));
        if is_list && (value.is_array() || is_null(value)) {
            object.key(&key.string().unwrap_or_default());
            let mut list = List::array(object.out());
            if value.is_array() {
                value.elements(|item| write_item(item, list.item()));
            }
            list.end();
        } else if !is_absent(key, value) {
            object.copy(key, value);
        }
    });
    object.end();
    Cow::Owned(Json::trusted(out))
}

fn write_item(item: Raw<'_>, out: &mut Vec<u8>) {
    if !item.is_object() {
        return out.extend_from_slice(item.0);
    }
    let mut object = List::object(out);
    item.members(|key, value| {
        if !is_absent(key, value) {
            object.copy(key, value);
        }
    });
    object.end();
}

fn is_absent(key: Raw<'_>, value: Raw<'_>) -> bool {
    is_null(value) && key.string().is_some_and(|key| OPTIONAL.contains(&&*key))
}

fn is_null(Raw(value): Raw<'_>) -> bool {
    value == b"null"
}
