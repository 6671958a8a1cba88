//! Faults of the JSON Schemas of tools.

use alloc::string::String;
use core::fmt;

/// A JSON Schema that cannot be used.
///
/// [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SchemaError {
    /// `$schema` names a dialect other than 2020-12 and draft-07.
    UnsupportedDialect {
        /// The value of `$schema`, as JSON, shortened to 100 characters.
        declared: String,
    },
    /// The schema does not compile: it is not valid in its dialect, refers to a schema outside of
    /// itself, or has a pattern that needs look-around or back-references.
    Invalid {
        /// Place and description of the fault.
        reason: String,
    },
    /// A schema from a peer is larger than a check of untrusted schemas allows.
    TooComplex {
        /// The exceeded limit.
        reason: &'static str,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedDialect { declared } => write!(
                f,
                "the dialect {declared} is not supported; `$schema` may be \
                 \"https://json-schema.org/draft/2020-12/schema\", which is the default, or \
                 \"http://json-schema.org/draft-07/schema#\""
            ),
            Self::Invalid { reason } => write!(f, "the schema does not compile: {reason}"),
            Self::TooComplex { reason } => write!(f, "the schema is too complex: {reason}"),
        }
    }
}

impl core::error::Error for SchemaError {}
