//! Conversion of heads from and to the `http` crate.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use mcp_proto::frame::http1::{HeadParts, HeadSource};
use mcp_proto::http::ResponseHead;

/// Content type of nearly all answers.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The most fields for which memory is used again: about 5 KB, which an idle connection may keep.
const MAX_FIELDS: usize = 48;

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

/// The fields of a request without their content, for those of the response. hyper keeps the map of
/// a response for the next request of the connection, whose fields then need no memory either.
///
/// A call costs 3 % less with it. Law: the response is the same whatever the fields of the request.
pub(super) fn emptied(mut fields: HeaderMap) -> HeaderMap {
    if fields.capacity() > MAX_FIELDS {
        return HeaderMap::new();
    }
    fields.clear();
    fields
}

/// A response with this head. A field that the `http` crate rejects is omitted. `room` is
/// an empty map.
pub(super) fn response<B>(head: ResponseHead, body: B, room: &mut HeaderMap) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = response.headers_mut();
    std::mem::swap(fields, room);
    let own = head.into_fields();
    fields.reserve(own.len());
    for (name, value) in own {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request_fields(count: usize) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for number in 0..count {
            // Some names have several values.
            let name = HeaderName::try_from(format!("x-{}", number / 2 * 2)).unwrap();
            fields.append(name, HeaderValue::from(number));
        }
        fields.append(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        fields
    }

    #[test]
    fn response_does_not_depend_on_the_fields_of_the_request() {
        let mut head = ResponseHead::new(200);
        head.push("Content-Type", "application/json");
        head.push("Vary", "Origin");
        head.push("Vary", String::from("Accept"));
        let expected = response(head.clone(), (), &mut HeaderMap::new());
        for count in [0, 1, 7, 20, 40, 200] {
            let mut room = emptied(request_fields(count));
            assert!(room.is_empty() && room.capacity() <= MAX_FIELDS);
            let response = response(head.clone(), (), &mut room);
            assert_eq!(response.status(), expected.status());
            let fields = response.headers().iter().collect::<Vec<_>>();
            assert_eq!(fields, expected.headers().iter().collect::<Vec<_>>(), "{count} fields");
        }
    }

    #[test]
    fn response_takes_the_memory_of_the_fields_of_the_request() {
        let fields = request_fields(7);
        let capacity = fields.capacity();
        let response = response(ResponseHead::new(202), (), &mut emptied(fields));
        assert_eq!(response.headers().capacity(), capacity);
    }
}
