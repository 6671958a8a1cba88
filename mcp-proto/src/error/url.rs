//! Errors in the URL of a server.

use alloc::string::String;
use core::fmt;

use super::quote::Quoted;

/// Reason why a text is not the URL of an HTTP server. The fault is the caller's, or the peer's for
/// a `Location`.
///
/// The text of the error shows at most 100 characters of the URL, and never a password.
///
/// [RFC 9110, section 4.2](https://www.rfc-editor.org/rfc/rfc9110#section-4.2)
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The text does not begin with `http:` or `https:`.
    Scheme {
        /// The text before the first colon; empty if there is no colon.
        found: String,
    },
    /// No host follows the scheme.
    MissingHost,
    /// There is a user's name, and perhaps a password, before the host.
    Userinfo,
    /// The host is neither a name nor an address.
    Host {
        /// The text found instead.
        found: String,
    },
    /// The port is not a number from 1 to 65535.
    Port {
        /// The text found instead.
        found: String,
    },
    /// A character that a URL must not contain unescaped; or `?` or `#` in the identifier of a
    /// server, which has no query and no fragment.
    Character {
        /// The character.
        found: char,
        /// Byte offset of the character in the URL.
        at: usize,
    },
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { found } if found.is_empty() => {
                f.write_str("the URL has no scheme; begin it with https:// or http://")
            }
            Self::Scheme { found } => write!(
                f,
                "the URL begins with {} and a colon; begin it with https:// or http://, also \
                 where a host and a port follow",
                Quoted(found)
            ),
            Self::MissingHost => f.write_str(
                "the URL names no host; write it as in https://mcp.example.com/mcp, with two \
                 slashes before the host",
            ),
            Self::Userinfo => f.write_str(
                "the URL has a user's name before its host; take it out, with its @, and send \
                 credentials in the header `Authorization`",
            ),
            Self::Host { found } => write!(
                f,
                "the host {} is no name of letters, digits, dots and hyphens, and no address; \
                 write other letters in Punycode (xn--…), and an IPv6 address in brackets and \
                 without a zone",
                Quoted(found)
            ),
            Self::Port { found } => write!(
                f,
                "the port {} is no number from 1 to 65535; leave it and its colon out for that of \
                 the scheme",
                Quoted(found)
            ),
            Self::Character { found: found @ ('?' | '#'), at } => write!(
                f,
                "the URL must have no query and no fragment; take out what begins with {found:?} \
                 at byte {at}"
            ),
            Self::Character { found, at } => write!(
                f,
                "the URL has the character {found:?} at byte {at}; percent-encode it (a blank is \
                 %20), or in a host write Punycode (xn--…)"
            ),
        }
    }
}

/// Shows the text of `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for UrlError {}
