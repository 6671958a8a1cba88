//! Response of a call, shared by its future and the service.

use alloc::boxed::Box;
use core::task::{Poll, Waker};

use super::super::mailbox::Mailbox;
use mcp_proto::Json;
use mcp_proto::client::{CallError, CallId};

/// Response of a call, shared by its future and the service.
#[derive(Default)]
pub(super) struct ResponseSlot {
    state: Mailbox<ResponseSlotState>,
}

#[derive(Default)]
struct ResponseSlotState {
    /// The machine's id of the call, once it was sent.
    call: Option<CallId>,
    /// The id of the task that the call follows.
    task: Option<Box<str>>,
    result: Option<Result<Json, CallError>>,
}

impl ResponseSlot {
    pub(super) fn begin(&self, call: CallId) {
        self.state.with(|state| state.call = Some(call));
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.state.with(|state| state.call)
    }

    /// Stores the id of the task that the call follows.
    pub(super) fn follow(&self, task_id: &str) {
        self.state.with(|state| {
            if state.task.is_none() {
                state.task = Some(task_id.into());
            }
        });
    }

    /// The id of the task that the call follows.
    pub(super) fn task(&self) -> Option<Box<str>> {
        self.state.with(|state| state.task.clone())
    }

    pub(super) fn finish(&self, result: Result<Json, CallError>) {
        self.state.update(|state| state.result = Some(result));
    }

    /// The response; if there is none yet, `waker` is woken when there is.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<Json, CallError>> {
        self.state.poll(waker, |state| state.result.take())
    }
}
