//! Tasks of a server, which an application follows by hand.
//!
//! In: a call of a tool, or the id of a task that was kept. Out: calls of `tasks/get` and
//! `tasks/cancel`, and one that has the result of the task once it has ended.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::Serialize;

use super::ask::Ask;
use super::call::Call;
use super::client_mailbox::ClientMailbox;
use super::handle::Client;
use super::lists::decode;
use mcp_proto::Json;
use mcp_proto::client::CallError;
use mcp_proto::internals::{Raw, raw};
use mcp_proto::types::{
    CallToolResult, CreateTaskResult, DetailedTask, EmptyResult, TaskRequestParams,
};

/// The response to a call of a tool that the server may have made a task of. There is no third one.
#[derive(Debug)]
pub enum Started {
    /// The tool has ended.
    Done(CallToolResult),
    /// The server goes on with it.
    Task(RemoteTask),
}

/// A task of a server: the id, and calls about it.
///
/// Dropping it changes nothing for the task.
#[derive(Clone)]
pub struct RemoteTask {
    mailbox: Arc<ClientMailbox>,
    id: String,
}

impl Client {
    /// Calls a tool, and does not follow the task that the server may make of the call:
    /// [`Started::Task`] has it. Without
    /// [`Config::follow_tasks`](mcp_proto::client::Config::follow_tasks) servers make none.
    ///
    /// Fails as [`Client::call_tool`] does.
    pub fn start_tool<A: Serialize + ?Sized>(&self, name: &str, arguments: &A) -> Call<Started> {
        let ask = Ask::with_arguments("tools/call", name, arguments).map(Ask::taking_task);
        Call::new(&self.mailbox, ask, decode_started)
    }

    /// The task with this id, of this client or of an earlier one of the same server. Its calls
    /// fail without [`Config::follow_tasks`](mcp_proto::client::Config::follow_tasks).
    pub fn task(&self, id: impl Into<String>) -> RemoteTask {
        RemoteTask { mailbox: self.mailbox.clone(), id: id.into() }
    }
}

impl RemoteTask {
    /// The id, to be kept. A server without authorization gives the task to whoever knows the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks for the task as it is, with `tasks/get`.
    pub fn status(&self) -> Call<DetailedTask> {
        Call::new(&self.mailbox, self.ask("tasks/get"), decode)
    }

    /// Asks the server to cancel the task, with `tasks/cancel`. The server may not: the task may end
    /// otherwise.
    pub fn cancel(&self) -> Call<EmptyResult> {
        Call::new(&self.mailbox, self.ask("tasks/cancel"), decode)
    }

    /// Follows the task until it has ended, as [`Client::call_tool`] does; gives the input that it
    /// needs. Dropping the call leaves the task alone.
    ///
    /// Fails with [`CallError::TaskGone`] if the server does not know the task.
    pub fn result(&self) -> Call<CallToolResult> {
        let id = self.id.clone();
        let ask = Ask::verb("tasks/get", move |client, now, options| {
            client.follow_task(now, id, options)
        });
        Call::new(&self.mailbox, Ok(ask), decode)
    }

    fn ask(&self, method: &'static str) -> Result<Ask, CallError> {
        Ask::call(method, Json::encode(&TaskRequestParams::new(&*self.id)).ok())
    }
}

impl fmt::Debug for RemoteTask {
    /// Without the id, which may be all that it takes to have the task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTask").finish_non_exhaustive()
    }
}

fn decode_started(mailbox: &Arc<ClientMailbox>, result: &Json) -> Result<Started, CallError> {
    let kind = raw(result).member("resultType");
    if kind.and_then(Raw::string).as_deref() != Some("task") {
        return decode(mailbox, result).map(Started::Done);
    }
    let CreateTaskResult { task, .. } = decode(mailbox, result)?;
    Ok(Started::Task(RemoteTask { mailbox: mailbox.clone(), id: task.task_id }))
}
