//! Authorization challenges: the requirements of a server that refuses a request with 401 or 403.
//!
//! In: the status 401 or 403 and the values of all `WWW-Authenticate`. Out: [`Unauthorized`], with
//! the address of the metadata and the required scopes. Code that reads responses calls this
//! module; the application gets the token.
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization),
//! [RFC 9110, section 11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)

mod parse;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::excerpt;

/// Refusal of a request whose credentials are missing or insufficient.
///
/// ```
/// use mcp_proto::http::Unauthorized;
///
/// let value = concat!(
///     r#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource","#,
///     r#" scope="files:read""#,
/// );
/// let unauthorized = Unauthorized::new(401, [value.as_bytes()]);
/// let challenge = unauthorized.bearer().unwrap();
/// assert_eq!(challenge.scope(), Some("files:read"));
/// assert!(challenge.resource_metadata().unwrap().starts_with("https://mcp.example.com/"));
/// ```
///
/// [Specification: Error Handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#error-handling)
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unauthorized {
    /// 401: there are no valid credentials; or 403: the credentials are not sufficient.
    pub status: u16,
    /// Accepted ways to authenticate, in the order of the header fields; at most 16. Empty if the
    /// server sends no challenge: its metadata may then be at a well-known address.
    pub challenges: Vec<Challenge>,
    /// Text of the JSON-RPC error in the body, if the body has one.
    pub message: Option<String>,
    /// The reason why a sign-in has failed, if the client has tried one.
    pub sign_in: Option<String>,
    /// True if this refuses a poll of the task that the call has started. The task goes on.
    pub has_task: bool,
}

/// One way to authenticate.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Challenge {
    /// The authentication scheme as it was sent, such as `Bearer`; its case does not matter.
    pub scheme: String,
    /// Token that some schemes, such as `Negotiate`, have in place of parameters.
    pub token: Option<String>,
    /// The parameters as they were sent, without quotes and escapes; at most 32.
    pub params: Vec<(String, String)>,
}

impl Unauthorized {
    /// Reads the values of all `WWW-Authenticate` of a response with this status.
    ///
    /// Skips unreadable parts, so that a client can use the readable rest. Keeps at most 16
    /// challenges, 32 parameters of each challenge, and 8 KiB of text.
    pub fn new<'a>(status: u16, values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let challenges = parse::challenges(values);
        Self { status, challenges, message: None, sign_in: None, has_task: false }
    }

    /// The first challenge of the scheme `Bearer`, which is the scheme of the specification.
    pub fn bearer(&self) -> Option<&Challenge> {
        self.challenges.iter().find(|challenge| challenge.is_bearer())
    }

    /// The first challenge of the scheme `DPoP`: tokens are bound to a key.
    ///
    /// [RFC 9449, section 7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)
    pub fn dpop(&self) -> Option<&Challenge> {
        self.challenges.iter().find(|challenge| challenge.is_dpop())
    }

    /// The challenges for tokens: those of the schemes `Bearer` and `DPoP`, in their order.
    pub fn token_challenges(&self) -> impl Iterator<Item = &Challenge> {
        self.challenges.iter().filter(|challenge| challenge.is_bearer() || challenge.is_dpop())
    }

    /// The value of a parameter in the first challenge for tokens that has the parameter. A server
    /// may distribute its parameters over several challenges.
    pub fn token_param(&self, name: &str) -> Option<&str> {
        self.token_challenges().find_map(|challenge| challenge.param(name))
    }

    /// True if the server asks for a nonce in the proof of the request.
    ///
    /// [RFC 9449, section 9](https://www.rfc-editor.org/rfc/rfc9449#section-9)
    pub fn wants_nonce(&self) -> bool {
        let mut proofs = self.challenges.iter().filter(|challenge| challenge.is_dpop());
        proofs.find_map(Challenge::error) == Some("use_dpop_nonce")
    }
}

impl Challenge {
    fn is_bearer(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("Bearer")
    }

    fn is_dpop(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("DPoP")
    }

    /// The value of the first parameter of this name; the case of the name does not matter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        params.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// URL of the server's protected resource metadata, which names its authorization servers.
    ///
    /// [RFC 9728, section 5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)
    pub fn resource_metadata(&self) -> Option<&str> {
        self.param("resource_metadata")
    }

    /// The scopes that the request needs, with blanks between them.
    ///
    /// [Specification: Scope Selection Strategy](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy)
    pub fn scope(&self) -> Option<&str> {
        self.param("scope")
    }

    /// Error code of the server for the token that was sent, such as `invalid_token` or
    /// `insufficient_scope`.
    ///
    /// [RFC 6750, section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)
    pub fn error(&self) -> Option<&str> {
        self.param("error")
    }

    /// The description of the [`error`](Self::error), for people.
    pub fn error_description(&self) -> Option<&str> {
        self.param("error_description")
    }
}

/// Shows the challenge that a client would use: the first challenge for `Bearer`, otherwise the
/// first challenge of any scheme.
impl fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.status == 403 {
            "the server does not allow this with the credentials of the request"
        } else {
            "the server wants credentials that it accepts"
        };
        write!(f, "{}: {what}", self.status)?;
        if let Some(message) = &self.message {
            write!(f, " ({})", excerpt(message))?;
        }
        if let Some(reason) = &self.sign_in {
            return write!(f, "; the sign-in failed: {reason}");
        }
        match self.bearer().or(self.challenges.first()) {
            Some(challenge) => write!(f, "; {challenge}")?,
            None => f.write_str(", and does not say which")?,
        }
        write!(
            f,
            "; send a token {}in the header `Authorization`; see {PAGE}",
            if self.status == 403 { "with the right scopes " } else { "" }
        )
    }
}

/// Shows the scheme and the parameters that the specification defines.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scheme {:?}", excerpt(&self.scheme))?;
        for name in ["error", "error_description", "scope", "resource_metadata"] {
            if let Some(value) = self.param(name) {
                write!(f, ", {name} {:?}", excerpt(value))?;
            }
        }
        Ok(())
    }
}

impl core::error::Error for Unauthorized {}

const PAGE: &str =
    "https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#error-handling";

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource";

    #[test]
    fn the_examples_of_the_specification() {
        let unauthorized = Unauthorized::new(
            401,
            [&br#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource",
                         scope="files:read""#[..]],
        );
        let challenge = unauthorized.bearer().unwrap();
        assert_eq!(challenge.resource_metadata(), Some(METADATA));
        assert_eq!((challenge.scope(), challenge.error()), (Some("files:read"), None));

        let forbidden = Unauthorized::new(
            403,
            [&br#"Bearer error="insufficient_scope",
                         scope="files:write",
                         resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource",
                         error_description="File write permission required for this operation""#[..]],
        );
        let challenge = forbidden.bearer().unwrap();
        assert_eq!(challenge.error(), Some("insufficient_scope"));
        assert_eq!(challenge.scope(), Some("files:write"));
        assert_eq!(challenge.resource_metadata(), Some(METADATA));
        let description = "File write permission required for this operation";
        assert_eq!(challenge.error_description(), Some(description));
        assert_eq!(challenge.params.len(), 4);
    }

    #[test]
    fn names_are_compared_without_case_and_the_first_counts() {
        let unauthorized = Unauthorized::new(
            401,
            [&b"Basic realm=x"[..], b"BEARER Scope=a, SCOPE=b, Resource_Metadata=c"],
        );
        let challenge = unauthorized.bearer().unwrap();
        assert_eq!((challenge.scope(), challenge.param("sCoPe")), (Some("a"), Some("a")));
        assert_eq!((challenge.resource_metadata(), challenge.param("realm")), (Some("c"), None));
        assert_eq!(Unauthorized::new(401, [&b"Basic realm=x"[..]]).bearer(), None);
    }

    #[test]
    fn parameters_may_be_in_any_challenge_for_tokens() {
        let read =
            |values: &[&str]| Unauthorized::new(401, values.iter().map(|value| value.as_bytes()));
        for values in [
            &["Bearer realm=\"x\", Bearer resource_metadata=m, scope=s, error=e"][..],
            &["Basic scope=b", "DPoP algs=ES256, scope=s, resource_metadata=m", "Bearer error=e"],
            &["Bearer error=e, scope=s", "DPoP resource_metadata=m, error=f, scope=t"],
        ] {
            let unauthorized = read(values);
            let params = ["resource_metadata", "scope", "error"];
            let found = params.map(|name| unauthorized.token_param(name));
            assert_eq!(found, [Some("m"), Some("s"), Some("e")], "{values:?}");
        }
        assert_eq!(read(&["Basic scope=b"]).token_param("scope"), None);
        assert!(read(&["Bearer error=e, DPoP a=b, DPoP error=use_dpop_nonce"]).wants_nonce());
        assert!(!read(&["DPoP error=invalid_token, Bearer error=use_dpop_nonce"]).wants_nonce());
    }

    #[test]
    fn an_error_teaches() {
        let said = |status, value: &str| Unauthorized::new(status, [value.as_bytes()]).to_string();
        assert_eq!(
            said(403, "Basic realm=a, Bearer error=insufficient_scope, scope=\"b c\""),
            "403: the server does not allow this with the credentials of the request; \
             scheme \"Bearer\", error \"insufficient_scope\", scope \"b c\"; send a token with the \
             right scopes in the header `Authorization`; see \
             https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#error-handling"
        );
        assert!(said(401, "Basic realm=a").contains("accepts; scheme \"Basic\"; send a token in"));
        assert!(said(401, "").starts_with(
            "401: the server wants credentials that it accepts, and does not say which; send"
        ));
        // A server's text is shown on one line, and shortened.
        let hostile =
            said(401, &alloc::format!("Bearer error=\"a\nb\", scope=\"{}\"", "s".repeat(5000)));
        assert!(hostile.contains("error \"a\\nb\"") && hostile.len() < 500, "{hostile}");
    }
}
