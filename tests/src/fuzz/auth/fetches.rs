//! Requests of an authorizer, as they may be.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use mcp_proto::auth::{Fetch, FetchReach};
use mcp_proto::http::Url;

use super::canaries::{CANARY, Canaries};
use super::settings::SERVER;

/// The most requests of a flow.
const MAX_FETCHES: u32 = 40;

/// The most redirects of a question.
const MAX_REDIRECTS: u32 = 3;

/// The resources that cover the server.
const RESOURCES: [&str; 3] = ["https://s.example/mcp", "https://s.example", "https://s.example/"];

/// The requests so far.
#[derive(Default)]
pub(super) struct FetchRules {
    /// The requests of the flow.
    count: u32,
    redirects: u32,
    /// The URL that the last answer redirects to.
    location: Option<Url>,
    /// The grant that was answered with a wish for a nonce, and the repetitions.
    nonce: Option<(String, u32)>,
    /// Codes, by the verifier that they were sent with.
    verifiers: BTreeMap<String, String>,
    omits_resource: bool,
    /// True if metadata or a record was used of which nobody knows what it says.
    pub(super) is_loose: bool,
}

impl FetchRules {
    pub(super) fn new(omits_resource: bool) -> Self {
        Self { omits_resource, ..Self::default() }
    }

    /// A flow has ended.
    pub(super) fn end_flow(&mut self) {
        self.count = 0;
        self.redirects = 0;
        self.location = None;
        self.nonce = None;
    }

    /// An answer redirects.
    pub(super) fn redirect(&mut self, url: &Url, location: Option<&str>) {
        self.location = location.and_then(|location| url.join(location).ok());
    }

    /// A token endpoint has asked for a nonce.
    pub(super) fn want_nonce(&mut self, body: &str) {
        let grant = grant(body);
        if self.nonce.as_ref().is_none_or(|(own, _)| *own != grant) {
            self.nonce = Some((grant, 0));
        }
    }

    /// Panics if a request is none that may be sent.
    pub(super) fn check(&mut self, fetch: &Fetch, canaries: &Canaries) {
        let (url, body) = (&fetch.url, fetch.body.expose());
        check_url(url);
        let is_server = Url::parse(SERVER).is_ok_and(|server| server.same_origin(url));
        let reach = if is_server { FetchReach::Any } else { FetchReach::Public };
        assert_eq!(fetch.reach, reach, "{url}");
        self.count += 1;
        assert!(self.count <= MAX_FETCHES, "more than {MAX_FETCHES} requests");
        let is_redirected = self.location.take().is_some_and(|it| it == *url);
        self.redirects = if is_redirected { self.redirects + 1 } else { 0 };
        assert!(self.redirects <= MAX_REDIRECTS, "more than {MAX_REDIRECTS} redirects");
        assert!(!url.as_str().contains("after-post"), "a POST is redirected");
        let fields = fetch.fields.iter().map(|(_, value)| value.expose());
        let fields: Vec<&str> = fields.collect();
        let text = format!("{url} {fields:?} {body}");
        if fetch.method == "GET" {
            assert!(body.is_empty() && !text.contains(CANARY), "{text}");
            return;
        }
        assert_eq!((fetch.method, is_redirected), ("POST", false));
        if !self.is_loose {
            canaries.check_sent(url.host(), &text);
            let resource = param(body, "resource");
            let covers = resource.as_deref().is_none_or(|it| RESOURCES.contains(&it));
            assert!(covers, "another resource: {resource:?}");
        }
        if body.starts_with("grant_type=") {
            self.check_grant(body);
        }
    }

    fn check_grant(&mut self, body: &str) {
        let grant_type = param(body, "grant_type").unwrap_or_default();
        let resource = param(body, "resource");
        assert!(!self.omits_resource || resource.is_none(), "{body}");
        if grant_type == "refresh_token" {
            assert!(param(body, "scope").is_none(), "{body}");
        }
        if grant_type == "authorization_code" {
            let [code, verifier] = ["code", "code_verifier"].map(|name| param(body, name));
            let code = code.unwrap_or_default();
            let earlier = self.verifiers.insert(verifier.unwrap_or_default(), code.clone());
            assert!(earlier.is_none_or(|it| it == code), "a verifier is used twice");
        }
        let methods = ["client_secret", "client_assertion"].map(|it| param(body, it).is_some());
        assert!(methods != [true, true], "{body}");
        if let Some((grant, repeats)) = &mut self.nonce
            && *grant == self::grant(body)
        {
            *repeats += 1;
            assert!(*repeats <= 1, "repeated twice for want of a nonce");
        }
    }
}

/// Panics if a URL is not one of `https` at a public host.
pub(super) fn check_url(url: &Url) {
    let host = url.host();
    assert!(url.as_str().starts_with("https://"), "{url}");
    let is_local = |host: &str| {
        host == "localhost"
            || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
    };
    assert!(!is_local(host.trim_end_matches('.')), "{url}");
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        assert!(is_public(address), "{url}");
    }
    let literal = host.trim_matches(['[', ']']);
    if let Ok(address) = literal.parse::<Ipv6Addr>() {
        let is_private = address.is_loopback()
            || address.is_unspecified()
            || address.is_unique_local()
            || address.is_unicast_link_local();
        assert!(!is_private && address.to_ipv4_mapped().is_none_or(is_public), "{url}");
    }
}

fn is_public(address: Ipv4Addr) -> bool {
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast())
}

/// A text that is another one for another grant.
fn grant(body: &str) -> String {
    let names = ["grant_type", "code", "refresh_token", "assertion", "subject_token"];
    names.map(|name| param(body, name).unwrap_or_default()).join(" ")
}

/// A parameter of a form.
pub(super) fn param(body: &str, name: &str) -> Option<String> {
    let value = body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next().unwrap_or(b'0')).to_digit(16).unwrap_or(0);
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => u8::try_from(digit() * 16 + digit()).unwrap_or(b'?'),
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
