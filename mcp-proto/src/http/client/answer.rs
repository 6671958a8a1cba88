//! Decision table for the meaning of an answer over HTTP.
//!
//! In: the purpose of the request, the class of the status, the kind of the body, and whether the
//! client may speak 2024-11-05. Out: the [`Meaning`]. `docs/tables.md` shows [`TABLE`]; a test
//! walks every combination.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility)

use crate::client::is_modern_error;
use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::error::ErrorCode;
use crate::message::Response;

/// Purpose of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// `server/discover`, before the era of the server is known.
    Discover,
    /// `initialize`, before the era of the server is known.
    Initialize,
    /// Anything else.
    Call,
}

/// The status of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// 2xx.
    Success,
    /// 3xx that is not followed.
    Redirection,
    /// 401 or 403.
    Unauthorized,
    /// 400, 404 or 405: the reply of a server of 2024-11-05 to a POST to the URL of its stream.
    Absent,
    /// Another 4xx.
    ClientError,
    /// 5xx, or an invalid status.
    ServerError,
}

/// Kind of message in the body of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// A result.
    Result,
    /// An error that only modern servers send: -32020, -32021, -32022.
    ModernError,
    /// -32601, which modern servers send with 404.
    Unknown,
    /// Another error.
    Error,
    /// A stream whose first event is `endpoint`.
    Endpoint,
    /// No response.
    Nothing,
}

/// Meaning of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The message in the body of the answer.
    Body,
    /// The server requires authentication.
    Unauthorized,
    /// The server does not answer; its era stays unknown.
    Unavailable,
    /// The server may use HTTP+SSE of 2024-11-05; the client tries a GET of the same URL.
    HttpSseTransport,
    /// The status of the answer; its body is ignored.
    Status,
}

/// The inputs of a row.
type Sets = (Set<Asked>, Set<Class>, Set<Body>, Set<bool>);

impl Column for Asked {
    const ALL: Set<Self> = &[Self::Discover, Self::Initialize, Self::Call];
}

impl Column for Class {
    const ALL: Set<Self> = &[
        Self::Success,
        Self::Redirection,
        Self::Unauthorized,
        Self::Absent,
        Self::ClientError,
        Self::ServerError,
    ];
}

impl Column for Body {
    const ALL: Set<Self> = &[
        Self::Result,
        Self::ModernError,
        Self::Unknown,
        Self::Error,
        Self::Endpoint,
        Self::Nothing,
    ];
}

impl Cells for Meaning {}

const ANYTHING: &[Asked] = Asked::ALL;
const ERA: &[Asked] = &[Asked::Discover, Asked::Initialize];
const ANY_CLASS: &[Class] = Class::ALL;
const ANY_BODY: &[Body] = Body::ALL;
const RESPONSES: &[Body] = &[Body::Result, Body::ModernError, Body::Unknown, Body::Error];
const ERRORS: &[Body] = &[Body::ModernError, Body::Unknown, Body::Error];
const EITHER: &[bool] = bool::ALL;
const MAY: &[bool] = &[true];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Meaning> = Table::new(&["asked", "status", "body", "may be old", "means"], &[
    row("answered",       (ANYTHING, &[Class::Success], RESPONSES, EITHER), Meaning::Body),
    row("modern-error",   (ANYTHING, ANY_CLASS, &[Body::ModernError], EITHER), Meaning::Body),
    row("unauthorized",   (ANYTHING, &[Class::Unauthorized], ANY_BODY, EITHER), Meaning::Unauthorized),
    row("unavailable",    (ERA, &[Class::Redirection, Class::ServerError], ANY_BODY, EITHER), Meaning::Unavailable),
    row("old-transport",  (&[Asked::Initialize], &[Class::Absent], &[Body::Error, Body::Nothing], MAY), Meaning::HttpSseTransport),
    row("endpoint-event", (&[Asked::Initialize], &[Class::Success], &[Body::Endpoint], MAY), Meaning::HttpSseTransport),
    row("refused",        (ANYTHING, ANY_CLASS, ERRORS, EITHER), Meaning::Body),
    row("status",         (ANYTHING, ANY_CLASS, ANY_BODY, EITHER), Meaning::Status),
]);

impl Body {
    /// The kind of a response.
    pub(super) fn of(response: &Response) -> Self {
        match &response.body {
            Ok(_) => Self::Result,
            Err(error) if is_modern_error(error.code) => Self::ModernError,
            Err(error) if error.code == ErrorCode::METHOD_NOT_FOUND => Self::Unknown,
            Err(_) => Self::Error,
        }
    }
}

impl Class {
    /// The class of a status.
    pub fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Success,
            300..=399 => Self::Redirection,
            401 | 403 => Self::Unauthorized,
            400 | 404 | 405 => Self::Absent,
            400..=499 => Self::ClientError,
            _ => Self::ServerError,
        }
    }
}
