//! The head of a request: method, target and fields.
//!
//! In: what the parser found, or what another HTTP stack has read, piece by piece. Out: views. A
//! head that was parsed is one slice of what came, and keeps all of that in memory.

use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::fields::{FieldSpans, Fields, position};
use super::refusal::Refusal;
use super::syntax::{is_target, is_token};

/// The version in a request line, or in a status line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// Whatever another HTTP stack has read, HTTP/2 for example.
    Other,
}

/// Method, target and fields of a request.
///
/// Two heads are equal if they say the same, however they came about. The text of a head has at
/// most 64 KiB.
///
/// [RFC 9112, section 3](https://www.rfc-editor.org/rfc/rfc9112#section-3)
#[derive(Clone)]
pub struct Head {
    /// Behind method, a blank, and target.
    fields: Fields,
    method_end: u16,
    target_end: u16,
    version: HttpVersion,
}

impl Head {
    /// The head of a request that another HTTP stack has read; its fields are to be pushed. A
    /// method that is no token, and a target with blanks, controls or over 32 KiB, is empty.
    pub fn new(method: &str, target: &str) -> Self {
        const MAX: usize = 32 * 1024;
        let known = method.len() <= 255 && is_token(method.as_bytes());
        let method = if known { method } else { "" };
        let target = if target.len() <= MAX && is_target(target.as_bytes()) { target } else { "" };
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

    /// Appends a field of a request that another HTTP stack has read. A name that is no token, a
    /// value with controls, and what makes the head longer than 64 KiB is ignored.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let _ = self.try_push(name, value);
    }

    /// The same for a stack that has checked both, as the types of the `http` crate do: nothing but
    /// the length is looked at again.
    pub fn push_checked(&mut self, name: &str, value: &[u8]) {
        let _ = self.fields.push_checked(name, value);
    }

    /// The same as [`Head::push`], with what would be ignored refused.
    pub(super) fn try_push(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        self.fields.push(name, value)
    }

    /// The method, as it came: methods are case-sensitive.
    pub fn method(&self) -> &str {
        self.fields.str_part(0, self.method_end)
    }

    /// The target, as it came.
    pub fn target(&self) -> &str {
        self.fields.str_part(self.method_end.saturating_add(1), self.target_end)
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

    /// Names and values of the fields, in order. Values have no blanks around them.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter()
    }

    /// The same, with names as bytes.
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

    /// Whom the request is for: the authority of the target if it has one, else the field `Host`.
    ///
    /// [RFC 9112, section 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)
    pub fn host(&self) -> Option<&[u8]> {
        match split_authority(self.target()) {
            Some((authority, _)) => Some(authority.as_bytes()),
            None => self.field("host"),
        }
    }

    /// A head that was parsed: `text` begins with the method, and places are in it.
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

/// Shows the method, the target and the fields, but no credentials.
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
