//! Context of a handler: its request, and its ways to the client.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{self, Poll};

use serde::Serialize;

use super::checks::Checks;
use super::input::Round;
use super::service_mailbox::{Cancel, Command, ServiceMailbox};
use super::{Catalog, MissingScopes, Session};
use mcp_proto::Duration;
use mcp_proto::Era;
use mcp_proto::Json;
use mcp_proto::TraceContext;
use mcp_proto::UsageError;
#[cfg(feature = "request-state")]
use mcp_proto::message::Method;
use mcp_proto::resource_server::Scopes;
use mcp_proto::server::{Change, Notification, Peer, Progress, ReplyId};
use mcp_proto::types::{LoggingLevel, LoggingMessageNotificationParams};

/// A handler's side of its request.
#[derive(Clone, Debug)]
pub struct Context {
    mailbox: Arc<ServiceMailbox>,
    cancel: Arc<Cancel>,
    about: ReplyId,
    pub(super) asked: CallContext,
}

/// Context of a request.
#[derive(Clone, Debug)]
pub(super) struct CallContext {
    pub(super) peer: Peer,
    pub(super) wants_progress: bool,
    pub(super) may_be_task: bool,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) round: Option<Arc<Round>>,
    pub(super) checks: Checks,
    pub(super) trace: Option<Arc<TraceContext>>,
    /// The request itself, if its handler may ask for input.
    #[cfg(feature = "request-state")]
    pub(super) request: Option<(Method, Json)>,
}

impl Context {
    pub(super) fn new(
        mailbox: Arc<ServiceMailbox>,
        cancel: Arc<Cancel>,
        about: ReplyId,
        asked: CallContext,
    ) -> Self {
        Self { mailbox, cancel, about, asked }
    }

    /// Tells the client how far the request has come: a number that must increase from call to
    /// call, or a [`Progress`] with a total and a message. Nothing is sent if the client did not
    /// ask for it, if the number does not increase or is not finite, or after the request has
    /// ended. Nor is it sent while more than 1 MiB waits for a client that does not read.
    pub fn progress(&self, progress: impl Into<Progress>) {
        if self.asked.wants_progress {
            self.notify(Notification::Progress(progress.into()));
        }
    }

    /// Returns whether the client asked to be told of progress.
    pub fn wants_progress(&self) -> bool {
        self.asked.wants_progress
    }

    /// Returns whether the request may be answered with a task: its tool is one of
    /// [`Registry::tasks`](crate::Registry::tasks), and its client declares the extension.
    pub fn may_be_task(&self) -> bool {
        self.asked.may_be_task
    }

    /// Tells the client something about this request: a string, or any other value. Nothing is sent
    /// unless the registry declares [`logging`](crate::Registry::logging) and the client asked for
    /// messages as severe as this. Nor is it sent if the value cannot be written as JSON, or after
    /// the end of the request. It is dropped while more than 1 MiB waits for a client that does not
    /// read.
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        // A session may want more than when the request came; the machine knows.
        let legacy = self.asked.peer.version.era() == Era::Legacy;
        if self.asked.log_level.is_some_and(|least| level >= least || legacy)
            && let Ok(data) = Json::encode(&data)
        {
            let message = LoggingMessageNotificationParams::new(level, data);
            self.notify(Notification::Log(message));
        }
    }

    /// The least severe messages that the client wanted when its request came; `None` if it wanted
    /// none. (A legacy client may change its mind meanwhile.)
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.asked.log_level
    }

    /// Sends a notification about this request, as
    /// [`Server::notify`](mcp_proto::server::Server::notify) does. A notification that `notify`
    /// would refuse is dropped. So is any notification while more than 1 MiB waits for a client
    /// that does not read.
    pub fn notify(&self, notification: Notification) {
        self.mailbox.command(Command::Notify(self.about, notification));
    }

    /// Over HTTP: closes the stream on which a legacy client waits for the answer, so that no
    /// connection is open while this takes its time. The client comes back after
    /// [`Limits::retry`](mcp_proto::Limits::retry), gets what was said meanwhile, and the answer. Does
    /// nothing elsewhere, nor for clients before 2025-11-25, which would not come back.
    pub fn close_stream(&self) {
        if self.about.is_shared() {
            self.mailbox.command(Command::CloseStream(self.about));
        }
    }

    /// The session of a legacy client, for messages outside of this request, now or later. `None`
    /// for a modern client, which gets messages within its requests only. The session of a request
    /// that stands alone over HTTP (no `Mcp-Session-Id`) can be sent nothing.
    pub fn session(&self) -> Option<Session> {
        match self.asked.peer.version.era() {
            Era::Legacy => Some(Session::new(&self.mailbox, self.about.session())),
            Era::Modern => None,
        }
    }

    /// Tells all clients that want to know of a change; see [`Catalog::publish`].
    ///
    /// Fails with [`UsageError::Undeclared`].
    pub fn publish(&self, change: &Change) -> Result<(), UsageError> {
        self.catalog().publish(change)
    }

    /// The offer of the server.
    pub fn catalog(&self) -> &Catalog {
        self.mailbox.catalog()
    }

    /// Completes when nobody waits for the answer any more. The handler is polled once more then;
    /// if it is still pending after that, it is dropped.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { cancel: self.cancel.clone(), watcher: None }
    }

    /// Returns whether nobody waits for the answer any more; for work on other threads.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    /// Completes after `duration`, by the adapter's clock.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { mailbox: self.mailbox.clone(), state: SleepState::New(duration) }
    }

    /// The id of the request, by which the machine knows it.
    pub fn about(&self) -> ReplyId {
        self.about
    }

    /// The trace that the request belongs to, if the client says so; its word, not checked.
    ///
    /// [Specification: OpenTelemetry trace context](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)
    pub fn trace(&self) -> Option<&TraceContext> {
        self.asked.trace.as_deref()
    }

    /// Checks that the token of the request has these scopes, with blanks between them. Use it where
    /// the scopes depend on the arguments; [`Registry::require_scopes`](crate::Registry::require_scopes)
    /// refuses a call before its handler runs, which clients understand better.
    ///
    /// On a byte stream it asks nothing. Fails with [`MissingScopes`], also over HTTP without claims.
    pub fn require_scopes(&self, scopes: &str) -> Result<(), MissingScopes> {
        let peer = self.peer();
        // A word that cannot be a scope is in no token.
        let has = |scope| peer.scopes().is_some_and(|granted| granted.contains(scope));
        if !peer.is_http || scopes.split_ascii_whitespace().all(has) {
            return Ok(());
        }
        Err(MissingScopes::new(Scopes::words(scopes)))
    }

    /// The client, as far as this request knows it.
    pub fn peer(&self) -> &Peer {
        &self.asked.peer
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
    mailbox: Arc<ServiceMailbox>,
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
                let sleep = self.mailbox.sleep(duration, context.waker().clone());
                self.state = SleepState::Asleep(sleep);
                Poll::Pending
            }
            SleepState::Asleep(sleep) if self.mailbox.has_slept(sleep, context.waker()) => {
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
            self.mailbox.forget_sleep(sleep);
        }
    }
}
