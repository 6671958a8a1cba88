//! Identifier of a handler in events.

use alloc::collections::BTreeMap;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

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

/// The new ids of handlers, by their old ones.
#[derive(Debug, Default)]
pub struct NewHandlerIds(BTreeMap<HandlerId, HandlerId>);

impl HandlerId {
    /// An id that no registry has.
    pub(super) fn new(asks: bool) -> Self {
        static SERIALS: AtomicUsize = AtomicUsize::new(0);
        Self { serial: SERIALS.fetch_add(1, Ordering::Relaxed), asks }
    }

    /// Returns whether the handler may answer with
    /// [`Outcome::InputRequired`](super::Outcome::InputRequired).
    pub fn asks(self) -> bool {
        self.asks
    }
}

impl NewHandlerIds {
    /// The id of a handler, new or unchanged.
    pub fn of(&self, id: HandlerId) -> HandlerId {
        self.0.get(&id).copied().unwrap_or(id)
    }

    /// The new id of a handler.
    pub(super) fn renew(&mut self, id: HandlerId) -> HandlerId {
        *self.0.entry(id).or_insert_with(|| HandlerId::new(id.asks))
    }
}
