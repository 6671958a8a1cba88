//! Recorder of the conversation.

use alloc::string::String;
use alloc::sync::Arc;

use crate::lock::Lock;

/// The lines of the conversation. Clones share them.
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
