//! Keys that `serde_json` reserves for itself.
//!
//! In: a key as it is written. Out: whether its name begins like those that `serde_json` uses
//! between its own types. A [`serde_json::Value`] does not read an object with such a key as an
//! object: it parses the string after the key as JSON. The limit of the depth begins again there.
//! So a text could be nested without a limit, and overflow the stack of its reader. The value would
//! also differ from the one that checks of the text see.

/// The beginning of the reserved names.
const RESERVED: &[u8] = b"$serde_json::private::";

/// Returns whether a key, quotes included, has a reserved name.
#[cold]
pub(super) fn is_reserved(key: &[u8]) -> bool {
    let mut rest = key.get(1..).unwrap_or_default();
    RESERVED.iter().all(|byte| {
        let after = match rest {
            [first, after @ ..] if first == byte => after,
            [b'\\', b'u', b'0', b'0', high, low, after @ ..]
                if escaped(*high, *low) == Some(*byte) =>
            {
                after
            }
            _ => return false,
        };
        rest = after;
        true
    })
}

/// The byte with these hexadecimal digits.
fn escaped(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use serde_json::{Value, json};

    use crate::json::{InvalidJson, Json};

    const RAW_VALUE: &str = "$serde_json::private::RawValue";

    #[test]
    fn key_of_a_raw_value_is_refused_wherever_and_however_it_is_written() {
        let escaped = RAW_VALUE.replace('$', "\\u0024");
        let number = "$serde_json::private::Number";
        let late = RAW_VALUE.replace("::private", ":\\u003A\\u0070rivate");
        for key in [RAW_VALUE, &escaped, &late, number] {
            for text in [
                format!(r#"{{"{key}":"1"}}"#),
                format!(r#"{{"a":1,"{key}":"1"}}"#),
                format!(r#"[{{"a":{{ "{key}" : "1"}}}}]"#),
            ] {
                assert_eq!(Json::parse(text.clone()), Err(InvalidJson), "{text}");
            }
        }
        for text in [
            format!(r#"{{"a":"{RAW_VALUE}"}}"#),
            format!(r#"{{"a{RAW_VALUE}":"1"}}"#),
            r#"{"$ref":"a","$serde_json":1,"\u0024":2,"$\ud800":3}"#.into(),
        ] {
            assert!(Json::parse(text.clone()).is_ok(), "{text}");
        }
    }

    /// The reason for the refusal.
    #[test]
    fn raw_value_in_a_string_is_not_what_the_text_shows() {
        let text = format!(r#"{{"{RAW_VALUE}":"[1]"}}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([1]));
    }
}
