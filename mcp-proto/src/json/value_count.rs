//! The number of values in a JSON text.
//!
//! In: a text. Out: an upper bound of the number of its values, found without parsing the text. A
//! tree of values takes up to a hundred times the bytes of its text, so its readers limit this
//! number.

/// An upper bound of the number of values in a JSON text.
pub fn count_values(text: &[u8]) -> usize {
    let mut count = 1;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_counted() {
        for (text, values) in [
            ("1", 1),
            ("[]", 2),
            ("[1,2]", 3),
            (r#"{"a":"[,{\"[,","b":{}}"#, 4),
            (r#"["\\",1]"#, 3),
        ] {
            assert_eq!(count_values(text.as_bytes()), values, "{text}");
        }
    }
}
