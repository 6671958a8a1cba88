//! Words of a peer, within an error.

use core::fmt;

/// A peer's words; of many the first hundred characters.
pub(super) struct Excerpt<'a>(pub(super) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(100).and_then(|(at, _)| self.0.get(..at)) {
            Some(beginning) => write!(f, "{beginning}…"),
            None => f.write_str(self.0),
        }
    }
}

/// The same in quotes.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Excerpt(self.0))
    }
}
