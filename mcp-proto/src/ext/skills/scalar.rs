//! Plain scalars of YAML as JSON, by the core schema of YAML 1.2.
//!
//! In: the text of a scalar. Out: `null`, a boolean, a number, or else a string. So `yes` and dates
//! are strings.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::write;

/// Writes the value of a plain scalar. Fails for numbers that JSON cannot express.
pub(super) fn plain(text: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => out.extend_from_slice(b"null"),
        "true" | "True" | "TRUE" => out.extend_from_slice(b"true"),
        "false" | "False" | "FALSE" => out.extend_from_slice(b"false"),
        _ => match number(text)? {
            Some(number) => out.extend_from_slice(number.as_bytes()),
            None => write::string(out, text),
        },
    }
    Ok(())
}

/// The scalar as a JSON number; `None` for other scalars.
fn number(text: &str) -> Result<Option<String>, &'static str> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", text.get(1..).unwrap_or_default()),
        Some(b'+') => ("", text.get(1..).unwrap_or_default()),
        _ => ("", text),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("JSON has no infinite number, and none that is not a number");
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
        {
            let number = u128::from_str_radix(digits, radix);
            return number
                .map(|it| Some(alloc::format!("{it}")))
                .map_err(|_| "a number is too long");
        }
    }
    let Some((whole, fraction, exponent)) = parts(digits) else { return Ok(None) };
    let whole = whole.trim_start_matches('0');
    let mut number = String::from(sign);
    number.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    number.push_str(exponent);
    if number.parse::<f64>().is_ok_and(f64::is_finite) {
        Ok(Some(number))
    } else {
        Err("a number is too large")
    }
}

/// The digits before the point, those after it, and the exponent with its letter; `None` if the
/// text is not a number.
fn parts(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let digits = exponent.get(1..).unwrap_or_default();
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if !exponent.is_empty() && (digits.is_empty() || !is_digits(digits)) {
        return None;
    }
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let has_digits = !whole.is_empty() || fraction.is_some_and(|it| !it.is_empty());
    let is_number = has_digits && is_digits(whole) && fraction.is_none_or(is_digits);
    is_number.then_some((whole, fraction, exponent))
}
