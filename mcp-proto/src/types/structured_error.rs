//! Error of a result whose structured content cannot be read.

use alloc::string::String;
use core::fmt;

/// The reason why a [`CallToolResult`](super::CallToolResult) has no structured content of a type.
#[derive(Debug)]
#[non_exhaustive]
pub enum StructuredError {
    /// The tool failed: the result has `isError`, and this text.
    Failed(String),
    /// The result has content for models only.
    Missing,
    /// The content does not fit the type.
    Mismatch(serde_json::Error),
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) => write!(f, "the tool failed: {text}"),
            Self::Missing => f.write_str("the result has no structured content"),
            Self::Mismatch(error) => {
                write!(f, "the structured content does not fit the type: {error}")
            }
        }
    }
}

impl core::error::Error for StructuredError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Mismatch(error) => Some(error),
            Self::Failed(_) | Self::Missing => None,
        }
    }
}
