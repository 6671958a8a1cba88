//! Lock without poisoning.

#[expect(
    clippy::disallowed_types,
    reason = "handlers, handles and sockets may be on other threads"
)]
use std::sync::Mutex;
use std::sync::{MutexGuard, PoisonError};

/// A mutex without poisoning: no code panics while a value is half changed.
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

    /// The value, without locking: nobody else has a reference.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
