//! The name of a handler, as events carry it.

use core::fmt;

/// Names a handler in its [`Registry`](super::Registry), and never another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId {
    pub(super) serial: usize,
    /// True if it may answer with [`Outcome::InputRequired`](super::Outcome::InputRequired).
    pub(super) asks: bool,
}

/// Whose it is depends on what else the process does.
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
