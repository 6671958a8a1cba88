//! Checks of Host, Origin and CORS, which protect a server from pages in a user's browser.
//!
//! In: the values of `Host` and `Origin`. Out: whether the server allows them. A page of another
//! site can make a browser send requests to a server on the user's machine. If the site resolves a
//! name of its own to that machine (DNS rebinding), the page can even read the answers. Both
//! headers are therefore checked before the rest of the request.
//!
//! [Specification: Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Config;
use crate::error::excerpt;

/// Permissions of an origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Allowed {
    /// Send requests.
    Send,
    /// Send requests, and read the answers.
    Read,
}

impl Config {
    /// Returns whether requests may be for this host.
    pub(super) fn allows_host(&self, host: &[u8]) -> bool {
        let (name, port) = split_port(host);
        // An empty port is the same as none (RFC 3986, 6.2.3).
        if !port.is_none_or(|port| port.is_empty() || is_port(port)) {
            return false;
        }
        let bare = name.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
        let mut allowed = self.allowed_hosts.iter().map(String::as_bytes);
        // Most values are spelled exactly as in the configuration.
        allowed.clone().any(|allowed| allowed == name)
            || allowed.any(|allowed| {
                allowed.eq_ignore_ascii_case(name)
                    || allowed.eq_ignore_ascii_case(host)
                    || bare.is_some_and(|bare| allowed.eq_ignore_ascii_case(bare))
                    || allowed == b"*"
            })
    }

    /// Permissions of pages of this origin; `None` if there are none.
    pub(super) fn allows_origin(&self, origin: &[u8]) -> Option<Allowed> {
        let origin = Origin::parse(core::str::from_utf8(origin).ok()?)?;
        let named =
            |allowed: &str| Origin::parse(allowed).is_some_and(|named| named.includes(origin));
        if self.allowed_origins.iter().any(|allowed| named(allowed)) {
            return Some(Allowed::Read);
        }
        origin.is_loopback().then_some(Allowed::Send)
    }

    /// Advice about the entries of `allowed_hosts` and `allowed_origins` that allow nothing.
    pub(crate) fn useless_entries(&self) -> Vec<String> {
        let hosts = self.allowed_hosts.iter().filter(|entry| !is_host_entry(entry)).map(|entry| {
            format!(
                "the entry {:?} of allowed_hosts allows no request; write a host, such as \
                 \"mcp.example.com\"",
                excerpt(entry)
            )
        });
        let origins = self.allowed_origins.iter().filter(|entry| !is_origin_entry(entry));
        let origins = origins.map(|entry| {
            format!(
                "the entry {:?} of allowed_origins allows no page; write an origin, such as \
                 \"https://app.example.com\" or \"https://*.example.com\"",
                excerpt(entry)
            )
        });
        hosts.chain(origins).collect()
    }
}

/// Returns whether there may be a request for this host.
fn is_host_entry(entry: &str) -> bool {
    let no_host = ['/', '?', '#', '@', '*', ' ', ','];
    entry == "*" || !(entry.is_empty() || entry.contains(no_host))
}

/// Returns whether there may be a page of this origin.
fn is_origin_entry(entry: &str) -> bool {
    Origin::parse(entry).is_some_and(|origin| match origin.host.strip_prefix(b"*.") {
        Some(domain) => is_domain(domain),
        None => !origin.host.contains(&b'*'),
    })
}

/// Scheme, host and port of a page.
#[derive(Clone, Copy)]
struct Origin<'a> {
    scheme: &'a str,
    host: &'a [u8],
    port: Option<&'a [u8]>,
}

impl<'a> Origin<'a> {
    /// Parses an origin. Returns `None` for `null` and for invalid origins.
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        if authority.is_empty() || authority.contains(['/', '?', '#', '@', ' ', ',']) {
            return None;
        }
        let (host, port) = split_port(authority.as_bytes());
        if !port.is_none_or(is_port) {
            return None;
        }
        Some(Self { scheme, host, port })
    }

    /// Returns whether this entry of the settings includes the origin of a page. The host `*.`
    /// followed by a domain includes all subdomains of that domain.
    fn includes(self, page: Self) -> bool {
        self.scheme.eq_ignore_ascii_case(page.scheme)
            && self.port() == page.port()
            && self.host.strip_prefix(b"*.").map_or_else(
                || self.host.eq_ignore_ascii_case(page.host),
                |domain| is_subdomain(page.host, domain),
            )
    }

    /// The port, or the default port of the scheme.
    fn port(self) -> Option<&'a [u8]> {
        self.port.or(match () {
            () if self.scheme.eq_ignore_ascii_case("http") => Some(b"80"),
            () if self.scheme.eq_ignore_ascii_case("https") => Some(b"443"),
            () => None,
        })
    }

    /// Returns whether the page of an origin comes from this machine. Other names and addresses of
    /// this machine do not count: a page of others can get them by DNS rebinding, and servers on
    /// this machine use these.
    fn is_loopback(self) -> bool {
        ["http", "https"].iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme))
            && ["localhost", "127.0.0.1", "[::1]"]
                .iter()
                .any(|host| self.host.eq_ignore_ascii_case(host.as_bytes()))
    }
}

/// Returns whether a host is a subdomain of a domain, at any depth.
fn is_subdomain(host: &[u8], domain: &[u8]) -> bool {
    let split = host.len().checked_sub(domain.len()).and_then(|at| host.split_at_checked(at));
    let Some((subdomain, rest)) = split else { return false };
    rest.eq_ignore_ascii_case(domain)
        && is_domain(domain)
        && subdomain.strip_suffix(b".").is_some_and(is_domain)
}

/// Returns whether a text consists of labels with dots between them. `*` is no label.
fn is_domain(text: &[u8]) -> bool {
    let is_in_label = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.split(|byte| *byte == b'.').all(|label| !label.is_empty() && label.iter().all(is_in_label))
}

/// Returns whether a text is the number of a port.
fn is_port(text: &[u8]) -> bool {
    let number = text.iter().try_fold(0_u16, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    });
    number.is_some() && !text.is_empty()
}

/// The name, and the port if there is one. An IPv6 address is in brackets.
fn split_port(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    let find = |byte: u8| authority.iter().rposition(|other| *other == byte);
    let inside = if authority.first() == Some(&b'[') { find(b']') } else { Some(0) };
    let parts = find(b':').filter(|colon| inside.is_some_and(|inside| *colon > inside));
    let parts = parts.and_then(|colon| authority.split_at_checked(colon));
    parts.map_or((authority, None), |(name, port)| (name, port.get(1..)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn t048_origins_are_compared_by_scheme_host_and_port() {
        let allowed_origins = vec![
            "https://app.example.com".into(),
            "http://other.example:8080".into(),
            "http://plain.example:80".into(),
            // These are not valid origins.
            "https://path.example/".into(),
            "https://".into(),
        ];
        let config = Config { allowed_origins, ..Config::default() };
        for (origin, allowed) in [
            ("https://app.example.com", Some(Allowed::Read)),
            ("https://APP.example.com:443", Some(Allowed::Read)),
            ("http://other.example:8080", Some(Allowed::Read)),
            ("http://plain.example", Some(Allowed::Read)),
            ("https://plain.example", None),
            ("https://path.example/", None),
            ("https://path.example", None),
            ("https://", None),
            ("http://localhost:5173", Some(Allowed::Send)),
            ("https://[::1]", Some(Allowed::Send)),
            ("http://127.0.0.1:1", Some(Allowed::Send)),
            ("http://app.example.com", None),
            ("https://app.example.com:8443", None),
            ("http://other.example", None),
            ("https://app.example.com.evil.example", None),
            ("https://app.example.com/", None),
            ("https://user@localhost", None),
            ("file://localhost", None),
            ("http://localhost.evil.example", None),
            ("localhost", None),
            ("http://localhost:evil", None),
            ("http://localhost:", None),
            ("http://localhost:+80", None),
            ("http://localhost:65536", None),
            ("http://[::1]:80.evil.example", None),
            ("null", None),
            ("", None),
        ] {
            assert_eq!(config.allows_origin(origin.as_bytes()), allowed, "{origin}");
        }
    }

    #[test]
    fn a_leading_wildcard_allows_all_subdomains_and_nothing_else() {
        let allowed_origins = vec![
            "https://*.example.com".into(),
            "http://*.port.example:8080".into(),
            // These allow no page.
            "https://*.".into(),
            "https://*.*.example".into(),
            "https://*.any-port.example:*".into(),
            "https://app.*.example".into(),
            "https://app-*.example".into(),
            "*.no-scheme.example".into(),
        ];
        let config = Config { allowed_origins, ..Config::default() };
        for (origin, is_allowed) in [
            ("https://app.example.com", true),
            ("https://a.b-2.c_3.example.com", true),
            ("https://xn--bcher-kva.example.com", true),
            ("HTTPS://App.Example.COM:443", true),
            ("http://app.port.example:8080", true),
            // Another scheme or port.
            ("http://app.example.com", false),
            ("https://app.example.com:8443", false),
            ("http://app.port.example", false),
            ("https://app.port.example:8080", false),
            // The domain itself, and hosts that only end or begin as it does.
            ("https://example.com", false),
            ("https://evilexample.com", false),
            ("https://evil-example.com", false),
            ("https://app.evilexample.com", false),
            ("https://app.example.com.evil.example", false),
            ("https://example.com.evil.example", false),
            ("https://evil.example?.example.com", false),
            ("https://evil.example/.example.com", false),
            ("https://evil.example#.example.com", false),
            ("https://user@app.example.com", false),
            ("https://evil.example:443.example.com", false),
            ("https://evil.example\\.example.com", false),
            ("https://evil.example%2f.example.com", false),
            // Empty labels, and what is no label.
            ("https://.example.com", false),
            ("https://..example.com", false),
            ("https://a..example.com", false),
            ("https://.a.example.com", false),
            ("https://app.example.com.", false),
            ("https://*.example.com", false),
            ("https://[::1].example.com", false),
            // Entries with a wildcard in another place.
            ("https://app.", false),
            ("https://a.b.example", false),
            ("https://app.any-port.example", false),
            ("https://app.a.example", false),
            ("https://app-a.example", false),
            ("https://app.no-scheme.example", false),
        ] {
            let allowed = is_allowed.then_some(Allowed::Read);
            assert_eq!(config.allows_origin(origin.as_bytes()), allowed, "{origin}");
        }
    }

    #[test]
    fn hosts_are_allowed_at_any_port_or_at_one() {
        let mut config = Config::default();
        config.allowed_hosts.push("mcp.example.com:8443".into());
        for (host, allowed) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:1", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("localhost:", true),
            ("[::1]:", true),
            ("mcp.example.com:8443", true),
            ("mcp.example.com", false),
            ("mcp.example.com:80", false),
            ("mcp.example.com:", false),
            ("evil.example", false),
            ("evil.example:", false),
            ("localhost.evil.example", false),
            ("localhost:evil", false),
            ("localhost::", false),
            ("localhost:80:", false),
            (":", false),
            ("::1", false),
            ("", false),
        ] {
            assert_eq!(config.allows_host(host.as_bytes()), allowed, "{host}");
        }
        config.allowed_hosts.push("*".into());
        assert!(config.allows_host(b"evil.example"));
    }

    #[test]
    fn entries_that_allow_nothing_are_named() {
        let mut config = Config::default();
        config.allowed_hosts.extend(["*", "a.example:8443", "[::1]:80", "::1"].map(String::from));
        let origins = ["https://app.example.com", "http://*.example.com:8080", "app://x"];
        config.allowed_origins.extend(origins.map(String::from));
        assert!(config.useless_entries().is_empty(), "{:?}", config.useless_entries());

        for entry in ["", "https://a.example", "a.example/", "*.a.example"] {
            let config = Config { allowed_hosts: vec![entry.into()], ..Config::default() };
            let advice = config.useless_entries();
            let beginning = format!("the entry {entry:?} of allowed_hosts allows no request; ");
            assert!(advice.iter().any(|text| text.starts_with(&beginning)), "{advice:?}");
        }
        for entry in ["", "*", "app.example.com", "https://a.example/", "https://*", "https://a.*"]
        {
            let config = Config { allowed_origins: vec![entry.into()], ..Config::default() };
            let advice = config.useless_entries();
            let beginning = format!("the entry {entry:?} of allowed_origins allows no page; ");
            assert!(advice.iter().any(|text| text.starts_with(&beginning)), "{advice:?}");
        }
    }

    /// `Url::host` returns an address without brackets.
    #[test]
    fn ipv6_hosts_are_allowed_with_and_without_brackets() {
        for entry in ["2001:db8::1", "[2001:db8::1]"] {
            let mut config = Config::default();
            config.allowed_hosts.push(entry.into());
            for (host, allowed) in [
                ("[2001:db8::1]", true),
                ("[2001:DB8::1]:8443", true),
                ("2001:db8::1", entry == "2001:db8::1"),
                ("[2001:db8::2]", false),
                ("[2001:db8::1].evil.example", false),
                ("[2001:db8::1", false),
            ] {
                assert_eq!(config.allows_host(host.as_bytes()), allowed, "{entry} {host}");
            }
        }
    }
}
