//! Proxies of a client, and the choice of the proxy for a URL.
//!
//! In: URLs of proxies, from the application or the environment, and the URL of a server. Out: the
//! proxy to connect to. Credentials of a proxy appear in no `Debug` and in no error.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use std::{env, io};

use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use mcp_proto::http::{Scheme, Url};

use crate::loopback_host::is_loopback_host;

/// Proxies between a client over HTTP and its servers, for
/// [`HttpClientConfig::proxies`](crate::HttpClientConfig::proxies).
///
/// The default is the environment: `HTTPS_PROXY` for `https` URLs, `HTTP_PROXY` for `http` URLs,
/// `ALL_PROXY` in place of either. A name in lower case counts if the name in upper case is not
/// set. `NO_PROXY` is a list, with commas, of hosts, domains with their subdomains, addresses and
/// networks (`10.0.0.0/8`) without a proxy; `*` is all. An entry with a port (`example.com:8080`)
/// is about that port only. Loopback hosts never have a proxy of the environment. A CGI program
/// (`REQUEST_METHOD`) has none at all.
///
/// The URL of a proxy is `http://HOST:PORT`, or `https://HOST:PORT` for TLS with the proxy; the
/// scheme may be left out, and so may the port, which is 80 or 443. With `USER:PASSWORD@` before
/// the host, percent-encoded, the proxy gets them as `Proxy-Authorization: Basic`. Connecting
/// through a SOCKS proxy fails with [`Unsupported`](io::ErrorKind::Unsupported). A variable with
/// any other value counts as not set.
///
/// ```
/// use mcp_service::{HttpClientConfig, Proxies};
///
/// let proxies = Proxies::all_except("http://proxy.example.com:3128", "localhost,10.0.0.0/8")?;
/// let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?.proxies(proxies);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Proxies {
    matcher: Arc<Matcher>,
    /// The list of hosts without a proxy, in the form of `NO_PROXY`.
    excepted: Arc<str>,
    /// True if they come from the environment.
    spare_loopback: bool,
}

impl Proxies {
    /// No proxy, regardless of the environment.
    pub fn none() -> Self {
        Self::of(Matcher::builder().build(), "", false)
    }

    /// One proxy for all hosts, loopback ones too.
    ///
    /// Fails with [`InvalidInput`](io::ErrorKind::InvalidInput) if the URL is not that of a proxy.
    pub fn all(url: &str) -> io::Result<Self> {
        Self::all_except(url, "")
    }

    /// One proxy for all hosts except those of a list, which has the form of `NO_PROXY`.
    ///
    /// Fails as [`Proxies::all`] does.
    pub fn all_except(url: &str, hosts: &str) -> io::Result<Self> {
        let matcher = |hosts: &str| Matcher::builder().all(url).no(hosts).build();
        // An invalid URL is ignored by the matcher, and the client would connect without a proxy.
        let anywhere = "http://host.invalid/".parse().map_err(io::Error::other)?;
        if matcher("").intercept(&anywhere).is_none() {
            let text = "the URL of the proxy is not valid: it has the form http://HOST:PORT";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Self::of(matcher(hosts), hosts, false))
    }

    /// The proxies of the environment.
    #[expect(clippy::disallowed_methods, reason = "the environment is the default")]
    pub(crate) fn from_env() -> Self {
        let excepted = env::var("NO_PROXY").or_else(|_| env::var("no_proxy")).unwrap_or_default();
        Self::of(Matcher::from_env(), &excepted, true)
    }

    fn of(matcher: Matcher, excepted: &str, spare_loopback: bool) -> Self {
        Self { matcher: Arc::new(matcher), excepted: excepted.into(), spare_loopback }
    }

    /// The proxy for a URL, if there is one.
    ///
    /// Fails with [`Unsupported`](io::ErrorKind::Unsupported) for a SOCKS proxy.
    pub(crate) fn find(&self, url: &Url) -> io::Result<Option<Proxy>> {
        if self.spare_loopback && is_loopback_host(url.host()) {
            return Ok(None);
        }
        let scheme = match url.scheme() {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        // The path may hold a secret, and does not matter.
        let origin =
            format!("{scheme}://{}/", url.authority()).parse().map_err(io::Error::other)?;
        // A proxy for all hosts except those of an entry.
        let all_except = |host: &str| Matcher::builder().all("proxy.invalid").no(host).build();
        let is_named = |host: &str| all_except(host).intercept(&origin).is_none();
        let mut entries = self.excepted.split(',').map(str::trim);
        if entries.any(|entry| entry == "*" || host_at(entry, url.port()).is_some_and(is_named)) {
            return Ok(None);
        }
        let Some(proxy) = self.matcher.intercept(&origin).map(Proxy) else { return Ok(None) };
        if !matches!(proxy.0.uri().scheme_str(), Some("http" | "https")) {
            let text =
                format!("{} is a SOCKS proxy: only HTTP proxies are supported", proxy.name());
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Some(proxy))
    }
}

/// Shows no proxy, because the URLs may contain passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").finish_non_exhaustive()
    }
}

/// The host of an entry of `NO_PROXY` that is in brackets, or has this port. The matcher knows
/// neither form, and applies `*` only to names.
fn host_at(entry: &str, port: u16) -> Option<&str> {
    if let Some(address) = unbracketed(entry) {
        return Some(address);
    }
    let (host, of_entry) = entry.rsplit_once(':')?;
    let address = unbracketed(host);
    let is_at = of_entry.parse() == Ok(port) && (address.is_some() || !host.contains(':'));
    is_at.then(|| address.unwrap_or(host))
}

/// An IPv6 address in brackets, without them.
fn unbracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

/// A proxy to connect to.
pub(crate) struct Proxy(Intercept);

impl Proxy {
    /// Its name or address, without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        let host = self.0.uri().host().unwrap_or_default();
        unbracketed(host).unwrap_or(host)
    }

    pub(crate) fn port(&self) -> u16 {
        let default = if self.is_secure() { 443 } else { 80 };
        self.0.uri().port_u16().unwrap_or(default)
    }

    /// Its host and port, for errors.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.0.uri().host().unwrap_or_default(), self.port())
    }

    /// Returns whether the connection to it is within TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.uri().scheme_str() == Some("https")
    }

    /// The value of `Proxy-Authorization`.
    pub(crate) fn authorization(&self) -> Option<&[u8]> {
        self.0.basic_auth().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(proxies: &Proxies, url: &str) -> Option<String> {
        proxies.find(&Url::parse(url).unwrap()).unwrap().map(|proxy| proxy.name())
    }

    /// Like [`Proxies::from_env`], with these variables.
    fn environment(https: &str, all: &str, no: &str) -> Proxies {
        let matcher = Matcher::builder().https(https.to_owned()).all(all.to_owned());
        Proxies::of(matcher.no(no.to_owned()).build(), no, true)
    }

    #[test]
    fn the_scheme_of_the_url_selects_the_proxy() {
        let proxies = environment("https://a", "b:3128", "");
        assert_eq!(names(&proxies, "https://example.com/mcp").as_deref(), Some("a:443"));
        assert_eq!(names(&proxies, "http://example.com/mcp").as_deref(), Some("b:3128"));
    }

    #[test]
    fn listed_hosts_have_no_proxy() {
        let proxies = environment("a", "", "example.com, 10.0.0.0/8, ::1");
        for url in ["https://example.com/", "https://mcp.example.com/", "https://10.1.2.3:8443/"] {
            assert_eq!(names(&proxies, url), None, "{url}");
        }
        for url in ["https://anexample.com/", "https://11.1.2.3/"] {
            assert!(names(&proxies, url).is_some(), "{url}");
        }
    }

    #[test]
    fn star_lists_addresses_as_well() {
        for list in ["*", "example.com, *"] {
            let proxies = environment("a", "", list);
            for url in ["https://10.1.2.3/", "https://[2001:db8::1]/", "https://other.example/"] {
                assert_eq!(names(&proxies, url), None, "{list}: {url}");
            }
        }
    }

    #[test]
    fn listed_host_with_a_port_has_no_proxy_at_that_port() {
        let list = "example.com:8443,10.0.0.0/8:8443,[2001:db8::1]:8443,2001:db8::2,[2001:db8::3]";
        let proxies = environment("a", "", list);
        for host in ["example.com", "mcp.example.com", "10.1.2.3", "[2001:db8::1]"] {
            let at = |port| names(&proxies, &format!("https://{host}:{port}/"));
            assert_eq!((at(8443), at(443).is_some()), (None, true), "{host}");
        }
        for url in ["https://anexample.com:8443/", "https://[2001:db8::]:2/", "https://b:8443/"] {
            assert!(names(&proxies, url).is_some(), "{url}");
        }
        for url in ["https://[2001:db8::2]:9/", "https://[2001:db8::3]:9/"] {
            assert_eq!(names(&proxies, url), None, "{url}");
        }
    }

    #[test]
    fn net_n3_loopback_hosts_have_no_proxy_of_the_environment() {
        let (found, given) = (environment("a", "a", ""), Proxies::all("a").unwrap());
        for host in ["localhost", "localhost.", "mcp.localhost", "127.0.0.1", "127.1.2.3", "[::1]"]
        {
            let url = format!("http://{host}:8000/mcp");
            assert_eq!((names(&found, &url), names(&given, &url).is_some()), (None, true), "{url}");
        }
        assert!(names(&found, "http://notlocalhost/").is_some());
    }

    #[test]
    fn net_n2_url_of_no_proxy_is_refused() {
        for url in ["", "ftp://a", "http://", "/a", "http://a b"] {
            let error = Proxies::all(url).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }

    #[test]
    fn net_n2_socks_proxy_is_not_supported() {
        let proxies = Proxies::all("socks5h://ada:secret@a:1080").unwrap();
        let error = proxies.find(&Url::parse("http://b").unwrap()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert_eq!(error.to_string(), "a:1080 is a SOCKS proxy: only HTTP proxies are supported");
    }

    #[test]
    fn net_n1_credentials_are_not_shown() {
        let proxies = Proxies::all("http://ada:p@ss:wo%20rd@[::2]:81").unwrap();
        let proxy = proxies.find(&Url::parse("http://a").unwrap()).unwrap().unwrap();
        assert_eq!((proxy.host(), &*proxy.name()), ("::2", "[::2]:81"));
        assert_eq!(format!("{proxies:?}"), "Proxies { .. }");
    }
}
