//! Rules for URLs from peers, and for those that follow from the server's own URL.
//!
//! In: any URL of a challenge, a metadata document, a redirect or a record, before it is requested
//! or shown. Out: a [`Url`] and the addresses that its host may resolve to, or an error. Of a
//! well-known or guessed URL, which has the server's own host, only the scheme is checked.
//!
//! | | rule |
//! |---|---|
//! | scheme | `https`; `http` if its host and the server's host are both loopback, or if it is one of `allow_http` |
//! | host | [`HostKind::Public`], the kind of the server's host, or one of `allow_host`; never [`HostKind::Unusable`] |
//! | userinfo, characters, other schemes | refused by [`Url::parse`] |
//!
//! [Specification: Security Best
//! Practices](https://modelcontextprotocol.io/specification/2026-07-28/basic/security_best_practices)

use alloc::string::String;
use alloc::vec::Vec;

use super::error::{AuthError, UrlRefusal, shown};
use super::host_kind::HostKind;
use crate::url::{Scheme, Url};

/// The addresses that a connector may connect to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchReach {
    /// Only addresses of [`HostKind::Public`], whatever the name resolves to.
    Public,
    /// Any address.
    Any,
}

/// The rules for one server.
///
/// ```
/// use mcp_proto::auth::{FetchReach, UrlPolicy};
/// use mcp_proto::http::Url;
///
/// let policy = UrlPolicy::new(Url::parse("https://mcp.example.com/mcp")?);
/// let url = policy.check("https://auth.example.com/token")?;
/// assert_eq!(policy.reach(&url), FetchReach::Public);
/// assert!(policy.check("http://auth.example.com/token").is_err());
/// assert!(policy.check("https://169.254.169.254/latest/meta-data").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct UrlPolicy {
    server: Url,
    allowed: Vec<String>,
    /// The hosts that may be asked by `http`.
    plain: Vec<String>,
}

impl UrlPolicy {
    /// The rules for a client of this server.
    pub const fn new(server: Url) -> Self {
        Self { server, allowed: Vec::new(), plain: Vec::new() }
    }

    /// Allows a host of any kind but [`HostKind::Unusable`], such as an identity provider inside of
    /// a network. Its name may then resolve to any address. Requests to the host must still use
    /// `https`.
    pub fn allow_host(mut self, host: &str) -> Self {
        self.allowed.push(host.to_ascii_lowercase());
        self
    }

    /// Allows `http` for a host that is not loopback, such as a server behind an encrypted tunnel.
    /// Without encryption, whoever is on the way reads secrets and tokens, and chooses the
    /// authorization server.
    pub fn allow_http(mut self, host: &str) -> Self {
        self.plain.push(host.to_ascii_lowercase());
        self
    }

    /// Reads a URL and checks it.
    ///
    /// # Errors
    ///
    /// [`AuthError::Url`].
    pub fn check(&self, text: &str) -> Result<Url, AuthError> {
        let refusal = |reason| AuthError::Url { url: shown(text), reason };
        let url = Url::parse(text).map_err(|error| refusal(UrlRefusal::Invalid(error)))?;
        match self.refusal(&url) {
            Some(reason) => Err(refusal(reason)),
            None => Ok(url),
        }
    }

    /// Checks only the scheme: the client's other requests go to the server's own host too.
    pub(super) fn check_scheme(&self, url: &Url) -> Result<(), AuthError> {
        if self.is_plain(url) {
            let url = shown(url.as_str());
            return Err(AuthError::Url { url, reason: UrlRefusal::NotHttps });
        }
        Ok(())
    }

    /// True if tokens that are sent to the server can be read on the way.
    pub(super) fn exposes_tokens(&self) -> bool {
        self.is_plain(&self.server)
    }

    /// The addresses to which a request to this URL may connect. The server itself may have any
    /// address, because the client's other requests go there too.
    pub fn reach(&self, url: &Url) -> FetchReach {
        let is_public = HostKind::of(url.host()) == HostKind::Public && !self.allows(url);
        let is_other = !url.same_origin(&self.server);
        if is_public && is_other { FetchReach::Public } else { FetchReach::Any }
    }

    fn refusal(&self, url: &Url) -> Option<UrlRefusal> {
        let (kind, own) = (HostKind::of(url.host()), HostKind::of(self.server.host()));
        if self.is_plain(url) {
            return Some(UrlRefusal::NotHttps);
        }
        let is_reachable = match kind {
            HostKind::Public => true,
            HostKind::Unusable => false,
            HostKind::Loopback | HostKind::Private | HostKind::LinkLocal => {
                kind == own || self.allows(url)
            }
        };
        (!is_reachable).then_some(UrlRefusal::Host(kind))
    }

    /// True for `http` beyond this machine, unless the host is allowed.
    fn is_plain(&self, url: &Url) -> bool {
        let is_loopback = |url: &Url| HostKind::of(url.host()) == HostKind::Loopback;
        let is_local = is_loopback(url) && is_loopback(&self.server);
        let is_allowed = || self.plain.iter().any(|host| host == url.host());
        url.scheme() == Scheme::Http && !is_local && !is_allowed()
    }

    fn allows(&self, url: &Url) -> bool {
        self.allowed.iter().any(|host| host == url.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(server: &str) -> UrlPolicy {
        UrlPolicy::new(Url::parse(server).unwrap())
    }

    #[test]
    fn http_is_allowed_only_between_loopback_hosts() {
        for (server, url, is_allowed) in [
            ("https://s.example", "https://a.example", true),
            ("https://s.example", "http://a.example", false),
            ("https://s.example", "http://localhost:9", false),
            ("https://s.example", "https://localhost:9", false),
            ("http://localhost:1", "http://127.0.0.1:9", true),
            ("http://localhost:1", "http://[::1]:9", true),
            ("http://localhost:1", "http://a.example", false),
            ("http://localhost:1", "https://10.0.0.1", false),
            ("https://10.0.0.1", "https://192.168.0.1", true),
            ("https://10.0.0.1", "http://192.168.0.1", false),
            ("https://10.0.0.1", "https://169.254.169.254", false),
            ("https://10.0.0.1", "https://localhost", false),
            ("https://0.0.0.0", "https://0.0.0.0", false),
            ("https://s.example", "ftp://a.example", false),
            ("https://s.example", "https://user@a.example", false),
        ] {
            assert_eq!(policy(server).check(url).is_ok(), is_allowed, "{url} for {server}");
        }
    }

    #[test]
    fn an_allowed_host_may_be_private() {
        let policy = policy("https://s.example").allow_host("IDP.internal");
        let url = policy.check("https://idp.internal/x").unwrap();
        assert_eq!(policy.reach(&url), FetchReach::Any);
        assert!(policy.check("http://idp.internal/x").is_err());
        assert!(policy.check("https://other.internal/x").is_err());
    }

    #[test]
    fn http_is_allowed_for_named_hosts() {
        let policy = policy("http://10.0.0.5:8000/mcp").allow_http("IDP.example");
        assert!(policy.check("http://idp.example/token").is_ok());
        assert!(policy.check("http://10.0.0.5:8000/token").is_err() && policy.exposes_tokens());
        let policy = policy.allow_http("10.0.0.5");
        assert!(policy.check("http://10.0.0.5:9000/token").is_ok() && !policy.exposes_tokens());
        // Another kind of host must be allowed, too.
        let policy = self::policy("https://s.example").allow_http("10.0.0.5");
        assert!(policy.check("http://10.0.0.5/token").is_err());
        assert!(policy.allow_host("10.0.0.5").check("http://10.0.0.5/token").is_ok());
    }

    #[test]
    fn server_itself_may_have_any_address() {
        let policy = policy("https://mcp.corp.example:8443/mcp");
        for (url, reach) in [
            ("https://mcp.corp.example:8443/.well-known/x", FetchReach::Any),
            ("https://mcp.corp.example/token", FetchReach::Public),
            ("https://a.corp.example:8443/token", FetchReach::Public),
        ] {
            assert_eq!(policy.reach(&Url::parse(url).unwrap()), reach, "{url}");
        }
    }

    #[test]
    fn an_error_shows_no_query() {
        let error =
            policy("https://s.example").check("http://a.example/x?code=canary").unwrap_err();
        assert!(!alloc::format!("{error} {error:?}").contains("canary"));
    }
}
