//! Errors of this library that a handler returns with `?`: the client does not get their texts.

use mcp_proto::UsageError;

use crate::hidden_error::hidden;
use crate::result::Interrupt;
use crate::task::TaskError;

/// -32603 without the text, as for a boxed error of another method than `tools/call`.
impl From<UsageError> for Interrupt {
    fn from(error: UsageError) -> Self {
        hidden(&error).into()
    }
}

/// -32603 without the text, as for a boxed error of another method than `tools/call`.
impl From<TaskError> for Interrupt {
    fn from(error: TaskError) -> Self {
        hidden(&error).into()
    }
}
