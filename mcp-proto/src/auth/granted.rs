//! Decision table for the answers of a token endpoint.
//!
//! In: the request, its answer, where the client comes from, what the store has, and whether the
//! access token is still good. Out: a [`GrantStep`]. `docs/tables.md` shows [`TABLE`]; a test walks
//! every combination.
//!
//! A member `error` decides also behind 200. No lifetime is invented, and no token is looked into:
//! without `expires_in` a token is used until it is refused. Nothing is deleted before its replacement
//! is there, so that one failed refresh does not cost what another program can use.
//!
//! [RFC 6749, section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)

use alloc::string::String;

use super::document::Document;
use super::error::visible;
use super::secret::Secret;
use crate::decision_table::{Cells, Input, Set, Table, row};

/// The request to the token endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantRequest {
    /// A code is redeemed.
    Redeem,
    /// A token is refreshed.
    Refresh,
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
    /// Another error.
    Other,
    /// Neither a token nor an error.
    Unusable,
    /// A status from 500 on, 429, no answer in time, no connection.
    Unavailable,
}

/// The origin of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientOrigin {
    /// It was registered by this machine.
    Dynamic,
    /// It is configured.
    Given,
}

/// The stored tokens, read once more after a refresh failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredTokens {
    /// Somebody else has refreshed them.
    Newer,
    /// They are those that were sent.
    Same,
}

/// The access token that there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldAccess {
    /// It has not expired, and nobody has refused it.
    Valid,
    /// It has expired, or was refused, or there is none.
    Over,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantStep {
    /// Store the tokens and use them.
    Ready,
    /// Use what is stored.
    Adopt,
    /// Keep the tokens; do not refresh before the access token has expired.
    Keep,
    /// Drop the tokens, keep the client, and ask a person.
    Reauthorize,
    /// Register another client, once for a flow, and ask a person.
    Reregister,
    /// Keep everything; try again after 1, 2, 4 … 60 s.
    Later,
    /// Fail: the endpoint does not answer.
    FailUnavailable,
    /// Fail: the endpoint refuses.
    FailRefused,
}

impl Input for GrantRequest {
    const ALL: Set<Self> = &[Self::Redeem, Self::Refresh];
}

impl Input for GrantAnswer {
    const ALL: Set<Self> = &[
        Self::Token,
        Self::InvalidGrant,
        Self::InvalidClient,
        Self::Other,
        Self::Unusable,
        Self::Unavailable,
    ];
}

impl Input for ClientOrigin {
    const ALL: Set<Self> = &[Self::Dynamic, Self::Given];
}

impl Input for StoredTokens {
    const ALL: Set<Self> = &[Self::Newer, Self::Same];
}

impl Input for HeldAccess {
    const ALL: Set<Self> = &[Self::Valid, Self::Over];
}

impl Cells for GrantStep {}

type GrantCase =
    (Set<GrantRequest>, Set<GrantAnswer>, Set<ClientOrigin>, Set<StoredTokens>, Set<HeldAccess>);

use GrantAnswer::{InvalidClient, InvalidGrant, Other, Token, Unavailable, Unusable};

const ANY: Set<GrantRequest> = GrantRequest::ALL;
const REFRESH: Set<GrantRequest> = &[GrantRequest::Refresh];
const REFUSALS: Set<GrantAnswer> = &[InvalidGrant, InvalidClient, Other, Unusable];
const ANYONE: Set<ClientOrigin> = ClientOrigin::ALL;
const STORED: Set<StoredTokens> = StoredTokens::ALL;
const SAME: Set<StoredTokens> = &[StoredTokens::Same];
const ACCESS: Set<HeldAccess> = HeldAccess::ALL;
const VALID: Set<HeldAccess> = &[HeldAccess::Valid];
const OVER: Set<HeldAccess> = &[HeldAccess::Over];
const DYNAMIC: Set<ClientOrigin> = &[ClientOrigin::Dynamic];
const GIVEN: Set<ClientOrigin> = &[ClientOrigin::Given];

/// The table; the first row that matches decides.
pub const TABLE: Table<GrantCase, GrantStep> = Table::new(
    &["request", "answer", "client", "store", "access token", "next"],
    &[
        row("token", (ANY, &[Token], ANYONE, STORED, ACCESS), GrantStep::Ready),
        row(
            "refreshed-elsewhere",
            (REFRESH, REFUSALS, ANYONE, &[StoredTokens::Newer], ACCESS),
            GrantStep::Adopt,
        ),
        row(
            "too-early",
            (REFRESH, &[InvalidGrant, Other, Unusable], ANYONE, SAME, VALID),
            GrantStep::Keep,
        ),
        row("spent", (REFRESH, &[InvalidGrant], ANYONE, SAME, OVER), GrantStep::Reauthorize),
        row("client-gone", (ANY, &[InvalidClient], DYNAMIC, STORED, ACCESS), GrantStep::Reregister),
        row(
            "client-refused",
            (ANY, &[InvalidClient], GIVEN, STORED, ACCESS),
            GrantStep::FailRefused,
        ),
        row(
            "refresh-refused",
            (REFRESH, &[Other, Unusable], ANYONE, SAME, OVER),
            GrantStep::Reauthorize,
        ),
        row("later", (REFRESH, &[Unavailable], ANYONE, STORED, ACCESS), GrantStep::Later),
        row(
            "unavailable",
            (&[GrantRequest::Redeem], &[Unavailable], ANYONE, STORED, ACCESS),
            GrantStep::FailUnavailable,
        ),
        row("refused", (ANY, GrantAnswer::ALL, ANYONE, STORED, ACCESS), GrantStep::FailRefused),
    ],
);

/// The tokens of an answer.
#[derive(Debug)]
pub(super) struct GrantedToken {
    pub(super) access_token: Secret,
    /// Seconds; `None` if the answer does not say.
    pub(super) expires_in: Option<u64>,
    pub(super) refresh_token: Option<Secret>,
}

/// An answer, read.
#[derive(Debug)]
pub(super) enum TokenAnswer {
    Token(GrantedToken),
    /// The code and the description.
    Error(String, Option<String>),
    Unusable,
    Unavailable,
}

impl TokenAnswer {
    /// Reads an answer; there is none if nothing came.
    pub(super) fn read(answer: Option<(u16, &[u8])>) -> Self {
        let Some((status, body)) = answer else { return Self::Unavailable };
        if status >= 500 || status == 429 {
            return Self::Unavailable;
        }
        let Some(document) = Document::read(body) else { return Self::Unusable };
        if let Some(error) = document.text("error") {
            let description = document.text("error_description").map(|text| visible(&text));
            return Self::Error(visible(&error), description);
        }
        let access_token = document.text("access_token").filter(|token| is_visible(token));
        let is_bearer =
            document.text("token_type").is_some_and(|it| it.eq_ignore_ascii_case("bearer"));
        match access_token {
            Some(token) if status / 100 == 2 && is_bearer => Self::Token(GrantedToken {
                access_token: Secret::new(token),
                expires_in: document.number("expires_in"),
                refresh_token: document.text("refresh_token").map(Secret::new),
            }),
            _ => Self::Unusable,
        }
    }

    /// The kind, for the table.
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

/// True if a token can be sent in a field.
fn is_visible(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> TokenAnswer {
        TokenAnswer::read(Some((status, body.as_bytes())))
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
            (400, "<html>", Unusable),
            (200, "access_token=t&token_type=bearer", Unusable),
            (429, r#"{"error":"slow_down"}"#, Unavailable),
            (503, "", Unavailable),
        ] {
            assert_eq!(read(status, body).kind(), kind, "{status} {body}");
        }
        assert_eq!(TokenAnswer::read(None).kind(), Unavailable);
    }

    #[test]
    fn a_lifetime_is_a_number_or_unknown() {
        for (text, expected) in [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
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
