//! JSON Schemas: the supported dialects, and the schemas of tools, compiled to validators.
//!
//! | part | feature | job |
//! |---|---|---|
//! | `dialect` | | reads `$schema`; [`Registry::add_tool`](crate::server::Registry::add_tool) refuses other dialects |
//! | `tool` | `validate` | `ToolSchemas`: checks arguments and structured content |
//! | `validator` | `validate` | one compiled schema, and the bounds of a check |
//! | `budget` | `validate` | JSON values as the validator sees them, each visit counted |
//! | `cost` | `validate` | the bounds of a schema that a peer has sent |
//! | `reason` | `validate` | the text of a misfit |
//!
//! [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)

#[cfg(feature = "validate")]
mod budget;
#[cfg(feature = "validate")]
mod cost;
mod dialect;
#[cfg(feature = "validate")]
mod reason;
#[cfg(feature = "validate")]
mod tool;
#[cfg(feature = "validate")]
mod validator;

pub use dialect::Dialect;
#[cfg(feature = "validate")]
pub use reason::{Misfit, Misfits};
#[cfg(feature = "validate")]
pub use tool::ToolSchemas;

pub use crate::error::SchemaError;
use crate::json::{Json, Raw};

/// Whether a schema says `"type": "object"`.
pub(crate) fn has_type_object(schema: &Json) -> bool {
    let mut found = false;
    schema.raw().members(|key, value: Raw<'_>| {
        if key.0 == b"\"type\"" {
            found = value.0 == b"\"object\"";
        }
    });
    found
}
