//! Answers without the endpoint's help: refusals of heads, and responses of routes.
//!
//! In: a status, an error or a response. Out: a head and perhaps a body. The steps of the head make
//! these answers, and an exchange sends them.

use alloc::boxed::Box;
use alloc::string::String;

use bytes::Bytes;

use super::RouteResponse;
use crate::error::ProtocolError;
use crate::frame::http1::ResponseHead;
use crate::version::{Era, ProtocolVersion};

/// The origin whose pages may read the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Cors(pub(super) Option<Box<str>>);

/// An answer without the endpoint's help.
#[derive(Debug)]
pub(crate) struct ImmediateAnswer {
    pub(super) head: ResponseHead,
    pub(super) error: Option<ProtocolError>,
    /// The body, if the answer has one that is not an error.
    pub(super) body: Option<Bytes>,
    /// The revision that the error is encoded for.
    pub(super) version: ProtocolVersion,
    /// CORS fields of the answer, for browsers.
    pub(super) cors: Cors,
}

impl Cors {
    /// Returns whether there are no CORS fields.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Adds the CORS fields for browsers.
    pub(super) fn add_to(&self, head: &mut ResponseHead) {
        if let Self(Some(origin)) = self {
            head.push("Access-Control-Allow-Origin", String::from(origin.clone()));
            head.push("Vary", "Origin");
            head.push("Access-Control-Expose-Headers", EXPOSED);
        }
    }
}

const EXPOSED: &str = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";

impl ImmediateAnswer {
    /// An answer without a body.
    pub(super) fn bare(status: u16) -> Box<Self> {
        let version = ProtocolVersion::LATEST_MODERN;
        Box::new(Self {
            head: ResponseHead::new(status),
            error: None,
            body: None,
            version,
            cors: Cors::default(),
        })
    }

    /// An answer with the response of a route.
    pub(super) fn route(response: RouteResponse) -> Box<Self> {
        let mut answer = Self::bare(200);
        (answer.head, answer.body) = response.into_parts();
        answer
    }

    /// An answer with an error in the body.
    pub(super) fn error(error: ProtocolError) -> Box<Self> {
        let mut answer = Self::bare(super::status(error.step(), Era::Modern));
        answer.error = Some(error);
        answer
    }

    pub(super) fn method(allowed: &'static str) -> Box<Self> {
        let mut answer = Self::bare(405);
        answer.head.push("Allow", allowed);
        answer
    }
}
