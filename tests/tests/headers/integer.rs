//! Integers as they are written.

use mcp_proto::headers::{Integer, MAX_SAFE};

#[test]
fn t121_integers_are_told_from_their_digits() {
    use Integer::{NotANumber, NotWhole, OutOfRange, Safe};
    let table = [
        ("0", Safe(0)),
        ("-0", Safe(0)),
        ("0.000", Safe(0)),
        ("0e99999999999999999999", Safe(0)),
        ("-0.0e-7", Safe(0)),
        ("42", Safe(42)),
        ("-7", Safe(-7)),
        ("42.0", Safe(42)),
        ("4.2e1", Safe(42)),
        ("4.2E+1", Safe(42)),
        ("4200e-2", Safe(42)),
        ("0.00042e5", Safe(42)),
        ("420.00e-1", Safe(42)),
        ("9007199254740991", Safe(MAX_SAFE)),
        ("-9007199254740991", Safe(-MAX_SAFE)),
        ("9007199254740991.000", Safe(MAX_SAFE)),
        ("900719925474099.1e1", Safe(MAX_SAFE)),
        ("1e15", Safe(1_000_000_000_000_000)),
        // Floats would make all of these 9007199254740992.
        ("9007199254740992", OutOfRange),
        ("9007199254740993", OutOfRange),
        ("-9007199254740992", OutOfRange),
        ("1e16", OutOfRange),
        ("9999999999999999", OutOfRange),
        ("18446744073709551616", OutOfRange),
        ("1e1000000", OutOfRange),
        ("1e99999999999999999999999999", OutOfRange),
        ("-1e9223372036854775807", OutOfRange),
        ("0.1e9223372036854775808", OutOfRange),
        ("42.5", NotWhole),
        ("42.0000000000000000000000000001", NotWhole),
        ("9007199254740991.5", NotWhole),
        ("1e-100000", NotWhole),
        ("1e-99999999999999999999999999", NotWhole),
        ("10e-2", NotWhole),
        ("0.1", NotWhole),
        ("", NotANumber),
        ("-", NotANumber),
        ("+1", NotANumber),
        ("01", NotANumber),
        ("-01", NotANumber),
        ("1.", NotANumber),
        (".5", NotANumber),
        ("1e", NotANumber),
        ("1e+", NotANumber),
        ("1e1.0", NotANumber),
        ("1 ", NotANumber),
        (" 1", NotANumber),
        ("1,000", NotANumber),
        ("1_000", NotANumber),
        ("0x2a", NotANumber),
        ("NaN", NotANumber),
        ("Infinity", NotANumber),
        ("true", NotANumber),
        ("４２", NotANumber),
    ];
    for (text, expected) in table {
        assert_eq!(Integer::of(text), expected, "{text}");
    }
}

#[test]
fn t121_long_numbers_are_exact() {
    let zeros = "0".repeat(100_000);
    let table = [
        (format!("1{zeros}e-100000"), Integer::Safe(1)),
        (format!("1{zeros}e-100001"), Integer::NotWhole),
        (format!("0.{zeros}1e100001"), Integer::Safe(1)),
        (format!("1.{zeros}"), Integer::Safe(1)),
        (format!("1.{zeros}1"), Integer::NotWhole),
        (format!("1{zeros}"), Integer::OutOfRange),
    ];
    for (text, expected) in table {
        assert_eq!(Integer::of(&text), expected, "{} characters", text.len());
    }
}
