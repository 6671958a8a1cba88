//! The call that became a task.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// The call that became a task. [`Debug`](fmt::Debug) shows only the tool.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "it is what `tools/call` has")]
pub struct TaskCall {
    /// The tool.
    pub tool: String,
    /// The parameters of `tools/call`.
    pub params: Json,
}

impl fmt::Debug for TaskCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskCall").field("tool", &self.tool).finish_non_exhaustive()
    }
}
