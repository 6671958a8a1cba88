//! Integers in other spellings: `42.0`, `4.2e1`, `1e2`, `-0`.
//!
//! In: a JSON text whose typed decoding failed. Out: the same values with every whole number
//! written as an integer, or `None` if nothing changes. In JSON Schema "any number with a zero
//! fractional part" is an `integer`. serde's integers only accept digits.
//!
//! Numbers with a fraction stay as they are. So do integers of more than [`MAX_DIGITS`] digits, so
//! that `1e400` stays five bytes long.

use alloc::vec::Vec;

use super::decimal::Decimal;

/// The number of digits of `u128::MAX`, the greatest integer of a Rust type.
const MAX_DIGITS: u64 = 39;

/// Rewrites whole numbers as integers. `text` is one JSON value.
pub(super) fn rewrite(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let end = match byte {
            b'"' => at + string_length(rest),
            b'-' | b'0'..=b'9' => at + number(rest),
            _ => at + 1,
        };
        let token = text.get(at..end).unwrap_or_default();
        if is_other_spelling(token)
            && let Some(whole) = Decimal::read(token).as_ref().and_then(Decimal::whole)
            && whole.len() <= MAX_DIGITS
        {
            out.extend_from_slice(text.get(copied..at).unwrap_or_default());
            if whole.is_negative() {
                out.push(b'-');
            }
            if whole.len() == 0 {
                out.push(b'0');
            }
            out.extend(whole.digits());
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Some(out)
}

/// Returns whether a token is a number with a point or an exponent, or the zero with a sign.
fn is_other_spelling(token: &[u8]) -> bool {
    let is_number = matches!(token.first(), Some(b'-' | b'0'..=b'9'));
    is_number && (token == b"-0" || token.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')))
}

/// The length of the string that begins here, including its quotes.
pub(super) fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(stop) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += stop;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        // The escape and the byte that it escapes.
        at += 2;
    }
    text.len()
}

/// The length of the number that begins here.
fn number(text: &[u8]) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use serde::Deserialize;

    use crate::json::Json;

    fn rewritten(text: &str) -> Option<String> {
        super::rewrite(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn second_hour_13_whole_numbers_are_written_as_integers() {
        for (text, integer) in [
            ("42.0", "42"),
            ("4.2e1", "42"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("-0", "0"),
            ("-0.0e5", "0"),
            ("0e400", "0"),
            ("-10.50e1", "-105"),
            ("4200e-2", "42"),
            ("9007199254740993.0", "9007199254740993"),
            (
                "3.40282366920938463463374607431768211455e38",
                "340282366920938463463374607431768211455",
            ),
        ] {
            assert_eq!(rewritten(text).as_deref(), Some(integer), "{text}");
            let nested = |number| format!(r#"{{"a\\\"1e2" : [ {number}, 1.5 ] ,"b":"{text}"}}"#);
            assert_eq!(rewritten(&nested(text)), Some(nested(integer)), "{text}");
        }
    }

    #[test]
    fn second_hour_13_other_numbers_stay_as_they_are() {
        for text in [
            "42",
            "0",
            "-1",
            "42.5",
            "1e-1",
            "42.0000000000000000000000000001",
            "1e400",
            "-1e9223372036854775807",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            r#""1e2""#,
            r#"{"1e2":"\\"}"#,
            "[true,false,null]",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }

    #[test]
    fn second_hour_13_arguments_of_every_type_take_them() {
        #[derive(Deserialize, PartialEq, Debug)]
        struct Inner {
            small: u8,
            #[serde(flatten)]
            rest: BTreeMap<String, i64>,
        }
        #[derive(Deserialize, PartialEq, Debug)]
        struct Arguments {
            count: i32,
            ratio: f64,
            ids: vec::Vec<u128>,
            inner: Option<Inner>,
        }
        let text = r#"{"count":4.2e1,"ratio":3.0,"ids":[1e2,-0],"inner":{"small":7.0,"x":-1.0}}"#;
        let arguments: Arguments = Json::parse(text).unwrap().decode_arguments().unwrap();
        let inner = Inner { small: 7, rest: BTreeMap::from([("x".into(), -1)]) };
        let expected = Arguments { count: 42, ratio: 3.0, ids: vec![100, 0], inner: Some(inner) };
        assert_eq!(arguments, expected);

        let decode = |text: &'static str| Json::parse(text).unwrap().decode_arguments::<Inner>();
        assert!(decode(r#"{"small":256.0}"#).is_err());
        assert!(decode(r#"{"small":1.5}"#).is_err());
        assert!(decode(r#"{"small":1e400}"#).is_err());
        assert!(decode(r#"{"small":"1"}"#).is_err());
    }
}
