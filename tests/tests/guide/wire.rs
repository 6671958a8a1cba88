//! Conversations as the pages show them: what `_meta` holds is left out.

use mcp_service::testing::Pair;

/// Fails unless all lines of a text have been said, one after the other.
pub(crate) fn assert_said(pair: &Pair, shown: &str) {
    let said = without_meta(&pair.wire());
    assert!(said.contains(shown.trim()), "not said:{shown}\nbut:\n{said}");
}

fn without_meta(wire: &str) -> String {
    let mut parts = wire.split("\"_meta\":");
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        short.push_str("\"_meta\":{…}");
        short.push_str(after_object(part));
    }
    short
}

/// Text after the object that a text begins with. (No brace is in a string here.)
fn after_object(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    end.and_then(|end| text.get(end + 1..)).unwrap_or_default()
}
