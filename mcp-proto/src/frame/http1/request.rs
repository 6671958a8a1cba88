//! Encoding of requests.
//!
//! In: method, target, host and fields; invalid ones are refused. Out: the bytes of the head,
//! appended to `out`. The bytes of the body follow unchanged.
//!
//! [RFC 9112, section 3](https://www.rfc-editor.org/rfc/rfc9112#section-3)

use alloc::vec::Vec;
use core::fmt;

use super::fields::{self, MAX_SIZE};
use super::head::{Head, MAX_METHOD, MAX_TARGET};
use super::parse::authority;
use super::refusal::Refusal;
use super::response::content_length;
use super::syntax::{is_host, is_token, trim};

/// The head of a request to send, which is unambiguous for a server.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHead(Head);

impl RequestHead {
    /// A request whose only field is `Host`. The target is an escaped path with or without a query,
    /// or a whole URI for a proxy.
    ///
    /// # Errors
    ///
    /// Fails for a method that is not a token, for an invalid target or host, and for a target of
    /// another host. Fails with [`Refusal::TargetTooLong`] for a target over 32 KiB or a method
    /// over 255 bytes.
    pub fn new(method: &str, target: &str, host: &str) -> Result<Self, Refusal> {
        check_line(method, target, host)?;
        let mut head = Head::new(method, target);
        head.try_push("Host", host.as_bytes())?;
        Ok(Self(head))
    }

    /// Appends a field; removes whitespace around its value.
    ///
    /// # Errors
    ///
    /// Fails, and changes nothing, if the field cannot be sent. The name is not a token, the value
    /// has CR, LF, NUL or other controls except tabs, or the head becomes longer than 64 KiB.
    /// `Host`, `Connection`, `Content-Length` and `Transfer-Encoding` are refused too, because they
    /// are added or not needed.
    pub fn push(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        check_framing(name)?;
        self.0.try_push(name, value)
    }

    /// Method, target and fields.
    pub fn head(&self) -> &Head {
        &self.0
    }

    /// Appends the head to `out`. `length` is the length of the body in bytes; `None` for a method
    /// without a body, such as GET. A POST with an empty body has the length 0.
    ///
    /// [RFC 9110, section 8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)
    pub fn encode(&self, length: Option<u64>, out: &mut Vec<u8>) {
        let (method, target) = self.0.raw_line();
        for part in [method, b" ", target, b" HTTP/1.1\r\n"] {
            out.extend_from_slice(part);
        }
        for (name, value) in self.0.raw_fields() {
            for part in [name, b": ", value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        write_end(length, out);
    }
}

/// Appends what [`RequestHead::encode`] appends, without a copy in between, but for the end of the
/// head.
///
/// Fails as [`RequestHead::new`] and [`RequestHead::push`] do; `out` may then have a part of the
/// head.
pub(super) fn write_start<'a>(
    [method, target, host]: [&str; 3],
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    check_line(method, target, host)?;
    let mut size = fields::add_size(method.len() + 1 + target.len(), "Host", host.as_bytes())?;
    for part in [method, " ", target, " HTTP/1.1\r\nHost: ", host, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in fields {
        check_framing(name)?;
        fields::check(name, value)?;
        let value = trim(value);
        size = fields::add_size(size, name, value)?;
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    Ok(())
}

/// Appends the end of a head: the length of the body, and the empty line.
pub(super) fn write_end(length: Option<u64>, out: &mut Vec<u8>) {
    if let Some(length) = length {
        content_length(length, out);
    }
    out.extend_from_slice(b"\r\n");
}

fn check_line(method: &str, target: &str, host: &str) -> Result<(), Refusal> {
    if !is_token(method.as_bytes()) {
        return Err(Refusal::Method);
    }
    if host.is_empty() || host.starts_with(':') || !is_host(host.as_bytes()) {
        return Err(Refusal::InvalidHost);
    }
    if authority(method, target)?.is_some_and(|other| !other.eq_ignore_ascii_case(host)) {
        return Err(Refusal::HostMismatch);
    }
    if method.len() > MAX_METHOD || target.len() > MAX_TARGET {
        return Err(Refusal::TargetTooLong { max_head_bytes: MAX_SIZE });
    }
    Ok(())
}

/// Refuses a field that is added, or not needed.
fn check_framing(name: &str) -> Result<(), Refusal> {
    let framing = ["host", "connection", "content-length", "transfer-encoding"];
    if framing.iter().any(|one| name.eq_ignore_ascii_case(one)) {
        return Err(Refusal::FramingField);
    }
    Ok(())
}

/// Shows the method, the target and the fields, without credentials.
impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
