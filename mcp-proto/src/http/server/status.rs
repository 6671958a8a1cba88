//! The status of a response with an error: one pure table.
//!
//! In: the step at which a request failed, and the era of its client. Out: the status. Errors of
//! handlers have no step, and their status stays 200; except a missing capability, and a method
//! that a handler for any method does not know.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::error::ValidationStep;
use crate::version::Era;

/// The inputs of a row.
type Sets = (Set<ValidationStep>, Set<Era>);

impl Column for ValidationStep {
    const ALL: Set<Self> = &[
        Self::Host,
        Self::Origin,
        Self::Scope,
        Self::Media,
        Self::Accept,
        Self::Json,
        Self::Shape,
        Self::Era,
        Self::Session,
        Self::Resumption,
        Self::Envelope,
        Self::Version,
        Self::Headers,
        Self::Method,
        Self::ParamHeaders,
        Self::Capability,
        Self::Params,
        Self::Result,
        Self::Capacity,
    ];
}

impl Column for Era {
    const ALL: Set<Self> = &[Self::Legacy, Self::Modern];
}

impl Cells for u16 {}

const INVALID: &[ValidationStep] = &[
    ValidationStep::Json,
    ValidationStep::Shape,
    ValidationStep::Era,
    ValidationStep::Resumption,
    ValidationStep::Envelope,
    ValidationStep::Version,
    ValidationStep::Headers,
    ValidationStep::ParamHeaders,
];
const EITHER: &[Era] = Era::ALL;

/// The table; the first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<Sets, u16> = Table::new(&["step", "era", "status"], &[
    row("forbidden",              (&[ValidationStep::Host, ValidationStep::Origin, ValidationStep::Scope], EITHER), 403),
    row("unsupported-media-type", (&[ValidationStep::Media], EITHER), 415),
    row("not-acceptable",         (&[ValidationStep::Accept], EITHER), 406),
    row("invalid",                (INVALID, EITHER), 400),
    row("undeclared-capability",  (&[ValidationStep::Capability], &[Era::Modern]), 400),
    row("unknown-session",        (&[ValidationStep::Session], EITHER), 404),
    row("unknown-method",         (&[ValidationStep::Method], &[Era::Modern]), 404),
    row("error-of-a-method",      (&[ValidationStep::Method, ValidationStep::Capability, ValidationStep::Params, ValidationStep::Result], EITHER), 200),
    row("at-capacity",            (&[ValidationStep::Capacity], EITHER), 503),
]);

/// The status of a response to a request that failed at `step`.
pub fn status(step: ValidationStep, era: Era) -> u16 {
    // Every combination has a row.
    TABLE.find((step, era)).map_or(500, |row| row.then)
}
