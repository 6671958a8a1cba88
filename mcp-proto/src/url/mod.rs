//! The URL of an MCP endpoint: its host and port, its target, and the comparison of origins.
//!
//! In: a URL from a user's configuration, or from `Location` or `resource_metadata` of a server.
//! Out: the parts that a request needs. A host name is not resolved, and percent-encodings stay
//! unchanged.
//!
//! [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986),
//! [RFC 9110, section 4.2](https://www.rfc-editor.org/rfc/rfc9110#section-4.2)

mod parse;
pub mod percent;

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use core::ops::Range;
use core::str::FromStr;

use crate::error::{UrlError, excerpt};
use parse::{
    check_characters, push_path, read_host, read_port, split_port, split_query, split_scheme,
};
pub(crate) use parse::{has_scheme, is_scheme};

/// An `http` or `https` URL in normal form. Scheme and host are in lower case, an IPv6 address is
/// in its short form, and the default port is omitted. There are no dot segments and no fragment.
///
/// [`Display`](fmt::Display) shows the whole URL. The query of some URLs is a secret.
///
/// ```
/// use mcp_proto::http::{Scheme, Url};
///
/// let url = Url::parse("https://MCP.example.com:8443/v1/mcp?team=7#tools")?;
/// assert_eq!((url.scheme(), url.host(), url.port()), (Scheme::Https, "mcp.example.com", 8443));
/// assert_eq!(url.authority(), "mcp.example.com:8443");
/// assert_eq!(url.target(), "/v1/mcp?team=7");
///
/// let moved = url.join("../v2/mcp")?;
/// assert_eq!(moved.to_string(), "https://mcp.example.com:8443/v2/mcp");
/// assert!(moved.same_origin(&url));
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Url {
    text: String,
    scheme: Scheme,
    host: Range<usize>,
    port: u16,
    /// Byte offset at which the authority ends and the target begins.
    target: usize,
}

/// Scheme of the URL of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Url {
    /// Parses an absolute URL. The fragment is dropped, since it is not sent to servers.
    ///
    /// Fails with a [`UrlError`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = check_characters(text)?;
        let (scheme, rest) = split_scheme(text).unwrap_or(("", text));
        let scheme =
            Scheme::named(scheme).ok_or_else(|| UrlError::Scheme { found: excerpt(scheme) })?;
        let rest = rest.strip_prefix("//").ok_or(UrlError::MissingHost)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(UrlError::Userinfo);
        }
        let (host, port) = split_port(authority);
        if host.is_empty() {
            return Err(UrlError::MissingHost);
        }
        let host = read_host(host)?;
        let port = match port {
            Some(port) if !port.is_empty() => read_port(port)?,
            Some(_) | None => scheme.default_port(),
        };
        Ok(Self::assemble(scheme, &host, port, target))
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The name to look up or the address to connect to, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.text.get(self.host.clone()).unwrap_or_default()
    }

    /// The port to connect to; the default is 80 for `http` and 443 for `https`.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of the header `Host`: the host, an IPv6 address in brackets, and the port if it is
    /// not the default.
    pub fn authority(&self) -> &str {
        self.text.get(self.scheme.prefix().len()..self.target).unwrap_or_default()
    }

    /// The scheme and the authority.
    pub(crate) fn origin(&self) -> &str {
        self.text.get(..self.target).unwrap_or_default()
    }

    /// Target of the request line: the path, at least `/`, and the query.
    pub fn target(&self) -> &str {
        self.text.get(self.target..).unwrap_or("/")
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether scheme, host and port are the same. Data for one server only, such as
    /// credentials, must not be sent to another origin.
    pub fn same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host() == other.host() && self.port == other.port
    }

    /// Resolves a reference in an answer from this URL, such as the value of `Location`: an
    /// absolute URL, `//host/path`, `/path`, `path` or `?query`.
    ///
    /// The result may have another origin, and lead from `https` to `http`; see
    /// [`same_origin`](Self::same_origin).
    ///
    /// Fails with a [`UrlError`] if the result is not the URL of a server.
    ///
    /// [RFC 3986, section 5.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2)
    pub fn join(&self, location: &str) -> Result<Self, UrlError> {
        let location = check_characters(location)?;
        if has_scheme(location) {
            return Self::parse(location);
        }
        if location.starts_with("//") {
            return Self::parse(&format!("{}:{location}", self.scheme));
        }
        let (path, _) = split_query(self.target());
        let target = match location.bytes().next() {
            None => self.target().to_string(),
            Some(b'/') => location.to_string(),
            Some(b'?') => format!("{path}{location}"),
            Some(_) => {
                let (folder, _) = path.rsplit_once('/').unwrap_or_default();
                format!("{folder}/{location}")
            }
        };
        Ok(Self::assemble(self.scheme, self.host(), self.port, &target))
    }

    /// The URL of another target at the same origin. Unlike in [`Url::join`], a target that begins
    /// with two slashes does not name a host.
    pub(crate) fn with_target(&self, target: &str) -> Self {
        Self::assemble(self.scheme, self.host(), self.port, target)
    }

    /// The normal form of these parts. `target` is empty, or begins with a slash or a question
    /// mark.
    fn assemble(scheme: Scheme, host: &str, port: u16, target: &str) -> Self {
        let mut text = String::with_capacity(host.len() + target.len() + "https://[]:65535/".len());
        text.push_str(scheme.prefix());
        let bracketed = host.contains(':');
        if bracketed {
            text.push('[');
        }
        let start = text.len();
        text.push_str(host);
        let host = start..text.len();
        if bracketed {
            text.push(']');
        }
        if port != scheme.default_port() {
            // Writing to a string does not fail.
            let _ = write!(text, ":{port}");
        }
        let (at, (path, query)) = (text.len(), split_query(target));
        push_path(&mut text, path);
        text.push_str(query);
        Self { text, scheme, host, port, target: at }
    }
}

impl Scheme {
    /// `http` or `https`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The default port: 80 or 443.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Http, Self::Https]
            .into_iter()
            .find(|scheme| name.eq_ignore_ascii_case(scheme.as_str()))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.text)
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn urls_are_normalized_and_split() {
        for (text, spelling, host, port, authority, target) in [
            ("http://a", "http://a/", "a", 80, "a", "/"),
            ("https://a/", "https://a/", "a", 443, "a", "/"),
            (
                "HTTP://LocalHost:8080/Mcp",
                "http://localhost:8080/Mcp",
                "localhost",
                8080,
                "localhost:8080",
                "/Mcp",
            ),
            ("https://a:443/b", "https://a/b", "a", 443, "a", "/b"),
            ("http://a:0080", "http://a/", "a", 80, "a", "/"),
            ("http://a:443", "http://a:443/", "a", 443, "a:443", "/"),
            ("http://a:/b", "http://a/b", "a", 80, "a", "/b"),
            ("http://a?b=/c?d", "http://a/?b=/c?d", "a", 80, "a", "/?b=/c?d"),
            ("http://a/b?", "http://a/b?", "a", 80, "a", "/b?"),
            ("http://a/b#c?d/../é", "http://a/b", "a", 80, "a", "/b"),
            ("http://a#b", "http://a/", "a", 80, "a", "/"),
            ("http://a/b@c:d", "http://a/b@c:d", "a", 80, "a", "/b@c:d"),
            ("http://a?b@c", "http://a/?b@c", "a", 80, "a", "/?b@c"),
            ("http://127.0.0.1:1/", "http://127.0.0.1:1/", "127.0.0.1", 1, "127.0.0.1:1", "/"),
            ("http://[::1]", "http://[::1]/", "::1", 80, "[::1]", "/"),
            (
                "http://[0:0::0:1]:65535/x",
                "http://[::1]:65535/x",
                "::1",
                65535,
                "[::1]:65535",
                "/x",
            ),
            (
                "http://[2001:DB8::A]:/",
                "http://[2001:db8::a]/",
                "2001:db8::a",
                80,
                "[2001:db8::a]",
                "/",
            ),
            (
                "http://xn--bcher-kva.example./a%20b",
                "http://xn--bcher-kva.example./a%20b",
                "xn--bcher-kva.example.",
                80,
                "xn--bcher-kva.example.",
                "/a%20b",
            ),
            ("http://a/b/../c/./d/..?e=/../f", "http://a/c/?e=/../f", "a", 80, "a", "/c/?e=/../f"),
            ("http://a//b//", "http://a//b//", "a", 80, "a", "//b//"),
            ("http://a?x[]=1", "http://a/?x[]=1", "a", 80, "a", "/?x[]=1"),
        ] {
            let url = url(text);
            assert_eq!(url.to_string(), spelling, "{text}");
            assert_eq!((url.host(), url.port()), (host, port), "{text}");
            assert_eq!((url.authority(), url.target()), (authority, target), "{text}");
            assert_eq!(format!("{}{authority}{target}", url.scheme().prefix()), spelling, "{text}");
            assert_eq!(Url::parse(spelling).as_ref(), Ok(&url), "{text}");
        }
    }

    #[test]
    fn invalid_urls_fail_with_a_reason() {
        let scheme = |found: &str| UrlError::Scheme { found: found.into() };
        let host = |found: &str| UrlError::Host { found: found.into() };
        let port = |found: &str| UrlError::Port { found: found.into() };
        let character = |found, at| UrlError::Character { found, at };
        for (text, error) in [
            ("", scheme("")),
            ("mcp.example.com/mcp", scheme("")),
            ("localhost:8080/mcp", scheme("localhost")),
            ("a/b:c", scheme("")),
            ("://a", scheme("")),
            ("ws://a/", scheme("ws")),
            ("file:///a", scheme("file")),
            ("http", scheme("")),
            ("http:", UrlError::MissingHost),
            ("http:/a", UrlError::MissingHost),
            ("http://", UrlError::MissingHost),
            ("http:///a", UrlError::MissingHost),
            ("http://:80/", UrlError::MissingHost),
            ("http://user@a/", UrlError::Userinfo),
            ("http://user:pass@a/", UrlError::Userinfo),
            ("http://a:b@", UrlError::Userinfo),
            ("http://a:0", port("0")),
            ("http://a:65536", port("65536")),
            ("http://a:+80", port("+80")),
            ("http://a:8x", port("8x")),
            ("http://[::1]:-1", port("-1")),
            ("http://a:80:80", host("a:80")),
            ("http://::1/", host(":")),
            ("http://[::1", host("[::1")),
            ("http://[::1]a", host("[::1]a")),
            ("http://[]", host("[]")),
            ("http://[1.2.3.4]", host("[1.2.3.4]")),
            ("http://[fe80::1%25eth0]", host("[fe80::1%25eth0]")),
            ("http://a%2eb", host("a%2eb")),
            ("http://a;b", host("a;b")),
            (" http://a", character(' ', 0)),
            ("http://a/b c", character(' ', 10)),
            ("http://a\n", character('\n', 8)),
            ("http://a\0", character('\0', 8)),
            ("http://é/", character('é', 7)),
            ("http://a/é", character('é', 9)),
            ("http://a\\@b/", character('\\', 8)),
            ("http://a/{id}", character('{', 9)),
        ] {
            assert_eq!(Url::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn errors_advise_and_hide_passwords() {
        let said = |text: &str| Url::parse(text).unwrap_err().to_string();
        assert!(said("localhost:80").contains("\"localhost\" and a colon; begin it with https://"));
        assert!(said("http://bücher").contains("'ü' at byte 8; percent-encode it"));
        let userinfo = said("https://me:hunter2@a:x/");
        assert!(userinfo.contains("Authorization") && !userinfo.contains("hunter2"));
        assert!(said(&format!("http://a:{}", "9".repeat(1000))).len() < 300);
    }

    /// The examples of RFC 3986, section 5.4, without those that are opaque here.
    #[test]
    fn references_resolve_as_in_rfc_3986() {
        let base = url("http://a/b/c/d;p?q");
        for (reference, expected) in [
            ("http:", None),
            ("g:h", None),
            ("mailto:a@b", None),
            ("g", Some("http://a/b/c/g")),
            ("./g", Some("http://a/b/c/g")),
            ("g/", Some("http://a/b/c/g/")),
            ("/g", Some("http://a/g")),
            ("//g", Some("http://g/")),
            ("?y", Some("http://a/b/c/d;p?y")),
            ("g?y", Some("http://a/b/c/g?y")),
            ("#s", Some("http://a/b/c/d;p?q")),
            ("g#s", Some("http://a/b/c/g")),
            ("g?y#s", Some("http://a/b/c/g?y")),
            (";x", Some("http://a/b/c/;x")),
            ("g;x?y#s", Some("http://a/b/c/g;x?y")),
            ("", Some("http://a/b/c/d;p?q")),
            (".", Some("http://a/b/c/")),
            ("./", Some("http://a/b/c/")),
            ("..", Some("http://a/b/")),
            ("../", Some("http://a/b/")),
            ("../g", Some("http://a/b/g")),
            ("../..", Some("http://a/")),
            ("../../", Some("http://a/")),
            ("../../g", Some("http://a/g")),
            ("../../../g", Some("http://a/g")),
            ("/./g", Some("http://a/g")),
            ("/../g", Some("http://a/g")),
            ("g.", Some("http://a/b/c/g.")),
            ("..g", Some("http://a/b/c/..g")),
            ("./../g", Some("http://a/b/g")),
            ("./g/.", Some("http://a/b/c/g/")),
            ("g/./h", Some("http://a/b/c/g/h")),
            ("g/../h", Some("http://a/b/c/h")),
            ("g;x=1/../y", Some("http://a/b/c/y")),
            ("g?y/../x", Some("http://a/b/c/g?y/../x")),
            ("https://B:8443/x/../y", Some("https://b:8443/y")),
            ("//[::1]:81/x", Some("http://[::1]:81/x")),
            ("g?u=http://x", Some("http://a/b/c/g?u=http://x")),
            ("./g:h", Some("http://a/b/c/g:h")),
            ("/g h", None),
            ("//user@g/", None),
        ] {
            let joined = base.join(reference).ok();
            assert_eq!(joined.as_ref().map(Url::as_str), expected, "{reference:?}");
        }
        let base = url("https://[::1]:8443");
        assert_eq!(base.join("x").unwrap().as_str(), "https://[::1]:8443/x");
        assert_eq!(base.join("//a").unwrap().as_str(), "https://a/");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = url("https://a.example/mcp");
        for (other, same) in [
            ("https://A.EXAMPLE:443/other?x", true),
            ("http://a.example/mcp", false),
            ("http://a.example:443/mcp", false),
            ("https://a.example:8443/mcp", false),
            ("https://b.a.example/mcp", false),
            ("https://a.example./mcp", false),
        ] {
            assert_eq!(origin.same_origin(&url(other)), same, "{other}");
        }
        assert!(url("http://[::1]").same_origin(&url("http://[0::1]:80/x")));
    }
}
