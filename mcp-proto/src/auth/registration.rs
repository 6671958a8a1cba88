//! Decision table for the client: the choice of a `client_id` for an authorization server.
//!
//! In: the configured, stored and offered clients. Out: a [`ClientChoice`]; the body of a
//! registration, and the client in its answer. `docs/tables.md` shows [`TABLE`]; a test walks every
//! combination.
//!
//! The answer to a registration, not the request, decides the client's method of authentication. A
//! secret without a method is sent by the first of `client_secret_basic` and `client_secret_post`
//! that the metadata lists. Empty members of the answer count as absent.
//!
//! [Specification: Client
//! Registration](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#client-registration-approaches),
//! [RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::decisions::Decisions;
use super::document::Document;
use super::error::{AuthError, visible};
use super::grant_kind::GrantKind;
use super::metadata::IssuerMetadata;
use super::redirect_uri::application_type;
use super::scopes::Scopes;
use super::secret::Secret;
use crate::decision_table::{Cells, Column, Set, Table, row};

/// A client at one authorization server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisteredClient {
    /// The `client_id`.
    pub id: String,
    /// The `client_secret`, if the client has one.
    pub secret: Option<Secret>,
    /// The method by which the client authenticates at the token endpoint.
    pub method: AuthMethod,
}

/// A method of authentication at the token endpoint.
///
/// [RFC 6749, section 2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthMethod {
    /// `none`: a public client, which only sends its id.
    None,
    /// `client_secret_basic`: the secret in the field `Authorization`.
    SecretBasic,
    /// `client_secret_post`: the secret in the form.
    SecretPost,
    /// `private_key_jwt`: an assertion in the form, which is signed by ES256.
    PrivateKeyJwt,
}

/// Configured clients, as the issuer sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// One of the clients is for this issuer.
    Own,
    /// All clients are for other issuers, or the workload is.
    Elsewhere,
    /// No client is configured.
    Absent,
}

/// The client to be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientChoice {
    /// The configured client.
    UsePreset,
    /// The URL of the configured client metadata document.
    UseDocument,
    /// The client that was registered before, for this issuer and this redirect URI.
    UseStored,
    /// A newly registered client.
    Register,
    /// No client: the assertion identifies the sender.
    UseNone,
    /// No client: the configured client or workload belongs to another issuer.
    FailElsewhere,
    /// No client: a person must register a client.
    FailNoClient,
}

impl Column for Preset {
    const ALL: Set<Self> = &[Self::Own, Self::Elsewhere, Self::Absent];
}

impl Cells for ClientChoice {}

const ANY: Set<bool> = bool::ALL;
const ABSENT: Set<Preset> = &[Preset::Absent];

const GRANTS: Set<GrantKind> = GrantKind::ALL;
const CODE: Set<GrantKind> = &[GrantKind::Code];
const WORKLOAD: Set<GrantKind> = &[GrantKind::Workload];
const SERVICE: Set<GrantKind> = &[GrantKind::ClientCredentials, GrantKind::Enterprise];

type ClientCase = (Set<GrantKind>, Set<Preset>, Set<bool>, Set<bool>, Set<bool>);

/// The table; the first row that matches decides.
pub const TABLE: Table<ClientCase, ClientChoice> = Table::new(
    &["grant", "configured client", "document", "stored", "registration endpoint", "client"],
    &[
        row("preset", (GRANTS, &[Preset::Own], ANY, ANY, ANY), ClientChoice::UsePreset),
        row(
            "preset-elsewhere",
            (GRANTS, &[Preset::Elsewhere], ANY, ANY, ANY),
            ClientChoice::FailElsewhere,
        ),
        row("workload", (WORKLOAD, ABSENT, ANY, ANY, ANY), ClientChoice::UseNone),
        row("no-credentials", (SERVICE, ABSENT, ANY, ANY, ANY), ClientChoice::FailNoClient),
        row("document", (CODE, ABSENT, &[true], ANY, ANY), ClientChoice::UseDocument),
        row("stored", (CODE, ABSENT, &[false], &[true], ANY), ClientChoice::UseStored),
        row("register", (CODE, ABSENT, &[false], &[false], &[true]), ClientChoice::Register),
        row("nobody", (CODE, ABSENT, &[false], &[false], &[false]), ClientChoice::FailNoClient),
    ],
);

impl AuthMethod {
    const ALL: [Self; 4] = [Self::None, Self::SecretBasic, Self::SecretPost, Self::PrivateKeyJwt];

    /// The name in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method to request in a registration.
    fn asked(issuer: &IssuerMetadata) -> Self {
        let mut methods = [Self::None, Self::SecretBasic, Self::SecretPost].into_iter();
        methods.find(|method| method.is_listed(issuer)).unwrap_or(Self::None)
    }

    /// The method of a client that has a secret, and for which no method is named.
    pub(super) fn of_secret(issuer: &IssuerMetadata) -> Self {
        let mut methods = [Self::SecretBasic, Self::SecretPost].into_iter();
        methods.find(|method| method.is_listed(issuer)).unwrap_or(Self::SecretBasic)
    }

    fn is_listed(self, issuer: &IssuerMetadata) -> bool {
        let listed = issuer.token_endpoint_auth_methods_supported.as_ref();
        listed.is_some_and(|names| names.iter().any(|name| name == self.name()))
    }
}

impl RegisteredClient {
    /// The client of a workload. The assertion identifies the workload.
    pub(super) fn of_workload() -> Self {
        Self { id: String::new(), secret: None, method: AuthMethod::None }
    }

    /// True for the client of a workload.
    pub(super) fn is_of_workload(&self) -> bool {
        self.id.is_empty()
    }
}

/// Chooses a client by the table, and records the row. Fails if there is no client.
pub(super) fn choose(
    issuer: &IssuerMetadata,
    grant: GrantKind,
    preset: Preset,
    (document, stored): (bool, bool),
    decisions: &mut Decisions,
) -> Result<(ClientChoice, &'static str), AuthError> {
    let registers = issuer.registration_endpoint.is_some();
    let row = TABLE.find((grant, preset, document, stored, registers));
    let fails = |choice| matches!(choice, ClientChoice::FailElsewhere | ClientChoice::FailNoClient);
    if row.is_none_or(|row| fails(row.then)) {
        decisions.record("registration", row.map_or("gap", |row| row.name));
    }
    let issuer = || issuer.issuer.clone();
    match row.map(|row| (row.then, row.name)) {
        Some((ClientChoice::FailElsewhere, _)) => {
            Err(AuthError::ClientOfAnotherIssuer { issuer: issuer() })
        }
        None | Some((ClientChoice::FailNoClient, _)) => {
            Err(AuthError::NoClient { issuer: issuer() })
        }
        Some(choice) => Ok(choice),
    }
}

/// True if an authorization server accepts clients without a secret.
pub(super) fn takes_public_clients(issuer: &IssuerMetadata) -> bool {
    issuer.token_endpoint_auth_methods_supported.is_none() || AuthMethod::None.is_listed(issuer)
}

/// The body of a registration.
#[derive(Serialize)]
struct Registration<'a> {
    client_name: &'a str,
    redirect_uris: [&'a str; 1],
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

/// The body of a registration. Without scopes the authorization server chooses those that the
/// client may request.
pub(super) fn request(
    client_name: &str,
    redirect_uri: &str,
    scopes: &Scopes,
    issuer: &IssuerMetadata,
) -> String {
    let registration = Registration {
        client_name,
        redirect_uris: [redirect_uri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: AuthMethod::asked(issuer).name(),
        application_type: application_type(redirect_uri),
        scope: Some(scopes.to_param()).filter(|scope| !scope.is_empty()),
    };
    serde_json::to_string(&registration).unwrap_or_default()
}

/// A client, and the time at which its secret expires, in seconds since the Unix epoch.
pub(super) type NewClient = (RegisteredClient, Option<u64>);

/// The client in the answer to a registration, or the error in the answer.
pub(super) fn read_answer(
    status: u16,
    body: &[u8],
    issuer: &IssuerMetadata,
) -> Result<NewClient, Option<String>> {
    let is_success = status / 100 == 2;
    let Some(document) = Document::read(body) else {
        let no_object = "the answer is no JSON object".into();
        return Err(Some(if is_success { no_object } else { format!("HTTP {status}") }));
    };
    let error = document.filled_text("error");
    if !is_success || error.is_some() {
        let description = document.filled_text("error_description").map(|text| visible(&text));
        let error = error.map(|error| visible(&error));
        let parts: Vec<String> = error.into_iter().chain(description).collect();
        let is_empty = parts.is_empty();
        return Err(Some(if is_empty { format!("HTTP {status}") } else { parts.join(": ") }));
    }
    let id = document.filled_text("client_id").ok_or_else(|| Some("no client_id".into()))?;
    let secret = document.filled_text("client_secret").map(Secret::new);
    let method = match document.filled_text("token_endpoint_auth_method") {
        Some(name) => AuthMethod::named(&name).ok_or_else(|| Some(unusable(&visible(&name))))?,
        None if secret.is_some() => AuthMethod::of_secret(issuer),
        None => AuthMethod::None,
    };
    if method == AuthMethod::PrivateKeyJwt {
        return Err(Some(unusable(method.name())));
    }
    if method != AuthMethod::None && secret.is_none() {
        return Err(Some("no client_secret".into()));
    }
    // 0 means never.
    let expires = document.number("client_secret_expires_at").filter(|at| *at > 0);
    Ok((RegisteredClient { id, secret, method }, expires))
}

/// The reason if a new client cannot use the method that it has to authenticate by.
fn unusable(method: &str) -> String {
    format!("a new client cannot use token_endpoint_auth_method = {method:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;

    fn issuer(methods: Option<&[&str]>) -> IssuerMetadata {
        let mut issuer =
            IssuerMetadata::guessed(&Url::parse("https://a.example").unwrap()).unwrap();
        issuer.token_endpoint_auth_methods_supported =
            methods.map(|names| names.iter().map(|name| String::from(*name)).collect());
        issuer
    }

    #[test]
    fn registration_requests_a_listed_method() {
        for (listed, expected) in [
            (None, "none"),
            (Some(&["client_secret_post", "none"][..]), "none"),
            (Some(&["client_secret_post", "client_secret_basic"][..]), "client_secret_basic"),
            (Some(&["client_secret_post"][..]), "client_secret_post"),
            (Some(&["private_key_jwt"][..]), "none"),
        ] {
            let body =
                request("n", "http://127.0.0.1:1/callback", &Scopes::none(), &issuer(listed));
            let expected = alloc::format!(r#""token_endpoint_auth_method":"{expected}""#);
            assert!(body.contains(&expected) && !body.contains("scope"), "{body}");
        }
        let scopes = Scopes::words("a b");
        let body = request("n\"", "https://app.example/cb", &scopes, &issuer(None));
        assert!(body.contains(r#""scope":"a b""#), "{body}");
        assert!(
            body.contains(r#""application_type":"web""#) && body.contains(r#""n\"""#),
            "{body}"
        );
    }

    #[test]
    fn the_answer_decides_the_method() {
        let read = |body: &str, listed| read_answer(201, body.as_bytes(), &issuer(listed));
        let method = |body, listed| read(body, listed).unwrap().0.method;
        let secret = r#"{"client_id":"i","client_secret":"s"}"#;
        assert_eq!(method(r#"{"client_id":"i"}"#, None), AuthMethod::None);
        assert_eq!(method(secret, None), AuthMethod::SecretBasic);
        assert_eq!(method(secret, Some(&["client_secret_post"][..])), AuthMethod::SecretPost);
        let named = r#"{"client_id":"i","client_secret":"s","token_endpoint_auth_method":"none"}"#;
        assert_eq!(method(named, None), AuthMethod::None);
        let empty =
            r#"{"client_id":"i","client_secret":"","token_endpoint_auth_method":"","error":""}"#;
        assert_eq!(method(empty, None), AuthMethod::None);
        assert_eq!(read(empty, None).unwrap().0.secret, None);
        for body in [
            r#"{"client_id":""}"#,
            r#"{"client_id":"i","client_secret":"","token_endpoint_auth_method":"client_secret_post"}"#,
            r#"{"client_id":"i","token_endpoint_auth_method":"client_secret_post"}"#,
            r#"{"client_id":"i","token_endpoint_auth_method":"private_key_jwt"}"#,
            r#"{"client_secret":"s"}"#,
            r#"{"client_id":"i","error":"invalid_redirect_uri"}"#,
            "<html>",
        ] {
            assert!(read(body, None).is_err(), "{body}");
        }
        let unusable = r#"{"client_id":"i","token_endpoint_auth_method":"tls_client_auth"}"#;
        for (status, body, reason) in [
            (503, "<html>", "HTTP 503"),
            (403, "{}", "HTTP 403"),
            (200, "<html>", "the answer is no JSON object"),
            (400, r#"{"error":"a","error_description":"b"}"#, "a: b"),
            (
                201,
                unusable,
                "a new client cannot use token_endpoint_auth_method = \"tls_client_auth\"",
            ),
        ] {
            let read = read_answer(status, body.as_bytes(), &issuer(None));
            assert_eq!(read.unwrap_err().as_deref(), Some(reason));
        }
        let (_, expires) =
            read(r#"{"client_id":"i","client_secret":"s","client_secret_expires_at":0}"#, None)
                .unwrap();
        assert_eq!(expires, None);
    }
}
