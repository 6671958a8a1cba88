//! The head of a request: method, target and fields.
//!
//! In: the output of the parser, or fields from another HTTP stack, one by one. Out: views. A
//! parsed head is one slice of the input, and keeps its whole buffer in memory.

use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::fields::{FieldSpans, Fields, is_secret, position};
use super::refusal::Refusal;
use super::syntax::{is_target, is_token};

/// The longest method and the longest target of a head that is built.
pub(super) const MAX_METHOD: usize = 255;
pub(super) const MAX_TARGET: usize = 32 * 1024;

/// The version in a request line, or in a status line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// Any version that another HTTP stack has read, for example HTTP/2.
    Other,
}

/// Method, target and fields of a request.
///
/// Two heads are equal if they have the same content, whether they were parsed or built. The text
/// of a head has at most 64 KiB.
///
/// [RFC 9112, section 3](https://www.rfc-editor.org/rfc/rfc9112#section-3)
#[derive(Clone)]
pub struct Head {
    /// The fields, after method, space and target.
    fields: Fields,
    method_end: u16,
    target_end: u16,
    version: HttpVersion,
}

impl Head {
    /// The head of a request that another HTTP stack has read; push its fields afterwards. A method
    /// that is not a token becomes empty. So does a target with whitespace or controls, or over 32
    /// KiB.
    pub fn new(method: &str, target: &str) -> Self {
        let known = method.len() <= MAX_METHOD && is_token(method.as_bytes());
        let method = if known { method } else { "" };
        let target =
            if target.len() <= MAX_TARGET && is_target(target.as_bytes()) { target } else { "" };
        let mut text = Vec::with_capacity(method.len() + target.len() + 512);
        text.extend_from_slice(method.as_bytes());
        let method_end = position(text.len());
        text.push(b' ');
        text.extend_from_slice(target.as_bytes());
        let target_end = position(text.len());
        let fields = Fields::built(text);
        let version = HttpVersion::Other;
        Self { fields, method_end, target_end, version }
    }

    /// Appends a field of a request that another HTTP stack has read. Ignores a name that is not a
    /// token, a value with controls, and a field that makes the head longer than 64 KiB.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let _ = self.try_push(name, value);
    }

    /// The same as [`Head::push`] for a stack that has checked name and value, such as one with the
    /// types of the `http` crate. Only the length is checked again.
    pub fn push_checked(&mut self, name: &str, value: &[u8]) {
        let _ = self.fields.push_checked(name, value);
    }

    /// The same as [`Head::push`], but fails for an invalid field instead of ignoring it.
    pub(super) fn try_push(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        self.fields.push(name, value)
    }

    /// The method, unchanged: methods are case-sensitive.
    pub fn method(&self) -> &str {
        self.fields.str_part(0, self.method_end)
    }

    /// The target, unchanged.
    pub fn target(&self) -> &str {
        self.fields.str_part(self.method_end.saturating_add(1), self.target_end)
    }

    /// Method, target and fields. Two heads with the same text are equal if both were built.
    pub(crate) fn text(&self) -> &[u8] {
        self.fields.text()
    }

    /// The same head, which does not keep the buffer that it was read from.
    pub(crate) fn detach(self) -> Self {
        Self { fields: self.fields.detach(), ..self }
    }

    /// The same head with other values of fields, by their indices. `None` if the length of a value
    /// differs.
    pub(super) fn with_values(&self, values: &[(usize, &[u8])]) -> Option<Self> {
        let Self { method_end, target_end, version, .. } = *self;
        Some(Self { fields: self.fields.with_values(values)?, method_end, target_end, version })
    }

    /// Returns whether a field contains credentials.
    pub(crate) fn has_secret(&self) -> bool {
        self.fields.iter().any(|(name, _)| is_secret(name))
    }

    /// Method and target as bytes.
    pub(crate) fn raw_line(&self) -> (&[u8], &[u8]) {
        let target = self.fields.part(self.method_end.saturating_add(1), self.target_end);
        (self.fields.part(0, self.method_end), target)
    }

    /// The path of the target, without authority and query; `*` for a target that is `*`.
    pub fn path(&self) -> &str {
        let target = split_authority(self.target()).map_or(self.target(), |(_, path)| path);
        let path = target.split(['?', '#']).next().unwrap_or_default();
        if path.is_empty() && !self.target().is_empty() { "/" } else { path }
    }

    /// The version.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Names and values of the fields, in order. Values have no whitespace around them.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter()
    }

    /// Names and values of the fields, in order, with names as bytes.
    pub(crate) fn raw_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.raw()
    }

    /// The value of the first field with this name, in any case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The values of all fields with this name, in any case.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.all(name)
    }

    /// The host of the request: the authority of the target if it has one, otherwise the field
    /// `Host`.
    ///
    /// [RFC 9112, section 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)
    pub fn host(&self) -> Option<&[u8]> {
        match split_authority(self.target()) {
            Some((authority, _)) => Some(authority.as_bytes()),
            None => self.field("host"),
        }
    }

    /// A parsed head: `text` begins with the method, and contains the positions.
    pub(super) fn parsed(
        text: Bytes,
        method_end: u16,
        target_end: u16,
        version: HttpVersion,
        places: FieldSpans,
    ) -> Self {
        Self { fields: Fields::parsed(text, places), method_end, target_end, version }
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.method() == other.method()
            && self.target() == other.target()
            && self.version == other.version
            && self.fields().eq(other.fields())
    }
}

impl Eq for Head {}

/// Shows the method, the target and the fields, without credentials.
impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, fields, .. } = self;
        write!(f, "{} {} {version:?}", self.method(), self.target())?;
        fields.fmt(f)
    }
}

/// Authority and the rest of a target in absolute-form.
pub(super) fn split_authority(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_once("://")?;
    if scheme.is_empty() || scheme.contains(['/', '?', '#']) {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at_checked(end)
}
