//! Decision table for a call that follows its task.
//!
//! A server with the extension `io.modelcontextprotocol/tasks` may answer `tools/call` with a task
//! in place of a result. A client with [`Config::follow_tasks`](super::Config::follow_tasks) then
//! polls the task with `tasks/get` until it has ended, and the call gets the result of the task.
//! Each call has one request in flight at a time: a poll, or the input for the task.
//!
//! In: an [event](FollowEvent), the state of the [input](FollowInput) that the task needs, and
//! whether its time is over. Out: the next [step](FollowStep). `docs/tables.md` shows [`TABLE`]; a
//! test walks every combination. The state of the call is in `following`.
//!
//! | time | is |
//! |---|---|
//! | between two polls | `pollIntervalMs`, within 100 ms and 60 s; without it 1 s, 1.5 s and so on up to 10 s |
//! | to the first poll | the same; 0 if that is more than 1 s, or if the status is not `working` |
//! | to the poll after a notification about the task | none, but 100 ms after the last answer |
//! | after an unanswered poll | as between polls, doubled per failure up to 60 s; at least `Retry-After`, up to 60 s |
//! | for an answer to a poll | [`CallOptions::timeout`](super::CallOptions::timeout) |
//! | for the whole | `ttlMs` + 60 s after the client first sees the task; at most [`CallOptions::max_total`](super::CallOptions::max_total) |
//!
//! The client has no clock, so it does not read `createdAt`. Polls have no jitter: each task begins
//! at its own time, so polls do not coincide.
//!
//! The extension: [SEP-2663](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2663)

mod following;
mod polled;

use super::call_error::{CallError, is_temporary};
use super::connect_error::ConnectError;
use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::error::ErrorCode;

pub(super) use following::{FollowedTask, about_task};
pub(super) use polled::{PolledContent, PolledTask, task};

/// Event of a call that follows a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowEvent {
    /// A poll was answered: the status is `working`.
    Working,
    /// A poll was answered: the task needs input.
    InputRequired,
    /// A poll was answered: the task has a result.
    Completed,
    /// A poll was answered: the task has ended with an error.
    Failed,
    /// A poll was answered: the task was cancelled.
    Cancelled,
    /// The server has accepted input.
    Accepted,
    /// -32602 to input: the server does not know the task, or does not accept the input.
    Rejected,
    /// The application has given an input, and nothing is in flight.
    Given,
    /// It is time for the next poll.
    Due,
    /// There was no answer, or an answer without information about the task: -32603, or status 408,
    /// 425, 429 or 5xx. "Clients SHOULD continue polling until the task reaches a terminal status".
    Unavailable,
    /// -32602 to a poll: the server does not know the task.
    Unknown,
    /// Any other error.
    Refused,
}

/// The state of the input that a task needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowInput {
    /// The task needs input that the application was not asked for.
    New,
    /// The application has not given all inputs yet.
    Pending,
    /// The application has given all inputs, and the server has neither accepted nor refused some.
    Complete,
    /// The task needs no input.
    Nothing,
}

/// The next step of a call that follows a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowStep {
    /// Plan the next poll.
    Wait,
    /// Plan the next poll later.
    Retry,
    /// Keep the planned poll.
    Stay,
    /// Send `tasks/get`.
    Poll,
    /// Ask the application for input; the client itself supplies the roots.
    Ask,
    /// Send `tasks/update`.
    Update,
    /// End the call with the result of the task.
    Done,
    /// End the call with the error of the task, or of its request.
    Fail,
    /// End the call as cancelled by the server.
    Cancelled,
    /// End the call, because the server no longer knows the task.
    Gone,
    /// End the call, because it has taken too long.
    GiveUp,
}

/// The inputs of a row.
type FollowSets = (Set<FollowEvent>, Set<FollowInput>, Set<bool>);

impl Column for FollowEvent {
    const ALL: Set<Self> = &[
        Self::Working,
        Self::InputRequired,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Accepted,
        Self::Rejected,
        Self::Given,
        Self::Due,
        Self::Unavailable,
        Self::Unknown,
        Self::Refused,
    ];
}

impl Column for FollowInput {
    const ALL: Set<Self> = &[Self::New, Self::Pending, Self::Complete, Self::Nothing];
}

impl Cells for FollowStep {}

const EVENT: &[FollowEvent] = FollowEvent::ALL;
const INPUT: &[FollowInput] = FollowInput::ALL;
const OVER: &[bool] = &[true, false];

/// The table. The first row that matches decides.
#[rustfmt::skip]
pub const TABLE: Table<FollowSets, FollowStep> = Table::new(&["event", "input", "time is over", "then"], &[
    row("completed",    (&[FollowEvent::Completed], INPUT, OVER), FollowStep::Done),
    row("failed",       (&[FollowEvent::Failed, FollowEvent::Refused], INPUT, OVER), FollowStep::Fail),
    row("cancelled",    (&[FollowEvent::Cancelled], INPUT, OVER), FollowStep::Cancelled),
    row("gone",         (&[FollowEvent::Unknown], INPUT, OVER), FollowStep::Gone),
    row("time-is-over", (EVENT, INPUT, &[true]), FollowStep::GiveUp),
    row("unavailable",  (&[FollowEvent::Unavailable], INPUT, OVER), FollowStep::Retry),
    row("asks",         (&[FollowEvent::InputRequired], &[FollowInput::New], OVER), FollowStep::Ask),
    row("input",        (&[FollowEvent::InputRequired, FollowEvent::Given, FollowEvent::Due], &[FollowInput::Complete], OVER), FollowStep::Update),
    row("given-a-part", (&[FollowEvent::Given], INPUT, OVER), FollowStep::Stay),
    row("due",          (&[FollowEvent::Due], INPUT, OVER), FollowStep::Poll),
    row("goes-on",      (EVENT, INPUT, OVER), FollowStep::Wait),
]);

impl FollowEvent {
    /// The event for a request about a task that failed with this error, or had no answer.
    pub fn of_error(error: &CallError) -> Self {
        match error {
            CallError::Error { error, .. } if error.code == ErrorCode::INVALID_PARAMS => {
                Self::Unknown
            }
            CallError::Error { error, .. } if error.code == ErrorCode::INTERNAL_ERROR => {
                Self::Unavailable
            }
            CallError::Error { status: Some(status), .. } | CallError::Http { status }
                if is_temporary(*status) =>
            {
                Self::Unavailable
            }
            CallError::Connect(ConnectError::Http { status }) if is_temporary(*status) => {
                Self::Unavailable
            }
            CallError::Connection(_)
            | CallError::TimedOut
            | CallError::Connect(
                ConnectError::Connection(_)
                | ConnectError::TimedOut
                | ConnectError::Closed
                | ConnectError::Lost,
            ) => Self::Unavailable,
            CallError::Error { .. }
            | CallError::Protocol(_)
            | CallError::Cancelled
            | CallError::InputRefused(_)
            | CallError::Connect(_)
            | CallError::Closed
            | CallError::Interrupted
            | CallError::Unauthorized(_)
            | CallError::Http { .. }
            | CallError::SessionExpired
            | CallError::Header(_)
            | CallError::TaskGone { .. }
            | CallError::TaskLeft { .. }
            | CallError::Usage(_) => Self::Refused,
        }
    }
}
