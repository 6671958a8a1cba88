//! Requests to token endpoints.
//!
//! In: a client, and the grant that it exchanges for a token. Out: a form and its header fields.
//!
//! | method | `client_id` | the proof of the client |
//! |---|---|---|
//! | `none` | in the form | |
//! | `client_secret_post` | in the form | `client_secret`, in the form |
//! | `client_secret_basic` | in `Authorization` | in `Authorization` |
//! | `private_key_jwt` | in the assertion | `client_assertion`, in the form |
//!
//! A refresh has no parameter `scope`, unless the application wants it: a refresh cannot widen a
//! grant, and some servers refuse the parameter.
//!
//! [RFC 6749, sections 4.1.3, 4.4 and 6](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3),
//! [RFC 7523](https://www.rfc-editor.org/rfc/rfc7523), [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693),
//! [RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::form;
use super::granted::{ExpectedToken, GrantRequest, ID_JAG};
use super::registration::{AuthMethod, RegisteredClient};
use super::secret::Secret;
use crate::url::Url;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A grant that is exchanged for a token.
pub(super) enum Grant<'a> {
    /// A code from a redirect.
    Code { code: &'a Secret, redirect_uri: &'a str, verifier: &'a Secret },
    /// A refresh token.
    Refresh { token: &'a Secret, scope: &'a str },
    /// The credentials of the client.
    ClientCredentials { scope: &'a str },
    /// The token of a person, to be exchanged for an assertion that is valid at this issuer.
    Exchange { subject: &'a Secret, subject_type: &'static str, audience: &'a str, scope: &'a str },
    /// An assertion.
    Assertion { assertion: &'a Secret, scope: &'a str },
}

/// A request to a token endpoint, before signing.
#[derive(Debug)]
pub(super) struct TokenDraft {
    pub(super) kind: GrantRequest,
    pub(super) endpoint: Url,
    /// The issuer of the endpoint.
    pub(super) audience: String,
    /// The client; `None` if the assertion identifies the sender.
    pub(super) client: Option<RegisteredClient>,
    /// True if the token must be bound to a key.
    pub(super) binds: bool,
    /// True if the endpoint may still require a nonce for the proof.
    pub(super) may_repeat: bool,
    params: Vec<(&'static str, Secret)>,
}

/// A form and its header fields.
pub(super) struct TokenRequest {
    pub(super) body: Secret,
    /// The value of `Authorization`, if the client authenticates there.
    pub(super) authorization: Option<Secret>,
    /// The value of `DPoP`, if the token is bound to a key.
    pub(super) proof: Option<Secret>,
}

impl Grant<'_> {
    fn kind(&self) -> GrantRequest {
        match self {
            Self::Code { .. } => GrantRequest::Redeem,
            Self::Refresh { .. } => GrantRequest::Refresh,
            Self::Exchange { .. } => GrantRequest::Exchange,
            Self::ClientCredentials { .. } | Self::Assertion { .. } => GrantRequest::Grant,
        }
    }

    fn params(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Code { code, redirect_uri, verifier } => Vec::from([
                ("grant_type", "authorization_code"),
                ("code", code.expose()),
                ("redirect_uri", redirect_uri),
                ("code_verifier", verifier.expose()),
            ]),
            Self::Refresh { token, scope } => Vec::from([
                ("grant_type", "refresh_token"),
                ("refresh_token", token.expose()),
                ("scope", scope),
            ]),
            Self::ClientCredentials { scope } => {
                Vec::from([("grant_type", "client_credentials"), ("scope", scope)])
            }
            Self::Exchange { subject, subject_type, audience, scope } => Vec::from([
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("requested_token_type", ID_JAG),
                ("audience", audience),
                ("subject_token", subject.expose()),
                ("subject_token_type", subject_type),
                ("scope", scope),
            ]),
            Self::Assertion { assertion, scope } => Vec::from([
                ("grant_type", JWT_BEARER),
                ("assertion", assertion.expose()),
                ("scope", scope),
            ]),
        }
    }
}

impl TokenDraft {
    /// The request for a token that is valid for `resource`. Empty scopes are omitted.
    pub(super) fn new(
        grant: &Grant<'_>,
        resource: Option<&str>,
        client: Option<RegisteredClient>,
        (endpoint, audience): (&Url, &str),
        binds: bool,
    ) -> Self {
        let mut params = grant.params();
        params.retain(|(name, value)| *name != "scope" || !value.is_empty());
        params.extend(resource.map(|resource| ("resource", resource)));
        let params = params.into_iter().map(|(name, value)| (name, Secret::new(value)));
        Self {
            kind: grant.kind(),
            endpoint: endpoint.clone(),
            audience: audience.into(),
            client,
            binds,
            may_repeat: binds,
            params: params.collect(),
        }
    }

    /// The client, if it authenticates with a signature.
    pub(super) fn signing_client(&self) -> Option<&RegisteredClient> {
        self.client.as_ref().filter(|client| client.method == AuthMethod::PrivateKeyJwt)
    }

    /// The token that the answer must have.
    pub(super) fn expected(&self) -> ExpectedToken {
        if self.kind == GrantRequest::Exchange {
            ExpectedToken::Assertion
        } else if self.binds {
            ExpectedToken::Bound
        } else {
            ExpectedToken::Bearer
        }
    }

    /// The request with its signatures.
    pub(super) fn request(
        &self,
        assertion: Option<&Secret>,
        proof: Option<Secret>,
    ) -> TokenRequest {
        let params = self.params.iter().map(|(name, value)| (*name, value.expose()));
        let mut params: Vec<(&str, &str)> = params.collect();
        let mut authorization = None;
        if let Some(client) = &self.client {
            let secret = client.secret.as_ref().map_or("", Secret::expose);
            match client.method {
                AuthMethod::None => params.push(("client_id", &client.id)),
                AuthMethod::SecretPost => {
                    params.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
                }
                AuthMethod::SecretBasic => authorization = Some(basic(&client.id, secret)),
                AuthMethod::PrivateKeyJwt => {
                    let assertion = assertion.map_or("", Secret::expose);
                    params.push(("client_assertion_type", CLIENT_ASSERTION));
                    params.push(("client_assertion", assertion));
                }
            }
        }
        TokenRequest { body: Secret::new(form::encode(params)), authorization, proof }
    }
}

/// The value of `Authorization` for an id and a secret, each encoded as a form first.
fn basic(id: &str, secret: &str) -> Secret {
    let pair: String = format!("{}:{}", form::encode_part(id), form::encode_part(secret));
    Secret::new(format!("Basic {}", STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(grant: &Grant<'_>, client: Option<RegisteredClient>) -> TokenDraft {
        let endpoint = Url::parse("https://a.example/token").unwrap();
        TokenDraft::new(grant, Some("https://s/"), client, (&endpoint, "https://a.example"), false)
    }

    #[test]
    fn credentials_are_placed_by_method() {
        let of = |method| {
            let client =
                RegisteredClient { id: "i:d".into(), secret: Some(Secret::new("s&t")), method };
            let token = Secret::new("r");
            let draft = draft(&Grant::Refresh { token: &token, scope: "" }, Some(client));
            let request = draft.request(Some(&Secret::new("a.b.c")), None);
            let body = String::from(request.body.expose());
            (body, request.authorization.map(|value| String::from(value.expose())))
        };
        let grant = "grant_type=refresh_token&refresh_token=r&resource=https%3A%2F%2Fs%2F";
        assert_eq!(of(AuthMethod::None), (format!("{grant}&client_id=i%3Ad"), None));
        let post = format!("{grant}&client_id=i%3Ad&client_secret=s%26t");
        assert_eq!(of(AuthMethod::SecretPost), (post, None));
        let basic = format!("Basic {}", STANDARD.encode("i%3Ad:s%26t"));
        assert_eq!(of(AuthMethod::SecretBasic), (grant.into(), Some(basic)));
        let (body, field) = of(AuthMethod::PrivateKeyJwt);
        assert!(body.ends_with("jwt-bearer&client_assertion=a.b.c") && field.is_none(), "{body}");
        assert!(!body.contains("client_id"), "{body}");
    }

    #[test]
    fn workload_assertion_has_no_client() {
        let assertion = Secret::new("a.b.c");
        let body = |scope| {
            let grant = Grant::Assertion { assertion: &assertion, scope };
            String::from(draft(&grant, None).request(None, None).body.expose())
        };
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer\
                     &assertion=a.b.c";
        assert_eq!(body(""), format!("{grant}&resource=https%3A%2F%2Fs%2F"));
        assert_eq!(body("x y"), format!("{grant}&scope=x+y&resource=https%3A%2F%2Fs%2F"));
    }
}
