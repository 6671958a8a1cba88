//! Texts of a peer, shortened and in quotes.

use alloc::string::{String, ToString};
use core::fmt;

/// The first hundred characters of a text.
pub(super) struct Excerpt<'a>(pub(super) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(100).and_then(|(at, _)| self.0.get(..at)) {
            Some(beginning) => write!(f, "{beginning}…"),
            None => f.write_str(self.0),
        }
    }
}

/// An [`Excerpt`] in quotes.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Excerpt(self.0))
    }
}

/// The part of a received text that an error keeps.
pub(crate) fn excerpt(text: &str) -> String {
    Excerpt(text).to_string()
}
