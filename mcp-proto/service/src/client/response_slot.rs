//! Meeting place of a call and its response.

use alloc::boxed::Box;
use core::task::{Poll, Waker};

use super::super::mailbox::Mailbox;
use mcp_proto::Json;
use mcp_proto::client::{CallError, CallId};

/// Place for the response to a call.
#[derive(Default)]
pub(super) struct Slot {
    state: Mailbox<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// Id that the machine has given to the call, once it has.
    call: Option<CallId>,
    /// The id of the task that it follows.
    task: Option<Box<str>>,
    result: Option<Result<Json, CallError>>,
}

impl Slot {
    pub(super) fn begin(&self, call: CallId) {
        self.state.look(|state| state.call = Some(call));
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.state.look(|state| state.call)
    }

    /// The call follows this task.
    pub(super) fn follow(&self, task_id: &str) {
        self.state.look(|state| {
            if state.task.is_none() {
                state.task = Some(task_id.into());
            }
        });
    }

    /// The id of the task that the call follows.
    pub(super) fn task(&self) -> Option<Box<str>> {
        self.state.look(|state| state.task.clone())
    }

    pub(super) fn finish(&self, result: Result<Json, CallError>) {
        self.state.put(|state| {
            state.result = Some(result);
            Some(())
        });
    }

    /// The response; if there is none yet, `waker` is woken then.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<Json, CallError>> {
        self.state.poll(waker, |state| state.result.take())
    }
}
