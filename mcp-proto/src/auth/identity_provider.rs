//! The identity provider of a company, which issues assertions for enterprise-managed
//! authorization.

use alloc::string::String;

use super::registration::{AuthMethod, RegisteredClient};
use super::secret::Secret;

/// The identity provider of a company, at which a person has signed in.
///
/// ```
/// use mcp_proto::auth::IdentityProvider;
///
/// let provider = IdentityProvider::new("https://idp.example/token", "chat").secret("secret");
/// ```
///
/// [Specification: Enterprise-Managed
/// Authorization](https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization)
#[derive(Clone, Debug)]
pub struct IdentityProvider {
    pub(super) token_endpoint: String,
    /// The issuer, which is the audience of an assertion of the client.
    pub(super) issuer: String,
    pub(super) client: RegisteredClient,
    pub(super) subject_type: &'static str,
}

impl IdentityProvider {
    /// A provider with this token endpoint, and the `client_id` of the application there. By
    /// default, the application is a public client and has an ID token of the person.
    pub fn new(token_endpoint: &str, client_id: &str) -> Self {
        let client =
            RegisteredClient { id: client_id.into(), secret: None, method: AuthMethod::None };
        Self {
            token_endpoint: token_endpoint.into(),
            issuer: token_endpoint.into(),
            client,
            subject_type: "urn:ietf:params:oauth:token-type:id_token",
        }
    }

    /// Sets the secret of the application, which is sent by `client_secret_basic`.
    pub fn secret(self, secret: &str) -> Self {
        self.method(Some(secret), AuthMethod::SecretBasic)
    }

    /// Sets the secret of the application, if it has one, and its method of authentication.
    pub fn method(mut self, secret: Option<&str>, method: AuthMethod) -> Self {
        self.client.secret = secret.map(Secret::new);
        self.client.method = method;
        self
    }

    /// Sets the issuer, which is the audience of assertions of the application; the default is the
    /// token endpoint.
    pub fn issuer(mut self, issuer: &str) -> Self {
        self.issuer = issuer.into();
        self
    }

    /// Declares that the application has a refresh token of the provider, as after a sign-in by
    /// SAML, instead of an ID token.
    pub fn refresh_token(mut self) -> Self {
        self.subject_type = "urn:ietf:params:oauth:token-type:refresh_token";
        self
    }
}
