//! What HTTP headers repeat of a message (SEP-2243), so that proxies can route without reading
//! bodies: version, method, what the request is about, and of a tool's arguments those whose
//! schema has an `x-mcp-header`, as `Mcp-Param-<name>`.
//!
//! In: the `inputSchema` of a tool. Out: a [`Plan`], which arguments go into which headers, or why
//! the tool must not be offered. A server asks when a tool is registered, a client when it is
//! listed.
//!
//! A client takes the headers of a request from [`standard`] and [`Plan::emit`]. A server gives the
//! fields of a head to [`MirroredHeaders::of`] and checks them against the body; a gateway, too, or it
//! takes the head's word with [`MirroredHeaders::claim`] and has a [`BodyCheck`] hold the body against it
//! while it is forwarded. Nothing here reads from a connection, and whichever HTTP library has
//! parsed the head will do.
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
#[cfg(feature = "schemars")]
pub(crate) use name::ANNOTATION;
pub(crate) use name::is_tchar;
pub use name::{METHOD, NAME, PREFIX, PROTOCOL_VERSION, is_name, name_member};
pub use plan::{Declared, Entry, Kind, Plan, PlanWarning};
pub use streaming_check::BodyCheck;
#[cfg(feature = "schemars")]
pub use typed::{Header, HeaderName, HeaderValue};
pub use value::{decode, encode};

pub use crate::error::{EmitError, HeaderError, Place, PlanError, ValueError};
