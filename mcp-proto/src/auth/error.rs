//! Reasons why an authorization fails.
//!
//! In: the row of a table that decided, and its texts. Out: an [`AuthError`] with the fault, its
//! place and the remedy. Texts of peers are shortened and lose control characters. URLs lose their
//! queries, names and passwords.

use alloc::string::String;
use core::fmt;

use super::host_kind::HostKind;
use super::scopes::Scopes;
use crate::error::{UrlError, excerpt};

/// The reason why there is no token.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthError {
    /// The metadata describes another resource than the server.
    Resource {
        /// The `resource` of the metadata.
        stated: String,
        /// The URL of the server.
        server: String,
    },
    /// The metadata that a challenge names could not be fetched.
    ResourceMetadata {
        /// The URL of the metadata, without the query.
        url: String,
    },
    /// The authorization server has no metadata at any well-known place.
    NoIssuer {
        /// The requested issuer.
        issuer: String,
    },
    /// The metadata belongs to another issuer.
    Issuer {
        /// The requested issuer.
        expected: String,
        /// The `issuer` of the metadata.
        stated: String,
    },
    /// The authorization server does not declare support of PKCE with `S256`.
    NoPkce {
        /// The issuer.
        issuer: String,
    },
    /// There is no client for the authorization server, and no way to register one.
    NoClient {
        /// The issuer.
        issuer: String,
    },
    /// All configured clients, or the workload, belong to other authorization servers, or were used
    /// there.
    ClientOfAnotherIssuer {
        /// The issuer that the server names.
        issuer: String,
    },
    /// The authorization server did not register the client.
    Registration {
        /// The issuer.
        issuer: String,
        /// The error of the answer, if it has one.
        reason: Option<String>,
    },
    /// There is no consent: it was refused, did not arrive in time, or no listener for the redirect
    /// could be started.
    Consent {
        /// The reason.
        reason: String,
    },
    /// The redirect URI is neither `https` nor on this machine.
    RedirectUri {
        /// The redirect URI, without its query.
        uri: String,
    },
    /// A person must consent, but the configuration declares that there is none.
    ConsentNeeded {
        /// The issuer.
        issuer: String,
    },
    /// The redirect does not come from the expected authorization server, or is ambiguous.
    Redirect {
        /// The expected issuer.
        issuer: String,
    },
    /// The authorization server refused, or the server refused a fresh token.
    Refused {
        /// The code, such as `access_denied`.
        error: String,
        /// The description from the peer.
        description: Option<String>,
    },
    /// The server requires scopes that a further authorization does not grant.
    Scopes {
        /// The scopes of the challenge.
        scopes: Scopes,
    },
    /// A peer or a record names a URL that the client must not use.
    Url {
        /// The URL, without its query.
        url: String,
        /// The reason.
        reason: UrlRefusal,
    },
    /// A peer could not be reached, or failed.
    Unavailable {
        /// The URL, without its query.
        url: String,
    },
    /// The application, or its key, did not provide a signature.
    Signature {
        /// The reason.
        reason: String,
    },
    /// The server only accepts tokens that are bound to a key, and no key is configured.
    NoProofKey {
        /// The URL of the server.
        server: String,
    },
    /// The application did not supply the token of its workload, or of the person.
    Subject {
        /// The reason.
        reason: String,
    },
    /// The flow would have taken more than 40 requests.
    TooManyFetches,
}

/// The reason why a URL is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UrlRefusal {
    /// The text is not an HTTP URL.
    Invalid(UrlError),
    /// The scheme is `http`.
    NotHttps,
    /// The kind of the host is not allowed.
    Host(HostKind),
}

/// The fault of a server that cannot be asked now, and advice.
const UNAVAILABLE: &str = "does not answer, or answers with 429 or 5xx; try again later";

/// Advice for a host that may have an address in a private network.
const PRIVATE: &str = "if its address is in a private network, set allow_host(…)";

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource { stated, server } => write!(
                f,
                "the metadata describes the resource {}, which does not cover the server {}; \
                 connect to the public URL of the server",
                plain(stated),
                plain(server)
            ),
            Self::ResourceMetadata { url } => write!(
                f,
                "the metadata {} cannot be fetched; try again later, or ask its operator; {PRIVATE}",
                plain(url)
            ),
            Self::NoIssuer { issuer } => write!(
                f,
                "the authorization server {} has no metadata at a well-known place; contact its \
                 operator",
                plain(issuer)
            ),
            Self::Issuer { expected, stated } => write!(
                f,
                "the metadata of {expected:?} states the issuer {stated:?}; if both are the same \
                 server, set accepts_issuer({expected:?}, {stated:?})",
                expected = excerpt(expected),
                stated = excerpt(stated)
            ),
            Self::NoPkce { issuer } => write!(
                f,
                "the metadata of {issuer:?} does not list S256 in \
                 code_challenge_methods_supported; if the server supports it, set \
                 assumes_s256({issuer:?})",
                issuer = excerpt(issuer)
            ),
            Self::NoClient { issuer } => write!(
                f,
                "{} does not register clients; register one there by hand, and set client(…)",
                plain(issuer)
            ),
            Self::ClientOfAnotherIssuer { issuer } => write!(
                f,
                "the server uses the authorization server {}, and the configured client or workload \
                 belongs to another; set client(…) or workload(…) for this one, or forget the \
                 earlier authorization",
                plain(issuer)
            ),
            Self::Registration { issuer, reason } => {
                write!(f, "{} did not register the client", plain(issuer))?;
                if let Some(reason) = reason {
                    write!(f, " ({})", plain(reason))?;
                }
                f.write_str("; register one there by hand, and set client(…)")
            }
            Self::Consent { reason } => {
                write!(f, "there is no consent: {}; sign in again", plain(reason))
            }
            Self::RedirectUri { uri } => write!(
                f,
                "the redirect URI {} is http to another machine; set redirect_uri(…) to a URI with \
                 https, or to one of this machine",
                plain(uri)
            ),
            Self::ConsentNeeded { issuer } => write!(
                f,
                "a person has to sign in at {}, and this program runs unattended; sign in with an \
                 interactive program and the same store",
                plain(issuer)
            ),
            Self::Redirect { issuer } => write!(
                f,
                "the redirect does not come from {}: `iss` is missing or differs, or a parameter \
                 is duplicate; sign in again, and do not trust the page that led here",
                plain(issuer)
            ),
            Self::Refused { error, description } => fmt_refused(f, error, description.as_deref()),
            Self::Scopes { scopes } => write!(
                f,
                "the server requires the scopes {:?}, which earlier sign-ins did not grant; \
                 request the permission there, then sign in with these scopes",
                excerpt(&scopes.to_param())
            ),
            Self::Url { url, reason } => write!(f, "{} is rejected: {reason}", plain(url)),
            Self::Unavailable { url } => write!(f, "{} {UNAVAILABLE}; {PRIVATE}", plain(url)),
            Self::Signature { reason } => {
                write!(f, "there is no signature: {}; check the key", plain(reason))
            }
            Self::NoProofKey { server } => write!(
                f,
                "{} only accepts tokens that are bound to a key; set proof_key(…)",
                plain(server)
            ),
            Self::Subject { reason } => write!(
                f,
                "there is no token of the workload or the person: {}; check its source",
                plain(reason)
            ),
            Self::TooManyFetches => {
                f.write_str("the flow did not end after 40 requests; contact the operator")
            }
        }
    }
}

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::NotHttps => f.write_str(
                "it must begin with https://, or secrets and tokens can be read on the way; if \
                 something else encrypts them, set allow_http(…)",
            ),
            Self::Host(kind) => write!(
                f,
                "its host is {kind:?}, and the server's is not; if the host is trusted, set \
                 allow_host(…)"
            ),
        }
    }
}

impl core::error::Error for AuthError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::Url { reason, .. } = self { Some(reason) } else { None }
    }
}

impl core::error::Error for UrlRefusal {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Invalid(error) => Some(error),
            Self::NotHttps | Self::Host(_) => None,
        }
    }
}

fn fmt_refused(f: &mut fmt::Formatter<'_>, error: &str, description: Option<&str>) -> fmt::Result {
    write!(f, "the authorization was refused: {}", plain(error))?;
    if let Some(description) = description {
        write!(f, " ({})", visible(description))?;
    }
    f.write_str("; sign in again, or ask the operator of the server")?;
    if error == "invalid_target" || description.is_some_and(blames_resource) {
        f.write_str("; if it rejects the parameter `resource`, set omits_resource()")?;
    }
    Ok(())
}

/// True if the description is from a server (Entra) that refuses the parameter `resource`.
fn blames_resource(description: &str) -> bool {
    ["AADSTS9010010", "AADSTS901002"].iter().any(|code| description.contains(code))
}

/// A URL without the parts that may be secret: a name and a password, the query and the fragment.
pub(super) fn shown(url: &str) -> String {
    let start = url.find("://").map_or(url.len(), |at| at + "://".len());
    let (scheme, rest) = url.split_at_checked(start).unwrap_or((url, ""));
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    // In front of a password's own `/`, `?` or `#` there is no port.
    let ends_early = !port.bytes().all(|byte| byte.is_ascii_digit());
    let before_path = if ends_early { rest } else { authority };
    let host = before_path.rfind('@').and_then(|at| rest.get(at..));
    let text = match host {
        Some(host) => [scheme, "***", host].concat(),
        None => url.into(),
    };
    plain(text.split(['?', '#']).next().unwrap_or_default())
}

/// Text of a peer as a log or a terminal may show it: at most 100 visible characters.
fn plain(text: &str) -> String {
    excerpt(&visible(text))
}

/// Text of a peer: at most 200 visible characters.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use super::*;

    #[test]
    fn error_of_a_host_that_does_not_answer_names_the_setting() {
        let error = AuthError::Unavailable { url: "https://idp.corp.example/token".into() };
        assert!(alloc::format!("{error}").contains("allow_host(…)"), "{error}");
    }

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, expected) in [
            ("https://a.example:8443/x?code=canary#canary", "https://a.example:8443/x"),
            ("https://me:canary@a.example/x", "https://***@a.example/x"),
            ("https://me:canary@canary@a.example:9/x?canary", "https://***@a.example:9/x"),
            ("https://me:can/ary@a.example/x", "https://***@a.example/x"),
            ("https://me:can?ary@a.example/x", "https://***@a.example/x"),
            ("https://me:can#ary@a.example/x", "https://***@a.example/x"),
            ("https://a.example/@me", "https://a.example/@me"),
            ("https://[::1]:9/x", "https://[::1]:9/x"),
            ("com.example:/callback?canary", "com.example:/callback"),
            ("https://a.example/\u{1b}]0;x\u{7}\n", "https://a.example/]0;x"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn texts_of_peers_are_shown_without_control_characters() {
        let text = || String::from("https://a.example#\u{1b}[2J\r\n2026-11-30 signed in");
        for error in [
            AuthError::Resource { stated: text(), server: text() },
            AuthError::ResourceMetadata { url: text() },
            AuthError::NoIssuer { issuer: text() },
            AuthError::Issuer { expected: text(), stated: text() },
            AuthError::NoPkce { issuer: text() },
            AuthError::NoClient { issuer: text() },
            AuthError::ClientOfAnotherIssuer { issuer: text() },
            AuthError::Registration { issuer: text(), reason: Some(text()) },
            AuthError::Consent { reason: text() },
            AuthError::RedirectUri { uri: text() },
            AuthError::ConsentNeeded { issuer: text() },
            AuthError::Redirect { issuer: text() },
            AuthError::Refused { error: text(), description: Some(text()) },
            AuthError::Scopes { scopes: Scopes::words(&text()) },
            AuthError::Url { url: text(), reason: UrlRefusal::NotHttps },
            AuthError::Unavailable { url: text() },
            AuthError::Signature { reason: text() },
            AuthError::NoProofKey { server: text() },
            AuthError::Subject { reason: text() },
        ] {
            assert!(!alloc::format!("{error}").contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn reason_for_a_rejected_url_is_the_source() {
        let reason = UrlRefusal::Invalid(crate::url::Url::parse("about:blank").unwrap_err());
        assert!(reason.source().is_some_and(<dyn Error>::is::<UrlError>));
        let error = AuthError::Url { url: "about:blank".into(), reason };
        assert!(error.source().is_some_and(<dyn Error>::is::<UrlRefusal>));
        assert!(UrlRefusal::NotHttps.source().is_none());
        assert!(AuthError::TooManyFetches.source().is_none());
    }
}
