//! Meeting place of a call and its response.

use core::task::{Poll, Waker};

use super::super::mailbox::Mailbox;
use mcp_proto::Json;
use mcp_proto::client::{CallError, CallId};

/// Where the response to a call is put.
#[derive(Default)]
pub(super) struct Slot {
    state: Mailbox<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// What the machine calls it, once it does.
    call: Option<CallId>,
    result: Option<Result<Json, CallError>>,
}

impl Slot {
    pub(super) fn begin(&self, call: CallId) {
        self.state.look(|state| state.call = Some(call));
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.state.look(|state| state.call)
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
