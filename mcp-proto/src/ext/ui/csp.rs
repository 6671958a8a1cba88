//! The origins that a page of an MCP App needs, and the policy that a host derives from them.
//!
//! In: the member `csp` of a resource's `_meta.ui`. Out: the value of `Content-Security-Policy`. A
//! source that is not an origin could add directives to the value. Servers therefore cannot
//! register such a source, and hosts ignore it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::error::UsageError;
use crate::json::Raw;

/// The origins that a page may use, such as `https://api.example.com` or `https://*.example.com`.
/// Without origins, a page can use only the content of its HTML.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Csp {
    /// Origins of requests: `fetch` and web sockets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Origins of scripts, styles, images, fonts and media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Origins of frames in the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// Base URIs that the page may set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

impl Csp {
    /// Adds an origin of requests.
    pub fn connect(mut self, origin: impl Into<String>) -> Self {
        self.connect_domains.push(origin.into());
        self
    }

    /// Adds an origin of scripts, styles, images, fonts and media.
    pub fn resource(mut self, origin: impl Into<String>) -> Self {
        self.resource_domains.push(origin.into());
        self
    }

    /// Adds an origin of frames in the page.
    pub fn frame(mut self, origin: impl Into<String>) -> Self {
        self.frame_domains.push(origin.into());
        self
    }

    /// Adds a base URI that the page may set.
    pub fn base_uri(mut self, origin: impl Into<String>) -> Self {
        self.base_uri_domains.push(origin.into());
        self
    }

    /// The value of `Content-Security-Policy` for the page. "Host MUST construct CSP headers based
    /// on declared domains", and "MUST NOT allow undeclared domains".
    ///
    /// ```
    /// use mcp_proto::ext::ui::Csp;
    ///
    /// let policy = Csp::default().connect("https://api.example.com").policy();
    /// assert!(policy.contains("connect-src https://api.example.com; frame-src 'none';"));
    /// ```
    ///
    /// Sources that are not origins are omitted.
    pub fn policy(&self) -> String {
        let resources = sources(&self.resource_domains);
        let mut policy = String::from("default-src 'none'");
        let mut add = |directive: &str, always: &str, sources: &str| {
            policy.push_str("; ");
            policy.push_str(directive);
            policy.push_str(if always.is_empty() && sources.is_empty() {
                " 'none'"
            } else {
                always
            });
            policy.push_str(sources);
        };
        add("script-src", " 'self' 'unsafe-inline'", &resources);
        add("style-src", " 'self' 'unsafe-inline'", &resources);
        add("img-src", " 'self' data:", &resources);
        add("font-src", "", &resources);
        add("media-src", " 'self' data:", &resources);
        add("connect-src", "", &sources(&self.connect_domains));
        add("frame-src", "", &sources(&self.frame_domains));
        add("object-src", "", "");
        let bases = sources(&self.base_uri_domains);
        add("base-uri", if bases.is_empty() { " 'self'" } else { "" }, &bases);
        policy
    }

    /// Reads the member from a server, without the sources that are not origins.
    pub(super) fn read(csp: Raw<'_>) -> Self {
        let list = |name: &str| {
            let mut list = Vec::new();
            if let Some(sources) = csp.member(name) {
                sources.elements(|source| {
                    let source = source.string().map(Cow::into_owned);
                    list.extend(source.filter(|source| is_origin(source)));
                });
            }
            list
        };
        Self {
            connect_domains: list("connectDomains"),
            resource_domains: list("resourceDomains"),
            frame_domains: list("frameDomains"),
            base_uri_domains: list("baseUriDomains"),
        }
    }

    /// Fails with [`UsageError::InvalidCspSource`] for a source that is not an origin.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let lists = [
            &self.connect_domains,
            &self.resource_domains,
            &self.frame_domains,
            &self.base_uri_domains,
        ];
        match lists.into_iter().flatten().find(|source| !is_origin(source)) {
            Some(source) => Err(UsageError::InvalidCspSource { source: source.clone() }),
            None => Ok(()),
        }
    }
}

/// The origins of a list, each with a space before it.
fn sources(list: &[String]) -> String {
    let origins = list.iter().filter(|source| is_origin(source));
    origins.flat_map(|origin| [" ", origin]).collect()
}

/// Returns whether a source is a scheme and a host, with an optional prefix `*.` and an optional
/// port.
fn is_origin(source: &str) -> bool {
    let Some((scheme, authority)) = source.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.'));
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let is_address = address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
            (if is_address { "address" } else { "" }, port)
        }
        None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
    };
    let host = host.strip_prefix("*.").unwrap_or(host);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let is_port = |port: &str| {
        let digits = port.strip_prefix(':').unwrap_or_default();
        !digits.is_empty() && digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    is_scheme && host.split('.').all(is_label) && (port.is_empty() || is_port(port))
}
