//! Places where a value does not fit a schema.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The longest part of a text, in characters.
const MAX_CHARACTERS: usize = 200;

/// Places where a value does not fit a schema, at most 8, each with the reason.
///
/// The text lists all of them, such as `/tags/1: expected a string; /city: is required`, in at most
/// 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfits {
    pub(super) list: Vec<Misfit>,
    /// True if there are more places than listed.
    pub(super) more: bool,
}

/// A place where a value does not fit a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Misfit {
    /// The place, as a JSON Pointer into the value, cut after 200 characters; empty for the whole
    /// value.
    pub path: String,
    /// Reason for the misfit, cut after 200 characters and an explanation.
    pub reason: String,
}

impl Misfits {
    /// A misfit of the whole value.
    pub(super) fn whole(reason: &str) -> Self {
        let misfit = Misfit { path: String::new(), reason: reason.into() };
        Self { list: alloc::vec![misfit], more: false }
    }

    /// The places, at least one.
    pub fn iter(&self) -> impl Iterator<Item = &Misfit> {
        self.list.iter()
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, misfit) in self.list.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{misfit}")?;
        }
        if self.more { f.write_str("; and more") } else { Ok(()) }
    }
}

impl core::error::Error for Misfits {}

/// Cuts a text after 200 characters.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS).and_then(|(at, _)| text.get(..at)) {
        Some(beginning) => alloc::format!("{beginning}…"),
        None => text.into(),
    }
}
