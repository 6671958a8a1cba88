//! Lock for a value that threads share.

#[expect(
    clippy::disallowed_types,
    reason = "handlers, handles and sockets may be on other threads"
)]
use std::sync::Mutex;
use std::sync::{MutexGuard, PoisonError};

/// A lock that a panic does not close: nobody leaves what is behind one half changed.
#[derive(Debug, Default)]
#[expect(
    clippy::disallowed_types,
    reason = "handlers, handles and sockets may be on other threads"
)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    #[expect(clippy::disallowed_types, reason = "it is this one")]
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
