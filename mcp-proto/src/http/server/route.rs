//! Responses for other paths than the endpoint, such as a health check.
//!
//! In: the head of a request. Out: the application's response, which depends only on the head, if
//! there is one. Called before all other steps of a head.

use alloc::borrow::Cow;
use alloc::string::String;

use bytes::Bytes;

use crate::frame::http1::{Head, ResponseHead};

/// The function of [`Config::routes`](super::Config::routes).
pub type Routes = dyn Fn(&Head) -> Option<RouteResponse> + Send + Sync;

/// A response that depends only on the head of its request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteResponse {
    head: ResponseHead,
    body: Bytes,
}

impl RouteResponse {
    /// A response with this status, such as 200, and without a body.
    pub fn new(status: u16) -> Self {
        Self { head: ResponseHead::new(status), body: Bytes::new() }
    }

    /// A response with status 200 and a text (`text/plain; charset=utf-8`).
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(200).body("text/plain; charset=utf-8", text.into())
    }

    /// Sets the body and its media type.
    pub fn body(
        mut self,
        content_type: impl Into<Cow<'static, str>>,
        body: impl Into<Bytes>,
    ) -> Self {
        self.body = body.into();
        self.field("Content-Type", content_type)
    }

    /// Adds a field. A value that HTTP does not allow is left out.
    pub fn field(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.head.push(name, value);
        self
    }

    /// The head, and the body unless it is empty.
    pub(super) fn into_parts(self) -> (ResponseHead, Option<Bytes>) {
        let Self { mut head, body } = self;
        head.length = Some(body.len() as u64);
        (head, Some(body).filter(|body| !body.is_empty()))
    }
}
