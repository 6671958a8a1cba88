//! Metadata of a protected resource: the authorization servers of a server.
//!
//! In: the body of an answer. Out: the members that a client uses. `resource` is kept unchanged,
//! because authorization servers compare it byte for byte.
//!
//! [RFC 9728, section 2](https://www.rfc-editor.org/rfc/rfc9728#section-2)

use alloc::string::String;
use alloc::vec::Vec;

use super::super::document::Document;
use super::super::scopes::Scopes;
use crate::url::Url;

/// The maximum number of authorization servers that are read.
const MAX_ISSUERS: usize = 32;

/// The metadata of a server.
///
/// ```
/// use mcp_proto::auth::ResourceMetadata;
/// use mcp_proto::http::Url;
///
/// let body = br#"{"resource":"https://a.example","authorization_servers":["https://b.example"]}"#;
/// let metadata = ResourceMetadata::read(body).unwrap();
/// assert!(metadata.covers(&Url::parse("https://a.example/mcp")?));
/// assert!(!metadata.covers(&Url::parse("https://c.example/mcp")?));
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The identifier of the resource, as it was sent.
    pub resource: String,
    /// The issuers of the authorization servers, as they were sent; at least one, at most 32.
    pub authorization_servers: Vec<String>,
    /// The scopes that the server lists.
    pub scopes_supported: Scopes,
    /// True if the server only accepts tokens that are bound to a key.
    pub dpop_bound_access_tokens_required: bool,
}

impl ResourceMetadata {
    /// Reads a document; `None` if it lacks `resource` or an authorization server, is no JSON
    /// object, or is longer than 256 KiB.
    pub fn read(body: &[u8]) -> Option<Self> {
        let document = Document::read(body)?;
        let mut authorization_servers = document.texts("authorization_servers")?;
        authorization_servers.truncate(MAX_ISSUERS);
        let scopes = document.texts("scopes_supported").unwrap_or_default();
        let metadata = Self {
            resource: document.text("resource")?,
            authorization_servers,
            scopes_supported: scopes.iter().map(String::as_str).collect(),
            dpop_bound_access_tokens_required: document.flag("dpop_bound_access_tokens_required"),
        };
        (!metadata.authorization_servers.is_empty()).then_some(metadata)
    }

    /// True if `resource` is the server, or a folder that contains the server. Both must have the
    /// same origin. The path of `resource`, without a slash at its end, must equal the server's
    /// path, or be a prefix that a slash follows. Queries are ignored. A `resource` that is no URL,
    /// or has a fragment, covers nothing.
    pub fn covers(&self, server: &Url) -> bool {
        let Ok(resource) = Url::parse(&self.resource) else { return false };
        let path = |url: &Url| String::from(url.target().split('?').next().unwrap_or_default());
        let (own, of_server) = (path(&resource), path(server));
        let own = own.strip_suffix('/').unwrap_or(&own);
        let rest = of_server.strip_prefix(own);
        !self.resource.contains('#')
            && resource.same_origin(server)
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_its_own_path_and_those_below() {
        for (resource, server, covers) in [
            ("https://a.example/mcp", "https://a.example/mcp", true),
            ("https://a.example/mcp/", "https://a.example/mcp", true),
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/", "https://a.example/mcp?team=7", true),
            ("https://A.example:443/mcp", "https://a.example/mcp/v1", true),
            ("https://a.example/mcp", "https://a.example/mcp2", false),
            ("https://a.example/mcp2", "https://a.example/mcp", false),
            ("https://a.example/mcp", "https://a.example/", false),
            ("https://a.example:8443/mcp", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://evil.example/mcp", "https://a.example/mcp", false),
            ("https://a.example/mcp#x", "https://a.example/mcp", false),
            ("https://u@a.example/mcp", "https://a.example/mcp", false),
            ("urn:mcp", "https://a.example/mcp", false),
        ] {
            let metadata = ResourceMetadata {
                resource: resource.into(),
                authorization_servers: Vec::new(),
                scopes_supported: Scopes::none(),
                dpop_bound_access_tokens_required: false,
            };
            assert_eq!(
                metadata.covers(&Url::parse(server).unwrap()),
                covers,
                "{resource} {server}"
            );
        }
    }

    #[test]
    fn a_document_needs_a_resource_and_an_issuer() {
        for body in [
            r#"{"resource":"https://a.example"}"#,
            r#"{"resource":"https://a.example","authorization_servers":[]}"#,
            r#"{"authorization_servers":["https://b.example"]}"#,
            "<html>",
        ] {
            assert_eq!(ResourceMetadata::read(body.as_bytes()), None, "{body}");
        }
    }
}
