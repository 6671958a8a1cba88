//! What a handler knows and may do while it runs.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{self, Poll};

use super::port::{Cancel, Command, Port};
use crate::server::{Notification, Peer, Progress, ReplyId};
use crate::time::Duration;

/// A handler's side of its request.
#[derive(Clone, Debug)]
pub struct Context {
    port: Arc<Port>,
    cancel: Arc<Cancel>,
    about: ReplyId,
    peer: Peer,
    wants_progress: bool,
}

impl Context {
    pub(super) fn new(
        port: Arc<Port>,
        cancel: Arc<Cancel>,
        about: ReplyId,
        peer: Peer,
        wants_progress: bool,
    ) -> Self {
        Self { port, cancel, about, peer, wants_progress }
    }

    /// Tells the client how far the request has come: a number that must increase from call to
    /// call, or a [`Progress`] with a total and a message. Nothing is sent if the client did not
    /// ask for it, if the number does not increase or is not finite, while more than 1 MiB waits
    /// for a client that does not read, or after the request has ended.
    pub fn progress(&self, progress: impl Into<Progress>) {
        if self.wants_progress {
            let progress = Notification::Progress(progress.into());
            self.port.command(Command::Notify(self.about, progress));
        }
    }

    /// Whether the client asked to be told of progress.
    pub fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    /// Completes when nobody waits for the answer any more. The handler is polled once more then;
    /// if it is still pending after that, it is dropped.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { cancel: self.cancel.clone(), watcher: None }
    }

    /// Whether nobody waits for the answer any more; for work on other threads.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    /// Completes after `duration`, by the adapter's clock.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { port: self.port.clone(), state: SleepState::New(duration) }
    }

    /// The client, as far as this request knows it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }
}

/// A future of [`Context::cancelled`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cancelled {
    cancel: Arc<Cancel>,
    watcher: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        let Self { cancel, watcher } = &mut *self;
        if cancel.watch(watcher, context.waker()) { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(watcher) = self.watcher {
            self.cancel.unwatch(watcher);
        }
    }
}

/// A future of [`Context::sleep`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    port: Arc<Port>,
    state: SleepState,
}

#[derive(Debug)]
enum SleepState {
    New(Duration),
    Asleep(u64),
    Over,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        match self.state {
            SleepState::New(duration) => {
                let sleep = self.port.sleep(duration, context.waker().clone());
                self.state = SleepState::Asleep(sleep);
                Poll::Pending
            }
            SleepState::Asleep(sleep) if self.port.has_slept(sleep, context.waker()) => {
                self.state = SleepState::Over;
                Poll::Ready(())
            }
            SleepState::Asleep(_) => Poll::Pending,
            SleepState::Over => Poll::Ready(()),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let SleepState::Asleep(sleep) = self.state {
            self.port.forget_sleep(sleep);
        }
    }
}
