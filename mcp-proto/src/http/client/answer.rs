//! What an answer over HTTP means, by its status and by what its body says: one pure table.
//!
//! In: what was asked, the status, and the body if it is a JSON-RPC response. Out: a [`Row`], whose
//! name tests and documentation use. `ARCHITECTURE.md` shows [`TABLE`] ([`draw`]); a test walks every
//! combination.
//!
//! [Specification: Backward
//! Compatibility](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#backward-compatibility)

use alloc::string::String;

use crate::table::{self, cell};

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

/// One row of the table: sets of inputs, and what they mean.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// A stable name, for tests and documentation.
    pub name: &'static str,
    asked: &'static [Asked],
    classes: &'static [Class],
    bodies: &'static [Body],
    /// What it means.
    pub meaning: Meaning,
}

const ANYTHING: &[Asked] = &[Asked::Era, Asked::Call];
const ANY_CLASS: &[Class] = &[
    Class::Success,
    Class::Redirection,
    Class::Unauthorized,
    Class::ClientError,
    Class::ServerError,
];
const ANY_BODY: &[Body] = &[Body::Result, Body::ModernError, Body::Error, Body::Nothing];
const ERRORS: &[Body] = &[Body::ModernError, Body::Error];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row("answered",     ANYTHING,      &[Class::Success], &[Body::Result, Body::ModernError, Body::Error], Meaning::Body),
    row("modern-error", ANYTHING,      ANY_CLASS, &[Body::ModernError], Meaning::Body),
    row("unauthorized", ANYTHING,      &[Class::Unauthorized], ANY_BODY, Meaning::Unauthorized),
    row("unavailable",  &[Asked::Era], &[Class::Redirection, Class::ServerError], ANY_BODY, Meaning::Unavailable),
    row("refused",      ANYTHING,      ANY_CLASS, ERRORS, Meaning::Body),
    row("status",       ANYTHING,      ANY_CLASS, ANY_BODY, Meaning::Status),
];

const fn row(
    name: &'static str,
    asked: &'static [Asked],
    classes: &'static [Class],
    bodies: &'static [Body],
    meaning: Meaning,
) -> Row {
    Row { name, asked, classes, bodies, meaning }
}

/// The row that decides; `None` only if the table had a gap, which a test rules out.
pub fn judge(asked: Asked, class: Class, body: Body) -> Option<&'static Row> {
    TABLE.iter().find(|row| {
        row.asked.contains(&asked) && row.classes.contains(&class) && row.bodies.contains(&body)
    })
}

impl Asked {
    /// All there are.
    pub const ALL: &'static [Self] = ANYTHING;
}

impl Class {
    /// All there are.
    pub const ALL: &'static [Self] = ANY_CLASS;

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

impl Body {
    /// All there are.
    pub const ALL: &'static [Self] = ANY_BODY;
}

/// The table as Markdown, as it stands in `ARCHITECTURE.md`.
pub fn draw() -> String {
    table::draw(["row", "asked", "status", "body", "means"], TABLE, |row| {
        [
            row.name.into(),
            cell(row.asked, ANYTHING),
            cell(row.classes, ANY_CLASS),
            cell(row.bodies, ANY_BODY),
            alloc::format!("{:?}", row.meaning),
        ]
    })
}
