//! Decision table for the status of a task.
//!
//! In: the status, and an event. Out: the effect on the task. `docs/tables.md` shows [`TABLE`]; a
//! test walks every combination.
//!
//! A cancellation takes effect at once; a later answer of the handler is ignored.

use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::types::TaskStatus;

/// Event of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskEvent {
    /// The call has a result.
    Result,
    /// The call has ended with a JSON-RPC error.
    Error,
    /// The call needs input.
    Ask,
    /// The call reports its progress.
    Message,
    /// `tasks/update` contains all missing input.
    Given,
    /// `tasks/update` contains part of the missing input.
    GivenPart,
    /// `tasks/cancel`.
    Cancel,
    /// The TTL has passed.
    RunOut,
    /// The process that ran the call has not renewed its lease.
    Abandoned,
}

/// Effect of an event on a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskStep {
    /// The task gets another status.
    Become(TaskStatus),
    /// The task is working again, and its handler is called again, with the input.
    Resume,
    /// The task keeps its status; its other data changes.
    Change,
    /// Nothing changes.
    Ignore,
}

impl Column for TaskEvent {
    const ALL: Set<Self> = &[
        Self::Result,
        Self::Error,
        Self::Ask,
        Self::Message,
        Self::Given,
        Self::GivenPart,
        Self::Cancel,
        Self::RunOut,
        Self::Abandoned,
    ];
}

impl Cells for TaskStep {}

/// The table.
pub const TABLE: Table<(Set<TaskStatus>, Set<TaskEvent>), TaskStep> = {
    use TaskEvent::{Abandoned, Ask, Cancel, Error, Given, GivenPart, Message, Result, RunOut};
    use TaskStatus::{Cancelled, Completed, Failed, InputRequired, Working};
    use TaskStep::{Become, Change, Ignore, Resume};
    const OPEN: Set<TaskStatus> = &[Working, InputRequired];
    const OVER: Set<TaskStatus> = &[Completed, Failed, Cancelled];
    Table::new(
        &["status", "event", "step"],
        &[
            row("late", (OVER, TaskEvent::ALL), Ignore),
            row("result", (OPEN, &[Result]), Become(Completed)),
            row("error", (OPEN, &[Error]), Become(Failed)),
            row("ask", (OPEN, &[Ask]), Become(InputRequired)),
            row("told", (OPEN, &[Message]), Change),
            row("given", (&[InputRequired], &[Given]), Resume),
            row("given-a-part", (&[InputRequired], &[GivenPart]), Change),
            row("not-asked", (&[Working], &[Given, GivenPart]), Ignore),
            row("cancel", (OPEN, &[Cancel]), Become(Cancelled)),
            row("run-out", (OPEN, &[RunOut]), Become(Failed)),
            row("abandoned", (&[Working], &[Abandoned]), Become(Failed)),
            row("waits", (&[InputRequired], &[Abandoned]), Ignore),
        ],
    )
};

/// The effect of an event on a task of this status.
pub fn step(status: TaskStatus, event: TaskEvent) -> TaskStep {
    TABLE.find((status, event)).map_or(TaskStep::Ignore, |row| row.then)
}
