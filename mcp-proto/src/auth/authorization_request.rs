//! Authorization request: the URL of the page at which a person consents.
//!
//! In: the client, the values that the redirect must match, and the scopes. Out: a URL, with the
//! endpoint's own query.
//!
//! [Specification: Authorization
//! Flow](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-flow-steps),
//! [RFC 7636, section 4.3](https://www.rfc-editor.org/rfc/rfc7636#section-4.3)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::form;
use super::pkce;
use super::scopes::{OFFLINE_ACCESS, Scopes};
use super::secret::Secret;

/// The values of a request.
pub(super) struct AuthorizationRequest<'a> {
    pub(super) client_id: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) state: &'a Secret,
    pub(super) verifier: &'a Secret,
    pub(super) resource: Option<&'a str>,
    pub(super) scopes: &'a Scopes,
}

impl AuthorizationRequest<'_> {
    /// The URL at this endpoint.
    pub(super) fn url(&self, endpoint: &str) -> String {
        let challenge = pkce::challenge(self.verifier);
        let scope = self.scopes.to_param();
        let mut params = Vec::from([
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", self.redirect_uri),
            ("state", self.state.expose()),
            ("code_challenge", &challenge),
            ("code_challenge_method", pkce::METHOD),
        ]);
        params.extend(self.resource.map(|resource| ("resource", resource)));
        if !scope.is_empty() {
            params.push(("scope", &scope));
        }
        // OpenID Connect Core, section 11: "a prompt parameter value of consent MUST be used".
        // Without the parameter some authorization servers drop `offline_access`, and issue no
        // refresh token.
        if self.scopes.contains(OFFLINE_ACCESS) && !endpoint.contains("prompt=") {
            params.push(("prompt", "consent"));
        }
        let mark = if endpoint.contains('?') { '&' } else { '?' };
        format!("{endpoint}{mark}{}", form::encode(params))
    }
}
