//! Tasks of a server that the application controls itself.
//!
//! In: a tool call, or the stored id of a task. Out: calls of `tasks/get` and `tasks/cancel`, and a
//! call that returns the result of the task.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::Serialize;

use super::call::Call;
use super::client_mailbox::ClientMailbox;
use super::handle::Client;
use super::lists::decode;
use super::unsent_call::UnsentCall;
use mcp_proto::Json;
use mcp_proto::client::CallError;
use mcp_proto::internals::{Raw, raw};
use mcp_proto::types::{
    CallToolResult, CreateTaskResult, DetailedTask, EmptyResult, TaskRequestParams,
};

/// The response to a tool call that the server may have made a task of.
#[derive(Debug)]
pub enum Started {
    /// The tool has ended.
    Done(CallToolResult),
    /// The server continues the call as a task.
    Task(RemoteTask),
}

/// A task of a server: its id, and the calls about it.
///
/// Dropping it does not affect the task.
#[derive(Clone)]
pub struct RemoteTask {
    mailbox: Arc<ClientMailbox>,
    id: String,
}

impl Client {
    /// Calls a tool, and returns a task that the server makes of the call as [`Started::Task`],
    /// without following it. Without
    /// [`Config::follow_tasks`](mcp_proto::client::Config::follow_tasks) servers make no tasks.
    ///
    /// Fails as [`Client::call_tool`] does.
    pub fn start_tool<A: Serialize + ?Sized>(&self, name: &str, arguments: &A) -> Call<Started> {
        let unsent =
            UnsentCall::with_arguments("tools/call", name, arguments).map(UnsentCall::taking_task);
        Call::new(&self.mailbox, unsent, decode_started)
    }

    /// The task with this id, of this client or of an earlier one of the same server. Its calls
    /// fail without [`Config::follow_tasks`](mcp_proto::client::Config::follow_tasks).
    pub fn task(&self, id: impl Into<String>) -> RemoteTask {
        RemoteTask { mailbox: self.mailbox.clone(), id: id.into() }
    }
}

impl RemoteTask {
    /// The id, to be stored. It is a secret: a server without authorization accepts requests from
    /// anyone who has the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Gets the current state of the task, with `tasks/get`.
    pub fn status(&self) -> Call<DetailedTask> {
        Call::new(&self.mailbox, self.unsent("tasks/get"), decode)
    }

    /// Requests the cancellation of the task, with `tasks/cancel`. The task may still complete or
    /// fail.
    pub fn cancel(&self) -> Call<EmptyResult> {
        Call::new(&self.mailbox, self.unsent("tasks/cancel"), decode)
    }

    /// Follows the task until it has ended, as [`Client::call_tool`] does, and answers its requests
    /// for input. Dropping the call does not cancel the task.
    ///
    /// Fails with [`CallError::TaskGone`] if the server does not know the task.
    pub fn result(&self) -> Call<CallToolResult> {
        let id = self.id.clone();
        let unsent = UnsentCall::on_machine("tasks/get", move |client, now, options| {
            client.follow_task(now, id, options)
        });
        Call::new(&self.mailbox, Ok(unsent), decode)
    }

    fn unsent(&self, method: &'static str) -> Result<UnsentCall, CallError> {
        UnsentCall::call(method, Json::encode(&TaskRequestParams::new(&*self.id)).ok())
    }
}

impl fmt::Debug for RemoteTask {
    /// Omits the id, which may be a secret.
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
