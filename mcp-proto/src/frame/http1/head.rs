//! The head of a request: method, target and fields.
//!
//! In: what the parser found, or what another HTTP stack has read, piece by piece. Out: views. A
//! head that was parsed is one slice of what came, and keeps all of that in memory.

use alloc::vec::Vec;
use core::{fmt, iter, str};

use bytes::Bytes;
use smallvec::SmallVec;

use super::syntax::{is_field_text, is_target, is_token, trim};

/// The version in a request line.
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
    /// Method, a blank, target, and somewhere behind them the fields.
    text: Text,
    method_end: u16,
    target_end: u16,
    version: HttpVersion,
    fields: Fields,
}

/// The fields of a head; those of most requests need no memory of their own.
pub(super) type Fields = SmallVec<[Field; 16]>;

/// Where name and value of a field are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: u16,
    pub(super) name_end: u16,
    pub(super) value: u16,
    pub(super) value_end: u16,
}

#[derive(Clone)]
enum Text {
    Slice(Bytes),
    Built(Vec<u8>),
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
        let (text, version) = (Text::Built(text), HttpVersion::Other);
        Self { text, method_end, target_end, version, fields: SmallVec::new() }
    }

    /// Appends a field of a request that another HTTP stack has read. A name that is no token, a
    /// value with controls, and what makes the head longer than 64 KiB is ignored.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let value = trim(value);
        let length = self.text.bytes().len() + name.len() + value.len();
        if length > usize::from(u16::MAX) || !is_token(name.as_bytes()) || !is_field_text(value) {
            return;
        }
        if let Text::Slice(text) = &self.text {
            self.text = Text::Built(text.to_vec());
        }
        let Text::Built(text) = &mut self.text else { return };
        let start = position(text.len());
        text.extend_from_slice(name.as_bytes());
        let name_end = position(text.len());
        text.extend_from_slice(value);
        let value_end = position(text.len());
        self.fields.push(Field { name: start, name_end, value: name_end, value_end });
    }

    /// The method, as it came: methods are case-sensitive.
    pub fn method(&self) -> &str {
        self.text(0, self.method_end)
    }

    /// The target, as it came.
    pub fn target(&self) -> &str {
        self.text(self.method_end.saturating_add(1), self.target_end)
    }

    /// Method and target as bytes.
    pub(crate) fn raw_line(&self) -> (&[u8], &[u8]) {
        let target = self.bytes(self.method_end.saturating_add(1), self.target_end);
        (self.bytes(0, self.method_end), target)
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
        // Names are ASCII; values need not be. To look at all at once costs less than to look at
        // each.
        let whole = str::from_utf8(self.text.bytes()).ok();
        self.fields.iter().map(move |field| {
            let name = match whole {
                Some(whole) => {
                    let name = usize::from(field.name)..usize::from(field.name_end);
                    whole.get(name).unwrap_or_default()
                }
                None => self.text(field.name, field.name_end),
            };
            (name, self.bytes(field.value, field.value_end))
        })
    }

    /// The same, with names as bytes.
    pub(crate) fn raw_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let text = self.text.bytes();
        self.fields.iter().map(move |field| {
            (slice(text, field.name, field.name_end), slice(text, field.value, field.value_end))
        })
    }

    /// The value of the first field with this name, in any case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The values of all fields with this name, in any case.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let text = self.text.bytes();
        let mut fields = self.fields.iter();
        iter::from_fn(move || {
            let field = fields.find(|field| {
                slice(text, field.name, field.name_end).eq_ignore_ascii_case(name.as_bytes())
            })?;
            Some(slice(text, field.value, field.value_end))
        })
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
        fields: Fields,
    ) -> Self {
        Self { text: Text::Slice(text), method_end, target_end, version, fields }
    }

    fn bytes(&self, start: u16, end: u16) -> &[u8] {
        slice(self.text.bytes(), start, end)
    }

    /// Text that was checked when it was taken.
    fn text(&self, start: u16, end: u16) -> &str {
        str::from_utf8(self.bytes(start, end)).unwrap_or_default()
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
        write!(f, "{} {} {:?}", self.method(), self.target(), self.version)?;
        let mut map = f.debug_map();
        for (name, value) in self.fields() {
            let secret = ["authorization", "cookie", "proxy-authorization"];
            if secret.iter().any(|secret| name.eq_ignore_ascii_case(secret)) {
                map.entry(&name, &"…");
            } else {
                map.entry(&name, &Bytes::copy_from_slice(value));
            }
        }
        map.finish()
    }
}

impl Text {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Slice(text) => text,
            Self::Built(text) => text,
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::Built(Vec::new())
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

fn slice(text: &[u8], start: u16, end: u16) -> &[u8] {
    text.get(usize::from(start)..usize::from(end)).unwrap_or_default()
}

/// A place in a text whose length was checked.
pub(super) fn position(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}
