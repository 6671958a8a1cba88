//! The inputs that handlers are giving.
//!
//! In: what a server needs, and the wakes of its handler. Out: the answer. A handler that panics, or
//! that is not there, is answered with -32603.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::answers::{Answering, catch_panic};
use super::binding::ClientBinding;
use super::client_mailbox::ClientMailbox;
use mcp_proto::ErrorData;
use mcp_proto::Instant;
use mcp_proto::Json;
use mcp_proto::client::{Input, InputId, InputReply};

/// The inputs that are being given.
#[derive(Default)]
pub(super) struct Inputs(BTreeMap<InputId, Giving>);

/// An input that is being given.
struct Giving {
    reply: InputReply,
    future: Answering,
    waker: Waker,
}

impl Inputs {
    /// Has a handler give an input.
    pub(super) fn give(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        mailbox: &Arc<ClientMailbox>,
        input: Input,
    ) {
        let Input { reply, request, .. } = input;
        let id = reply.id();
        let answers = mailbox.answers();
        let future = catch_unwind(AssertUnwindSafe(|| answers.answer(request)));
        let future = match future {
            Ok(Some(future)) => future,
            Ok(None) => {
                let error = ErrorData::internal("the client has no handler for this");
                return binding.with(now, |client| client.answer(now, reply, Err(error)));
            }
            Err(_) => return binding.with(now, |client| client.answer(now, reply, panicked())),
        };
        let waker = Waker::from(Arc::new(InputWaker { id, mailbox: mailbox.clone() }));
        self.0.insert(id, Giving { reply, future, waker });
        self.go_on(now, binding, id);
    }

    /// The handler of an input was woken.
    pub(super) fn go_on(&mut self, now: Instant, binding: &mut impl ClientBinding, input: InputId) {
        let Some(Giving { future, waker, .. }) = self.0.get_mut(&input) else { return };
        let mut context = Context::from_waker(waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        let Poll::Ready(answer) = polled.unwrap_or_else(|_| Poll::Ready(panicked())) else {
            return;
        };
        if let Some(Giving { reply, future, .. }) = self.0.remove(&input) {
            catch_panic(|| drop(future));
            binding.with(now, |client| client.answer(now, reply, answer));
        }
    }

    /// An input is not needed any more.
    pub(super) fn cancel(&mut self, input: InputId) {
        let giving = self.0.remove(&input);
        catch_panic(|| drop(giving));
    }
}

/// Has the handler of an input go on.
struct InputWaker {
    id: InputId,
    mailbox: Arc<ClientMailbox>,
}

impl Wake for InputWaker {
    fn wake(self: Arc<Self>) {
        self.mailbox.ready(self.id);
    }
}

fn panicked() -> Result<Json, ErrorData> {
    Err(ErrorData::internal("the handler panicked"))
}
