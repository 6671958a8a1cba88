//! Actions of a client over HTTP, and its settings.

use alloc::borrow::Cow;
#[cfg(feature = "auth")]
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

#[cfg(feature = "auth")]
use crate::auth::{AuthAction, Fetch};
use crate::client::{self, ClientEvent};
use crate::error::UsageError;
use crate::headers::{PREFIX, is_name};
use crate::url::Url;

/// An action of a [`Client`](super::Client).
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Send a request to the origin of the URL, and pass its response to the client:
    /// [`handle_head`](super::Client::handle_head), [`handle_body`](super::Client::handle_body) and
    /// [`handle_end`](super::Client::handle_end), or
    /// [`handle_failure`](super::Client::handle_failure), or
    /// [`handle_unsent`](super::Client::handle_unsent). Responses may come in any order, so each
    /// open request needs its own connection or HTTP/2 stream.
    Open {
        /// Names the request and its answer.
        exchange: ExchangeId,
        /// The request. The client shares it until the head of the answer has come.
        request: Arc<Request>,
    },
    /// The response is no longer needed: close its connection, if it has not ended.
    Abort {
        /// The exchange.
        exchange: ExchangeId,
    },
    /// Send a request of the authorizer to its own URL, with TLS if that URL has the scheme
    /// `https`. Pass the response to the client in the same way. Follow no redirects. Log no
    /// fields, queries or bodies: they are secrets.
    #[cfg(feature = "auth")]
    Fetch {
        /// Names the request and its answer.
        exchange: ExchangeId,
        /// The request; `Request::from(&*fetch)` is the form to send.
        fetch: Box<Fetch>,
    },
    /// Carry out another action of the authorizer, and pass its result to the authorizer through
    /// [`with_authorizer`](super::Client::with_authorizer).
    #[cfg(feature = "auth")]
    Authorize(AuthAction),
    /// Report an event to the application.
    Event(ClientEvent),
    /// The client is closed; no action follows.
    Close,
}

/// Identifier of a request and its response; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExchangeId(pub(super) u64);

impl ExchangeId {
    /// The number of the identifier.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A request to send, without the fields of its framing: `Host`, `Content-Length`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// Names and values of fields. A value consists of visible ASCII, blanks and tabs.
    pub fields: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The body; empty for GET and DELETE.
    pub body: Bytes,
    /// True if the request is idempotent, and can be retried after a connection failure.
    ///
    /// [RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)
    pub is_idempotent: bool,
}

/// Hides the session id and the values of the application's fields.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("target", &self.target)
            .field("fields", &Shown(&self.fields))
            .field("body", &self.body)
            .field("is_idempotent", &self.is_idempotent)
            .finish()
    }
}

/// Settings of a client over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The URL of the server.
    pub url: Url,
    /// The settings that do not depend on the transport.
    pub client: client::Config,
    /// True if the client opens a GET stream for messages that a legacy server sends outside of
    /// calls; default true. Otherwise the client receives changes only while a call is in flight.
    pub listens: bool,
    /// Another origin that the endpoint of a server of 2024-11-05 may name; default none. An
    /// example is the server's own origin behind a proxy. Requests still go to the origin of `url`,
    /// to the path and the query of the endpoint.
    pub trusts_endpoint_origin: Option<Url>,
    /// Fields of every request.
    pub(super) fields: Fields,
}

/// Names and values of HTTP fields.
pub type Fields = Vec<(Cow<'static, str>, Cow<'static, str>)>;

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("url", &self.url)
            .field("client", &self.client)
            .field("listens", &self.listens)
            .field("trusts_endpoint_origin", &self.trusts_endpoint_origin)
            .field("fields", &Shown(&self.fields))
            .finish()
    }
}

impl Config {
    /// The default settings of a client of the server at `url`.
    pub fn new(url: Url, client: impl Into<client::Config>) -> Self {
        Self {
            url,
            client: client.into(),
            listens: true,
            trusts_endpoint_origin: None,
            fields: Vec::new(),
        }
    }

    /// Adds a field to every request, such as `Authorization` with a token, in place of an earlier
    /// field of the same name. The field is sent to the origin of the URL only. Without a
    /// `User-Agent`, requests use name and version of the implementation.
    ///
    /// Fails with [`UsageError::InvalidField`] if the name is not a token, or is a field that the
    /// machine writes itself, or if the value is invalid.
    pub fn field(mut self, name: &str, value: &str) -> Result<Self, UsageError> {
        set_field(&mut self.fields, name, value)?;
        Ok(self)
    }
}

/// Fields for `Debug`, without possible secrets.
struct Shown<'a>(&'a Fields);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in self.0 {
            let is_secret = !is_own(name) || name.eq_ignore_ascii_case("mcp-session-id");
            map.entry(name, if is_secret { &"…" } else { value });
        }
        map.finish()
    }
}

/// The fields that the machine writes, or the framing of the request.
const OWN: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns whether a text is a valid value of a field.
pub(super) fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

fn is_own(name: &str) -> bool {
    let start = name.get(..PREFIX.len());
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name))
        || start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Sets a field for requests, in place of an earlier field of the same name.
///
/// Fails with [`UsageError::InvalidField`] if the name is not a token, or is a field that the
/// machine writes itself, or if the value is invalid.
pub fn set_field(fields: &mut Fields, name: &str, value: &str) -> Result<(), UsageError> {
    if is_own(name) || !is_name(name) || !is_value(value) {
        return Err(UsageError::InvalidField { name: name.into() });
    }
    fields.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    fields.push((String::from(name).into(), String::from(value).into()));
    Ok(())
}
