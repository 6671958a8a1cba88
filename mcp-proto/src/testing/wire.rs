//! The conversation, as it is written down.

use alloc::string::String;
use alloc::sync::Arc;
#[expect(clippy::disallowed_types, reason = "wires are written where sides are driven")]
use std::sync::Mutex;
use std::sync::{MutexGuard, PoisonError};

/// Lines. Cheap to clone: all are the same conversation.
#[derive(Clone, Default)]
pub(super) struct Wire {
    #[expect(clippy::disallowed_types, reason = "wires are written where sides are driven")]
    text: Arc<Mutex<String>>,
}

impl Wire {
    pub(super) fn push(&self, line: &str) {
        let mut text = self.lock();
        text.push_str(line);
        text.push('\n');
    }

    pub(super) fn text(&self) -> String {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
