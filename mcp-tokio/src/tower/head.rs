//! Conversion of heads from and to the `http` crate.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use mcp_proto::frame::http1::{HeadParts, HeadSource};
use mcp_proto::http::ResponseHead;

/// Content type of nearly all answers.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The head of a request. The host is the authority of its URI if there is one (`:authority` in
/// HTTP/2), otherwise the field `Host`.
pub(super) fn request(parts: &Parts) -> impl HeadSource + Copy {
    let uri = &parts.uri;
    let target = uri.path_and_query().map_or(uri.path(), |target| target.as_str());
    let host = uri.authority().map(|authority| {
        // RFC 9113, section 8.3.1: an authority "MUST NOT include the deprecated userinfo".
        let authority = authority.as_str();
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    });
    let fields = move || {
        let own = host.map(|host| ("host", host.as_bytes()));
        let headers = parts.headers.iter();
        let headers = headers.filter(move |(name, _)| host.is_none() || *name != header::HOST);
        own.into_iter().chain(headers.map(|(name, value)| (name.as_str(), value.as_bytes())))
    };
    HeadParts { method: parts.method.as_str(), target, fields }
}

/// A response with this head. A field that the `http` crate rejects is omitted.
pub(super) fn response<B>(head: ResponseHead, body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = response.headers_mut();
    fields.reserve(head.fields.len());
    for (name, value) in head.fields {
        // Most answers have this field, and no other.
        if (name, &*value) == ("Content-Type", "application/json") {
            fields.append(header::CONTENT_TYPE, JSON);
            continue;
        }
        let value = match value {
            std::borrow::Cow::Borrowed(value) => Bytes::from_static(value.as_bytes()),
            std::borrow::Cow::Owned(value) => value.into(),
        };
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_maybe_shared(value)) {
            fields.append(name, value);
        }
    }
    response
}
