//! Refusals of requests without a sufficient token.
//!
//! In: a reason. Out: the status, the value of `WWW-Authenticate` and the body. Reasons are classes
//! such as "the token has expired", never error texts of a library.
//!
//! | refusal | status | `error` |
//! |---|---|---|
//! | `missing` | 401 | none: "the resource server SHOULD NOT include an error code" |
//! | `malformed` | 400 | `invalid_request` |
//! | `invalid` | 401 | `invalid_token` |
//! | `insufficient_scope` | 403 | `insufficient_scope` |
//! | `unavailable` | 503 | no challenge: the token may be valid |
//!
//! [RFC 6750, section 3](https://www.rfc-editor.org/rfc/rfc6750#section-3)

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::{ClaimError, ProtectedResource};
use crate::json::write::List;
use crate::scopes::Scopes;

/// The length of a reason in a challenge, in characters.
const MAX_REASON: usize = 200;

/// The refusal of a request, with a reason for its client.
///
/// ```
/// use mcp_proto::resource_server::TokenRefusal;
///
/// let refusal = TokenRefusal::invalid("no \"such\" token\r\nX-Evil: 1");
/// assert_eq!(refusal.status(), 401);
/// assert_eq!(
///     refusal.challenge(None).as_deref(),
///     Some("Bearer error=\"invalid_token\", error_description=\"no 'such' token??X-Evil: 1\"")
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenRefusal {
    class: RefusalClass,
    reason: Cow<'static, str>,
    scopes: Scopes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RefusalClass {
    Missing,
    Malformed,
    Invalid,
    InsufficientScope,
    Unavailable,
}

impl TokenRefusal {
    /// A refusal because there is no token: 401.
    pub fn missing() -> Self {
        Self::of(RefusalClass::Missing, "this server needs a token")
    }

    /// A refusal because the request is malformed: 400.
    pub fn malformed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::of(RefusalClass::Malformed, reason)
    }

    /// A refusal of a token that is unknown, has expired, or is not for this server: 401. The
    /// client sees the reason: describe the fault of its token, and nothing about the server.
    pub fn invalid(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::of(RefusalClass::Invalid, reason)
    }

    /// A refusal of a valid token that lacks some of these scopes: 403.
    pub fn insufficient_scope(required: Scopes) -> Self {
        let refusal = Self::of(RefusalClass::InsufficientScope, "the token lacks scopes");
        Self { scopes: required, ..refusal }
    }

    /// A refusal because the token cannot be verified at present: 503. The client keeps its token
    /// and tries again.
    pub fn unavailable() -> Self {
        Self::of(RefusalClass::Unavailable, "the token cannot be verified at present")
    }

    /// Sets the scopes that the request needs. A challenge names them in addition to the scopes
    /// that the whole server requires.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = scopes;
        self
    }

    /// The status of the response: 400, 401, 403 or 503.
    pub fn status(&self) -> u16 {
        match self.class {
            RefusalClass::Missing | RefusalClass::Invalid => 401,
            RefusalClass::Malformed => 400,
            RefusalClass::InsufficientScope => 403,
            RefusalClass::Unavailable => 503,
        }
    }

    /// The value of `WWW-Authenticate`; `None` if the token cannot be verified at present.
    ///
    /// The value has the required scopes and the URL of the metadata. The reason cannot break out
    /// of its quotes: characters that RFC 6750 does not allow are replaced. The reason is cut after
    /// 200 characters.
    pub fn challenge(&self, resource: Option<&ProtectedResource>) -> Option<String> {
        let mut params = Vec::new();
        if let Some(error) = self.error() {
            params.push(format!("error=\"{error}\""));
            params.push(format!("error_description=\"{}\"", quotable(&self.reason)));
        }
        if self.class == RefusalClass::Unavailable {
            return None;
        }
        let required = resource.map(ProtectedResource::required_scopes);
        let scopes = match required {
            Some(required) => required.union(&self.scopes),
            None => self.scopes.clone(),
        };
        // A set of scopes has neither quotes nor line breaks.
        if !scopes.is_empty() {
            params.push(format!("scope=\"{}\"", scopes.to_param()));
        }
        if let Some(resource) = resource {
            // A parsed URL has neither quotes nor line breaks.
            params.push(format!("resource_metadata=\"{}\"", resource.metadata_url()));
        }
        let blank = if params.is_empty() { "" } else { " " };
        Some(format!("Bearer{blank}{}", params.join(", ")))
    }

    /// The body of the response: the members `error` and `error_description`; `None` without an
    /// error.
    pub fn body(&self) -> Option<Bytes> {
        let error = self.error()?;
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("error", error);
        object.text("error_description", &quotable(&self.reason));
        object.end();
        Some(out.into())
    }

    fn of(class: RefusalClass, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { class, reason: reason.into(), scopes: Scopes::none() }
    }

    fn error(&self) -> Option<&'static str> {
        match self.class {
            RefusalClass::Missing | RefusalClass::Unavailable => None,
            RefusalClass::Malformed => Some("invalid_request"),
            RefusalClass::Invalid => Some("invalid_token"),
            RefusalClass::InsufficientScope => Some("insufficient_scope"),
        }
    }
}

/// The reason, in the characters that RFC 6750 allows: "%x20-21 / %x23-5B / %x5D-7E".
fn quotable(reason: &str) -> String {
    let allowed = |character| match character {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => character,
        _ => '?',
    };
    reason.chars().take(MAX_REASON).map(allowed).collect()
}

impl From<ClaimError> for TokenRefusal {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Scopes { required } => Self::insufficient_scope(required),
            other @ (ClaimError::Issuer
            | ClaimError::Audience
            | ClaimError::Expired
            | ClaimError::NotYetValid
            | ClaimError::NoExpiry
            | ClaimError::NoSubject) => Self::invalid(format!("{other}")),
        }
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status(), quotable(&self.reason))
    }
}

impl core::error::Error for TokenRefusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge::Unauthorized;

    #[test]
    fn auth_s19_challenge_injection() {
        let resource =
            ProtectedResource::new("https://a.example/mcp", "https://b.example").unwrap();
        for reason in [
            "\"",
            "\\\"",
            "\\",
            "a\", scope=\"admin",
            "\r\nX-Evil: 1",
            "\u{2028}\u{85}\u{7f}",
            "\0",
            "ä",
            "\", Basic realm=\"x",
        ] {
            let refusal = TokenRefusal::invalid(reason).scopes(Scopes::words("a \"b\" c\r\nd"));
            let value = refusal.challenge(Some(&resource)).unwrap();
            assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{value:?}");
            let read = Unauthorized::new(401, [value.as_bytes()]);
            assert_eq!(read.challenges.len(), 1, "{value}");
            let names: Vec<&str> =
                read.challenges[0].params.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["error", "error_description", "scope", "resource_metadata"]);
            assert_eq!(read.challenges[0].scope(), Some("a c d"), "{value}");
            let body = refusal.body().unwrap();
            assert!(crate::json::Json::parse(body).is_ok(), "{reason:?}");
        }
        let long = TokenRefusal::invalid("x".repeat(100_000)).challenge(None).unwrap();
        assert!(long.len() < 300);
    }

    #[test]
    fn each_class_has_its_status_and_challenge() {
        let resource =
            ProtectedResource::new("https://a.example/mcp", "https://b.example").unwrap();
        let resource = resource.require_scopes("mcp");
        let metadata =
            "resource_metadata=\"https://a.example/.well-known/oauth-protected-resource/mcp\"";
        let scope = TokenRefusal::insufficient_scope(Scopes::words("files:write mcp"));
        for (refusal, status, challenge) in [
            (TokenRefusal::missing(), 401, format!("Bearer scope=\"mcp\", {metadata}")),
            (
                scope,
                403,
                format!(
                    "Bearer error=\"insufficient_scope\", error_description=\"the token lacks \
                     scopes\", scope=\"mcp files:write\", {metadata}"
                ),
            ),
        ] {
            assert_eq!(refusal.status(), status);
            assert_eq!(refusal.challenge(Some(&resource)), Some(challenge));
        }
        assert_eq!(TokenRefusal::missing().challenge(None).as_deref(), Some("Bearer"));
        assert_eq!(TokenRefusal::unavailable().challenge(Some(&resource)), None);
        assert_eq!(TokenRefusal::malformed("x").status(), 400);
    }
}
