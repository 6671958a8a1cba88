//! Metadata of a protected server, made from its public URL.
//!
//! In: the URL that clients use, and the issuers of its tokens. Out: the document, its path, and
//! its URL for challenges. All three are derived from one URL, so that they are consistent behind a
//! path or a proxy.
//!
//! [RFC 9728, section 2](https://www.rfc-editor.org/rfc/rfc9728#section-2)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::error::UrlError;
use crate::json::write::List;
use crate::scopes::{RequiredScopes, Scopes};
use crate::url::Url;

/// The prefix of all well-known places.
pub(crate) const WELL_KNOWN: &str = "/.well-known/";

/// The place of the metadata of a server without a path.
const ROOT: &str = "/.well-known/oauth-protected-resource";

/// A server that requires tokens: its public URL, and the authorization servers that issue them.
///
/// ```
/// use mcp_proto::resource_server::ProtectedResource;
///
/// let resource = ProtectedResource::new("https://example.com/files/mcp", "https://auth.example.com")?
///     .scopes("files:read files:write")
///     .name("Files");
/// assert_eq!(
///     resource.metadata_url(),
///     "https://example.com/.well-known/oauth-protected-resource/files/mcp"
/// );
/// assert_eq!(
///     resource.metadata(),
///     concat!(
///         r#"{"resource":"https://example.com/files/mcp","#,
///         r#""authorization_servers":["https://auth.example.com"],"#,
///         r#""scopes_supported":["files:read","files:write"],"#,
///         r#""bearer_methods_supported":["header"],"resource_name":"Files"}"#,
///     )
/// );
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtectedResource {
    resource: String,
    /// Scheme and authority.
    origin: String,
    path: String,
    issuers: Vec<String>,
    scopes: Scopes,
    required: RequiredScopes,
    name: Option<String>,
    documentation: Option<String>,
    is_at_root: bool,
}

impl ProtectedResource {
    /// A server with this public URL, whose tokens come from the authorization server `issuer`.
    /// `public_url` is the URL that clients use; behind a proxy, it is the URL of the proxy. Both
    /// URLs are copied into the document unchanged.
    ///
    /// Fails if one of the URLs is not an `http` or `https` URL, or has a query or a fragment.
    pub fn new(public_url: &str, issuer: &str) -> Result<Self, UrlError> {
        let url = identifier(public_url)?;
        identifier(issuer)?;
        let path = url.target().strip_suffix('/').unwrap_or(url.target());
        Ok(Self {
            resource: public_url.into(),
            origin: url.origin().into(),
            path: format!("{ROOT}{path}"),
            issuers: Vec::from([issuer.into()]),
            scopes: Scopes::none(),
            required: RequiredScopes::default(),
            name: None,
            documentation: None,
            is_at_root: false,
        })
    }

    /// Adds another authorization server. Fails as [`new`](Self::new) does.
    pub fn issuer(mut self, issuer: &str) -> Result<Self, UrlError> {
        identifier(issuer)?;
        self.issuers.push(issuer.into());
        Ok(self)
    }

    /// Sets the scopes that the server lists, separated by spaces. A client without other scopes
    /// requests all listed scopes. Do not list `offline_access`: it is between the client and the
    /// authorization server.
    #[must_use]
    pub fn scopes(mut self, scopes: &str) -> Self {
        self.scopes = Scopes::words(scopes);
        self
    }

    /// Sets the scopes that every request needs, separated by spaces; default none. Challenges name
    /// them, and verified tokens without them are refused with 403. If one of them is no valid
    /// scope of RFC 6749, every token is refused.
    #[must_use]
    pub fn require_scopes(mut self, scopes: &str) -> Self {
        self.required = RequiredScopes::words(scopes);
        self
    }

    /// Sets the name of the server, for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of a page for developers.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Serves the document at the root path as well, for clients that only look there. Do not use
    /// this if several servers share the host.
    #[must_use]
    pub fn also_at_root(mut self) -> Self {
        self.is_at_root = true;
        self
    }

    /// The public URL, unchanged.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The path of the document, which the HTTP stack or the proxy in front must route here.
    pub fn metadata_path(&self) -> &str {
        &self.path
    }

    /// The URL of the document, which challenges name as `resource_metadata`.
    pub fn metadata_url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// The valid scopes that every request needs.
    pub fn required_scopes(&self) -> &Scopes {
        self.required.scopes()
    }

    /// Returns whether a token with the scopes `granted` has those that every request needs.
    pub(crate) fn is_open_to(&self, granted: &Scopes) -> bool {
        self.required.are_in(granted)
    }

    /// Returns whether the document is at this path.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        path == self.path || self.is_at_root && path == ROOT
    }

    /// The document, as JSON.
    pub fn metadata(&self) -> Bytes {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("resource", &self.resource);
        object.key("authorization_servers");
        texts(object.out(), self.issuers.iter().map(String::as_str));
        if !self.scopes.is_empty() {
            object.key("scopes_supported");
            texts(object.out(), self.scopes.iter());
        }
        object.member("bearer_methods_supported", br#"["header"]"#);
        if let Some(name) = &self.name {
            object.text("resource_name", name);
        }
        if let Some(url) = &self.documentation {
            object.text("resource_documentation", url);
        }
        object.end();
        out.into()
    }
}

fn texts<'a>(out: &mut Vec<u8>, items: impl Iterator<Item = &'a str>) {
    let mut list = List::array(out);
    for item in items {
        crate::json::write::string(list.item(), item);
    }
    list.end();
}

/// Parses a URL that identifies a server or an issuer, without query and fragment.
fn identifier(text: &str) -> Result<Url, UrlError> {
    match text.char_indices().find(|(_, found)| matches!(found, '?' | '#' | ' ' | '\t')) {
        Some((at, found)) => Err(UrlError::Character { found, at }),
        None => Url::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://auth.example.com";

    #[test]
    fn auth_a49_place_challenge_and_resource_come_from_the_public_url() {
        let root = "/.well-known/oauth-protected-resource";
        for (public, origin, path) in [
            ("https://a.example", "https://a.example", ""),
            ("https://a.example/", "https://a.example", ""),
            ("https://a.example/mcp", "https://a.example", "/mcp"),
            ("https://a.example/mcp/", "https://a.example", "/mcp"),
            ("https://A.example:443/x/y", "https://a.example", "/x/y"),
            ("http://localhost:8000/mcp", "http://localhost:8000", "/mcp"),
        ] {
            let resource = ProtectedResource::new(public, ISSUER).unwrap();
            assert_eq!(resource.metadata_path(), format!("{root}{path}"), "{public}");
            assert_eq!(resource.metadata_url(), format!("{origin}{root}{path}"), "{public}");
            let document = resource.metadata();
            let stated = format!("{{\"resource\":\"{public}\",");
            assert!(document.starts_with(stated.as_bytes()), "{document:?}");
        }
    }

    #[test]
    fn identifiers_are_urls_without_query_and_fragment() {
        for text in ["", "mcp.example.com", "urn:x", "https://a.example/?x", "https://a.example#x"]
        {
            assert!(ProtectedResource::new(text, ISSUER).is_err(), "{text}");
            assert!(ProtectedResource::new("https://a.example", text).is_err(), "{text}");
        }
        assert!(ProtectedResource::new(" https://a.example", ISSUER).is_err());
        let resource = ProtectedResource::new("https://a.example", ISSUER).unwrap();
        assert!(resource.issuer("https://b.example x").is_err());
        let error = ProtectedResource::new("https://a.example/mcp?x=1", ISSUER).unwrap_err();
        let said = "the URL must have no query and no fragment; take out what begins with '?' at \
                    byte 21";
        assert_eq!(format!("{error}"), said);
    }

    #[test]
    fn root_place_is_served_only_if_set() {
        let resource = ProtectedResource::new("https://a.example/mcp", ISSUER).unwrap();
        assert!(resource.is_at("/.well-known/oauth-protected-resource/mcp"));
        assert!(!resource.is_at(ROOT));
        assert!(resource.also_at_root().is_at(ROOT));
    }
}
