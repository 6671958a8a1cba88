//! The headers that a client sends with a request.
//!
//! In: the method and parameters of a request, and for a call the plan of its tool. Out: names and
//! values of headers, or the reason why a header cannot be sent.
//!
//! [Specification: Client Behavior](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior)

use alloc::borrow::{Cow, ToOwned};
use alloc::string::ToString;
use alloc::vec::Vec;

use super::arguments::{Value, values};
use super::body::name_in;
use super::integer::Integer;
use super::name::{METHOD, NAME, PROTOCOL_VERSION};
use super::plan::{Entry, HeaderPlan, Kind};
use super::value::{encode, is_plain};
use crate::error::{EmitError, excerpt};
use crate::json::Json;

/// The headers of every modern request: version and method, and for some methods the subject.
/// `params` are the parameters of the request; pass `{}` if the request has none.
///
/// Fails with [`EmitError::NotPlain`] if a header cannot contain the version or the method.
///
/// ```
/// use mcp_proto::{Json, headers::standard};
///
/// let params = Json::parse(r#"{"uri":"file:///é"}"#)?;
/// let headers: Vec<_> = standard("2026-07-28", "resources/read", &params)?.collect();
/// assert_eq!(headers, [
///     ("MCP-Protocol-Version", "2026-07-28".into()),
///     ("Mcp-Method", "resources/read".into()),
///     ("Mcp-Name", "=?base64?ZmlsZTovLy/DqQ==?=".into()),
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn standard<'a>(
    protocol_version: &'a str,
    method: &'a str,
    params: &'a Json,
) -> Result<impl Iterator<Item = (&'static str, Cow<'a, str>)>, EmitError> {
    let plain = |header, text: &'a str| {
        let error = || EmitError::NotPlain { header, value: excerpt(text) };
        is_plain(text.as_bytes()).then_some((header, Cow::Borrowed(text))).ok_or_else(error)
    };
    let always = [plain(PROTOCOL_VERSION, protocol_version)?, plain(METHOD, method)?];
    let name = name_in(method, params).map(|name| (NAME, encoded(name)));
    Ok(always.into_iter().chain(name))
}

impl HeaderPlan {
    /// The headers of a call with these arguments, in the order of the schema.
    ///
    /// An argument that is absent, `null`, an array or an object has no header. The last one of
    /// duplicate keys counts.
    ///
    /// Fails with an [`EmitError`] for a string with half a surrogate pair. If the schema declares
    /// an integer, also fails for a number with a fraction or outside of ±(2<sup>53</sup>−1).
    ///
    /// ```
    /// use mcp_proto::{Json, headers::HeaderPlan};
    ///
    /// let schema = Json::parse(concat!(
    ///     r#"{"type":"object","properties":{"#,
    ///     r#""region":{"type":"string","x-mcp-header":"Region"},"#,
    ///     r#""limit":{"type":"integer","x-mcp-header":"Limit"}}}"#
    /// ))?;
    /// let plan = HeaderPlan::compile(&schema)?;
    /// let arguments = Json::parse(r#"{"limit":4.2e1,"region":"us-west1","query":"…"}"#)?;
    /// assert_eq!(plan.emit(&arguments)?, [
    ///     ("Mcp-Param-Region", "us-west1".into()),
    ///     ("Mcp-Param-Limit", "42".into()),
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn emit<'a>(
        &'a self,
        arguments: &'a Json,
    ) -> Result<Vec<(&'a str, Cow<'a, str>)>, EmitError> {
        let mut headers = Vec::new();
        for (entry, value) in values(self, arguments) {
            if let Some(text) = text(entry, value)? {
                headers.push((entry.header(), encoded(text)));
            }
        }
        Ok(headers)
    }
}

/// Text of an argument's header before encoding.
fn text<'a>(entry: &Entry, value: Value<'a>) -> Result<Option<Cow<'a, str>>, EmitError> {
    let header = || entry.header().to_owned();
    Ok(match value {
        Value::Absent | Value::Compound => None,
        Value::NotUnicode => return Err(EmitError::NotUnicode { header: header() }),
        Value::Boolean(true) => Some("true".into()),
        Value::Boolean(false) => Some("false".into()),
        Value::String(text) => Some(text),
        Value::Number(number) if entry.declared().kind() == Some(Kind::Integer) => {
            let value = || excerpt(number);
            match Integer::of(number) {
                Integer::Safe(integer) => Some(integer.to_string().into()),
                Integer::OutOfRange => {
                    return Err(EmitError::OutOfRange { header: header(), value: value() });
                }
                Integer::NotWhole | Integer::NotANumber => {
                    return Err(EmitError::NotWhole { header: header(), value: value() });
                }
            }
        }
        Value::Number(number) => Some(number.into()),
    })
}

/// The value of a header; copies the text only if it must be wrapped.
fn encoded(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => encode(text),
        Cow::Owned(text) => match encode(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(wrapped) => Cow::Owned(wrapped),
        },
    }
}
