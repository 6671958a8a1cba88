//! The metadata of a protected server, and the check of the token of a request.
//!
//! In: the head of a request, and the result of a verifier. Out: the response with the metadata,
//! or the verification that is needed first. After a result: the principal and the claims, or the
//! response that refuses. Called by `admit`.
//!
//! | request | response |
//! |---|---|
//! | GET, HEAD of the metadata | 200, without a token, for pages of every origin |
//! | OPTIONS of the metadata | 204 |
//! | another method of the metadata | 405 |
//! | another place below `/.well-known/` | 404, without a token |
//! | no token | 401 |
//! | several tokens, one that cannot be one | 400 |
//! | a token | as the verifier says; 503 while there is no result |
//!
//! [RFC 9728, section 3.1](https://www.rfc-editor.org/rfc/rfc9728#section-3.1)

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::refused::ImmediateAnswer;
use super::{Config, RouteResponse};
use crate::frame::http1::Head;
use crate::resource_server::{ProtectedResource, TokenRefusal, VerifiedToken, bearer};
use crate::server::Extensions;

/// The principal of a request, and the values for its handlers.
pub(super) type AllowedRequest = (Option<Arc<str>>, Extensions);

const METHODS: &str = "GET, HEAD, OPTIONS";

/// The header fields that a page may send with a request for the metadata.
const FIELDS: &str = "accept, mcp-protocol-version";

/// The response to a request for the metadata, or for another path below `/.well-known/`.
pub(super) fn metadata(resource: &ProtectedResource, head: &Head) -> Box<ImmediateAnswer> {
    if !resource.is_at(head.path()) {
        return ImmediateAnswer::bare(404);
    }
    let response = match head.method() {
        "GET" | "HEAD" => RouteResponse::new(200).body("application/json", resource.metadata()),
        "OPTIONS" => RouteResponse::new(204)
            .field("Access-Control-Allow-Methods", METHODS)
            .field("Access-Control-Allow-Headers", FIELDS)
            .field("Access-Control-Max-Age", "600"),
        _ => RouteResponse::new(405).field("Allow", METHODS),
    };
    ImmediateAnswer::route(response.field("Access-Control-Allow-Origin", "*"))
}

/// The check of the token of a request.
pub(super) fn check_token(
    config: &Config,
    head: &Head,
    verified: Option<VerifiedToken>,
) -> Result<AllowedRequest, Box<ImmediateAnswer>> {
    let claims = match (verified, bearer(head)) {
        (Some(verified), _) => verified,
        (None, Ok(None)) => Err(TokenRefusal::missing()),
        (None, Ok(Some(_))) => Err(TokenRefusal::unavailable()),
        (None, Err(malformed)) => Err(malformed),
    };
    let claims = claims.map_err(|refusal| refuse(config, &refusal))?;
    let Some(principal) = claims.principal() else {
        return Err(refuse(config, &TokenRefusal::invalid("the token names nobody")));
    };
    let resource = config.resource.as_ref();
    if let Some(resource) = resource.filter(|resource| !resource.is_open_to(&claims.scopes)) {
        let required = resource.required_scopes().clone();
        return Err(refuse(config, &TokenRefusal::insufficient_scope(required)));
    }
    Ok((Some(principal), Extensions::default().with(claims)))
}

/// The response that refuses a request.
pub(super) fn refuse(config: &Config, refusal: &TokenRefusal) -> Box<ImmediateAnswer> {
    let mut refused = match refusal.body() {
        Some(body) => ImmediateAnswer::route(
            RouteResponse::new(refusal.status()).body("application/json", body),
        ),
        None => ImmediateAnswer::bare(refusal.status()),
    };
    if let Some(challenge) = refusal.challenge(config.resource.as_deref()) {
        refused.head.push("WWW-Authenticate", challenge);
    }
    refused
}
