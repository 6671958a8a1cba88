//! HTTP headers that mirror parts of a message (SEP-2243), so that proxies can route without
//! reading bodies. The headers contain the version, the method and the subject of the request.
//! Arguments of a tool whose schema has an `x-mcp-header` are mirrored as `Mcp-Param-<name>`.
//!
//! In: the `inputSchema` of a tool. Out: a [`HeaderPlan`], which maps arguments to headers, or the
//! reason why the tool must not be offered. A server compiles the plan when it registers a tool, a
//! client when it lists the tool.
//!
//! A client gets the headers of a request from [`standard`] and [`HeaderPlan::emit`]. A server
//! passes the fields of a head to [`MirroredHeaders::of`], and checks them against the body. A
//! gateway may do the same. Alternatively, a gateway may trust the head by
//! [`MirroredHeaders::claim`], and check the body with a [`BodyCheck`] while it forwards the body.
//! This module does no I/O, and works with any HTTP parser.
//!
//! [Specification: Request Metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata)

#![cfg_attr(
    feature = "schemars",
    doc = "\n# In Rust\n\nA field of type [`Header`] is annotated by its type; see there."
)]

mod arguments;
mod body;
mod check;
mod emit;
mod integer;
mod listed_tools;
mod name;
mod plan;
mod streaming_check;
#[cfg(feature = "schemars")]
mod typed;
mod value;

pub use body::{BodyError, name_in};
pub use check::{Claim, MirroredHeaders};
pub use emit::standard;
pub use integer::{Integer, MAX_SAFE};
pub(crate) use listed_tools::ListedTools;
#[cfg(feature = "schemars")]
pub(crate) use name::ANNOTATION;
pub(crate) use name::is_tchar;
pub use name::{METHOD, NAME, PREFIX, PROTOCOL_VERSION, is_name, name_member};
pub use plan::{Declared, Entry, HeaderPlan, Kind, PlanWarning};
pub use streaming_check::BodyCheck;
#[cfg(feature = "schemars")]
pub use typed::{Header, HeaderName, HeaderValue};
pub use value::{decode, encode};

pub use crate::error::{EmitError, HeaderError, Place, PlanError, ValueError};
