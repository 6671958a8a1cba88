//! JSON numbers, parsed exactly and without floats.
//!
//! In: a token. Out: a [`Decimal`], and a [`Whole`] if it is an integer. A number is stored as its
//! digits and a power of ten, and never expanded. So `1e1000000` takes no memory, and
//! `42.0000000000000000000000000001` is not 42.

/// A JSON number: digits, a decimal point, and an exponent.
pub(crate) struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

/// An integer: a sign, digits, and trailing zeros.
pub(crate) struct Whole<'a> {
    number: &'a Decimal<'a>,
    leading: usize,
    significant: usize,
    zeros: u64,
}

impl<'a> Decimal<'a> {
    /// Parses a number in the syntax of JSON.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
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

    /// The integer value; `None` if the number has a fraction.
    pub(crate) fn whole(&self) -> Option<Whole<'_>> {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let leading = self.digits().take_while(|digit| *digit == b'0').count();
        let trailing = self.digits().rev().take_while(|digit| *digit == b'0').count();
        let all = self.whole.len() + self.fraction.len();
        let significant = all.saturating_sub(leading + trailing);
        if significant == 0 {
            return Some(Whole { number: self, leading, significant, zeros: 0 });
        }
        // The significant digits as an integer, times ten to the power of `shift`.
        let shift = self
            .exponent
            .saturating_sub(count(self.fraction.len()))
            .saturating_add(count(trailing));
        let zeros = u64::try_from(shift).ok()?;
        Some(Whole { number: self, leading, significant, zeros })
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + '_ {
        self.whole.iter().chain(self.fraction).copied()
    }
}

impl Whole<'_> {
    pub(crate) fn is_negative(&self) -> bool {
        self.number.negative && self.significant > 0
    }

    /// Number of digits; 0 for the number zero.
    pub(crate) fn len(&self) -> u64 {
        (self.significant as u64).saturating_add(self.zeros)
    }

    /// The digits, possibly very many; zero has none.
    pub(crate) fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        let significant = self.number.digits().skip(self.leading).take(self.significant);
        significant.chain((0..self.zeros).map(|_| b'0'))
    }
}

/// Returns whether the text begins with one of these bytes, and the rest of the text.
fn strip<'a>(text: &'a [u8], any: &[u8]) -> (bool, &'a [u8]) {
    match text.split_first() {
        Some((first, rest)) if any.contains(first) => (true, rest),
        _ => (false, text),
    }
}

/// One digit or more, and the rest of the text.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
}

/// An exponent, and the rest of the text. An exponent too large for any text counts as the greatest
/// one.
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
