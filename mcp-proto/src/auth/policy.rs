//! Rules for URLs from peers.
//!
//! In: any URL of a challenge, a metadata document, a redirect or a record, before it is requested
//! or shown. Out: a [`Url`] and the addresses that its host may resolve to, or an error.
//!
//! | | rule |
//! |---|---|
//! | scheme | `https`; `http` if its host and the server's host are both loopback |
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
}

impl UrlPolicy {
    /// The rules for a client of this server.
    pub const fn new(server: Url) -> Self {
        Self { server, allowed: Vec::new() }
    }

    /// Allows a host of any kind but [`HostKind::Unusable`], such as an identity provider inside of
    /// a network. Its name may then resolve to any address. Requests to the host must still use
    /// `https`.
    pub fn allow_host(mut self, host: &str) -> Self {
        self.allowed.push(host.to_ascii_lowercase());
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

    /// The addresses to which a request to this URL may connect. The server itself may have any
    /// address, because the client's other requests go there too.
    pub fn reach(&self, url: &Url) -> FetchReach {
        let is_public = HostKind::of(url.host()) == HostKind::Public && !self.allows(url);
        let is_other = !url.same_origin(&self.server);
        if is_public && is_other { FetchReach::Public } else { FetchReach::Any }
    }

    fn refusal(&self, url: &Url) -> Option<UrlRefusal> {
        let (kind, own) = (HostKind::of(url.host()), HostKind::of(self.server.host()));
        let both_loopback = kind == HostKind::Loopback && own == HostKind::Loopback;
        if url.scheme() == Scheme::Http && !both_loopback {
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
