//! An OAuth resource server: its metadata, the tokens of its clients, and refusals.
//!
//! In: the public URL of the server, the head of a request, the claims of a verified token. Out:
//! the metadata document, the token, the result of its check, and the challenge of a 401 or 403.
//! Called by `http::server`, and by servers behind another HTTP stack.
//!
//! This module does not verify signatures. A [`Verifier`] verifies them, or the function
//! [`Config::authorize`](crate::http::Config::authorize).
//!
//! | type | is |
//! |---|---|
//! | [`ProtectedResource`] | the metadata of RFC 9728, made from the public URL of the server |
//! | [`bearer`] | the token of a request |
//! | [`Verifier`] | the application's check of a token, a future |
//! | [`Claims`], [`ClaimRules`] | the contents of a verified token, and the server's conditions |
//! | [`TokenRefusal`] | the status and the challenge for a client that is rejected |
//!
//! ```
//! use mcp_proto::Duration;
//! use mcp_proto::resource_server::{ClaimRules, Claims, ProtectedResource, TokenRefusal};
//!
//! let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")?;
//! assert_eq!(resource.metadata_path(), "/.well-known/oauth-protected-resource/mcp");
//!
//! // A library for JWTs has verified the signature of these claims.
//! let claims = Claims::read(br#"{"iss":"https://auth.example.com","sub":"alice","exp":1800000300,
//!     "aud":"https://mcp.example.com/mcp","scope":"files:read"}"#).ok_or("no claims")?;
//! let rules = ClaimRules::new("https://auth.example.com", "https://mcp.example.com/mcp");
//! assert_eq!(claims.check(Duration::from_secs(1_800_000_000), &rules), Ok(()));
//! assert_eq!(claims.principal().as_deref(), Some("https://auth.example.com alice"));
//!
//! let late = claims.check(Duration::from_secs(1_800_000_400), &rules).unwrap_err();
//! assert_eq!(
//!     TokenRefusal::from(late).challenge(Some(&resource)).unwrap_or_default(),
//!     "Bearer error=\"invalid_token\", error_description=\"the token has expired\", \
//!      resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\""
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization),
//! [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750),
//! [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)

mod bearer;
mod claims;
mod metadata;
mod token_refusal;
mod verifier;

pub use crate::scopes::Scopes;
pub use bearer::bearer;
pub use claims::{ClaimError, ClaimRules, Claims};
pub use metadata::ProtectedResource;
pub(crate) use metadata::WELL_KNOWN;
pub use token_refusal::TokenRefusal;
pub use verifier::{Verification, VerifiedToken, Verifier};
