//! Tasks: results of tools that clients fetch later; the extension `io.modelcontextprotocol/tasks`.
//!
//! [SEP-2663](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2663)

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{InputRequests, InputResponses, ResultType};
use crate::decision_table::{Column, Set};
use crate::json::Json;
use crate::message::ErrorData;

/// The status of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The request is being processed.
    Working,
    /// The task waits for input of the client: see [`DetailedTask::input_requests`].
    InputRequired,
    /// The request has a result, which may have `isError`.
    Completed,
    /// The request has ended with a JSON-RPC error.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the task has ended: its status never changes again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Column for TaskStatus {
    const ALL: Set<Self> =
        &[Self::Working, Self::InputRequired, Self::Completed, Self::Failed, Self::Cancelled];
}

/// A task, without the data that belongs to its status.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id that the server has given to the task.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// The status in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// The time at which the task was made, in ISO 8601.
    pub created_at: String,
    /// The time of the last change, in ISO 8601.
    pub last_updated_at: String,
    /// The milliseconds from `created_at` for which the server keeps the task; `None` for no limit.
    #[serde(default, deserialize_with = "millis")]
    pub ttl_ms: Option<u64>,
    /// The suggested interval between polls, in milliseconds.
    #[serde(default, deserialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
}

impl Task {
    /// A task that was made at this time, in ISO 8601, is [`TaskStatus::Working`] and has no TTL.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl_ms: None,
            poll_interval_ms: None,
        }
    }
}

/// Without principals the id is a secret, so only 8 characters are shown.
impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("task_id", &shown_id(&self.task_id))
            .field("status", &self.status)
            .field("status_message", &self.status_message)
            .field("created_at", &self.created_at)
            .field("last_updated_at", &self.last_updated_at)
            .field("ttl_ms", &self.ttl_ms)
            .field("poll_interval_ms", &self.poll_interval_ms)
            .finish()
    }
}

/// The result of `tools/call` in place of a [`CallToolResult`](super::CallToolResult): the call
/// continues as a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The type of the result: [`ResultType::Task`].
    pub result_type: ResultType,
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Metadata of the result (`_meta`).
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl CreateTaskResult {
    /// A result with this task.
    pub fn new(task: Task) -> Self {
        Self { result_type: ResultType::Task, task, meta: None }
    }
}

/// The result of `tasks/get`, and the parameters of `notifications/tasks`: a task with the data
/// that belongs to its status.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask {
    /// The type of the result; the server machine writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// The requests for input that are open, if the status is [`TaskStatus::InputRequired`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The result of the tool, an object, if the status is [`TaskStatus::Completed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The error, if the status is [`TaskStatus::Failed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorData>,
    /// Metadata of the result (`_meta`).
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl From<Task> for DetailedTask {
    fn from(task: Task) -> Self {
        Self {
            result_type: None,
            task,
            input_requests: None,
            result: None,
            error: None,
            meta: None,
        }
    }
}

/// The parameters of `tasks/get` and `tasks/cancel`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// Metadata of the request (`_meta`).
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl TaskRequestParams {
    /// The parameters for a task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), meta: None }
    }
}

/// The parameters of `tasks/update`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// Answers to input requests of the task, by their keys; some may be missing.
    pub input_responses: InputResponses,
    /// Metadata of the request (`_meta`).
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl UpdateTaskRequestParams {
    /// The parameters for a task, with these answers.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self { task_id: task_id.into(), input_responses, meta: None }
    }
}

impl fmt::Debug for TaskRequestParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRequestParams")
            .field("task_id", &shown_id(&self.task_id))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for UpdateTaskRequestParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateTaskRequestParams")
            .field("task_id", &shown_id(&self.task_id))
            .field("input_responses", &self.input_responses)
            .finish_non_exhaustive()
    }
}

/// The part of a task's id that may be shown: the first 8 characters.
pub(crate) fn shown_id(id: &str) -> String {
    let mut shown: String = id.chars().take(8).collect();
    if shown.len() < id.len() {
        shown.push('…');
    }
    shown
}

/// Reads a number of milliseconds, or `null`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and a fraction of a millisecond does not matter"
)]
fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(|millis| millis as u64))
}
