//! Integers as written in JSON, exact and without floats.
//!
//! `1e1000000` takes no memory, and `42.0000000000000000000000000001` is not 42.
//!
//! [Specification: Server Validation](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)

use crate::json::decimal::Decimal;

/// The greatest integer that a header can have, 2<sup>53</sup>−1; the least is its negative.
pub const MAX_SAFE: i64 = (1 << 53) - 1;

/// The maximum number of digits of an integer that a header can have.
const MAX_DIGITS: u64 = 16;

/// Result of reading a text as an integer.
///
/// ```
/// use mcp_proto::headers::Integer;
///
/// assert_eq!(Integer::of("42.0"), Integer::Safe(42));
/// assert_eq!(Integer::of("4.2e1"), Integer::Safe(42));
/// assert_eq!(Integer::of("9007199254740992"), Integer::OutOfRange);
/// assert_eq!(Integer::of("1e-100000"), Integer::NotWhole);
/// assert_eq!(Integer::of("0x2a"), Integer::NotANumber);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integer {
    /// An integer within ±(2<sup>53</sup>−1). `Display` writes its canonical decimal form.
    Safe(i64),
    /// An integer outside of ±(2<sup>53</sup>−1).
    OutOfRange,
    /// A number with a fraction.
    NotWhole,
    /// Not a JSON number.
    NotANumber,
}

impl Integer {
    /// Reads a number in the syntax of JSON, from a body or from a header.
    pub fn of(text: &str) -> Self {
        let Some(decimal) = Decimal::read(text.as_bytes()) else { return Self::NotANumber };
        let Some(whole) = decimal.whole() else { return Self::NotWhole };
        if whole.len() > MAX_DIGITS {
            return Self::OutOfRange;
        }
        let value = whole.digits().fold(0_i64, |value, digit| {
            value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
        });
        match value {
            ..=MAX_SAFE if whole.is_negative() => Self::Safe(-value),
            ..=MAX_SAFE => Self::Safe(value),
            _ => Self::OutOfRange,
        }
    }
}
