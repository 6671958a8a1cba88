//! Decision table for the answers of a token endpoint.
//!
//! In: the request, its answer, the origin of the client, the stored tokens, and whether the access
//! token is still valid. Out: a [`GrantStep`]. `docs/tables.md` shows [`TABLE`]; a test walks every
//! combination.
//!
//! A member `error` makes an answer an error, even with status 200. Empty members count as absent.
//! Tokens are not decoded, so their lifetime is known only from `expires_in`. Without `expires_in`
//! a token is used until a server refuses the token. Nothing is deleted before its replacement
//! exists, so that one failed refresh does not destroy tokens that another program can use.
//!
//! [RFC 6749, section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)

use alloc::string::String;

use super::document::Document;
use super::error::{AuthError, visible};
use super::scopes::Scopes;
use super::secret::Secret;
use crate::decision_table::{Cells, Column, Set, Table, row};

/// The type of an assertion of an identity provider.
pub(super) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The request to the token endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantRequest {
    /// A code is redeemed. An error in a redirect counts as an answer to this request.
    Redeem,
    /// A token is refreshed.
    Refresh,
    /// A client, a workload, or the holder of a company's assertion requests a token.
    Grant,
    /// The identity provider of a company is asked for an assertion.
    Exchange,
}

/// The kind of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantAnswer {
    /// A token.
    Token,
    /// `invalid_grant`.
    InvalidGrant,
    /// `invalid_client` or `unauthorized_client`.
    InvalidClient,
    /// `use_dpop_nonce`, for the first time, with a nonce.
    Nonce,
    /// Another error.
    Other,
    /// Neither a token nor an error.
    Unusable,
    /// A status from 500 on, 429, no answer in time, or no connection.
    Unavailable,
}

/// The origin of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientOrigin {
    /// The client was registered by this machine, or is not configured any more.
    Dynamic,
    /// The client is configured.
    Given,
}

/// The stored tokens, read once more after a refresh failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredTokens {
    /// Another program has stored newer tokens.
    Newer,
    /// The store has no newer tokens.
    Same,
}

/// State of the current access token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessTokenState {
    /// The token has not expired, and no server has refused it.
    Valid,
    /// The token has expired, was refused, or does not exist.
    Over,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantStep {
    /// Store the tokens and use them.
    Ready,
    /// Send the request again, with the nonce.
    Repeat,
    /// Use the stored tokens.
    Adopt,
    /// Keep the tokens; do not refresh before the access token has expired.
    Keep,
    /// Drop the tokens, keep the client, and ask a person.
    Reauthorize,
    /// Ask a person; keep the refresh token until there are new tokens, and try it again after 1,
    /// 2, 4 … 60 s.
    ReauthorizeOrRetry,
    /// Register another client, unless this flow has registered one, and ask a person.
    Reregister,
    /// Keep everything; try again after 1, 2, 4 … 60 s.
    Later,
    /// Fail: the endpoint does not answer.
    FailUnavailable,
    /// Fail: the endpoint refuses.
    FailRefused,
}

impl Column for GrantRequest {
    const ALL: Set<Self> = &[Self::Redeem, Self::Refresh, Self::Grant, Self::Exchange];
}

impl Column for GrantAnswer {
    const ALL: Set<Self> = &[
        Self::Token,
        Self::InvalidGrant,
        Self::InvalidClient,
        Self::Nonce,
        Self::Other,
        Self::Unusable,
        Self::Unavailable,
    ];
}

impl Column for ClientOrigin {
    const ALL: Set<Self> = &[Self::Dynamic, Self::Given];
}

impl Column for StoredTokens {
    const ALL: Set<Self> = &[Self::Newer, Self::Same];
}

impl Column for AccessTokenState {
    const ALL: Set<Self> = &[Self::Valid, Self::Over];
}

impl Cells for GrantStep {}

type GrantCase = (
    Set<GrantRequest>,
    Set<GrantAnswer>,
    Set<ClientOrigin>,
    Set<StoredTokens>,
    Set<AccessTokenState>,
);

use GrantAnswer::{InvalidClient, InvalidGrant, Nonce, Other, Token, Unavailable, Unusable};

const ANY: Set<GrantRequest> = GrantRequest::ALL;
const REFRESH: Set<GrantRequest> = &[GrantRequest::Refresh];
const SIGN_IN: Set<GrantRequest> = &[GrantRequest::Redeem, GrantRequest::Refresh];
const ONCE: Set<GrantRequest> =
    &[GrantRequest::Redeem, GrantRequest::Grant, GrantRequest::Exchange];
const REFUSALS: Set<GrantAnswer> = &[InvalidGrant, InvalidClient, Other, Unusable];
const ANYONE: Set<ClientOrigin> = ClientOrigin::ALL;
const STORED: Set<StoredTokens> = StoredTokens::ALL;
const SAME: Set<StoredTokens> = &[StoredTokens::Same];
const ACCESS: Set<AccessTokenState> = AccessTokenState::ALL;
const VALID: Set<AccessTokenState> = &[AccessTokenState::Valid];
const OVER: Set<AccessTokenState> = &[AccessTokenState::Over];
const DYNAMIC: Set<ClientOrigin> = &[ClientOrigin::Dynamic];
const GIVEN: Set<ClientOrigin> = &[ClientOrigin::Given];

/// The table; the first row that matches decides.
pub const TABLE: Table<GrantCase, GrantStep> = Table::new(
    &["request", "answer", "client", "store", "access token", "next"],
    &[
        row("token", (ANY, &[Token], ANYONE, STORED, ACCESS), GrantStep::Ready),
        row("nonce", (ANY, &[Nonce], ANYONE, STORED, ACCESS), GrantStep::Repeat),
        row(
            "refreshed-elsewhere",
            (REFRESH, REFUSALS, ANYONE, &[StoredTokens::Newer], ACCESS),
            GrantStep::Adopt,
        ),
        row("too-early", (REFRESH, REFUSALS, ANYONE, SAME, VALID), GrantStep::Keep),
        row("spent", (REFRESH, &[InvalidGrant], ANYONE, SAME, OVER), GrantStep::Reauthorize),
        row(
            "client-gone",
            (SIGN_IN, &[InvalidClient], DYNAMIC, STORED, ACCESS),
            GrantStep::Reregister,
        ),
        row(
            "client-refused",
            (ANY, &[InvalidClient], GIVEN, STORED, ACCESS),
            GrantStep::FailRefused,
        ),
        row(
            "refresh-refused",
            (REFRESH, &[Other, Unusable], ANYONE, SAME, OVER),
            GrantStep::ReauthorizeOrRetry,
        ),
        row("later", (REFRESH, &[Unavailable], ANYONE, STORED, ACCESS), GrantStep::Later),
        row(
            "unavailable",
            (ONCE, &[Unavailable], ANYONE, STORED, ACCESS),
            GrantStep::FailUnavailable,
        ),
        row("refused", (ANY, GrantAnswer::ALL, ANYONE, STORED, ACCESS), GrantStep::FailRefused),
    ],
);

/// The token that an answer must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExpectedToken {
    /// A token of the type `Bearer`.
    Bearer,
    /// A token of the type `DPoP`. A bearer token is not accepted in its place.
    Bound,
    /// An assertion of the identity provider of a company.
    Assertion,
}

/// The tokens of an answer.
#[derive(Debug)]
pub(super) struct GrantedToken {
    pub(super) access_token: Secret,
    /// The lifetime in seconds; `None` if it is unknown.
    pub(super) expires_in: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
    /// The granted scopes; `None` if they are the requested ones.
    pub(super) scopes: Option<Scopes>,
}

/// A parsed answer.
#[derive(Debug)]
pub(super) enum TokenAnswer {
    Token(GrantedToken),
    /// The code and the description.
    Error(String, Option<String>),
    Unusable,
    Unavailable,
}

impl TokenAnswer {
    /// Reads an answer; `None` if there is no answer.
    pub(super) fn read(answer: Option<(u16, &[u8])>, expected: ExpectedToken) -> Self {
        let Some((status, body)) = answer else { return Self::Unavailable };
        if status >= 500 || status == 429 {
            return Self::Unavailable;
        }
        let Some(document) = Document::read(body) else { return Self::Unusable };
        if let Some(error) = document.filled_text("error") {
            let description = document.filled_text("error_description");
            let description = description.map(|text| visible(&text));
            return Self::Error(visible(&error), description);
        }
        let access_token = document.text("access_token").filter(|token| is_visible(token));
        let is = |name: &str, value: &str| {
            document.text(name).is_some_and(|it| it.eq_ignore_ascii_case(value))
        };
        let is_expected = match expected {
            ExpectedToken::Bearer => is("token_type", "bearer"),
            ExpectedToken::Bound => is("token_type", "dpop"),
            ExpectedToken::Assertion => is("issued_token_type", ID_JAG),
        };
        match access_token {
            Some(token) if status / 100 == 2 && is_expected => Self::Token(GrantedToken {
                access_token: Secret::new(token),
                expires_in: document.number("expires_in"),
                refresh_token: document.filled_text("refresh_token").map(Secret::new),
                scopes: document.filled_text("scope").map(|scopes| Scopes::words(&scopes)),
            }),
            _ => Self::Unusable,
        }
    }

    /// The refusal by an answer that is no token.
    pub(super) fn into_error(self) -> AuthError {
        let (error, description) = match self {
            Self::Error(error, description) => (error, description),
            Self::Token(_) | Self::Unusable | Self::Unavailable => {
                ("the answer of the token endpoint is no token".into(), None)
            }
        };
        AuthError::Refused { error, description }
    }

    /// True if the endpoint requires a nonce.
    pub(super) fn wants_nonce(&self) -> bool {
        matches!(self, Self::Error(code, _) if code == "use_dpop_nonce")
    }

    /// The kind, for the table. A second request for a nonce counts as another error.
    pub(super) fn kind(&self) -> GrantAnswer {
        match self {
            Self::Token(_) => Token,
            Self::Unusable => Unusable,
            Self::Unavailable => Unavailable,
            Self::Error(code, _) => match code.as_str() {
                "invalid_grant" => InvalidGrant,
                "invalid_client" | "unauthorized_client" => InvalidClient,
                _ => Other,
            },
        }
    }
}

/// True if a token can be sent in a header field.
fn is_visible(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> TokenAnswer {
        TokenAnswer::read(Some((status, body.as_bytes())), ExpectedToken::Bearer)
    }

    #[test]
    fn an_answer_has_a_kind() {
        for (status, body, kind) in [
            (200, r#"{"access_token":"t","token_type":"bearer"}"#, Token),
            (200, r#"{"access_token":"t","token_type":"Bearer","error":"x"}"#, Other),
            (200, r#"{"access_token":"t","token_type":"mac"}"#, Unusable),
            (200, r#"{"access_token":"t"}"#, Unusable),
            (200, r#"{"access_token":"t\r\nX: y","token_type":"Bearer"}"#, Unusable),
            (200, r#"{"access_token":"","token_type":"Bearer"}"#, Unusable),
            (302, r#"{"access_token":"t","token_type":"Bearer"}"#, Unusable),
            (400, r#"{"error":"invalid_grant"}"#, InvalidGrant),
            (401, r#"{"error":"invalid_client"}"#, InvalidClient),
            (400, r#"{"error":"unauthorized_client"}"#, InvalidClient),
            (400, r#"{"error":"invalid_scope"}"#, Other),
            (200, r#"{"access_token":"t","token_type":"Bearer","error":""}"#, Token),
            (400, r#"{"error":""}"#, Unusable),
            (400, "<html>", Unusable),
            (200, "access_token=t&token_type=bearer", Unusable),
            (429, r#"{"error":"slow_down"}"#, Unavailable),
            (503, "", Unavailable),
        ] {
            assert_eq!(read(status, body).kind(), kind, "{status} {body}");
        }
        assert_eq!(TokenAnswer::read(None, ExpectedToken::Bearer).kind(), Unavailable);
    }

    #[test]
    fn token_type_must_be_the_expected_one() {
        let body = r#"{"access_token":"t","token_type":"DPoP"}"#;
        let jag = r#"{"access_token":"t","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#;
        let bearer = r#"{"access_token":"t","token_type":"Bearer"}"#;
        for (body, bears, binds, asserts) in
            [(body, false, true, false), (jag, false, false, true), (bearer, true, false, false)]
        {
            let is_token = |expected| {
                TokenAnswer::read(Some((200, body.as_bytes())), expected).kind() == Token
            };
            assert_eq!(is_token(ExpectedToken::Bearer), bears, "{body}");
            assert_eq!(is_token(ExpectedToken::Bound), binds, "{body}");
            assert_eq!(is_token(ExpectedToken::Assertion), asserts, "{body}");
        }
    }

    #[test]
    fn a_lifetime_is_a_number_or_unknown() {
        for (text, expected) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("3600.0", Some(3600)),
            ("3.6e3", Some(3600)),
            ("3600.5", None),
            ("0", Some(0)),
            ("-1", None),
            ("\"soon\"", None),
            ("null", None),
        ] {
            let body = alloc::format!(
                r#"{{"access_token":"t","token_type":"Bearer","expires_in":{text}}}"#
            );
            let TokenAnswer::Token(token) = read(200, &body) else { panic!("{body}") };
            assert_eq!(token.expires_in, expected, "{text}");
        }
    }
}
