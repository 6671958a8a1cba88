//! The fields of a head, and the text that contains them.
//!
//! In: the output of the parser, or names and values. Out: views.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, iter, str};

use bytes::Bytes;

use super::refusal::Refusal;
use super::syntax::{is_field_text, is_token, trim};

/// The longest head that is built, in bytes of its text.
pub(super) const MAX_SIZE: usize = u16::MAX as usize;

/// The text of a head, at most 64 KiB, with the positions of the fields.
#[derive(Clone)]
pub(super) struct Fields {
    text: Text,
    places: FieldPlaces,
}

/// Positions of the fields of a parsed head. Heads that repeat share them.
pub(super) type FieldSpans = Arc<[FieldSpan]>;

/// Byte offsets of the name and the value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldSpan {
    pub(super) name: u16,
    pub(super) name_end: u16,
    pub(super) value: u16,
    pub(super) value_end: u16,
}

/// The bytes before a name and before a value in a built head. Neither part contains the byte after
/// it, so heads with the same text are equal.
pub(super) const SEPARATORS: [u8; 2] = [b'\n', b':'];

#[derive(Clone)]
enum Text {
    Slice(Bytes),
    Built(Vec<u8>),
}

#[derive(Clone)]
enum FieldPlaces {
    Parsed(FieldSpans),
    Built(Vec<FieldSpan>),
}

/// Room for the fields of most heads.
const FIELDS: usize = 16;

impl Fields {
    /// The fields of a parsed head.
    pub(super) fn parsed(text: Bytes, places: FieldSpans) -> Self {
        Self { text: Text::Slice(text), places: FieldPlaces::Parsed(places) }
    }

    /// Creates an empty list of fields after this start line.
    pub(super) fn built(line: Vec<u8>) -> Self {
        Self { text: Text::Built(line), places: FieldPlaces::Built(Vec::with_capacity(FIELDS)) }
    }

    pub(super) fn push(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        check(name, value)?;
        self.push_checked(name, value)
    }

    /// Appends a field whose name is a token, and whose value has no controls except tabs.
    pub(super) fn push_checked(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        let value = trim(value);
        add_size(self.text().len(), name, value)?;
        if let Text::Slice(text) = &self.text {
            self.text = Text::Built(text.to_vec());
        }
        if let FieldPlaces::Parsed(places) = &self.places {
            self.places = FieldPlaces::Built(places.to_vec());
        }
        if let (Text::Built(text), FieldPlaces::Built(places)) = (&mut self.text, &mut self.places)
        {
            let [before_name, before_value] = SEPARATORS;
            text.push(before_name);
            let start = position(text.len());
            text.extend_from_slice(name.as_bytes());
            let name_end = position(text.len());
            text.push(before_value);
            text.extend_from_slice(value);
            let value_end = position(text.len());
            let value = position(text.len() - value.len());
            places.push(FieldSpan { name: start, name_end, value, value_end });
        }
        Ok(())
    }

    /// The same fields, which share no memory. Their copies share the positions.
    pub(super) fn detach(mut self) -> Self {
        if let Text::Slice(text) = &self.text {
            self.text = Text::Slice(Bytes::copy_from_slice(text));
        }
        if let FieldPlaces::Built(places) = &self.places {
            self.places = FieldPlaces::Parsed(places.as_slice().into());
        }
        self
    }

    /// The same fields with other values, by their indices. `None` if the length of a value
    /// differs.
    pub(super) fn with_values(&self, values: &[(usize, &[u8])]) -> Option<Self> {
        let mut text = self.text().to_vec();
        for (index, value) in values {
            let place = self.places().get(*index)?;
            let known = text.get_mut(usize::from(place.value)..usize::from(place.value_end))?;
            if known.len() != value.len() {
                return None;
            }
            known.copy_from_slice(value);
        }
        Some(Self { text: Text::Built(text), places: self.places.clone() })
    }

    /// The whole text.
    pub(super) fn text(&self) -> &[u8] {
        match &self.text {
            Text::Slice(text) => text,
            Text::Built(text) => text,
        }
    }

    fn places(&self) -> &[FieldSpan] {
        match &self.places {
            FieldPlaces::Parsed(places) => places,
            FieldPlaces::Built(places) => places,
        }
    }

    /// A part of the text.
    pub(super) fn part(&self, start: u16, end: u16) -> &[u8] {
        slice(self.text(), start, end)
    }

    /// A part of the text that was checked before.
    pub(super) fn str_part(&self, start: u16, end: u16) -> &str {
        str::from_utf8(self.part(start, end)).unwrap_or_default()
    }

    /// Names and values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        // Names are ASCII, but values need not be. One check of the whole text is cheaper than one
        // check per field.
        let whole = str::from_utf8(self.text()).ok();
        self.places().iter().map(move |place| {
            let name = match whole {
                Some(whole) => {
                    let name = usize::from(place.name)..usize::from(place.name_end);
                    whole.get(name).unwrap_or_default()
                }
                None => self.str_part(place.name, place.name_end),
            };
            (name, self.part(place.value, place.value_end))
        })
    }

    /// Names and values, in order, with names as bytes.
    pub(super) fn raw(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let text = self.text();
        self.places().iter().map(move |place| {
            (slice(text, place.name, place.name_end), slice(text, place.value, place.value_end))
        })
    }

    /// The values of all fields with this name, in any case.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let text = self.text();
        let mut places = self.places().iter();
        iter::from_fn(move || {
            let place = places.find(|place| {
                slice(text, place.name, place.name_end).eq_ignore_ascii_case(name.as_bytes())
            })?;
            Some(slice(text, place.value, place.value_end))
        })
    }
}

/// Shows the fields without credentials.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in self.iter() {
            if is_secret(name) {
                map.entry(&name, &"…");
            } else {
                map.entry(&name, &Bytes::copy_from_slice(value));
            }
        }
        map.finish()
    }
}

/// Returns whether a field with this name contains credentials.
pub(crate) fn is_secret(name: &str) -> bool {
    let secret = ["authorization", "cookie", "proxy-authorization", "set-cookie"];
    secret.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// Refuses a field whose name is no token, or whose value has controls other than tabs.
pub(super) fn check(name: &str, value: &[u8]) -> Result<(), Refusal> {
    if !is_token(name.as_bytes()) {
        return Err(Refusal::FieldName);
    }
    if !is_field_text(value) {
        return Err(Refusal::FieldValue);
    }
    Ok(())
}

/// The size of a head with one more field; refuses a head that is too long.
pub(super) fn add_size(size: usize, name: &str, value: &[u8]) -> Result<usize, Refusal> {
    let size = size + name.len() + value.len() + SEPARATORS.len();
    if size > MAX_SIZE {
        return Err(Refusal::HeadTooLong { max_head_bytes: MAX_SIZE });
    }
    Ok(size)
}

fn slice(text: &[u8], start: u16, end: u16) -> &[u8] {
    text.get(usize::from(start)..usize::from(end)).unwrap_or_default()
}

/// A position in a text whose length was checked.
pub(super) fn position(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// Checks a line that should be a field.
pub(super) fn check_field(line: &[u8]) -> Result<(), Refusal> {
    if let [b' ' | b'\t', ..] = line {
        return Err(Refusal::FoldedField);
    }
    let colon = memchr::memchr(b':', line).ok_or(Refusal::FieldName)?;
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    if !is_token(name) {
        Err(if is_token(trim(name)) { Refusal::BlankBeforeColon } else { Refusal::FieldName })
    } else if value.contains(&b'\r') {
        Err(Refusal::BareCarriageReturn)
    } else if !is_field_text(value) {
        Err(Refusal::FieldValue)
    } else {
        Ok(())
    }
}
