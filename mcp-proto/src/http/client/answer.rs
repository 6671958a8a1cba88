//! Decision table for the meaning of an answer over HTTP.
//!
//! In: the purpose of the request, the class of the status, and the kind of the body. Out: the
//! [`Meaning`]. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility)

use crate::decision_table::{Cells, Input, Set, Table, row};

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// What the server is: `server/discover` or `initialize`, while that is not known.
    Era,
    /// Anything else.
    Call,
}

/// The status of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// 2xx.
    Success,
    /// 3xx, and not followed.
    Redirection,
    /// 401 or 403.
    Unauthorized,
    /// Another 4xx.
    ClientError,
    /// 5xx, or anything that is no status.
    ServerError,
}

/// What the body of an answer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// A result.
    Result,
    /// An error that modern servers alone answer with: -32020, -32021, -32022.
    ModernError,
    /// Another error.
    Error,
    /// Nothing that is a response.
    Nothing,
}

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// What its body says.
    Body,
    /// The server wants to know who asks.
    Unauthorized,
    /// The server does not answer; that says nothing about what it is.
    Unavailable,
    /// What its status says, and no more.
    Status,
}

/// The inputs of a row.
type Sets = (Set<Asked>, Set<Class>, Set<Body>);

impl Input for Asked {
    const ALL: Set<Self> = &[Self::Era, Self::Call];
}

impl Input for Class {
    const ALL: Set<Self> = &[
        Self::Success,
        Self::Redirection,
        Self::Unauthorized,
        Self::ClientError,
        Self::ServerError,
    ];
}

impl Input for Body {
    const ALL: Set<Self> = &[Self::Result, Self::ModernError, Self::Error, Self::Nothing];
}

impl Cells for Meaning {}

const ANYTHING: &[Asked] = Asked::ALL;
const ANY_CLASS: &[Class] = Class::ALL;
const ANY_BODY: &[Body] = Body::ALL;
const ERRORS: &[Body] = &[Body::ModernError, Body::Error];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, Meaning> = Table::new(&["asked", "status", "body", "means"], &[
    row("answered",     (ANYTHING, &[Class::Success], &[Body::Result, Body::ModernError, Body::Error]), Meaning::Body),
    row("modern-error", (ANYTHING, ANY_CLASS, &[Body::ModernError]), Meaning::Body),
    row("unauthorized", (ANYTHING, &[Class::Unauthorized], ANY_BODY), Meaning::Unauthorized),
    row("unavailable",  (&[Asked::Era], &[Class::Redirection, Class::ServerError], ANY_BODY), Meaning::Unavailable),
    row("refused",      (ANYTHING, ANY_CLASS, ERRORS), Meaning::Body),
    row("status",       (ANYTHING, ANY_CLASS, ANY_BODY), Meaning::Status),
]);

impl Class {
    /// The class of a status.
    pub fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Success,
            300..=399 => Self::Redirection,
            401 | 403 => Self::Unauthorized,
            400..=499 => Self::ClientError,
            _ => Self::ServerError,
        }
    }
}
