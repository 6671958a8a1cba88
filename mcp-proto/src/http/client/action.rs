//! Actions of a client over HTTP, and its settings.

use alloc::borrow::Cow;
#[cfg(feature = "auth")]
use alloc::boxed::Box;
use alloc::string::String;
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
    /// Send a request to the origin of the URL, and tell the client what comes back:
    /// [`handle_head`](super::Client::handle_head), [`handle_body`](super::Client::handle_body) and
    /// [`handle_end`](super::Client::handle_end), or
    /// [`handle_failure`](super::Client::handle_failure). Requests need not be answered in order,
    /// so each that is not answered has a connection of its own, or an HTTP/2 stream.
    Open {
        /// Names the request and its answer.
        exchange: ExchangeId,
        /// The request.
        request: Request,
    },
    /// The answer is of no interest any more: close its connection, if it has not ended.
    Abort {
        /// The exchange.
        exchange: ExchangeId,
    },
    /// Send a request of the authorizer to its own URL, with TLS as that URL says, and tell the
    /// client what comes back in the same way. Follow no redirects. Let no log show fields, the
    /// query or bodies: they are secrets.
    #[cfg(feature = "auth")]
    Fetch {
        /// Names the request and its answer.
        exchange: ExchangeId,
        /// The request; `Request::from(&*fetch)` is one to be sent.
        fetch: Box<Fetch>,
    },
    /// Do something else that the authorizer wants, and answer by
    /// [`with_authorizer`](super::Client::with_authorizer).
    #[cfg(feature = "auth")]
    Authorize(AuthAction),
    /// Tell the application.
    Event(ClientEvent),
    /// All is over; nothing follows.
    Close,
}

/// Names a request and its answer; never used twice by one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExchangeId(pub(super) u64);

impl ExchangeId {
    /// A number of its own.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A request to be sent, without what its framing adds: `Host`, `Content-Length`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// Names and values of fields, which are visible ASCII, blanks and tabs.
    pub fields: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The body; a GET and a DELETE have none.
    pub body: Bytes,
    /// True if sending it twice does what sending it once does, so that whoever cannot know whether
    /// it has arrived may send it once more.
    ///
    /// [RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)
    pub is_idempotent: bool,
}

/// Shows the fields, but no values of those that are the application's, nor the id of a session.
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
    /// True if a legacy server is asked, with a GET, for what it says by itself; default true.
    /// Without it changes are told while a call is in flight, or not at all.
    pub listens: bool,
    /// Fields that every request has.
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
            .field("fields", &Shown(&self.fields))
            .finish()
    }
}

impl Config {
    /// The default settings of a client of the server at `url`.
    pub fn new(url: Url, client: impl Into<client::Config>) -> Self {
        Self { url, client: client.into(), listens: true, fields: Vec::new() }
    }

    /// Gives every request a field, such as `Authorization` with a token, in place of one of the same
    /// name. It goes to the origin of the URL and to no other. Without a `User-Agent` requests have
    /// name and version of the implementation in it.
    ///
    /// Fails with [`UsageError::InvalidField`] if the name is no token or one of the machine's, or if
    /// the value is not what a field may hold.
    pub fn field(mut self, name: &str, value: &str) -> Result<Self, UsageError> {
        set_field(&mut self.fields, name, value)?;
        Ok(self)
    }
}

/// Fields without what may be a secret.
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

/// The fields that the machine writes, or whoever frames what it writes.
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

/// Returns whether this may be the value of a field.
pub(super) fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

fn is_own(name: &str) -> bool {
    let start = name.get(..PREFIX.len());
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name))
        || start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Sets a field that requests are to have, in place of one of the same name.
///
/// Fails with [`UsageError::InvalidField`] if the name is no token or one of the machine's, or if
/// the value is not what a field may hold.
pub fn set_field(fields: &mut Fields, name: &str, value: &str) -> Result<(), UsageError> {
    if is_own(name) || !is_name(name) || !is_value(value) {
        return Err(UsageError::InvalidField { name: name.into() });
    }
    fields.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    fields.push((String::from(name).into(), String::from(value).into()));
    Ok(())
}
