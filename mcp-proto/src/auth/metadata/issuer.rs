//! Metadata of an authorization server: its endpoints and their features.
//!
//! In: the body of an answer, the expected issuer, and the rules of the configuration. Out: the
//! members that a client uses, or the reason why the document is not used.
//!
//! | document | result |
//! |---|---|
//! | no JSON object, no token endpoint, or no authorization endpoint for a person to consent | unusable |
//! | `issuer` differs from the expected one, and no pair of `accepts_issuer` allows it | contradicts |
//! | a person is to consent, `code_challenge_methods_supported` lacks `S256`, and neither `assumes_s256` nor, at the server's origin, `guesses_endpoints` is set | no PKCE |
//! | an endpoint that [`UrlPolicy`] refuses | fails |
//!
//! [RFC 8414, section 2](https://www.rfc-editor.org/rfc/rfc8414#section-2)

use alloc::string::String;
use alloc::vec::Vec;

use super::super::document::Document;
use super::super::error::AuthError;
use super::super::grant_kind::GrantKind;
use super::super::pkce;
use super::super::policy::UrlPolicy;
use super::super::scopes::Scopes;
use crate::url::Url;

/// The metadata of an authorization server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IssuerMetadata {
    /// The identifier, as it was sent.
    pub issuer: String,
    /// The page at which a person consents, with its query. Grants without a person do not need
    /// this page.
    pub authorization_endpoint: Option<Url>,
    /// The endpoint that issues tokens.
    pub token_endpoint: Url,
    /// The endpoint that registers clients.
    pub registration_endpoint: Option<Url>,
    /// The grants that the token endpoint accepts; `None` if unspecified.
    pub grant_types_supported: Option<Vec<String>>,
    /// True if the URL of a client metadata document may be the `client_id`.
    pub client_id_metadata_document_supported: bool,
    /// The names of the methods by which clients authenticate; `None` if unspecified.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// True if every redirect has the parameter `iss`.
    pub authorization_response_iss_parameter_supported: bool,
    /// The scopes that the authorization server lists.
    pub scopes_supported: Scopes,
}

/// The rules for reading a document.
pub(in super::super) struct IssuerRules<'a> {
    pub(in super::super) policy: &'a UrlPolicy,
    /// The expected issuer.
    pub(in super::super) expected: &'a str,
    /// True if `expected` was derived from the server's origin, and is compared as a URL.
    pub(in super::super) is_origin: bool,
    /// Pairs of an expected issuer and the issuer that is accepted in its place.
    pub(in super::super) accepted: &'a [(String, String)],
    /// True if PKCE is assumed.
    pub(in super::super) assumes_s256: bool,
    /// The configured grant.
    pub(in super::super) grant: GrantKind,
    /// True if there is a person.
    pub(in super::super) has_person: bool,
}

/// The reason why a document is not used.
#[derive(PartialEq, Eq, Debug)]
pub(in super::super) enum InvalidIssuer {
    /// The document is unusable.
    Unusable,
    /// The document belongs to another issuer.
    Contradicts { stated: String },
    /// The document does not list `S256`.
    NoPkce,
    /// The document has a URL that must not be used.
    Url(AuthError),
}

impl IssuerMetadata {
    /// Reads a document by the rules.
    pub(in super::super) fn read(
        body: &[u8],
        rules: &IssuerRules<'_>,
    ) -> Result<Self, InvalidIssuer> {
        let document = Document::read(body).ok_or(InvalidIssuer::Unusable)?;
        let issuer = document.text("issuer").ok_or(InvalidIssuer::Unusable)?;
        if !rules.accept(&issuer) {
            return Err(InvalidIssuer::Contradicts { stated: issuer });
        }
        let grant_types = document.texts("grant_types_supported");
        let needs_consent = rules.grant(grant_types.as_deref()) == GrantKind::Code;
        let methods = document.texts("code_challenge_methods_supported").unwrap_or_default();
        if needs_consent && !rules.assumes_s256 && !methods.iter().any(|it| it == pkce::METHOD) {
            return Err(InvalidIssuer::NoPkce);
        }
        let endpoint = |text: Option<String>| {
            text.map(|text| rules.policy.check(&text)).transpose().map_err(InvalidIssuer::Url)
        };
        let optional = |name: &str| endpoint(document.filled_text(name));
        let scopes = document.texts("scopes_supported").unwrap_or_default();
        let authorization_endpoint = optional("authorization_endpoint")?;
        if needs_consent && authorization_endpoint.is_none() {
            return Err(InvalidIssuer::Unusable);
        }
        Ok(Self {
            issuer,
            authorization_endpoint,
            token_endpoint: endpoint(document.text("token_endpoint"))?
                .ok_or(InvalidIssuer::Unusable)?,
            registration_endpoint: optional("registration_endpoint")?,
            grant_types_supported: grant_types,
            client_id_metadata_document_supported: document
                .flag("client_id_metadata_document_supported"),
            token_endpoint_auth_methods_supported: document
                .texts("token_endpoint_auth_methods_supported"),
            authorization_response_iss_parameter_supported: document
                .flag("authorization_response_iss_parameter_supported"),
            scopes_supported: scopes.iter().map(String::as_str).collect(),
        })
    }

    /// The endpoints that servers of 2025-03-26 without metadata have.
    pub(in super::super) fn guessed(server: &Url) -> Option<Self> {
        let url = |path| server.join(path).ok();
        Some(Self {
            issuer: server.origin().into(),
            authorization_endpoint: Some(url("/authorize")?),
            token_endpoint: url("/token")?,
            registration_endpoint: url("/register"),
            grant_types_supported: None,
            client_id_metadata_document_supported: false,
            token_endpoint_auth_methods_supported: None,
            authorization_response_iss_parameter_supported: false,
            scopes_supported: Scopes::none(),
        })
    }
}

impl IssuerRules<'_> {
    /// The kind of grant to use at an authorization server that offers these grants.
    pub(in super::super) fn grant(&self, offered: Option<&[String]>) -> GrantKind {
        let gives_codes = offered.is_none_or(|it| it.iter().any(|it| it == "authorization_code"));
        GrantKind::choose(self.grant, self.has_person, gives_codes)
    }

    fn accept(&self, stated: &str) -> bool {
        let same_url = || match (Url::parse(stated), Url::parse(self.expected)) {
            (Ok(stated), Ok(expected)) => stated == expected,
            _ => false,
        };
        stated == self.expected
            || (self.is_origin && same_url())
            || self.accepted.iter().any(|(own, other)| own == self.expected && other == stated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn read(expected: &str, body: &str) -> Result<IssuerMetadata, InvalidIssuer> {
        let policy = UrlPolicy::new(Url::parse("https://s.example/mcp").unwrap());
        IssuerMetadata::read(
            body.as_bytes(),
            &IssuerRules {
                policy: &policy,
                expected,
                is_origin: false,
                accepted: &[("https://b.example".into(), "https://b.example/".into())],
                assumes_s256: false,
                grant: GrantKind::Code,
                has_person: true,
            },
        )
    }

    fn document(issuer: &str, token: &str, methods: &str) -> String {
        format!(
            r#"{{"issuer":"{issuer}","authorization_endpoint":"https://a.example/authorize",
               "token_endpoint":"{token}","code_challenge_methods_supported":[{methods}]}}"#
        )
    }

    #[test]
    fn issuers_are_compared_as_strings() {
        let of = |issuer| document(issuer, "https://a.example/token", r#""plain","S256""#);
        assert!(read("https://a.example", &of("https://a.example")).is_ok());
        for stated in ["https://a.example/", "https://A.example", "https://a.example:443", "x"] {
            let stated_error = InvalidIssuer::Contradicts { stated: stated.into() };
            assert_eq!(read("https://a.example", &of(stated)), Err(stated_error));
        }
        // A pair is accepted in its direction only.
        assert!(read("https://b.example", &of("https://b.example/")).is_ok());
        assert!(read("https://b.example/", &of("https://b.example")).is_err());
    }

    #[test]
    fn a_document_needs_s256_and_good_endpoints() {
        let read = |token, methods| {
            let read = read("https://a.example", &document("https://a.example", token, methods));
            read.map(|metadata| metadata.token_endpoint.as_str().into())
        };
        let token = "https://a.example/token";
        assert_eq!(read(token, r#""S256""#), Ok(String::from(token)));
        for methods in ["", r#""plain""#, r#""s256""#] {
            assert_eq!(read(token, methods), Err(InvalidIssuer::NoPkce));
        }
        for token in ["http://a.example/token", "https://10.0.0.1/token", "javascript:x", ""] {
            assert!(matches!(read(token, r#""S256""#), Err(InvalidIssuer::Url(_))), "{token}");
        }
    }
}
