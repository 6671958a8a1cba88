//! Redirect URIs of a client: the URL to which a browser returns after a sign-in.
//!
//! In: a redirect URI of the application, or of its listener. Out: whether the URI may be used, and
//! the type of application that it belongs to; the parameters of a redirect to the URI.
//!
//! | redirect URI | used | type |
//! |---|---|---|
//! | `https`, this machine | yes | `native` |
//! | `https`, another host | yes | `web` |
//! | `http`, this machine | yes | `native` |
//! | `http`, another host | no: "All redirect URIs MUST be either `localhost` or use HTTPS" | |
//! | another scheme | yes: it is private to an application of this machine | `native` |
//!
//! [Specification: Communication
//! Security](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#communication-security),
//! [RFC 8252, section 7](https://www.rfc-editor.org/rfc/rfc8252#section-7)

use alloc::string::String;
use alloc::vec::Vec;

use super::error::{AuthError, shown};
use super::form;
use super::host_kind::HostKind;
use crate::url::Url;

/// The maximum length of a redirect: 16 KiB.
const MAX_REDIRECT_BYTES: usize = 16 * 1024;

/// Refuses `http` to another host.
pub(super) fn check(uri: &str) -> Result<(), AuthError> {
    let is_http = uri.split(':').next().is_some_and(|it| it.eq_ignore_ascii_case("http"));
    if is_http && !Url::parse(uri).is_ok_and(|url| is_loopback(&url)) {
        return Err(AuthError::RedirectUri { uri: shown(uri) });
    }
    Ok(())
}

/// The member `application_type` of a registration.
pub(super) fn application_type(uri: &str) -> &'static str {
    let is_web = Url::parse(uri).is_ok_and(|url| !is_loopback(&url));
    if is_web { "web" } else { "native" }
}

/// True if two redirect URIs are equal, apart from the port of a loopback host.
pub(super) fn are_same(own: &str, other: &str) -> bool {
    if own == other {
        return true;
    }
    let (Ok(own), Ok(other)) = (Url::parse(own), Url::parse(other)) else { return false };
    is_loopback(&own)
        && own.scheme() == other.scheme()
        && own.host() == other.host()
        && own.target() == other.target()
}

/// The parameters of a redirect to this URI, in their order. `text` is the URL of the redirect, or
/// its query. `None` if the URL has another place, or is too long.
pub fn redirect_params(redirect_uri: &str, text: &str) -> Option<Vec<(String, String)>> {
    if text.len() > MAX_REDIRECT_BYTES {
        return None;
    }
    let text = text.trim().split('#').next().unwrap_or_default();
    let (place, query) = text.split_once('?').unwrap_or(("", text));
    let own_place = redirect_uri.split('?').next().unwrap_or_default();
    // A browser shows a URI without a path with the path `/`.
    let has_path = own_place.split_once("://").is_none_or(|(_, rest)| rest.contains('/'));
    let is_shown = !has_path && place.strip_suffix('/') == Some(own_place);
    (is_shown || [own_place, ""].contains(&place)).then(|| form::decode(query))
}

fn is_loopback(url: &Url) -> bool {
    HostKind::of(url.host()) == HostKind::Loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uri_is_https_or_on_this_machine() {
        for (uri, is_allowed, kind) in [
            ("http://127.0.0.1/callback", true, "native"),
            ("http://localhost:3000/callback", true, "native"),
            ("http://[::1]/callback", true, "native"),
            ("https://localhost/callback", true, "native"),
            ("https://127.0.0.1:8443/callback", true, "native"),
            ("https://app.example/callback", true, "web"),
            ("com.example.app:/callback", true, "native"),
            ("http://app.example/callback", false, "web"),
            ("HTTP://app.example/callback", false, "web"),
            ("http://localhost.app.example/callback", false, "web"),
            ("http://localhost@app.example/callback", false, "native"),
            ("http://10.0.0.1/callback", false, "web"),
            ("http:", false, "native"),
        ] {
            assert_eq!(check(uri).is_ok(), is_allowed, "{uri}");
            assert_eq!(application_type(uri), kind, "{uri}");
        }
    }

    #[test]
    fn ports_of_loopback_redirects_are_ignored() {
        for (own, other, same) in [
            ("http://127.0.0.1/callback", "http://127.0.0.1:49152/callback", true),
            ("http://127.0.0.1/callback", "http://localhost:49152/callback", false),
            ("http://127.0.0.1/callback", "http://127.0.0.1:49152/other", false),
            ("https://a.example/cb", "https://a.example:8443/cb", false),
            ("com.example.app:/cb", "com.example.app:/cb", true),
        ] {
            assert_eq!(are_same(own, other), same, "{own} {other}");
        }
    }
}
