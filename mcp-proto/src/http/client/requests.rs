//! HTTP requests that carry messages.
//!
//! In: a message or its bytes, and the session. Out: a [`Request`] to the server's URL, with the
//! application's fields.
//!
//! The headers of a modern request mirror its body: they are made from the message, not from the
//! current state of the client. A legacy message except `initialize` has the session id and the
//! negotiated version.
//!
//! [Specification: Sending Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages)

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::action::{is_value, set_field};
use super::session::{Session, SessionId};
use super::{Fields, Request};
use crate::error::{EmitError, UsageError};
use crate::frame::http1::StatusHead;
use crate::headers::{self, is_name};
use crate::http::media;
use crate::json::Json;
use crate::message::{self, MethodRow, Outgoing};
use crate::types::Implementation;
use crate::url::Url;
use crate::version::ProtocolVersion;

/// The server's URL, and the fields that each request has.
#[derive(Debug)]
pub(super) struct Requests {
    url: Url,
    /// The URL to which a permanent redirection has led.
    moved: Option<Url>,
    /// The target of POSTs by HTTP+SSE.
    endpoint: Option<Url>,
    fields: Fields,
}

const USER_AGENT: &str = "User-Agent";

/// Room for the fields that most requests have besides those of the application.
const MOST_OWN_FIELDS: usize = 6;

impl Requests {
    /// Creates the fields. Every request has a `User-Agent`: that of the application, otherwise
    /// that of the implementation.
    pub(super) fn new(url: Url, mut fields: Fields, implementation: &Implementation) -> Self {
        let is_named = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(USER_AGENT));
        if !is_named && let Some(product) = product(implementation) {
            fields.push((USER_AGENT.into(), product.into()));
        }
        Self { url, moved: None, endpoint: None, fields }
    }

    pub(super) fn url(&self) -> &Url {
        self.moved.as_ref().unwrap_or(&self.url)
    }

    /// Handles the head of an answer. If nothing is where the server has moved to, the next request
    /// goes to the configured URL. A server that is there has an answer in JSON for every POST.
    pub(super) fn handle_head(&mut self, method: &str, head: &StatusHead) {
        let is_json = || head.field("Content-Type").is_some_and(|it| media::is(it, media::JSON));
        if method == "POST" && matches!(head.status(), 404 | 405 | 410) && !is_json() {
            self.moved = None;
        }
    }

    /// Sets the target of POSTs; `None` means the URL.
    pub(super) fn set_endpoint(&mut self, endpoint: Option<Url>) {
        self.endpoint = endpoint;
    }

    /// Records a permanent redirection of requests of this method.
    pub(super) fn set_url(&mut self, method: &str, url: Url) {
        match &mut self.endpoint {
            Some(endpoint) if method == "POST" => *endpoint = url,
            _ => self.moved = Some(url),
        }
    }

    /// The target of a redirection of a request of this method, resolved against `from` or the
    /// usual target. `None` if the location is invalid, or of another origin.
    pub(super) fn redirected(
        &self,
        from: Option<&Url>,
        method: &str,
        location: Option<&[u8]>,
    ) -> Option<Url> {
        let location = core::str::from_utf8(location?).ok()?;
        let url = from.unwrap_or_else(|| self.endpoint_of(method)).join(location).ok()?;
        url.same_origin(&self.url).then_some(url)
    }

    /// The URL of a request.
    #[cfg(feature = "auth")]
    pub(super) fn url_of(&self, request: &Request) -> Url {
        self.url().with_target(&request.target)
    }

    /// The `User-Agent` of all requests.
    #[cfg(feature = "auth")]
    pub(super) fn user_agent(&self) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(name, _)| name.eq_ignore_ascii_case(USER_AGENT)).map(|(_, value)| &**value)
    }

    /// Returns whether the application has set a field.
    #[cfg(feature = "auth")]
    pub(super) fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    pub(super) fn set_field(&mut self, name: &str, value: &str) -> Result<(), UsageError> {
        set_field(&mut self.fields, name, value)
    }

    /// A POST, without the headers that mirror a modern message.
    pub(super) fn post(&self, session: &Session, message: &Outgoing) -> Request {
        let mut body = Vec::with_capacity(message.size_hint());
        message.write(&mut body);
        let is_idempotent = is_idempotent(message);
        Request { is_idempotent, ..self.post_body(session, body.into()) }
    }

    /// A POST of a body that was sent before.
    pub(super) fn post_body(&self, session: &Session, body: Bytes) -> Request {
        let mut request = self.bare(session, "POST", body);
        let accept = "application/json, text/event-stream";
        request.fields.push(("Content-Type".into(), "application/json".into()));
        request.fields.push(("Accept".into(), accept.into()));
        request
    }

    /// A GET of a stream of events, after the event `last_event`; `id` is the id of a session that
    /// has not started yet.
    pub(super) fn get(
        &self,
        session: &Session,
        id: Option<&SessionId>,
        last_event: Option<&str>,
    ) -> Request {
        let mut request = self.bare(session, "GET", Bytes::new());
        if let Some(id) = id {
            id.write(&mut request.fields);
        }
        if let Some(event) = last_event {
            request.fields.push(("Last-Event-ID".into(), event.to_owned().into()));
        }
        request.fields.push(("Accept".into(), "text/event-stream".into()));
        request
    }

    pub(super) fn delete(&self, session: &Session) -> Request {
        self.bare(session, "DELETE", Bytes::new())
    }

    /// The URL of requests of this method.
    fn endpoint_of(&self, method: &str) -> &Url {
        self.endpoint.as_ref().filter(|_| method == "POST").unwrap_or_else(|| self.url())
    }

    fn bare(&self, session: &Session, method: &'static str, body: Bytes) -> Request {
        let mut fields = Fields::with_capacity(self.fields.len() + MOST_OWN_FIELDS);
        fields.extend(self.fields.iter().cloned());
        // HTTP+SSE defines no header fields.
        if self.endpoint.is_none() {
            session.write(&mut fields);
        }
        // Without this field a server may choose any coding.
        fields.push(("Accept-Encoding".into(), "identity".into()));
        let target = self.endpoint_of(method).target().to_owned();
        Request { method, target, fields, body, is_idempotent: true }
    }
}

/// Returns name and version as a product of `User-Agent`. Hyphens replace characters that a product
/// must not have. `None` without a name.
///
/// [RFC 9110, section 10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5)
fn product(implementation: &Implementation) -> Option<String> {
    let token = |text: &str| -> String {
        text.chars().map(|c| if is_name(c.encode_utf8(&mut [0; 4])) { c } else { '-' }).collect()
    };
    let Implementation { name, version, .. } = implementation;
    match (name.is_empty(), version.is_empty()) {
        (true, _) => None,
        (false, true) => Some(token(name)),
        (false, false) => Some(token(name) + "/" + &token(version)),
    }
}

/// Adds the headers that mirror the method of a modern notification.
pub(super) fn name_notification(fields: &mut Fields, version: ProtocolVersion, method: &str) {
    fields.push((headers::PROTOCOL_VERSION.into(), version.as_str().into()));
    if is_value(method) {
        fields.push((headers::METHOD.into(), method.to_owned().into()));
    }
}

/// Adds the headers that mirror the members of every modern request.
pub(super) fn name_request(
    fields: &mut Fields,
    version: ProtocolVersion,
    method: &str,
    params: &Json,
) -> Result<(), EmitError> {
    for (name, value) in headers::standard(version.as_str(), method, params)? {
        let constant = match name {
            headers::PROTOCOL_VERSION => Some(version.as_str()),
            headers::METHOD => MethodRow::named(method).map(|row| row.name),
            _ => None,
        };
        let value = constant.map_or_else(|| value.into_owned().into(), Cow::Borrowed);
        fields.push((name.into(), value));
    }
    Ok(())
}

/// Returns whether a message has the same effect if the server receives it twice.
fn is_idempotent(message: &Outgoing) -> bool {
    match message {
        Outgoing::Request { method, .. } | Outgoing::Notification { method, .. } => {
            message::is_idempotent(method)
        }
        // A server waits for one answer only.
        Outgoing::Result { .. } | Outgoing::Error { .. } => true,
        Outgoing::Batch(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_is_made_of_tokens() {
        for (name, version, expected) in [
            ("app", "1.0.0", Some("app/1.0.0")),
            ("My App (beta)", "1/2\r\n", Some("My-App--beta-/1-2--")),
            ("Übersicht", "", Some("-bersicht")),
            ("", "1", None),
        ] {
            let product = product(&Implementation::new(name, version));
            assert_eq!(product.as_deref(), expected, "{name:?} {version:?}");
        }
    }
}
