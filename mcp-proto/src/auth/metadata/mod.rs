//! Metadata documents of servers and of authorization servers.
//!
//! In: URLs of a server or an issuer, and bodies of answers. Out: the places to ask, in order, and
//! what the documents say. The order of the questions is in `flow`, the questions are in
//! `authorizer`.
//!
//! [Specification: Authorization Server
//! Location](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-server-location)

mod issuer;
mod resource;
mod well_known;

pub use issuer::IssuerMetadata;
pub(super) use issuer::{InvalidIssuer, IssuerRules};
pub use resource::ResourceMetadata;
pub(super) use well_known::{issuer_places, origin_place, resource_places};
