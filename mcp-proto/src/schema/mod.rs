//! JSON Schemas: the supported dialects, and portability to all hosts.
//!
//! | part | job |
//! |---|---|
//! | `dialect` | reads `$schema` |
//! | `portability` | finds what some hosts reject |
//! | `portable` | makes schemas from types portable; feature `schemars` |
//! | `definitions`, `subschemas` | look into schemas |
//!
//! [`Registry::add_tool`](crate::server::Registry::add_tool) rejects other dialects. The crate
//! `mcp-service` compiles schemas and checks values against them, with its feature `validate`.
//!
//! [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)

mod definitions;
mod dialect;
mod portability;
#[cfg(feature = "schemars")]
pub(crate) mod portable;
mod subschemas;

pub use dialect::Dialect;
pub use portability::{PortabilityFinding, PortabilityRule, check_portability};

pub use crate::error::SchemaError;
use crate::error::UsageError;
use crate::json::{Json, Raw};
use crate::types::Tool;

/// Returns whether a schema has `"type": "object"`.
pub(crate) fn has_type_object(schema: &Json) -> bool {
    let mut found = false;
    schema.raw().members(|key, value: Raw<'_>| {
        if key.0 == b"\"type\"" {
            found = value.0 == b"\"object\"";
        }
    });
    found
}

/// Fails if a tool has a schema in a dialect that is not supported.
pub(crate) fn check_dialects(tool: &Tool) -> Result<(), UsageError> {
    let mut schemas = core::iter::once(&tool.input_schema).chain(&tool.output_schema);
    schemas
        .try_for_each(|schema| Dialect::of(schema).map(drop))
        .map_err(|reason| UsageError::UnusableSchema { name: tool.name.clone(), reason })
}
