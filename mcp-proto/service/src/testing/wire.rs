//! The conversation, as it is written down.

use alloc::string::String;
use alloc::sync::Arc;

use crate::lock::Lock;

/// Lines. Cheap to clone: all are the same conversation.
#[derive(Clone, Default)]
pub(super) struct Wire {
    text: Arc<Lock<String>>,
}

impl Wire {
    pub(super) fn push(&self, line: &str) {
        let mut text = self.text.lock();
        text.push_str(line);
        text.push('\n');
    }

    pub(super) fn text(&self) -> String {
        self.text.lock().clone()
    }
}
