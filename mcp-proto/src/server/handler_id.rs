//! Identifier of a handler in events.

use core::fmt;

/// Identifier of a handler in its [`Registry`](super::Registry); never used for another handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId {
    pub(super) serial: usize,
    /// True if the handler may answer with
    /// [`Outcome::InputRequired`](super::Outcome::InputRequired).
    pub(super) asks: bool,
}

/// Hides the registry's number, because it depends on the rest of the process.
impl fmt::Debug for HandlerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandlerId")
    }
}

impl HandlerId {
    /// Returns whether the handler may answer with
    /// [`Outcome::InputRequired`](super::Outcome::InputRequired).
    pub fn asks(self) -> bool {
        self.asks
    }
}
