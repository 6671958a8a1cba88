//! Errors that name the places where a value does not fit a type.
//!
//! In: the reports of serde, and the path to the value. Out: the places, each with its reason in
//! terms of JSON. Made by [`explain`](super::explain).

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, Expected, Unexpected};

/// The maximum number of characters of a place or a reason.
const MAX_CHARACTERS: usize = 200;

/// The maximum number of misfits that are kept.
const MAX_MISFITS: usize = 8;

/// serde's expectations in terms of Rust, and the same in terms of JSON.
const WORDS: [(&str, &str); 20] = [
    ("u8", "an integer from 0 to 255"),
    ("u16", "an integer from 0 to 65535"),
    ("u32", "an integer from 0 to 4294967295"),
    ("u64", "an integer of at least 0"),
    ("u128", "an integer of at least 0"),
    ("usize", "an integer of at least 0"),
    ("i8", "an integer from -128 to 127"),
    ("i16", "an integer from -32768 to 32767"),
    ("i32", "an integer from -2147483648 to 2147483647"),
    ("i64", "an integer"),
    ("i128", "an integer"),
    ("isize", "an integer"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a sequence", "an array"),
    ("a map", "an object"),
    ("unit", "null"),
    ("option", "a value or null"),
    ("a borrowed string", "a string"),
];

/// The places where a value does not fit a type, with the reasons.
///
/// The text of the error has one part for each place, such as
/// `/tags/1: expected a string, found integer 3`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    misfits: Vec<Misfit>,
}

/// A place where a value does not fit a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// A JSON Pointer into the value; empty for the whole.
    pub path: String,
    /// The reason.
    pub reason: MisfitReason,
}

/// The reason of a misfit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MisfitReason {
    /// Text with the expected and the found value.
    Text(String),
    /// A member that the type does not define.
    Unknown {
        /// The name of the member.
        name: String,
        /// The members that the type defines and the object lacks.
        absent: Vec<&'static str>,
        /// True if the type refuses the member, false if the type ignores the member.
        is_refused: bool,
    },
}

impl DecodeError {
    /// The places; the first one made decoding fail.
    pub fn misfits(&self) -> &[Misfit] {
        &self.misfits
    }

    /// True if the text of the error is not empty.
    pub(super) fn names_places(&self) -> bool {
        let is_ignored = |reason: &MisfitReason| {
            matches!(reason, MisfitReason::Unknown { is_refused: false, .. })
        };
        self.misfits.iter().any(|misfit| !is_ignored(&misfit.reason))
    }

    fn at(path: String, reason: &str) -> Self {
        Self { misfits: alloc::vec![Misfit { path, reason: MisfitReason::Text(cut(reason)) }] }
    }

    /// Moves the places of the error into the containing value, where `token` names this value.
    pub(super) fn inside(mut self, token: &str) -> Self {
        for misfit in &mut self.misfits {
            misfit.path.insert_str(0, &pointer(token));
        }
        self
    }

    /// Adds the members of an object that its type does not know.
    pub(super) fn with_unknown<'a>(
        mut self,
        unknown: impl Iterator<Item = &'a String>,
        absent: &[&'static str],
    ) -> Self {
        let count = self.misfits.len();
        // serde reports only the first refused member; this error lists all of them.
        self.misfits.retain(|misfit| !misfit.is_refused_member());
        let is_refused = self.misfits.len() < count;
        let room = MAX_MISFITS.saturating_sub(self.misfits.len());
        self.misfits.extend(unknown.take(room).map(|name| Misfit {
            path: pointer(name),
            reason: MisfitReason::Unknown {
                name: name.clone(),
                absent: absent.to_vec(),
                is_refused,
            },
        }));
        self
    }

    /// Moves an error in the name of a member to the place of the member.
    pub(super) fn at_key(self, name: &str) -> Self {
        match self.misfits.first() {
            Some(misfit) if misfit.path.is_empty() => self.inside(name),
            _ => self,
        }
    }
}

impl Misfit {
    /// True for a refused member of this value, false for one of a nested value.
    fn is_refused_member(&self) -> bool {
        matches!(&self.reason, MisfitReason::Unknown { name, is_refused: true, .. }
            if self.path == pointer(name))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Misfit { path, reason } in &self.misfits {
            let reason = match reason {
                MisfitReason::Text(text) => text,
                MisfitReason::Unknown { is_refused: true, .. } => "unknown member",
                MisfitReason::Unknown { is_refused: false, .. } => continue,
            };
            let colon = if path.is_empty() { "" } else { ": " };
            write!(f, "{separator}{}{colon}{reason}", cut(path))?;
            separator = "; ";
        }
        Ok(())
    }
}

impl core::error::Error for DecodeError {}

impl Error for DecodeError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::at(String::new(), &text.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::at(
            String::new(),
            &alloc::format!("expected {}, found {}", words(expected), described(found)),
        )
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::at(
            String::new(),
            &alloc::format!("expected {}, found {length} of them", words(expected)),
        )
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let variants: Vec<_> = expected.iter().map(|name| alloc::format!("`{name}`")).collect();
        let expected = match &*variants {
            [] => "nothing".to_owned(),
            [first @ .., last] if !first.is_empty() => {
                alloc::format!("{} or {last}", first.join(", "))
            }
            [only, ..] => only.clone(),
        };
        Self::at(
            String::new(),
            &alloc::format!("expected {}, found `{}`", cut(&expected), cut(variant)),
        )
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let reason = MisfitReason::Unknown {
            name: field.to_owned(),
            absent: expected.to_vec(),
            is_refused: true,
        };
        Self { misfits: alloc::vec![Misfit { path: pointer(field), reason }] }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::at(pointer(field), "is required")
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::at(pointer(field), "duplicate member")
    }
}

/// A token of a JSON Pointer.
fn pointer(token: &str) -> String {
    alloc::format!("/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// An expectation in words of JSON.
fn words(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    let known = WORDS.iter().find(|(serde, _)| *serde == text);
    known.map_or(text, |(_, words)| (*words).to_owned())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "serde has words for the rest")]
fn described(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => alloc::format!("integer {number}"),
        Unexpected::Signed(number) => alloc::format!("integer {number}"),
        Unexpected::Float(number) => alloc::format!("number {number}"),
        Unexpected::Str(text) => alloc::format!("string {:?}", cut(text)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => other.to_string(),
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS).and_then(|(at, _)| text.get(..at)) {
        Some(beginning) => alloc::format!("{beginning}…"),
        None => text.to_owned(),
    }
}
