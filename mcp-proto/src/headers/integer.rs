//! Integers as they are written, exact and without floats.
//!
//! A number is its digits and a power of ten; both are counted, neither is written out. So
//! `1e1000000` takes no memory, and `42.0000000000000000000000000001` is not 42.
//!
//! [Specification: Server Validation](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)

/// The greatest integer that goes into a header, 2<sup>53</sup>−1; the least is its negative.
pub const MAX_SAFE: i64 = (1 << 53) - 1;

/// The most digits of such an integer.
const MAX_DIGITS: i64 = 16;

/// What a text is as an integer.
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
    /// One within ±(2<sup>53</sup>−1). Its canonical decimal is what `Display` writes of it.
    Safe(i64),
    /// One beyond that.
    OutOfRange,
    /// A number with a fraction.
    NotWhole,
    /// No number of JSON.
    NotANumber,
}

impl Integer {
    /// Reads a number as JSON writes it, whether it stands in a body or in a header.
    pub fn of(text: &str) -> Self {
        Decimal::read(text.as_bytes()).map_or(Self::NotANumber, |decimal| decimal.integer())
    }
}

/// A number of JSON: digits, a point somewhere among them, and an exponent.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let (negative, rest) = strip(text, b"-");
        let (whole, rest) = digits(rest)?;
        if let [b'0', _, ..] = whole {
            return None;
        }
        let (fraction, rest) = match strip(rest, b".") {
            (true, rest) => digits(rest)?,
            (false, rest) => (&[][..], rest),
        };
        let (exponent, rest) = match strip(rest, b"eE") {
            (true, rest) => exponent(rest)?,
            (false, rest) => (0, rest),
        };
        rest.is_empty().then_some(Self { negative, whole, fraction, exponent })
    }

    fn integer(&self) -> Integer {
        let digits = || self.whole.iter().chain(self.fraction);
        let zeros = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let leading = digits().take_while(|digit| **digit == b'0').count();
        let trailing = digits().rev().take_while(|digit| **digit == b'0').count();
        let all = self.whole.len() + self.fraction.len();
        let Some(significant) = all.checked_sub(leading + trailing).filter(|count| *count > 0)
        else {
            return Integer::Safe(0);
        };
        // The significant digits as an integer, times ten to the power of `shift`.
        let shift = self
            .exponent
            .saturating_sub(zeros(self.fraction.len()))
            .saturating_add(zeros(trailing));
        if shift < 0 {
            return Integer::NotWhole;
        }
        if zeros(significant).saturating_add(shift) > MAX_DIGITS {
            return Integer::OutOfRange;
        }
        let value = digits()
            .skip(leading)
            .take(significant)
            .fold(0_i64, |value, digit| value.saturating_mul(10) + i64::from(digit - b'0'));
        let value = (0..shift).fold(value, |value, _| value.saturating_mul(10));
        match value {
            ..=MAX_SAFE if self.negative => Integer::Safe(-value),
            ..=MAX_SAFE => Integer::Safe(value),
            _ => Integer::OutOfRange,
        }
    }
}

/// Whether the text begins with one of these bytes, and what follows.
fn strip<'a>(text: &'a [u8], any: &[u8]) -> (bool, &'a [u8]) {
    match text.split_first() {
        Some((first, rest)) if any.contains(first) => (true, rest),
        _ => (false, text),
    }
}

/// One digit or more, and what follows.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
}

/// An exponent, and what follows. One that no text has enough digits to make up for is as good as
/// the greatest.
fn exponent(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, rest) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let (digits, rest) = digits(rest)?;
    let value = digits.iter().fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Some((if negative { -value } else { value }, rest))
}
