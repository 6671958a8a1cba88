//! JSON Schemas of tools: validators, supported dialects, and portable schemas.
//!
//! | part | feature | job |
//! |---|---|---|
//! | [`Dialect`] | | reads `$schema`; a registry refuses tools with other dialects |
//! | [`check_portability`] | | finds keywords that some hosts reject |
//! | `tool` | `validate` | `ToolSchemas`: checks arguments and structured content |
//! | `validator` | `validate` | one compiled schema, and the limits of a check |
//! | `budget` | `validate` | JSON values that count the visits of the validator |
//! | `cost` | `validate` | limits for schemas of peers |
//! | `reason` | `validate` | the text of a misfit |
//! | `hints` | `validate` | suggestions for misspelt members |
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
