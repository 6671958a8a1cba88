//! Text that no log may show.
//!
//! In: tokens, codes, verifiers, states, client secrets. Out: the same text, on request only.

use alloc::string::String;
use core::fmt;

/// A secret text. Its `Debug` is `…`, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
