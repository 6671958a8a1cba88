//! Request ids and progress tokens: strings or integers, echoed exactly as received.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::json::Raw;

/// The id of a request, or a progress token: a string or an integer.
///
/// The JSON token is kept, so that the id is echoed unchanged, even `18446744073709551615` and
/// `1.0`. Two ids are equal if they have the same value: `1` and `1.0` are equal, `1` and `"1"` are
/// not.
///
/// [Specification: Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic#requests)
#[derive(Clone)]
pub struct RequestId(StoredToken);

/// The text of an id, in one of two forms; 24 bytes, since ids are part of most messages.
#[derive(Clone)]
enum StoredToken {
    /// A canonical token of usual length, filled up with zeros.
    Short {
        bytes: [u8; SHORT],
        len: u8,
    },
    Long(Box<LongToken>),
}

/// With its length and the tag of the enum, a short token fills three words.
const SHORT: usize = 22;

/// Any other token.
#[derive(Clone)]
struct LongToken {
    token: Box<[u8]>,
    /// The canonical form of the value, if it differs from the token.
    canonical: Option<Box<[u8]>>,
}

/// A progress token, with the same properties as a [`RequestId`].
pub type ProgressToken = RequestId;

/// The maximum number of digits of an integer that is written as a float (`1e3`).
const MAX_FLOAT_DIGITS: usize = 40;

impl RequestId {
    /// The id `number`.
    pub fn number(number: i64) -> Self {
        Self::new(&crate::json::write::digits(number), None)
    }

    /// The id `text`.
    pub fn string(text: &str) -> Self {
        let mut token = Vec::new();
        crate::json::write::string(&mut token, text);
        Self::of(&token)
    }

    /// A token that is known to be a string or an integer.
    fn of(token: &[u8]) -> Self {
        Self::from_raw(Raw(token)).unwrap_or_else(|| Self::new(b"0", None))
    }

    /// The JSON token of a valid id, `None` for all other values.
    pub(crate) fn from_raw(raw: Raw<'_>) -> Option<Self> {
        let canonical = match raw.0.first()? {
            b'"' => match raw.string()? {
                Cow::Borrowed(_) => None,
                Cow::Owned(text) => Some([b"\"", text.as_bytes(), b"\""].concat()),
            },
            // Most ids are plain digits. JSON allows no leading zeros.
            b'0'..=b'9' if raw.0.iter().all(u8::is_ascii_digit) => None,
            b'-' | b'0'..=b'9' => match canonical_integer(raw.0)? {
                digits if *digits == *raw.0 => None,
                digits => Some(digits.into_owned()),
            },
            _ => return None,
        };
        Some(Self::new(raw.0, canonical))
    }

    fn new(token: &[u8], canonical: Option<Vec<u8>>) -> Self {
        let mut bytes = [0; SHORT];
        if let (Some(place), Ok(len), None) =
            (bytes.get_mut(..token.len()), u8::try_from(token.len()), &canonical)
        {
            place.copy_from_slice(token);
            return Self(StoredToken::Short { bytes, len });
        }
        let canonical = canonical.map(Vec::into_boxed_slice);
        Self(StoredToken::Long(Box::new(LongToken { token: token.into(), canonical })))
    }

    /// The id as JSON, unchanged.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("0")
    }

    /// The id as JSON bytes, unchanged.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            StoredToken::Short { bytes, len } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            StoredToken::Long(long) => &long.token,
        }
    }

    /// The canonical form of the value.
    pub(crate) fn canonical_str(&self) -> &str {
        core::str::from_utf8(self.canonical()).unwrap_or("0")
    }

    pub(crate) fn canonical(&self) -> &[u8] {
        match &self.0 {
            StoredToken::Short { .. } => self.as_bytes(),
            StoredToken::Long(long) => long.canonical.as_deref().unwrap_or(&long.token),
        }
    }
}

/// The canonical decimal form of an integral JSON number. `None` if the number has a fraction, or
/// is written as a float with more than [`MAX_FLOAT_DIGITS`] digits.
fn canonical_integer(token: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !token.iter().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return Some(Cow::Borrowed(if token == b"-0" { b"0" } else { token }));
    }
    let (negative, magnitude) = match token.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, token),
    };
    let mut halves = magnitude.splitn(2, |b| matches!(b, b'e' | b'E'));
    let mantissa = halves.next()?;
    let exponent = halves.next();
    let mut parts = mantissa.splitn(2, |b| *b == b'.');
    let whole = parts.next()?;
    let fraction = parts.next().unwrap_or_default();
    if mantissa.len() > MAX_FLOAT_DIGITS {
        return None;
    }
    let mut digits = [whole, fraction].concat();
    if digits.iter().all(|b| *b == b'0') {
        return Some(Cow::Borrowed(b"0"));
    }
    let exponent = match exponent {
        Some(digits) => core::str::from_utf8(digits).ok()?.parse::<i32>().ok()?,
        None => 0,
    };
    // Number of digits before the decimal point.
    let point = i64::try_from(whole.len()).ok()?.checked_add(i64::from(exponent))?;
    let point = usize::try_from(point).ok().filter(|at| *at <= MAX_FLOAT_DIGITS)?;
    if digits.get(point..).is_some_and(|rest| rest.iter().any(|b| *b != b'0')) {
        return None;
    }
    digits.resize(point, b'0');
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    digits.drain(..zeros);
    if negative {
        digits.insert(0, b'-');
    }
    Some(Cow::Owned(digits))
}

/// The first eight bytes as a number: most ids differ in them, and numbers are compared at once.
fn prefix(bytes: &[u8; SHORT]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (StoredToken::Short { bytes, .. }, StoredToken::Short { bytes: others, .. }) => {
                bytes == others
            }
            _ => self.canonical() == other.canonical(),
        }
    }
}

impl Eq for RequestId {}

/// Equal ids have equal hashes, so the canonical form is hashed.
impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::number(number)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl PartialOrd for RequestId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The shorter canonical form is less, so ids that count up are in order.
impl Ord for RequestId {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if let StoredToken::Short { bytes, len } = &self.0
            && let StoredToken::Short { bytes: others, len: other_len } = &other.0
        {
            let order = (len, prefix(bytes)).cmp(&(other_len, prefix(others)));
            return order.then_with(|| bytes.cmp(others));
        }
        let (one, other) = (self.canonical(), other.canonical());
        one.len().cmp(&other.len()).then_with(|| one.cmp(other))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(token: &str) -> Option<RequestId> {
        RequestId::from_raw(Raw(token.as_bytes()))
    }

    #[test]
    fn equal_ids_have_equal_hashes() {
        let hash = |token: &str| {
            let mut hasher = std::hash::DefaultHasher::new();
            id(token).unwrap().hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!((hash("1"), hash("\"a\"")), (hash("1.0"), hash("\"\\u0061\"")));
        assert_ne!(hash("1"), hash("\"1\""));
        assert_eq!(
            (RequestId::from(-7), RequestId::from("a")),
            (id("-7").unwrap(), id("\"a\"").unwrap())
        );
    }

    #[test]
    fn ids_are_equal_by_value_and_echo_their_token() {
        let same: &[&[&str]] = &[
            &["1", "1.0", "1e0", "10e-1", "0.1E+1", "100.00e-2"],
            &["0", "-0", "0.0", "-0e9", "0e-999999999", "0e99999999999"],
            &["18446744073709551615", "18446744073709551615.0"],
            &["\"a\"", "\"\\u0061\""],
            &["\"1\""],
            &["-7", "-70e-1"],
            &["100000000000000000000", "1e20"],
        ];
        for (i, class) in same.iter().enumerate() {
            for token in *class {
                let one = id(token).unwrap();
                assert_eq!(one.as_str(), *token);
                for (j, other) in same.iter().enumerate() {
                    for token in *other {
                        assert_eq!(one == id(token).unwrap(), i == j, "{one} {token}");
                    }
                }
            }
        }
    }

    #[test]
    fn ids_are_ordered_by_their_canonical_forms() {
        let long = ["7".repeat(SHORT), "7".repeat(SHORT + 1), "7".repeat(SHORT + 2)];
        let tokens = ["1", "10", "1e1", "2", "\"1\"", "\"\"", "\"\\u0032\"", "-1"];
        let tokens: Vec<&str> = tokens.into_iter().chain(long.iter().map(|id| &**id)).collect();
        for (one, other) in tokens.iter().flat_map(|one| tokens.iter().map(move |two| (one, two))) {
            let (one, other) = (id(one).unwrap(), id(other).unwrap());
            let key = |id: &RequestId| (id.canonical().len(), id.canonical().to_vec());
            let expected = key(&one).cmp(&key(&other));
            assert_eq!(one.cmp(&other), expected, "{one} {other}");
            assert_eq!(one == other, expected.is_eq(), "{one} {other}");
        }
    }

    #[test]
    fn ids_that_count_up_are_in_order() {
        assert!((0..2_000).map(RequestId::number).is_sorted());
    }

    #[test]
    fn an_id_fills_three_words() {
        assert_eq!(size_of::<RequestId>(), 3 * size_of::<u64>());
    }

    #[test]
    fn other_values_are_not_ids() {
        for token in
            ["null", "true", "{}", "[]", "1.5", "1e-1", "0.10", "1e1000000", "1e99999999999", ""]
        {
            assert!(id(token).is_none(), "{token}");
        }
        assert!(id("\"\\ud800\"").is_none(), "half a surrogate pair is no string");
    }
}
