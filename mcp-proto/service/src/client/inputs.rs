//! Handlers that answer requests for input.
//!
//! In: requests for input, and the wakes of their handlers. Out: the answers. A handler that is
//! missing or panics is answered with -32603.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::{Context, Poll, Waker};

use super::binding::ClientBinding;
use super::callback_set::AnswerFuture;
use super::client_mailbox::ClientMailbox;
use crate::panics::{catch_panic, panicked};
use mcp_proto::ErrorData;
use mcp_proto::Instant;
use mcp_proto::client::{Input, InputId, InputReply};

/// The requests for input whose handlers run.
#[derive(Default)]
pub(super) struct Inputs(BTreeMap<InputId, PendingInput>);

/// A request for input whose handler runs.
struct PendingInput {
    reply: InputReply,
    future: AnswerFuture,
    waker: Waker,
}

impl Inputs {
    /// Starts the handler of a request for input.
    pub(super) fn start(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        mailbox: &Arc<ClientMailbox>,
        input: Input,
    ) {
        let Input { reply, request, .. } = input;
        let id = reply.id();
        let callbacks = mailbox.callback(Clone::clone);
        let future = match catch_panic(move || callbacks.answer(request)) {
            Some(Some(future)) => future,
            Some(None) => {
                let error = ErrorData::internal("the client has no handler for this");
                return binding.with(now, |client| client.answer(now, reply, Err(error)));
            }
            None => return binding.with(now, |client| client.answer(now, reply, Err(panicked()))),
        };
        let waker = Waker::from(Arc::new(InputWaker { id, mailbox: mailbox.clone() }));
        self.0.insert(id, PendingInput { reply, future, waker });
        self.poll(now, binding, id);
    }

    /// Polls the handler of an input, which was woken.
    pub(super) fn poll(&mut self, now: Instant, binding: &mut impl ClientBinding, input: InputId) {
        let Some(PendingInput { future, waker, .. }) = self.0.get_mut(&input) else { return };
        let mut context = Context::from_waker(waker);
        let polled = catch_panic(|| future.as_mut().poll(&mut context));
        let Poll::Ready(answer) = polled.unwrap_or_else(|| Poll::Ready(Err(panicked()))) else {
            return;
        };
        if let Some(PendingInput { reply, future, .. }) = self.0.remove(&input) {
            catch_panic(|| drop(future));
            binding.with(now, |client| client.answer(now, reply, answer));
        }
    }

    /// Drops the handler of an input that was cancelled.
    pub(super) fn cancel(&mut self, input: InputId) {
        let pending = self.0.remove(&input);
        catch_panic(|| drop(pending));
    }

    /// Drops all handlers.
    pub(super) fn end(self) {
        for pending in self.0.into_values() {
            catch_panic(|| drop(pending));
        }
    }
}

/// Waker of the handler of an input.
struct InputWaker {
    id: InputId,
    mailbox: Arc<ClientMailbox>,
}

impl Wake for InputWaker {
    fn wake(self: Arc<Self>) {
        self.mailbox.ready(self.id);
    }
}
