//! Claims of a verified token.
//!
//! In: the claims as JSON: the payload of a JWT after its signature was checked, or the answer of
//! an introspection endpoint. Out: their validity for this server at this time, and the principal.
//!
//! [RFC 7519, section 4.1](https://www.rfc-editor.org/rfc/rfc7519#section-4.1),
//! [RFC 9068, section 2.2](https://www.rfc-editor.org/rfc/rfc9068#section-2.2)

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::json::{Json, Raw};
use crate::scopes::{RequiredScopes, Scopes};
use crate::time::Duration;

/// The maximum number of decoded audiences; the rest are ignored.
const MAX_AUDIENCES: usize = 64;

/// The contents of a verified token.
///
/// Handlers read the claims by `context.peer().claims()`. `Debug` shows the issuer and the scopes
/// only.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Claims {
    /// `iss`: the authorization server that has issued the token.
    pub issuer: String,
    /// `sub`: the user, as named by this issuer.
    pub subject: Option<String>,
    /// `client_id`, otherwise `azp`: the client that the token was issued to.
    pub client_id: Option<String>,
    /// `aud`: the resource servers that the token is for, at most 64.
    pub audiences: Vec<String>,
    /// `scope`, otherwise `scp`: words, or an array of words.
    pub scopes: Scopes,
    /// `exp`: the end of the token's lifetime, as a time since the Unix epoch.
    pub expires_at: Option<Duration>,
    /// `nbf`: the start of the token's lifetime, as a time since the Unix epoch.
    pub not_before: Option<Duration>,
    /// The time from the verification of the token to `expires_at`. A stream of changes, that of
    /// `subscriptions/listen` or of a GET, ends after it, but lasts at least 60 s. `None` means no
    /// end; `mcp-service` and the adapters replace it after a [`Verifier`](super::Verifier) by
    /// the difference of `expires_at` and their clock.
    pub time_left: Option<Duration>,
    /// All claims, an object.
    pub json: Json,
}

/// The conditions of a server for claims.
///
/// ```
/// use mcp_proto::resource_server::ClaimRules;
///
/// let rules = ClaimRules::new("https://auth.example.com", "https://mcp.example.com/mcp")
///     .audience("api://files");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimRules {
    issuer: String,
    audiences: Vec<String>,
    scopes: RequiredScopes,
    leeway: Duration,
}

/// Reason why a server does not accept claims.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClaimError {
    /// `iss` is another issuer.
    Issuer,
    /// `aud` does not name this server.
    Audience,
    /// `exp` has passed.
    Expired,
    /// `nbf` is in the future.
    NotYetValid,
    /// There is no `exp`, so the token would never expire.
    NoExpiry,
    /// There is neither `sub` nor a client, so there is no principal.
    NoSubject,
    /// Scopes are missing.
    Scopes {
        /// The scopes that every token needs.
        required: Scopes,
    },
}

impl Claims {
    /// Claims of a token that was looked up, for example in a database. They have no scopes, no
    /// audience and no expiry.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            subject: Some(subject.into()).filter(|subject| !subject.is_empty()),
            client_id: None,
            audiences: Vec::new(),
            scopes: Scopes::none(),
            expires_at: None,
            not_before: None,
            time_left: None,
            json: Json::EMPTY_OBJECT,
        }
    }

    /// The same claims with these scopes, separated by spaces.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &str) -> Self {
        self.scopes = Scopes::words(scopes);
        self
    }

    /// Reads verified claims. `None` if the text is not a JSON object, if `iss` is missing, or if
    /// `exp` or `nbf` is not a time.
    ///
    /// The signature and the member `active` of an introspection answer are not checked.
    pub fn read(json: &[u8]) -> Option<Self> {
        let json = Json::parse(Bytes::copy_from_slice(json)).ok()?;
        let object = json.raw();
        if !object.is_object() {
            return None;
        }
        let named = |name| object.member(name).filter(|value| value.0 != b"null");
        let scopes = match named("scope").or_else(|| named("scp")) {
            Some(value) => {
                texts(value, usize::MAX).iter().flat_map(|text| text.split(' ')).collect()
            }
            None => Scopes::none(),
        };
        let audiences = object.member("aud").map(|value| texts(value, MAX_AUDIENCES));
        Some(Self {
            issuer: text(object, "iss")?,
            subject: text(object, "sub"),
            client_id: text(object, "client_id").or_else(|| text(object, "azp")),
            audiences: audiences.unwrap_or_default(),
            scopes,
            expires_at: time(object.member("exp")).ok()?,
            // Some servers write `null` for each claim that a token does not have.
            not_before: time(object.member("nbf").filter(|value| value.0 != b"null")).ok()?,
            time_left: None,
            json,
        })
    }

    /// Checks the claims at `now`, which counts from the Unix epoch. Strings are compared byte for
    /// byte.
    ///
    /// "MCP servers MUST validate that access tokens were issued specifically for them as the
    /// intended audience": a token without `aud` is rejected. A token without `exp` is rejected as
    /// well.
    pub fn check(&self, now: Duration, rules: &ClaimRules) -> Result<(), ClaimError> {
        if self.issuer != rules.issuer {
            return Err(ClaimError::Issuer);
        }
        if !self.audiences.iter().any(|audience| rules.audiences.contains(audience)) {
            return Err(ClaimError::Audience);
        }
        let expires_at = self.expires_at.ok_or(ClaimError::NoExpiry)?;
        if now >= expires_at.saturating_add(rules.leeway) {
            return Err(ClaimError::Expired);
        }
        if self.not_before.is_some_and(|begin| now.saturating_add(rules.leeway) < begin) {
            return Err(ClaimError::NotYetValid);
        }
        if self.principal().is_none() {
            return Err(ClaimError::NoSubject);
        }
        if !rules.scopes.are_in(&self.scopes) {
            return Err(ClaimError::Scopes { required: rules.scopes.scopes().clone() });
        }
        Ok(())
    }

    /// The principal: the issuer, a space and the subject. So equal subjects of two issuers are two
    /// principals. Without a subject, the client is the principal: the issuer, `#client`, a space
    /// and the client's id. `None` if there is neither, or if the issuer is empty or contains a
    /// space, a control character or a `#`.
    pub fn principal(&self) -> Option<Arc<str>> {
        // The first space ends the issuer, so no other pair gives the same text.
        let is_issuer = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte > b' ' && byte != b'#' && byte != 0x7f)
        };
        let issuer = Some(self.issuer.as_str()).filter(|issuer| is_issuer(issuer))?;
        match (&self.subject, &self.client_id) {
            (Some(subject), _) => Some(format!("{issuer} {subject}").into()),
            (None, Some(client)) => Some(format!("{issuer}#client {client}").into()),
            (None, None) => None,
        }
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl ClaimRules {
    /// Rules for tokens from this issuer for this server. The audience is usually the public URL of
    /// the server, which clients send as `resource`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: Vec::from([audience.into()]),
            scopes: RequiredScopes::default(),
            leeway: Duration::from_secs(60),
        }
    }

    /// Adds another name of this server: some authorization servers assign names to resource
    /// servers, such as `api://files`.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the scopes that every token needs, separated by spaces; default none. If one of them is
    /// no valid scope of RFC 6749, every token is refused.
    #[must_use]
    pub fn scopes(mut self, scopes: &str) -> Self {
        self.scopes = RequiredScopes::words(scopes);
        self
    }

    /// Sets the maximum difference between the clocks of issuer and server; default 60 s.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Issuer => "the token is of another issuer",
            Self::Audience => "the token is not for this server",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::NoExpiry => "the token does not expire",
            Self::NoSubject => "the token names neither a user nor a client",
            Self::Scopes { .. } => "the token lacks scopes",
        })
    }
}

impl core::error::Error for ClaimError {}

/// A member that is a string and not empty.
fn text(object: Raw<'_>, name: &str) -> Option<String> {
    let text = object.member(name)?.string()?;
    (!text.is_empty()).then(|| text.into_owned())
}

/// A string as a list with one element, or the strings of an array.
fn texts(value: Raw<'_>, max: usize) -> Vec<String> {
    let mut texts: Vec<String> =
        value.string().map(alloc::borrow::Cow::into_owned).into_iter().collect();
    if value.is_array() {
        value.elements(|element| {
            if let Some(text) = element.string().filter(|_| texts.len() < max) {
                texts.push(text.into_owned());
            }
        });
    }
    texts
}

/// A member that is a `NumericDate`; fails if the member has another form.
fn time(member: Option<Raw<'_>>) -> Result<Option<Duration>, ()> {
    let Some(value) = member else { return Ok(None) };
    let number = core::str::from_utf8(value.0).ok().and_then(|text| text.parse::<f64>().ok());
    let time = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.map(Some).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn rules() -> ClaimRules {
        ClaimRules::new("https://a.example", "https://s.example/mcp").audience("api://s")
    }

    fn check(members: &str) -> Result<(), Option<ClaimError>> {
        let text = format!("{{{members}}}");
        Claims::read(text.as_bytes()).ok_or(None)?.check(NOW, &rules()).map_err(Some)
    }

    #[test]
    fn each_claim_is_checked() {
        const ISSUER: &str = r#""iss":"https://a.example","sub":"u""#;
        const AUDIENCE: &str = r#""aud":"https://s.example/mcp""#;
        const EXPIRY: &str = r#""exp":1800000001"#;
        let ok = format!("{ISSUER},{AUDIENCE},{EXPIRY}");
        assert_eq!(check(&ok), Ok(()));
        for (members, error) in [
            (format!("{AUDIENCE},{EXPIRY}"), None),
            (ok.replace("a.example", "a.example/"), Some(ClaimError::Issuer)),
            (format!("{ISSUER},{EXPIRY}"), Some(ClaimError::Audience)),
            (ok.replace("/mcp\"", "/mcp/\""), Some(ClaimError::Audience)),
            (ok.replace("\"https://s.example/mcp\"", "[]"), Some(ClaimError::Audience)),
            (ok.replace("\"https://s.example/mcp\"", "7"), Some(ClaimError::Audience)),
            (format!("{ISSUER},{AUDIENCE}"), Some(ClaimError::NoExpiry)),
            (ok.replace("1800000001", "1799999940"), Some(ClaimError::Expired)),
            (ok.replace("1800000001", "0"), Some(ClaimError::Expired)),
            (ok.replace("1800000001", "null"), None),
            (ok.replace("1800000001", "\"1800000001\""), None),
            (ok.replace("1800000001", "-1"), None),
            (ok.replace("1800000001", "1e400"), None),
            (format!("{ok},\"nbf\":1800000061"), Some(ClaimError::NotYetValid)),
            (format!("{ok},\"nbf\":true"), None),
            (ok.replace("\"sub\":\"u\"", "\"sub\":\"\""), Some(ClaimError::NoSubject)),
        ] {
            assert_eq!(check(&members), Err(error), "{members}");
        }
        for members in [
            ok.replace("1800000001", "1799999941"),
            ok.replace("1800000001", "1800000000.5"),
            ok.replace("\"https://s.example/mcp\"", r#"["x","api://s"]"#),
            format!("{ok},\"nbf\":1800000060"),
            format!("{ok},\"nbf\":null"),
        ] {
            assert_eq!(check(&members), Ok(()), "{members}");
        }
        assert_eq!(Claims::read(b"[]"), None);
    }

    #[test]
    fn scopes_are_words_or_an_array() {
        for (members, scopes) in [
            (r#""scope":"a b""#, "a b"),
            (r#""scp":"a b""#, "a b"),
            (r#""scp":["a","b"]"#, "a b"),
            (r#""scope":"a","scp":"b""#, "a"),
            (r#""scope":null,"scp":["a","b"]"#, "a b"),
            (r#""scope":"a \"b\" c""#, "a c"),
            ("", ""),
        ] {
            let comma = if members.is_empty() { "" } else { "," };
            let text = format!(r#"{{"iss":"i"{comma}{members}}}"#);
            let claims = Claims::read(text.as_bytes()).unwrap();
            assert_eq!(claims.scopes.to_param(), scopes, "{members}");
        }
        let claims = Claims::read(
            br#"{"iss":"https://a.example","aud":"api://s","sub":"u","exp":1800000001,"scope":"a"}"#,
        );
        let claims = claims.unwrap();
        let refused = claims.check(NOW, &rules().scopes("a b"));
        assert_eq!(refused, Err(ClaimError::Scopes { required: Scopes::words("a b") }));
        // An invalid scope is not dropped, which would grant access to everybody.
        let refused = claims.check(NOW, &rules().scopes("ä"));
        assert_eq!(refused, Err(ClaimError::Scopes { required: Scopes::none() }));
    }

    #[test]
    fn principals_of_different_parties_differ() {
        let mut principals = Vec::new();
        for issuer in ["https://a.example", "https://b.example", "https://a.example/x"] {
            for subject in ["u", "#client u", " u", "client u"] {
                principals.push(Claims::new(issuer, subject).principal().unwrap());
                let mut claims = Claims::new(issuer, "");
                claims.client_id = Some(subject.into());
                principals.push(claims.principal().unwrap());
            }
        }
        let count = principals.len();
        principals.sort();
        principals.dedup();
        assert_eq!(principals.len(), count);
        for issuer in ["", "https://a.example u", "https://a.example#client"] {
            assert_eq!(Claims::new(issuer, "u").principal(), None, "{issuer}");
        }
    }
}
