//! JSON Schemas of tools, compiled to validators, the supported dialects and portable schemas.
//!
//! | part | feature | job |
//! |---|---|---|
//! | [`Dialect`] | | reads `$schema`; a registry refuses tools with other dialects |
//! | [`check_portability`] | | finds what some hosts reject |
//! | `tool` | `validate` | `ToolSchemas`: checks arguments and structured content |
//! | `validator` | `validate` | one compiled schema, and the bounds of a check |
//! | `budget` | `validate` | JSON values as the validator sees them, each visit counted |
//! | `cost` | `validate` | the bounds of a schema that a peer has sent |
//! | `reason` | `validate` | the text of a misfit |
//! | `hints` | `validate` | members that were misspelt |
//!
//! [Specification: JSON Schema Usage](https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage)

#[cfg(feature = "validate")]
mod budget;
#[cfg(feature = "validate")]
mod cost;
#[cfg(feature = "validate")]
mod hints;
#[cfg(feature = "validate")]
mod misfits;
#[cfg(feature = "validate")]
mod reason;
#[cfg(feature = "validate")]
mod tool;
#[cfg(feature = "validate")]
mod validator;

pub use mcp_proto::schema::{
    Dialect, PortabilityFinding, PortabilityRule, SchemaError, check_portability,
};
#[cfg(feature = "validate")]
pub use misfits::{Misfit, Misfits};
#[cfg(feature = "validate")]
pub use tool::ToolSchemas;
