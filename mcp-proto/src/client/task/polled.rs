//! The answer to a poll of a task, and the task in the answer to a call.
//!
//! In: results. Out: a [`Task`], and the part of the answer that belongs to its status.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::call_error::CallError;
use super::super::inputs;
use super::FollowEvent;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::types::{InputRequest, Task, TaskStatus};

/// An answer to `tasks/get`.
#[derive(Debug)]
pub(in super::super) struct PolledTask {
    pub(in super::super) task: Task,
    pub(in super::super) event: FollowEvent,
    pub(in super::super) content: PolledContent,
}

/// The part of an answer that belongs to the status of the task.
#[derive(Debug)]
pub(in super::super) enum PolledContent {
    Nothing,
    /// The requests for input, and the answer's length in bytes.
    Requests(Vec<(String, InputRequest)>, usize),
    Result(Json),
    Error(CallError),
}

impl PolledTask {
    /// Reads a result of `tasks/get` about the task with this id.
    pub(in super::super) fn read(task_id: &str, result: &Json) -> Result<Self, ProtocolError> {
        let task = task(result)?;
        if task.task_id != task_id {
            return Err(invalid("about the task that was asked for"));
        }
        let member = |name| result.raw().member(name);
        let (event, content) = match task.status {
            TaskStatus::Working => (FollowEvent::Working, PolledContent::Nothing),
            TaskStatus::Cancelled => (FollowEvent::Cancelled, PolledContent::Nothing),
            TaskStatus::InputRequired => {
                let requests = member("inputRequests").and_then(inputs::requests);
                let expected = "a task with `inputRequests` of known methods";
                let requests = requests.ok_or_else(|| invalid(expected))?;
                (
                    FollowEvent::InputRequired,
                    PolledContent::Requests(requests, result.as_bytes().len()),
                )
            }
            TaskStatus::Completed => {
                let result = member("result").filter(|result| result.is_object());
                let result = result.ok_or_else(|| invalid("a completed task with a `result`"))?;
                let result = Json::trusted(result.0.to_vec());
                (FollowEvent::Completed, PolledContent::Result(result))
            }
            TaskStatus::Failed => {
                let error = member("error").filter(|error| error.is_object());
                let error =
                    error.and_then(|error| Json::trusted(error.0.to_vec()).decode_lossy().ok());
                let error = error.ok_or_else(|| invalid("a failed task with an `error`"))?;
                let error = CallError::Error { error, status: None };
                (FollowEvent::Failed, PolledContent::Error(error))
            }
        };
        Ok(Self { task, event, content })
    }
}

/// The longest id of a task that the client accepts, in bytes. An id may be a JSON Web Token.
const MAX_ID: usize = 8 * 1024;

/// Reads the task in a result.
pub(in super::super) fn task(result: &Json) -> Result<Task, ProtocolError> {
    let task = Some(result).filter(|result| result.raw().is_object());
    let task = task.and_then(|result| result.decode_lossy::<Task>().ok());
    let task = task.filter(|task| !task.task_id.is_empty()).ok_or_else(|| invalid("a task"))?;
    let is_short = task.task_id.len() <= MAX_ID;
    is_short.then_some(task).ok_or_else(|| invalid("a task with an id of at most 8 KiB"))
}

fn invalid(expected: &'static str) -> ProtocolError {
    ProtocolError::InvalidResult { expected }
}
