//! The validation steps that need only the head of a request.
//!
//! In: a [`Head`]. Out: an [`Admitted`] request, whose body the server reads next, or the answer of
//! the first step that fails. The steps are path, host, origin, auth, http-method, media and
//! accept.
//!
//! A preflight request of a browser (OPTIONS) is answered after the step origin, because it carries
//! no credentials.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::protected;
use super::refused::{Cors, ImmediateAnswer};
use super::security::Allowed;
use super::sessions::{Field, RequestContext, SessionHeader, VersionHeader};
use super::{Authorization, Config};
use crate::error::ProtocolError;
use crate::frame::http1::{Head, ResponseHead, is_named, is_secret};
use crate::http::media::{self, Accept};
use crate::resource_server::{Claims, Verification, VerifiedToken, WELL_KNOWN, bearer};
use crate::server::Extensions;
use crate::version::EraPolicy;

/// A request that passed the steps of its head.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(super) method: Method,
    /// Context of a legacy client's request.
    pub(super) context: RequestContext,
    /// CORS headers of the answer.
    pub(super) cors: Cors,
}

impl Admitted {
    /// The answer to a request whose body does not fit into the server's memory.
    pub(super) fn refuse_full(&self, config: &Config) -> Box<ImmediateAnswer> {
        let mut refused = ImmediateAnswer::error(config.server.endpoint_full());
        refused.cors = self.cors.clone();
        refused
    }

    /// The same request in the session of another head.
    pub(super) fn in_session_of(&self, head: &Head) -> Self {
        let mut session = Field::Absent;
        for (_, value) in
            head.raw_fields().filter(|(name, _)| is_named(name, SESSION_ID.as_bytes()))
        {
            session.add(value);
        }
        let mut admitted = self.clone();
        admitted.context.session = SessionHeader::read(session);
        admitted
    }

    /// Adds values for handlers. Claims among the values set the principal, if no principal is set
    /// yet.
    pub(super) fn extend(&mut self, extensions: Extensions) {
        if let Some(claims) = extensions.get::<Claims>() {
            self.context.principal = self.context.principal.take().or_else(|| claims.principal());
        }
        self.context.extensions.extend(extensions);
    }

    /// The head of a refusal without a body, for faults that only the HTTP stack finds.
    pub(crate) fn refuse(&self, status: u16) -> ResponseHead {
        let mut head = ResponseHead::new(status);
        self.cors.add_to(&mut head);
        head
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Post,
    Get,
    Delete,
}

/// The name of the field with the session of a legacy client.
pub(super) const SESSION_ID: &str = "mcp-session-id";

const POST: &str = "POST";

const LEGACY_METHODS: &str = "GET, POST, DELETE";

/// Request headers that a page may send, besides `Mcp-Param-*`.
const ALLOWED_HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    SESSION_ID,
];

/// Header fields that the steps check, found in one pass.
struct HeadFields<'a> {
    host: Option<&'a [u8]>,
    origin: Option<&'a [u8]>,
    origins: usize,
    content_type: Option<&'a [u8]>,
    content_types: usize,
    /// A content coding of the body other than `identity`.
    content_coding: Option<&'a [u8]>,
    accept: Accept,
    session: Field<'a>,
    version: Field<'a>,
}

impl Config {
    /// Returns the verification that a request needs before it is admitted. Returns `None` if the
    /// request needs no verification, or is refused in any case. Pass the result to
    /// [`Admission::with_verified`](super::Admission::with_verified).
    pub fn verification(&self, head: &Head) -> Option<Verification> {
        let verifier = self.verifier.as_ref()?;
        let token = bearer(head).ok().flatten()?;
        check_path_host_origin(self, head).ok()?;
        Some(verifier.verify(token, head))
    }
}

/// Runs the steps on a head.
pub(crate) fn admit(config: &Config, head: &Head) -> Result<Admitted, Box<ImmediateAnswer>> {
    admit_with(config, head, None)
}

/// Does the same as [`admit`], with the result of the check of its token.
pub(crate) fn admit_with(
    config: &Config,
    head: &Head,
    verified: Option<VerifiedToken>,
) -> Result<Admitted, Box<ImmediateAnswer>> {
    let (fields, cors) = check_path_host_origin(config, head)?;
    let admitted = authorize(config, head, verified).and_then(|(principal, mut extensions)| {
        let version = VersionHeader::read(fields.version);
        let method = fields.method(config, head, &version)?;
        let session = SessionHeader::read(fields.session);
        if config.keep_head {
            extensions.insert(without_credentials(head));
        }
        let context = RequestContext { session, version, principal, extensions, peer: None };
        Ok(Admitted { method, context, cors: cors.clone() })
    });
    admitted.map_err(|mut refused| {
        refused.cors = cors;
        refused.version =
            VersionHeader::read(fields.version).error_revision(SessionHeader::read(fields.session));
        refused
    })
}

/// The steps before that of the token: path, host and origin.
fn check_path_host_origin<'a>(
    config: &Config,
    head: &'a Head,
) -> Result<(HeadFields<'a>, Cors), Box<ImmediateAnswer>> {
    if let Some(routes) = &config.routes
        && let Some(response) = routes(head)
    {
        return Err(ImmediateAnswer::route(response));
    }
    if let Some(resource) = &config.resource
        && head.path().starts_with(WELL_KNOWN)
    {
        check_host(config, head.host().unwrap_or_default())?;
        return Err(protected::metadata(resource, head));
    }
    let (method, target) = head.raw_line();
    let is_here = config.path.is_empty() || target == config.path.as_bytes();
    if !is_here && !is_same_path(head.path(), &config.path) {
        return Err(ImmediateAnswer::bare(404));
    }
    let fields = HeadFields::of(head);
    check_host(config, fields.host.unwrap_or_default())?;
    let mut cors = Cors::default();
    if let Some(origin) = fields.origin {
        let allowed = config.allows_origin(origin).filter(|_| fields.origins == 1);
        let origin = String::from_utf8_lossy(origin).into_owned();
        match allowed {
            None => return Err(ImmediateAnswer::error(ProtocolError::OriginNotAllowed { origin })),
            Some(Allowed::Read) => cors = Cors(Some(origin.into())),
            Some(Allowed::Send) => {}
        }
    }
    if method == b"OPTIONS"
        && let (Cors(Some(_)), Some(_)) = (&cors, head.field("access-control-request-method"))
    {
        let version = VersionHeader::read(fields.version);
        return Err(preflight((config, &version), head, &cors));
    }
    Ok((fields, cors))
}

/// Returns whether a path is that of the configuration, whose leading slash may be left out.
fn is_same_path(path: &str, configured: &str) -> bool {
    path == configured
        || (!configured.starts_with('/') && path.strip_prefix('/') == Some(configured))
}

/// The step host.
fn check_host(config: &Config, host: &[u8]) -> Result<(), Box<ImmediateAnswer>> {
    if config.allows_host(host) {
        return Ok(());
    }
    let host = String::from_utf8_lossy(host).into_owned();
    Err(ImmediateAnswer::error(ProtocolError::HostNotAllowed { host }))
}

fn authorize(
    config: &Config,
    head: &Head,
    verified: Option<VerifiedToken>,
) -> Result<protected::AllowedRequest, Box<ImmediateAnswer>> {
    if config.verifier.is_some() {
        return protected::check_token(config, head, verified);
    }
    let Some(authorize) = &config.authorize else { return Ok((None, Extensions::default())) };
    let (status, challenge) = match authorize(head) {
        Authorization::Allow(principal) => return Ok((principal, Extensions::default())),
        Authorization::AllowWith(principal, extensions) => return Ok((principal, extensions)),
        Authorization::Refuse(refusal) => return Err(protected::refuse(config, &refusal)),
        Authorization::Unauthorized(challenge) => (401, challenge),
        Authorization::Forbidden(challenge) => (403, challenge),
    };
    let mut refused = ImmediateAnswer::bare(status);
    refused.head.push("WWW-Authenticate", challenge);
    Err(refused)
}

/// Copies the head for handlers, without credentials: a handler that gets a token could use it on
/// other servers.
fn without_credentials(head: &Head) -> Head {
    let mut shown = Head::new(head.method(), head.target());
    for (name, value) in head.fields().filter(|(name, _)| !is_secret(name)) {
        shown.push_checked(name, value);
    }
    shown
}

impl<'a> HeadFields<'a> {
    fn of(head: &'a Head) -> Self {
        let mut fields = Self {
            host: None,
            origin: None,
            origins: 0,
            content_type: None,
            content_types: 0,
            content_coding: None,
            accept: Accept::ABSENT,
            session: Field::Absent,
            version: Field::Absent,
        };
        for (name, value) in head.raw_fields() {
            let is = |known: &str| is_named(name, known.as_bytes());
            if is("host") {
                // No host is allowed if there are several: another server may have read another
                // one. The parser of `frame::http1` refuses them before.
                fields.host = Some(if fields.host.is_some() { b"" } else { value });
            } else if is("accept") {
                fields.accept.add(value);
            } else if is("origin") {
                fields.origin = Some(value);
                fields.origins += 1;
            } else if is("content-type") {
                fields.content_type = Some(value);
                fields.content_types += 1;
            } else if is("content-encoding") {
                fields.content_coding = fields.content_coding.or(media::content_coding(value));
            } else if is(SESSION_ID) {
                fields.session.add(value);
            } else if is("mcp-protocol-version") {
                fields.version.add(value);
            }
        }
        // The authority of an absolute target takes precedence over the field.
        if !head.raw_line().1.starts_with(b"/") {
            fields.host = head.host();
        }
        fields
    }

    /// The steps http-method, media and accept.
    fn method(
        &self,
        config: &Config,
        head: &Head,
        version: &VersionHeader,
    ) -> Result<Method, Box<ImmediateAnswer>> {
        let method = match head.raw_line().0 {
            b"POST" => Method::Post,
            b"GET" => Method::Get,
            b"DELETE" => Method::Delete,
            _ => return Err(ImmediateAnswer::method(methods(config, version))),
        };
        if method != Method::Post && methods(config, version) == POST {
            return Err(ImmediateAnswer::method(POST));
        }
        let is_json = || self.content_type.is_some_and(|value| media::is(value, media::JSON));
        match (method, self.content_coding) {
            (Method::Post, _) if self.content_types != 1 || !is_json() => {
                Err(ImmediateAnswer::error(ProtocolError::UnsupportedMediaType))
            }
            (Method::Post, Some(coding)) => Err(refuse_coding(coding)),
            (Method::Post, None) if !self.accept.json() || !self.accept.events() => {
                let expected = "`application/json` and `text/event-stream`";
                Err(ImmediateAnswer::error(ProtocolError::NotAcceptable { expected }))
            }
            (Method::Get, _) if !self.accept.events() => {
                let expected = "`text/event-stream`";
                Err(ImmediateAnswer::error(ProtocolError::NotAcceptable { expected }))
            }
            (Method::Post | Method::Get | Method::Delete, _) => Ok(method),
        }
    }
}

/// "Servers that fail a request due to an unsupported content coding ought to respond with a 415
/// (Unsupported Media Type) status and include an Accept-Encoding header field in that response"
///
/// [RFC 9110, section 12.5.3](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3)
fn refuse_coding(coding: &[u8]) -> Box<ImmediateAnswer> {
    let encoding = String::from_utf8_lossy(coding).into_owned();
    let error = ProtocolError::UnsupportedContentEncoding { encoding };
    let mut refused = ImmediateAnswer::error(error);
    refused.head.push("Accept-Encoding", "identity");
    refused
}

/// The HTTP methods that a client may use: with sessions also GET and DELETE.
fn methods(config: &Config, version: &VersionHeader) -> &'static str {
    if config.has_sessions() && !claims_modern(config, version) { LEGACY_METHODS } else { POST }
}

/// Returns whether a header claims a modern client, and this server serves modern clients.
fn claims_modern(config: &Config, version: &VersionHeader) -> bool {
    config.policy() != EraPolicy::LegacyOnly && version.is_modern()
}

/// Answers a CORS preflight request.
fn preflight(
    (config, version): (&Config, &VersionHeader),
    head: &Head,
    cors: &Cors,
) -> Box<ImmediateAnswer> {
    let mut answer = ImmediateAnswer::bare(204);
    let mut names: alloc::vec::Vec<Cow<'_, str>> =
        ALLOWED_HEADERS.iter().map(|name| Cow::Borrowed(*name)).collect();
    let wanted = head.all("access-control-request-headers");
    let wanted = wanted.filter_map(|value| core::str::from_utf8(value).ok());
    let wanted = wanted.flat_map(|value| value.split(',')).map(str::trim);
    names.extend(wanted.filter(|name| is_param(name)).map(|name| name.to_string().into()));
    cors.add_to(&mut answer.head);
    answer.head.push("Access-Control-Allow-Methods", methods(config, version));
    answer.head.push("Access-Control-Allow-Headers", names.join(", "));
    answer.head.push("Access-Control-Max-Age", "600");
    answer
}

fn is_param(name: &str) -> bool {
    let prefix = crate::headers::PREFIX;
    let (beginning, rest) = name.split_at_checked(prefix.len()).unwrap_or_default();
    beginning.eq_ignore_ascii_case(prefix) && crate::headers::is_name(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_host_of_another_http_stack_is_not_allowed() {
        let mut head = Head::new("POST", "/mcp");
        head.push("Host", b"localhost");
        head.push("Content-Type", b"application/json");
        assert!(admit(&Config::default(), &head).is_ok());
        for _ in 0..2 {
            head.push("Host", b"localhost");
            let refused = admit(&Config::default(), &head).unwrap_err();
            assert_eq!(refused.head.status, 403);
        }
    }

    #[test]
    fn another_field_of_four_letters_is_no_host() {
        let mut head = Head::new("POST", "/mcp");
        head.push("From", b"localhost");
        assert!(HeadFields::of(&head).host.is_none());
    }
}
