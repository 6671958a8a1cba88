//! Decision table for the kind of a grant: how an authorizer gets tokens.
//!
//! In: the configured kind, whether there is a person, and whether the authorization server gives codes.
//! Out: a [`GrantKind`]. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! | kind | who is asked |
//! |---|---|
//! | `Code` | a person, at the page of the authorization server |
//! | `ClientCredentials` | nobody: the client authenticates itself |
//! | `Enterprise` | the application for an ID token, and the identity provider for an assertion |
//! | `Workload` | the application for the token of its workload |

use alloc::string::String;

use super::registration::{AuthMethod, RegisteredClient};
use super::secret::Secret;
use crate::decision_table::{Cells, Input, Set, Table, row};

/// A kind of grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantKind {
    /// A code that a person consents to.
    Code,
    /// The credentials of the client.
    ClientCredentials,
    /// An assertion of the identity provider of a company.
    Enterprise,
    /// The token of a workload.
    Workload,
}

type KindCase = (Set<GrantKind>, Set<bool>, Set<bool>);

const ANY: Set<bool> = bool::ALL;
const CREDENTIALS: Set<GrantKind> = &[GrantKind::ClientCredentials];

/// The table; the first row that matches decides.
pub const TABLE: Table<KindCase, GrantKind> = Table::new(
    &["configured", "person", "gives codes", "grant"],
    &[
        row("code", (&[GrantKind::Code], ANY, ANY), GrantKind::Code),
        row("person", (CREDENTIALS, &[true], &[true]), GrantKind::Code),
        row("credentials", (CREDENTIALS, ANY, ANY), GrantKind::ClientCredentials),
        row("enterprise", (&[GrantKind::Enterprise], ANY, ANY), GrantKind::Enterprise),
        row("workload", (&[GrantKind::Workload], ANY, ANY), GrantKind::Workload),
    ],
);

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

impl Input for GrantKind {
    const ALL: Set<Self> = &[Self::Code, Self::ClientCredentials, Self::Enterprise, Self::Workload];
}

impl Cells for GrantKind {}

impl GrantKind {
    /// The kind by the table.
    pub(super) fn choose(configured: Self, has_person: bool, gives_codes: bool) -> Self {
        let row = TABLE.find((configured, has_person, gives_codes));
        row.map_or(configured, |row| row.then)
    }

    /// True if no person is asked.
    pub(super) fn is_of_service(self) -> bool {
        self != Self::Code
    }
}

impl IdentityProvider {
    /// A provider with this token endpoint, and the `client_id` of the application there. The
    /// application is a public client, and holds an ID token of the person.
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

    /// Sets the secret of the application, if it has one, and how it authenticates.
    pub fn method(mut self, secret: Option<&str>, method: AuthMethod) -> Self {
        self.client.secret = secret.map(Secret::new);
        self.client.method = method;
        self
    }

    /// Sets the issuer, which is the audience of assertions of the application. It is the token
    /// endpoint if it is not set.
    pub fn issuer(mut self, issuer: &str) -> Self {
        self.issuer = issuer.into();
        self
    }

    /// Says that the application holds a refresh token of the provider, as after a sign-in by SAML,
    /// and no ID token.
    pub fn refresh_token(mut self) -> Self {
        self.subject_type = "urn:ietf:params:oauth:token-type:refresh_token";
        self
    }
}
