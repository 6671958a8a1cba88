//! What a caller can do wrong.

use alloc::string::String;
use core::fmt;

/// The caller's fault: the command changed nothing.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageError {
    /// The machine has closed.
    Closed,
    /// The request is answered, cancelled, or was never asked of this machine.
    NotInFlight,
    /// Progress must be a finite number that is greater than the one before.
    ProgressNotIncreasing,
    /// A tool of this name is registered.
    DuplicateTool {
        /// Its name.
        name: String,
    },
    /// A tool name must have 1 to 128 of the characters `A-Z a-z 0-9 _ - .`.
    InvalidToolName {
        /// The name.
        name: String,
    },
    /// A tool's `inputSchema` must be a JSON object with `"type": "object"`, its `outputSchema`
    /// a JSON object.
    InvalidSchema {
        /// The tool's name.
        name: String,
    },
    /// A value could not be written as JSON.
    NotJson {
        /// What it belongs to.
        name: String,
    },
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection has closed"),
            Self::NotInFlight => f.write_str("the request is not in flight"),
            Self::ProgressNotIncreasing => f.write_str("progress must increase"),
            Self::DuplicateTool { name } => write!(f, "a tool \"{name}\" is already registered"),
            Self::InvalidToolName { name } => write!(
                f,
                "\"{name}\" is no tool name: 1 to 128 characters of A-Z a-z 0-9 _ - . make one"
            ),
            Self::InvalidSchema { name } => write!(
                f,
                "\"{name}\": `inputSchema` must be an object with \"type\": \"object\" (arguments \
                 are a struct with named fields), `outputSchema` an object"
            ),
            Self::NotJson { name } => write!(f, "\"{name}\" cannot be written as JSON"),
        }
    }
}

/// The same text: `main` prints the `Debug` of an error that it returns, and who reads it there
/// has made the mistake.
impl fmt::Debug for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for UsageError {}
