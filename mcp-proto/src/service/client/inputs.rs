//! The inputs that handlers are giving.
//!
//! In: what a server needs, and the wakes of its handler. Out: the answer. A handler that panics, or
//! that is not there, is answered with -32603.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::answers::Answering;
use super::port::Port;
use super::{ClientService, unharmed};
use crate::client::{Input, InputId, InputReply};
use crate::json::Json;
use crate::message::ErrorData;
use crate::time::Instant;

/// An input that is being given.
pub(super) struct Giving {
    reply: InputReply,
    future: Answering,
    waker: Waker,
}

impl ClientService {
    /// Has a handler give an input.
    pub(super) fn give(&mut self, now: Instant, input: Input) {
        let Input { reply, request, .. } = input;
        let (id, answers) = (reply.id(), self.port.answers());
        let future = catch_unwind(AssertUnwindSafe(|| answers.answer(request)));
        let future = match future {
            Ok(Some(future)) => future,
            Ok(None) => {
                let error = ErrorData::internal("the client has no handler for this");
                return self.connection.answer(now, reply, Err(error));
            }
            Err(_) => return self.connection.answer(now, reply, panicked()),
        };
        let waker = Waker::from(Arc::new(InputWaker { id, port: self.port.clone() }));
        self.inputs.insert(id, Giving { reply, future, waker });
        self.go_on(now, id);
    }

    pub(super) fn go_on(&mut self, now: Instant, input: InputId) {
        let Some(Giving { future, waker, .. }) = self.inputs.get_mut(&input) else { return };
        let mut context = Context::from_waker(waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        let Poll::Ready(answer) = polled.unwrap_or_else(|_| Poll::Ready(panicked())) else {
            return;
        };
        if let Some(Giving { reply, future, .. }) = self.inputs.remove(&input) {
            unharmed(|| drop(future));
            self.connection.answer(now, reply, answer);
        }
    }
}

/// Has the handler of an input go on.
struct InputWaker {
    id: InputId,
    port: Arc<Port>,
}

impl Wake for InputWaker {
    fn wake(self: Arc<Self>) {
        self.port.ready(self.id);
    }
}

fn panicked() -> Result<Json, ErrorData> {
    Err(ErrorData::internal("the handler panicked"))
}
