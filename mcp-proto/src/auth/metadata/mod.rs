//! Metadata documents of servers and of authorization servers.
//!
//! In: URLs of a server or an issuer, and bodies of answers. Out: the URLs to request, in order,
//! and the parsed documents. `flow` decides the next request, `discovery` makes it.
//!
//! [Specification: Authorization Server
//! Location](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-server-location)

mod issuer;
mod resource;
mod well_known;

pub use issuer::IssuerMetadata;
pub(super) use issuer::{InvalidIssuer, IssuerRules};
pub use resource::ResourceMetadata;
pub(super) use well_known::{issuer_metadata_urls, origin_metadata_url, resource_metadata_urls};
