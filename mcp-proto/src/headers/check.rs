//! The header fields that mirror the message in the body, and their comparison with the body.
//!
//! In: the fields of a head as pairs of name and value, from any parser. Out: the claims of the
//! head, or the [`HeaderError`] for a server's answer. A server that has read the body checks the
//! headers one by one, in the order of its validation steps. A gateway only reads the [`Claim`], or
//! checks the whole body.
//!
//! [Specification: Request Metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata)

use alloc::borrow::{Cow, ToOwned};

use smallvec::SmallVec;

use super::arguments::{Value, values};
use super::integer::Integer;
use super::name::{METHOD, NAME, PREFIX, PROTOCOL_VERSION, name_member};
use super::plan::{Entry, HeaderPlan, Kind};
use super::value::{decode, is_plain, plain};
use crate::error::{HeaderError, Place, ValueError, excerpt};
use crate::frame::http1::is_named;
use crate::json::{Json, Raw};
use crate::version::{Era, ProtocolVersion};

/// The header fields of SEP-2243, which mirror the message in the body.
///
/// ```
/// use mcp_proto::headers::MirroredHeaders;
///
/// let head = MirroredHeaders::of([
///     ("host", &b"example.com"[..]),
///     ("mcp-protocol-version", b"2026-07-28"),
///     ("mcp-method", b"tools/call"),
///     ("mcp-name", b"=?base64?w6k=?="),
///     ("mcp-param-region", b"us-west1"),
/// ]);
/// let claim = head.claim()?;
/// assert_eq!((claim.method, claim.name.as_deref()), ("tools/call", Some("é")));
/// assert_eq!(head.param("Region")?.as_deref(), Some("us-west1"));
///
/// let error = head.check_name("tools/call", Some("e")).unwrap_err();
/// assert!(error.to_string().starts_with(r#"Mcp-Name says "é", and the body "e""#));
/// # Ok::<(), mcp_proto::headers::HeaderError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MirroredHeaders<'a> {
    protocol_version: MirroredField<'a>,
    method: MirroredField<'a>,
    name: MirroredField<'a>,
    /// `Mcp-Param-*`, in the order of the head, without this prefix.
    params: SmallVec<[(&'a str, &'a [u8]); 4]>,
}

/// The claim of a head, not compared with the body.
///
/// A server behind the gateway that supports the version compares the claim; see
/// [`MirroredHeaders::claim`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Claim<'a> {
    /// The version, `MCP-Protocol-Version`.
    pub protocol_version: &'a str,
    /// The method, `Mcp-Method`.
    pub method: &'a str,
    /// The subject of the method, `Mcp-Name` decoded: a tool, a prompt, a resource, or a task.
    /// `None` if the method needs no name.
    pub name: Option<Cow<'a, str>>,
}

impl<'a> MirroredHeaders<'a> {
    /// Finds the relevant fields of a head, in one pass. Names must be tokens; their case does not
    /// matter.
    pub fn of(fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        Self::of_raw(fields.into_iter().map(|(name, value)| (name.as_bytes(), value)))
    }

    /// Does the same as [`MirroredHeaders::of`] for names as bytes; names that are not text are
    /// ignored.
    pub(crate) fn of_raw(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut head = Self::default();
        for (name, value) in fields {
            // All relevant names begin with `mcp-`; most names in a head do not.
            if !matches!(name, [b'm' | b'M', b'c' | b'C', b'p' | b'P', b'-', ..]) {
                continue;
            }
            if is_named(name, b"mcp-protocol-version") {
                head.protocol_version.add(value);
            } else if is_named(name, b"mcp-method") {
                head.method.add(value);
            } else if is_named(name, b"mcp-name") {
                head.name.add(value);
            } else if let Some((prefix, name)) = name.split_at_checked(PREFIX.len())
                && prefix.eq_ignore_ascii_case(PREFIX.as_bytes())
                && let Ok(name) = core::str::from_utf8(name)
            {
                head.params.push((name, value));
            }
        }
        head
    }

    /// The claim of the head, for gateways that route by it and do not read the body.
    ///
    /// Fails if a header is missing, occurs twice or is not text. Also fails if the version is a
    /// legacy one, because legacy servers do not compare headers with bodies. An unknown version
    /// passes: every server that supports the version compares headers with bodies.
    pub fn claim(&self) -> Result<Claim<'_>, HeaderError> {
        let protocol_version = self.protocol_version.plain_value(PROTOCOL_VERSION, None)?;
        let known = ProtocolVersion::from_name(protocol_version);
        if known.is_some_and(|version| version.era() == Era::Legacy) {
            return Err(HeaderError::Unvalidated { version: excerpt(protocol_version) });
        }
        let method = self.method.plain_value(METHOD, None)?;
        let name = match name_member(method) {
            Some(_) => Some(self.name.decoded(NAME, None)?),
            None => None,
        };
        Ok(Claim { protocol_version, method, name })
    }

    /// The value of `Mcp-Param-<name>`, decoded; `None` if it is absent.
    pub fn param(&self, name: &str) -> Result<Option<Cow<'_, str>>, HeaderError> {
        let header = || [PREFIX, &excerpt(name)].concat().into();
        match self.params(name) {
            MirroredField::Absent => Ok(None),
            MirroredField::Repeated => Err(HeaderError::Repeated { header: header() }),
            MirroredField::Once(value) => match decode(value) {
                Ok(text) => Ok(Some(text)),
                Err(reason) => Err(HeaderError::NotDecodable { header: header(), reason }),
            },
        }
    }

    /// Checks that `MCP-Protocol-Version` equals the version in `params._meta`.
    ///
    /// Fails with a [`HeaderError`]: the header is missing, occurs twice, is not text, or differs.
    pub fn check_version(&self, claimed: &str) -> Result<(), HeaderError> {
        if self.protocol_version.equals(claimed.as_bytes()) {
            return Ok(());
        }
        let found = self.protocol_version.plain_value(PROTOCOL_VERSION, Some(claimed))?;
        same(PROTOCOL_VERSION.into(), found, claimed)
    }

    /// Checks that `Mcp-Method` equals the method of the request.
    ///
    /// Fails with a [`HeaderError`]: the header is missing, occurs twice, is not text, or differs.
    pub fn check_method(&self, method: &str) -> Result<(), HeaderError> {
        if self.method.equals(method.as_bytes()) {
            return Ok(());
        }
        let found = self.method.plain_value(METHOD, Some(method))?;
        same(METHOD.into(), found, method)
    }

    /// Checks that `Mcp-Name` equals the subject of the request. `name` is the string in the body
    /// at [`name_member`], or `None`. Without this string the parameters are invalid, and the
    /// header is not checked. The header is not checked either for methods that need no name.
    pub fn check_name(&self, method: &str, name: Option<&str>) -> Result<(), HeaderError> {
        let (Some(_), Some(name)) = (name_member(method), name) else { return Ok(()) };
        if self.name.equals(name.as_bytes()) {
            return Ok(());
        }
        let found = self.name.decoded(NAME, Some(name))?;
        same(NAME.into(), &found, name)
    }

    /// Returns whether `Mcp-Name` equals this JSON string as written. Nearly all names do, so
    /// decoding, which takes 1 % of a call, is avoided.
    pub(crate) fn name_equals_raw(&self, name: Raw<'_>) -> bool {
        let Raw([b'"', name @ .., b'"']) = name else { return false };
        self.name.equals(name) && !name.contains(&b'\\')
    }

    /// Checks that `Mcp-Param-*` equal the arguments of a tool. Headers that are not in the plan
    /// are ignored.
    ///
    /// If the schema declares an integer, numbers are compared, exactly and within
    /// ±(2<sup>53</sup>−1); otherwise texts are compared. An argument that is an array or an object
    /// violates the schema and has no header. The last one of duplicate keys counts.
    ///
    /// Fails with the first [`HeaderError`].
    pub fn check_params(&self, plan: &HeaderPlan, arguments: &Json) -> Result<(), HeaderError> {
        if plan.is_empty() {
            return Ok(());
        }
        values(plan, arguments).try_for_each(|(entry, value)| self.check_param(entry, &value))
    }

    fn check_param(&self, entry: &Entry, value: &Value<'_>) -> Result<(), HeaderError> {
        let header = || Cow::Owned(entry.header().to_owned());
        let found = match self.params(entry.name()) {
            MirroredField::Absent => None,
            MirroredField::Repeated => return Err(HeaderError::Repeated { header: header() }),
            MirroredField::Once(value) => match decode(value) {
                Ok(text) => Some(text),
                Err(reason) => return Err(HeaderError::NotDecodable { header: header(), reason }),
            },
        };
        let expected = match value {
            Value::Absent | Value::Compound => {
                let unexpected = |found: Cow<'_, str>| HeaderError::Unexpected {
                    header: header(),
                    found: excerpt(&found),
                };
                return found.map_or(Ok(()), |found| Err(unexpected(found)));
            }
            Value::NotUnicode => return Err(HeaderError::NotUnicode { header: header() }),
            Value::Number(number) if entry.declared().kind() == Some(Kind::Integer) => {
                return check_integer(entry, found.as_deref(), number);
            }
            Value::Boolean(true) => "true",
            Value::Boolean(false) => "false",
            Value::Number(text) => text,
            Value::String(text) => text,
        };
        same(header(), &found.ok_or_else(|| missing(header(), Some(expected)))?, expected)
    }

    /// The headers with this name, in any case.
    fn params(&self, name: &str) -> MirroredField<'a> {
        let mut field = MirroredField::Absent;
        for (_, value) in self.params.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name)) {
            field.add(value);
        }
        field
    }
}

/// A header that may occur only once.
#[derive(Clone, Copy, Debug, Default)]
enum MirroredField<'a> {
    #[default]
    Absent,
    Once(&'a [u8]),
    Repeated,
}

impl<'a> MirroredField<'a> {
    fn add(&mut self, value: &'a [u8]) {
        *self = if let Self::Absent = self { Self::Once(value) } else { Self::Repeated };
    }

    /// Returns whether the header occurs once and equals this text as written.
    fn equals(self, text: &[u8]) -> bool {
        let Self::Once(value) = self else { return false };
        value == text && !value.starts_with(b"=?") && is_plain(text)
    }

    /// The value, for headers that are never wrapped.
    fn plain_value(
        self,
        header: &'static str,
        expected: Option<&str>,
    ) -> Result<&'a str, HeaderError> {
        self.read(header, expected, plain)
    }

    /// The value, for headers that may be wrapped.
    fn decoded(
        self,
        header: &'static str,
        expected: Option<&str>,
    ) -> Result<Cow<'a, str>, HeaderError> {
        self.read(header, expected, decode)
    }

    fn read<T>(
        self,
        header: &'static str,
        expected: Option<&str>,
        text: impl FnOnce(&'a [u8]) -> Result<T, ValueError>,
    ) -> Result<T, HeaderError> {
        match self {
            Self::Absent => Err(missing(header.into(), expected)),
            Self::Repeated => Err(HeaderError::Repeated { header: header.into() }),
            Self::Once(value) => text(value)
                .map_err(|reason| HeaderError::NotDecodable { header: header.into(), reason }),
        }
    }
}

/// Checks a number in the body for which the schema declares an integer.
fn check_integer(entry: &Entry, found: Option<&str>, number: &str) -> Result<(), HeaderError> {
    let expected = safe(entry, Place::Body, number)?;
    let Some(found) = found else {
        return Err(missing(entry.header().to_owned().into(), Some(number)));
    };
    if expected.is_some() && safe(entry, Place::Header, found)? == expected {
        return Ok(());
    }
    Err(mismatch(entry.header().to_owned().into(), found, number))
}

/// The integer in a text, `None` if the text is not a number.
fn safe(entry: &Entry, place: Place, text: &str) -> Result<Option<i64>, HeaderError> {
    let header = || entry.header().to_owned().into();
    match Integer::of(text) {
        Integer::Safe(value) => Ok(Some(value)),
        Integer::NotANumber => Ok(None),
        Integer::OutOfRange => {
            Err(HeaderError::OutOfRange { header: header(), place, value: excerpt(text) })
        }
        Integer::NotWhole => {
            Err(HeaderError::NotWhole { header: header(), place, value: excerpt(text) })
        }
    }
}

pub(super) fn same(
    header: Cow<'static, str>,
    found: &str,
    expected: &str,
) -> Result<(), HeaderError> {
    if found == expected { Ok(()) } else { Err(mismatch(header, found, expected)) }
}

fn mismatch(header: Cow<'static, str>, found: &str, expected: &str) -> HeaderError {
    HeaderError::Mismatch { header, found: excerpt(found), expected: excerpt(expected) }
}

fn missing(header: Cow<'static, str>, expected: Option<&str>) -> HeaderError {
    HeaderError::Missing { header, expected: expected.map(excerpt) }
}
