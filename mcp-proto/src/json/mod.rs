//! Raw JSON: checked text that is passed on unchanged.
//!
//! A value that no machine needs to decode (arguments, schemas, results) stays a slice of its
//! buffer, until [`Json::decode`] makes a typed value of it.

pub(crate) mod canonical;
pub(crate) mod decimal;
mod decode;
mod decode_error;
mod decode_long;
mod explain;
pub(crate) mod integer;
mod integers;
mod key_reader;
mod plain;
mod private_key;
pub(crate) mod scan;
pub(crate) mod spare;
mod surrogates;
mod value_count;
pub(crate) mod walk;
pub mod write;

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use bytes::Bytes;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use decode_error::{DecodeError, Misfit, MisfitReason};
pub(crate) use explain::explain;
use scan::{Scanner, Span};
pub use spare::Spare;
pub use value_count::count_values;

/// The byte order mark that a text in UTF-8 may begin with. JSON has none, but "implementations
/// that parse JSON texts MAY ignore the presence of a byte order mark rather than treating it as an
/// error" (RFC 8259, 8.1).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One JSON value as text: valid, UTF-8, cheap to clone.
///
/// The text stays as it was parsed, with its spaces, and two values are equal if their texts are.
/// A value from a message is a slice of that message; [`detach`](Self::detach) copies it.
///
/// ```
/// use mcp_proto::Json;
///
/// let json = Json::parse("[1, 2]")?;
/// assert_eq!(json.decode::<Vec<u8>>()?, [1, 2]);
/// assert_eq!(json.as_str(), "[1, 2]");
/// assert_eq!(Json::encode(&[1, 2])?.as_str(), "[1,2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// The empty object, `{}`.
    pub const EMPTY_OBJECT: Self = Self(Bytes::from_static(b"{}"));

    /// Text that is one JSON value, from the source of this crate.
    pub(crate) const fn constant(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// Checks that `text` is one JSON value, nested at most 128 deep.
    ///
    /// Fails with [`InvalidJson`], also for a key that begins with `$serde_json::private::`. Under
    /// such a key [`serde_json::Value`] parses a string as JSON, without the limit of the depth.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, InvalidJson> {
        let text = text.into();
        let valid = core::str::from_utf8(&text).is_ok();
        let mut scanner = Scanner::new(&text, scan::MAX_DEPTH);
        let span = scanner.skip_value().map_err(|_| InvalidJson)?;
        if !valid || scanner.end().is_err() {
            return Err(InvalidJson);
        }
        Ok(Self(span.slice(&text)))
    }

    /// Writes a value as JSON; fails as [`serde_json::to_vec`] does.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(text.into()))
    }

    /// Reads a typed value as [`serde_json::from_slice`] does, but rejects an array in place of a
    /// struct. (This does not apply inside of enums with data that serde derives.)
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        decode::decode(self.as_str())
    }

    /// Reads a value that a person or a model reads, as [`Json::decode`] does. In addition, half a
    /// surrogate pair in a string becomes U+FFFD. In a key it remains an error.
    pub fn decode_lossy<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.decode().or_else(|error| {
            let text = surrogates::rewrite(self.as_str());
            text.map_or(Err(error), |text| decode::decode(&text))
        })
    }

    /// Reads the arguments of a tool, or other values that a JSON Schema describes, as
    /// [`Json::decode_lossy`] does. In addition, a whole number in any notation (`42.0`, `4.2e1`,
    /// `-0`) is an integer, as JSON Schema requires.
    ///
    /// Fails as [`Json::decode_lossy`] does. If decoding fails, it is repeated with whole numbers
    /// of up to 39 digits rewritten as integers, also inside of [`Json`] values.
    pub fn decode_arguments<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        if self.0.len() > spare::LARGE
            && let Some(value) = decode_long::decode(&self.0)
        {
            return Ok(value);
        }
        self.decode_lossy().or_else(|error| {
            let text = integers::rewrite(self.as_bytes());
            text.map_or(Err(error), |text| Self(text.into()).decode_lossy())
        })
    }

    /// Reads as [`Json::decode_arguments`] does. The error names the places that do not fit, such
    /// as `/age: is required`, instead of a line and a column, which a reader may not look up.
    pub(crate) fn decode_located<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.decode_arguments().map_err(|error| match explain::<T>(self.as_str()) {
            Some(places) if places.names_places() => serde_json::Error::custom(places),
            Some(_) | None => error,
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The text's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A copy that no longer shares the buffer of its message.
    pub fn detach(&self) -> Self {
        match &*self.0 {
            b"{}" => Self::EMPTY_OBJECT,
            text => Self(Bytes::copy_from_slice(text)),
        }
    }

    /// Text that is known to be one JSON value.
    pub(crate) fn trusted(text: impl Into<Bytes>) -> Self {
        let text = text.into();
        debug_assert!(Scanner::new(&text, 0).skip_unchecked().is_ok(), "not JSON: {text:?}");
        Self(text)
    }

    /// The value at `span` of a text that a scanner accepted.
    pub(crate) fn slice(text: &Bytes, span: Span) -> Self {
        Self(span.slice(text))
    }

    /// The value at `span` of this value.
    pub(crate) fn part(&self, span: Span) -> Self {
        Self(span.slice(&self.0))
    }

    /// The text of an object after its first brace, which shares the buffer.
    pub(crate) fn members_text(&self) -> Option<Bytes> {
        self.0.starts_with(b"{").then(|| self.0.slice(1..))
    }

    /// A view of the value.
    pub(crate) fn raw(&self) -> Raw<'_> {
        Raw(&self.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Checks the text as [`Json::parse`] does.
impl FromStr for Json {
    type Err = InvalidJson;

    fn from_str(text: &str) -> Result<Self, InvalidJson> {
        Self::parse(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = alloc::boxed::Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(alloc::string::String::from(alloc::boxed::Box::<str>::from(raw)).into()))
    }
}

/// The text is not one JSON value, is nested too deep, or has a key that `serde_json` reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidJson;

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one JSON value, nested more than 128 deep, or with a reserved key")
    }
}

impl core::error::Error for InvalidJson {}

/// A borrowed value that a scanner accepted.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a>(pub &'a [u8]);

/// Returns whether a text has a backslash. A loop is faster than `memchr` for the names and
/// versions of most messages.
fn has_escape(text: &[u8]) -> bool {
    const SHORT: usize = 16;
    if text.len() < SHORT { text.contains(&b'\\') } else { memchr::memchr(b'\\', text).is_some() }
}

impl<'a> Raw<'a> {
    /// Returns whether the value is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Returns whether the value is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Returns whether [`Raw::string`] returns a string.
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"') && (!has_escape(self.0) || self.string().is_some())
    }

    /// Returns whether the value is a string, possibly with half a surrogate pair.
    pub(crate) fn is_quoted(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Returns whether the value is this text as a string without escapes.
    pub(crate) fn is_spelled(self, text: &str) -> bool {
        matches!(self.0, [b'"', inner @ .., b'"'] if inner == text.as_bytes())
    }

    /// The decoded string; `None` for other values, and for a string that escapes half a surrogate
    /// pair.
    pub fn string(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if !has_escape(inner) {
            return core::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        serde_json::from_slice(self.0).ok().map(Cow::Owned)
    }

    /// Looks up a key; `known` gets its plain spelling, with quotes. JSON allows other spellings
    /// too, and a key that only some parsers recognise could bypass the checks of others.
    pub fn lookup<T>(self, known: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        known(self.0).or_else(|| {
            has_escape(self.0).then_some(())?;
            known(&[b"\"", self.string()?.as_bytes(), b"\""].concat())
        })
    }

    /// Returns whether a key or a string in the text may be one of these words; an escape may stand
    /// for any. The search is cheaper than reading the members.
    pub(crate) fn may_contain(self, words: &[&str]) -> bool {
        words.iter().any(|word| contains(self.0, word.as_bytes())) || has_escape(self.0)
    }

    /// Returns whether the text contains `null`, as a value or within a string.
    pub(crate) fn may_have_null(self) -> bool {
        contains(self.0, b"null")
    }

    /// The member with this name, if the value is an object; the last one of duplicates.
    pub fn member(self, name: &str) -> Option<Self> {
        let mut found = None;
        self.members(|key, value| {
            if key.string().as_deref() == Some(name) {
                found = Some(value);
            }
        });
        found
    }

    /// Returns whether the value is an object with a member of this name that is an object.
    pub fn has_object(self, name: &str) -> bool {
        let mut found = false;
        self.members(|key, value| {
            found |= value.is_object() && key.string().as_deref() == Some(name);
        });
        found
    }

    /// The members of an object, with keys as written; none for other values.
    pub fn members(self, mut visit: impl FnMut(Self, Self)) {
        let bytes = self.0;
        let mut scanner = Scanner::new(bytes, scan::MAX_DEPTH);
        let _ = scanner.members(|scanner, key| {
            // The value was checked when the JSON was made; its depth is not limited here.
            let value = scanner.skip_unchecked()?;
            visit(Self(key.of(bytes)), Self(value.of(bytes)));
            Ok(())
        });
    }

    /// The elements of an array; none for other values.
    pub fn elements(self, mut visit: impl FnMut(Self)) {
        let bytes = self.0;
        let mut scanner = Scanner::new(bytes, scan::MAX_DEPTH);
        let _ = scanner.elements(|scanner| {
            visit(Self(scanner.skip_unchecked()?.of(bytes)));
            Ok(())
        });
    }
}

/// Searches for a word by its first byte that is not a lower-case letter, since such bytes are
/// rare. On a short text the preparation of `memmem` costs more than the search.
fn contains(text: &[u8], word: &[u8]) -> bool {
    let at = word.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(0);
    let Some(rare) = word.get(at) else { return true };
    let starts = memchr::memchr_iter(*rare, text).filter_map(|found| found.checked_sub(at));
    starts.filter_map(|start| text.get(start..)).any(|text| text.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_is() {
        for word in ["_meta", "resultType", "plain", "x-mcp-header"] {
            for text in [word.into(), alloc::format!("Tt_-{word}T_-"), alloc::format!("rr{word}")] {
                assert!(contains(text.as_bytes(), word.as_bytes()), "{word} in {text}");
            }
            for text in ["", "T", "_meT", "esultType", "resultTyp", "lain", "x-mcp-heade"] {
                assert!(!contains(text.as_bytes(), word.as_bytes()), "{word} in {text}");
            }
        }
    }

    #[test]
    fn values_and_texts_become_json() {
        let value = serde_json::json!({"a": [1, null]});
        assert_eq!(Json::from(value.clone()).decode::<serde_json::Value>().unwrap(), value);
        assert_eq!("[1]".parse::<Json>().unwrap().as_str(), "[1]");
        assert_eq!("[1".parse::<Json>(), Err(InvalidJson));
    }

    #[test]
    fn floats_are_read_exactly() {
        for text in ["907.3038322028689", "9007199254740991.0", "-5e-324"] {
            let float: f64 = Json::parse(text).unwrap().decode().unwrap();
            assert_eq!(float.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }

    #[test]
    fn text_is_kept_without_surrounding_whitespace() {
        let json = Json::parse(" {\"a\" : [1, 2.50]}\n").unwrap();
        assert_eq!(json.as_str(), "{\"a\" : [1, 2.50]}");
    }

    #[test]
    fn text_that_is_not_one_value_is_rejected() {
        for text in ["", " ", "{", "1 2", "{\"a\":}", "[1,]", "\"\u{1}\"", "nul", "01", "\u{feff}1"]
        {
            assert_eq!(Json::parse(text), Err(InvalidJson), "{text:?}");
        }
        assert_eq!(Json::parse(&b"\"\xff\""[..]), Err(InvalidJson));
    }

    #[test]
    fn members_are_found_by_escaped_names() {
        let json = Json::parse(r#"{"a":1,"\u0061":2,"b":{"c":3}}"#).unwrap();
        let member = |name| json.raw().member(name).map(|value| value.0);
        assert_eq!(member("a"), Some(&b"2"[..]));
        assert_eq!(member("c"), None);
        assert!(Json::constant("[1]").raw().member("a").is_none());
    }

    #[test]
    fn values_round_trip_through_serde() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Holder {
            schema: Json,
        }
        let text = r#"{"schema":{"type": "object", "n": 1.0}}"#;
        let holder: Holder = serde_json::from_str(text).unwrap();
        assert_eq!(holder.schema.as_str(), r#"{"type": "object", "n": 1.0}"#);
        assert_eq!(serde_json::to_string(&holder).unwrap(), text);
    }
}
