//! Well-known URLs of metadata, in the order of the requests.
//!
//! In: the URL of a server, or an issuer. Out: URLs.
//!
//! | metadata of | URL | requested |
//! |---|---|---|
//! | a server with a path | `/.well-known/oauth-protected-resource/PATH` | first |
//! | a server | `/.well-known/oauth-protected-resource` | last |
//! | an issuer | `/.well-known/oauth-authorization-server`, then `/PATH` if there is one | first |
//! | an issuer | `/.well-known/openid-configuration`, then `/PATH` if there is one | second |
//! | an issuer with a path | `/PATH/.well-known/openid-configuration` | last |
//!
//! A trailing slash of a path is dropped. [RFC 8414, section
//! 3](https://www.rfc-editor.org/rfc/rfc8414#section-3), [RFC 9728, section
//! 3](https://www.rfc-editor.org/rfc/rfc9728#section-3)

use alloc::collections::VecDeque;
use alloc::format;

use crate::url::Url;

const RESOURCE: &str = "oauth-protected-resource";
const OAUTH: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";

/// Position of the name in the path.
#[derive(Clone, Copy)]
enum NamePosition {
    /// Before the path, as in RFC 8414.
    Inserted,
    /// After the path, as in `OpenID` Connect Discovery.
    Appended,
}

/// Names and positions for issuers with a path; issuers without a path use the first two.
const ISSUER_PATHS: &[(NamePosition, &str)] = &[
    (NamePosition::Inserted, OAUTH),
    (NamePosition::Inserted, OPENID),
    (NamePosition::Appended, OPENID),
];

/// The URLs of the metadata of a server: one or two.
pub(in super::super) fn resource_metadata_urls(server: &Url) -> VecDeque<Url> {
    let root = well_known_url(server, "", NamePosition::Inserted, RESOURCE);
    let path = well_known_url(server, path(server), NamePosition::Inserted, RESOURCE);
    let path = path.filter(|_| !self::path(server).is_empty());
    path.into_iter().chain(root).collect()
}

/// The URLs of the metadata of an issuer: two or three.
pub(in super::super) fn issuer_metadata_urls(issuer: &Url) -> VecDeque<Url> {
    let path = path(issuer);
    let count = if path.is_empty() { 2 } else { 3 };
    let urls = ISSUER_PATHS.iter().take(count);
    urls.filter_map(|(position, name)| well_known_url(issuer, path, *position, name)).collect()
}

/// The URL of the metadata of a server of 2025-03-26: the root of its origin.
pub(in super::super) fn origin_metadata_url(server: &Url) -> Option<Url> {
    well_known_url(server, "", NamePosition::Inserted, OAUTH)
}

fn well_known_url(url: &Url, path: &str, position: NamePosition, name: &str) -> Option<Url> {
    let origin = url.origin();
    let text = match position {
        NamePosition::Inserted => format!("{origin}/.well-known/{name}{path}"),
        NamePosition::Appended => format!("{origin}{path}/.well-known/{name}"),
    };
    Url::parse(&text).ok()
}

/// The path without its query and its trailing slash.
fn path(url: &Url) -> &str {
    let path = url.target().split('?').next().unwrap_or_default();
    path.strip_suffix('/').unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn texts(urls: &VecDeque<Url>) -> Vec<String> {
        urls.iter().map(|url| url.as_str().into()).collect()
    }

    #[test]
    fn server_with_a_path_has_two_places() {
        let urls = |url| texts(&resource_metadata_urls(&Url::parse(url).unwrap()));
        let root = "https://a.example/.well-known/oauth-protected-resource";
        let path = "https://a.example/.well-known/oauth-protected-resource/public/mcp";
        assert_eq!(urls("https://a.example/public/mcp?x=1"), [path, root]);
        assert_eq!(urls("https://a.example/public/mcp/"), [path, root]);
        assert_eq!(urls("https://a.example"), [root]);
    }

    #[test]
    fn an_issuer_has_two_places_or_three() {
        let urls = |url| texts(&issuer_metadata_urls(&Url::parse(url).unwrap()));
        let three = [
            "https://a.example/.well-known/oauth-authorization-server/tenant1",
            "https://a.example/.well-known/openid-configuration/tenant1",
            "https://a.example/tenant1/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://a.example/tenant1"), three);
        assert_eq!(urls("https://a.example/tenant1/"), three);
        let two = [
            "https://a.example/.well-known/oauth-authorization-server",
            "https://a.example/.well-known/openid-configuration",
        ];
        assert_eq!(urls("https://a.example"), two);
        assert_eq!(urls("https://a.example/"), two);
    }
}
