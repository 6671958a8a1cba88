//! Type of a result.
//!
//! [Specification: Responses](https://modelcontextprotocol.io/specification/2026-07-28/basic#responses)

use alloc::string::String;

use crate::json::Json;

/// The type of a result, from its `resultType`.
#[derive(Debug)]
pub(super) enum ResultType {
    Complete,
    InputRequired,
    /// Without a type; the result counts as complete.
    Untyped,
    Unknown(String),
}

impl ResultType {
    /// The type of a result of a modern server.
    pub(super) fn of(result: &Json) -> Self {
        if result.as_bytes().starts_with(b"{\"resultType\":\"complete\"") {
            return Self::Complete;
        }
        let kind = result.raw().member("resultType").filter(|kind| kind.0 != b"null");
        let Some(kind) = kind else { return Self::Untyped };
        match kind.string().as_deref() {
            Some("complete") => Self::Complete,
            Some("input_required") => Self::InputRequired,
            Some(other) => Self::Unknown(other.chars().take(100).collect()),
            None => Self::Unknown(String::new()),
        }
    }

    /// Returns whether the result is a task; only tool calls of clients that follow tasks get a
    /// task.
    pub(super) fn is_task(&self) -> bool {
        matches!(self, Self::Unknown(name) if name == "task")
    }
}
