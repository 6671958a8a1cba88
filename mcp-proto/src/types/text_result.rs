//! Results of tools that have one block of text, written without serde.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{Json, Spare, write};
use crate::message::result_value::{AFTER_TEXT, BEFORE_TEXT};

/// A result of one block of text. Serde checks each byte of a text, and checks structured content
/// once more: 10,000 items of 2 MB take twice as many instructions.
pub(super) fn plain_result(
    text: &str,
    structured: Option<&Json>,
    is_error: bool,
    spare: &mut Spare,
) -> Json {
    // The size, if no byte needs an escape; JSON as text has quotes to escape.
    let size = text.len() + structured.map_or(0, |json| json.as_bytes().len() / 4);
    result_around(size, |out| write::escaped(out, text.as_bytes()), structured, is_error, spare)
}

/// A result of one block of text whose inside `write_text` writes in about `size` bytes.
pub(super) fn result_around(
    size: usize,
    write_text: impl FnOnce(&mut Vec<u8>),
    structured: Option<&Json>,
    is_error: bool,
    spare: &mut Spare,
) -> Json {
    let between = b",\"structuredContent\":";
    let after: &[u8] = if is_error { b",\"isError\":true}" } else { b"}" };
    let more = structured.map_or(0, |json| between.len() + json.as_bytes().len());
    let mut out = spare.take(BEFORE_TEXT.len() + size + 3 + more + after.len());
    out.extend_from_slice(BEFORE_TEXT);
    write_text(&mut out);
    out.extend_from_slice(b"\"}]");
    if let Some(structured) = structured {
        out.extend_from_slice(between);
        out.extend_from_slice(structured.as_bytes());
    }
    out.extend_from_slice(after);
    Json::trusted(spare.keep(out))
}

/// A result of one text, written around the text in its own memory: fresh memory for a large text
/// costs more time than writing it. Fails with the text if a byte needs an escape.
#[inline(never)]
pub(super) fn text_in_place(text: String) -> Result<Json, String> {
    if !write::is_plain(&text) {
        return Err(text);
    }
    let mut out = text.into_bytes();
    out.reserve_exact(BEFORE_TEXT.len() + AFTER_TEXT.len());
    out.extend_from_slice(BEFORE_TEXT);
    out.rotate_right(BEFORE_TEXT.len());
    out.extend_from_slice(AFTER_TEXT);
    Ok(Json::trusted(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PlainText;
    use crate::types::CallToolResult;

    #[test]
    fn results_without_serde_are_those_with_serde() {
        let texts = ["", "plain", "a \"quote\"\n\tand \\", "\u{1}\u{1f}", "Zürich 東京 \u{2028}"];
        let contents = [None, Some("null"), Some("{\"a\":[1,\"\\u00e9\"]}"), Some("[]")];
        for (text, content) in texts.iter().flat_map(|text| contents.map(|json| (*text, json))) {
            for is_error in [false, true] {
                let structured_content = content.map(|json| Json::parse(json).unwrap());
                let result =
                    CallToolResult { structured_content, is_error, ..CallToolResult::text(text) };
                let written = result.to_json().unwrap();
                assert_eq!(written, Json::encode(&result).unwrap());
            }
        }
        let content = Json::parse("{\"a\":\"b\"}").unwrap();
        let result = CallToolResult::text(content.as_str()).structured_content(content.clone());
        assert_eq!(
            CallToolResult::structured_json(&content, &mut Spare::new()),
            Json::encode(&result).unwrap()
        );
    }

    #[test]
    fn plain_texts_have_the_results_that_serde_writes() {
        for text in ["", "x", "plain", "Zürich 東京 \u{2028}", "\u{7f}"] {
            let plain = PlainText::new(text).unwrap();
            assert_eq!(plain.to_result(), Json::encode(&CallToolResult::text(text)).unwrap());
        }
    }

    #[test]
    fn results_in_the_memory_of_a_text_are_those_that_are_copied() {
        let parts = ["", "x", "plain", "Zürich 東京 \u{2028}", "\u{7f}", &"long ".repeat(1000)];
        for (first, second) in parts.iter().flat_map(|first| parts.map(|second| (first, second))) {
            let plain = alloc::format!("{first}{second}");
            let copied = CallToolResult::text_json(&plain, &mut Spare::new());
            assert_eq!(text_in_place(plain), Ok(copied));
            for special in ["\"", "\\", "\n", "\u{1f}"] {
                let text = alloc::format!("{first}{special}{second}");
                assert_eq!(text_in_place(text.clone()), Err(text));
            }
        }
    }
}
