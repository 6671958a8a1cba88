//! Decision table for requests about a task.
//!
//! In: the method, whether its parameters can be read, and the result of the lookup in the store.
//! Out: the kind of answer. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! The machine refuses some requests before the lookup: -32601 for `tasks/result`, `tasks/list` and
//! legacy clients, -32021 for clients that do not declare the extension.

use crate::decision_table::{Cells, Column, Set, Table, row};

/// A method about a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskMethod {
    /// `tasks/get`.
    Get,
    /// `tasks/update`.
    Update,
    /// `tasks/cancel`.
    Cancel,
}

/// Result of the lookup of a task in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// The task belongs to the principal of the request.
    Found,
    /// The task belongs to another principal.
    Foreign,
    /// The task does not exist, or no longer exists.
    Unknown,
    /// The store has failed.
    Failed,
}

/// The kind of answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskAnswer {
    /// The task, with the data of its status.
    Show,
    /// An acknowledgement, after input was given to the task.
    Give,
    /// An acknowledgement, after the task was cancelled.
    Cancel,
    /// -32602: there is no such task.
    UnknownTask,
    /// -32602: `inputResponses` is no object.
    InvalidResponses,
    /// -32603.
    StoreFailed,
}

impl TaskMethod {
    /// The name of the method in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "tasks/get",
            Self::Update => "tasks/update",
            Self::Cancel => "tasks/cancel",
        }
    }
}

impl Column for TaskMethod {
    const ALL: Set<Self> = &[Self::Get, Self::Update, Self::Cancel];
}

impl Column for Lookup {
    const ALL: Set<Self> = &[Self::Found, Self::Foreign, Self::Unknown, Self::Failed];
}

impl Cells for TaskAnswer {}

/// Inputs of the table: the method, whether the input responses are an object, and the lookup.
pub type TaskRequests = (Set<TaskMethod>, Set<bool>, Set<Lookup>);

/// The table.
pub const TABLE: Table<TaskRequests, TaskAnswer> = {
    use Lookup::{Failed, Foreign, Found, Unknown};
    use TaskMethod::{Cancel, Get, Update};
    const ANY: Set<TaskMethod> = TaskMethod::ALL;
    Table::new(
        &["method", "responses readable", "store", "answer"],
        &[
            row("store", (ANY, bool::ALL, &[Failed]), TaskAnswer::StoreFailed),
            row("unknown", (ANY, bool::ALL, &[Foreign, Unknown]), TaskAnswer::UnknownTask),
            row("unreadable", (&[Update], &[false], &[Found]), TaskAnswer::InvalidResponses),
            row("get", (&[Get], bool::ALL, &[Found]), TaskAnswer::Show),
            row("update", (&[Update], &[true], &[Found]), TaskAnswer::Give),
            row("cancel", (&[Cancel], bool::ALL, &[Found]), TaskAnswer::Cancel),
        ],
    )
};

/// The answer to a request about a task. `readable` is true if the input responses of
/// `tasks/update` are an object.
pub fn answer(method: TaskMethod, readable: bool, lookup: Lookup) -> TaskAnswer {
    TABLE.find((method, readable, lookup)).map_or(TaskAnswer::StoreFailed, |row| row.then)
}
