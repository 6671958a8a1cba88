//! Arguments in HTTP headers (SEP-2243): `x-mcp-header` in the schema of a tool's argument makes
//! clients send its value as `Mcp-Param-<name>` too, so that proxies can route without reading
//! bodies.
//!
//! In: the `inputSchema` of a tool. Out: a [`Plan`], which arguments go into which headers, or why
//! the tool must not be offered. A server asks when a tool is registered, a client when it is
//! listed.
//!
//! [Specification: Custom Headers from Tool Parameters](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)

#![cfg_attr(
    feature = "schemars",
    doc = "\n# In Rust\n\nA field of type [`Header`] is annotated by its type; see there."
)]

mod name;
mod plan;
#[cfg(feature = "schemars")]
mod typed;

#[cfg(feature = "schemars")]
pub(crate) use name::ANNOTATION;
pub use name::{PREFIX, is_name};
pub use plan::{Declared, Entry, Kind, Plan, PlanWarning};
#[cfg(feature = "schemars")]
pub use typed::{Header, HeaderName, HeaderValue};

pub use crate::error::PlanError;
