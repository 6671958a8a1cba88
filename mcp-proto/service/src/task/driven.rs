//! The handler of a call that may become a task. It has its own mailbox, so that it can outlive its
//! request.
//!
//! In: polls. Out: its outcome and its commands, such as progress. Whoever polls it acts as the
//! service for this mailbox: sets the time, and wakes sleeping futures.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::{Context, Poll};

use super::host::BoxClock;
use crate::cancel::Cancel;
use crate::commands::{Command, Commands};
use crate::handler_call::BoxFuture;
use crate::panics::{catch_panic, panicked};
use crate::service_mailbox::ServiceMailbox;
use mcp_proto::Instant;
use mcp_proto::server::{Outcome, Peer};

/// A handler with its own mailbox. Dropping it cancels the handler.
pub(super) struct Driven {
    handler: BoxFuture,
    /// The client whose request the handler answers.
    pub(super) peer: Arc<Peer>,
    mailbox: Arc<ServiceMailbox>,
    cancel: Arc<Cancel>,
    pub(super) clock: BoxClock,
    /// The earliest end of the handler's sleeps.
    next_sleep: Option<Instant>,
}

impl Driven {
    pub(super) fn new(
        handler: BoxFuture,
        peer: Arc<Peer>,
        (mailbox, cancel): (Arc<ServiceMailbox>, Arc<Cancel>),
        clock: BoxClock,
    ) -> Self {
        Self { handler, peer, mailbox, cancel, clock, next_sleep: None }
    }

    pub(super) fn cancel(&self) -> &Arc<Cancel> {
        &self.cancel
    }

    /// Polls the handler, and passes its reports to `report`. A panic ends the handler with an
    /// error.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut report: impl FnMut(Command),
    ) -> Poll<Outcome> {
        self.mailbox.begin_turn(self.clock.now(), context.waker());
        let polled = catch_panic(|| self.handler.as_mut().poll(context));
        let queued = self.mailbox.take_work().and_then(|work| work.queued);
        let commands: Commands = queued.map(|queued| queued.commands).unwrap_or_default();
        self.next_sleep = self.mailbox.end_turn();
        commands.into_iter().for_each(&mut report);
        polled.unwrap_or_else(|| Poll::Ready(Outcome::Error(panicked())))
    }

    /// Ready at `at`. If the handler sleeps, and its sleep ends earlier, the waker is woken then.
    pub(super) fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        if at <= self.clock.now() {
            return Poll::Ready(());
        }
        let next = at.min(self.next_sleep.unwrap_or(Instant::NEVER));
        if next == Instant::NEVER {
            return Poll::Pending;
        }
        if self.clock.poll_timer(context, next).is_ready() {
            // The next poll of the handler completes its sleep.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Cancels the handler, and polls it once more.
    pub(super) fn end(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        self.cancel.set();
        self.poll(context, |_| {})
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.cancel.set();
        let handler = core::mem::replace(&mut self.handler, Box::pin(core::future::pending()));
        catch_panic(|| drop(handler));
        self.mailbox.close();
    }
}
