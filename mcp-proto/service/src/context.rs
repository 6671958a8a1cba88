//! Context of a handler: its request, and messages to the client.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::{self, Poll};

use serde::Serialize;

use super::cancel::Cancel;
use super::checks::Checks;
use super::input::Round;
use super::service_mailbox::{Command, ServiceMailbox};
use super::{Catalog, MissingScopes, Session};
use mcp_proto::Duration;
use mcp_proto::Era;
use mcp_proto::Json;
use mcp_proto::TraceContext;
use mcp_proto::UsageError;
use mcp_proto::message::Method;
use mcp_proto::resource_server::Scopes;
use mcp_proto::server::{Change, Notification, Peer, Progress, ReplyId};
use mcp_proto::types::{LoggingLevel, LoggingMessageNotificationParams};

/// The request of a handler: facts about it, and messages to the client while it runs.
///
/// ```
/// use mcp_proto::types::LoggingLevel;
/// use mcp_service::Context;
///
/// async fn copy(files: Vec<String>, context: Context) -> String {
///     for (number, file) in (1_u32..).zip(&files) {
///         context.progress(number);
///         context.log(LoggingLevel::Debug, file);
///     }
///     format!("copied {} files", files.len())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    mailbox: Arc<ServiceMailbox>,
    cancel: Arc<Cancel>,
    about: ReplyId,
    pub(super) call: CallContext,
}

/// Context of a request.
#[derive(Clone, Debug)]
pub(super) struct CallContext {
    pub(super) method: Method,
    pub(super) peer: Arc<Peer>,
    pub(super) wants_progress: bool,
    /// True if progress may become the status message of a task.
    pub(super) reports_status: bool,
    pub(super) may_be_task: bool,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) round: Option<Arc<Round>>,
    pub(super) checks: Checks,
    pub(super) trace: Option<Arc<TraceContext>>,
    /// The parameters, if the handler may request input.
    #[cfg(feature = "request-state")]
    pub(super) params: Option<Json>,
}

impl Context {
    pub(super) fn new(
        mailbox: Arc<ServiceMailbox>,
        cancel: Arc<Cancel>,
        about: ReplyId,
        call: CallContext,
    ) -> Self {
        Self { mailbox, cancel, about, call }
    }

    /// Sends progress: a number that must increase from call to call, or a [`Progress`] with a
    /// total and a message. The notification is dropped if the client did not ask for progress, or
    /// if the number does not increase or is not finite. It is also dropped after the end of the
    /// request, and while too much output to the client waits. Too much is 1 MiB that is unwritten
    /// (16 KiB while the server refuses new work for lack of memory), or 1,024 notifications.
    pub fn progress(&self, progress: impl Into<Progress>) {
        if self.call.wants_progress || self.call.reports_status {
            self.notify(Notification::Progress(progress.into()));
        }
    }

    /// Returns whether the client asked for progress in this request. In a task,
    /// [`Context::progress`] sets the status message in any case.
    pub fn wants_progress(&self) -> bool {
        self.call.wants_progress
    }

    /// Returns whether the response may be a task: [`Registry::tasks`](crate::Registry::tasks)
    /// names the tool, and the client declares the extension.
    pub fn may_be_task(&self) -> bool {
        self.call.may_be_task
    }

    /// Sends a log message about this request: a string, or any other value. The message is dropped
    /// unless the registry declares [`logging`](crate::Registry::logging) and the client asked for
    /// this level. It is also dropped if the value cannot be serialized, after the end of the
    /// request, and while too much output to the client waits; see [`Context::progress`].
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        // A session may have changed its level since the request; the machine checks it.
        let legacy = self.call.peer.version.era() == Era::Legacy;
        if self.call.log_level.is_some_and(|least| level >= least || legacy)
            && let Ok(data) = Json::encode(&data)
        {
            let message = LoggingMessageNotificationParams::new(level, data);
            self.notify(Notification::Log(message));
        }
    }

    /// The lowest log level that the client had asked for when its request arrived; `None` if the
    /// client asked for no messages. (A legacy client may have changed the level since.)
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.call.log_level
    }

    /// Sends a notification about this request, as
    /// [`Server::notify`](mcp_proto::server::Server::notify) does. A notification that this method
    /// refuses is dropped, and so is any while too much output to the client waits; see
    /// [`Context::progress`].
    pub fn notify(&self, notification: Notification) {
        self.mailbox.command(Command::Notify(self.about, notification));
    }

    /// Over HTTP, closes the stream on which a legacy client waits for the response, so that a long
    /// request needs no open connection. The client reconnects after
    /// [`Limits::retry`](mcp_proto::Limits::retry) and receives the missed messages and the
    /// response. Does nothing on other transports, and for clients before 2025-11-25, which would
    /// not reconnect.
    pub fn close_stream(&self) {
        if self.about.is_shared() {
            self.mailbox.command(Command::CloseStream(self.about));
        }
    }

    /// The session of a legacy client, for messages outside of this request, now or later. `None`
    /// for a modern client, which only receives messages within its requests. Over HTTP, the
    /// session of a request without `Mcp-Session-Id` cannot send anything.
    pub fn session(&self) -> Option<Session> {
        match self.call.peer.version.era() {
            Era::Legacy => Some(Session::new(&self.mailbox, self.about.session())),
            Era::Modern => None,
        }
    }

    /// Reports a change to all clients that subscribe to it; see [`Catalog::publish`].
    ///
    /// Fails with [`UsageError::Undeclared`].
    pub fn publish(&self, change: &Change) -> Result<(), UsageError> {
        self.catalog().publish(change)
    }

    /// The catalog of the server.
    pub fn catalog(&self) -> &Catalog {
        self.mailbox.catalog()
    }

    /// Completes when the request is cancelled or its client is gone. The handler is then polled
    /// once more, and dropped if it is still pending. In a task that outlives the handler, the
    /// future also completes at the end of the request.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { cancel: self.cancel.clone(), watcher: None }
    }

    /// The reason of the client that has cancelled the request, if there is one.
    pub(crate) fn cancel_reason(&self) -> Option<Box<str>> {
        self.cancel.reason()
    }

    /// Returns whether the request is cancelled, its client is gone, or the request has ended; for
    /// work on other threads.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    /// Completes `duration` after its first poll, by the adapter's clock. Completes at once when
    /// the connection of the request is over: check [`Context::is_cancelled`] in a loop that
    /// outlives the request.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { mailbox: self.mailbox.clone(), state: SleepState::New(duration) }
    }

    /// The method of the request, such as `tools/call`. A handler of several methods, such as that
    /// of [`Registry::fallback`](crate::Registry::fallback), finds here which one was called.
    ///
    /// ```
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_proto::{ErrorCode, ErrorData, Json};
    /// # use mcp_service::{Context, Handler, Registry};
    /// # let mut registry = Registry::new(Implementation::new("old", "1.0.0"));
    /// registry.fallback(Handler::method(|_: Json, context: Context| async move {
    ///     let text = format!("{} is not served any more", context.method());
    ///     Err::<Json, _>(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text))
    /// }));
    /// ```
    pub fn method(&self) -> &str {
        self.call.method.name()
    }

    /// The machine's id of the request.
    pub fn about(&self) -> ReplyId {
        self.about
    }

    /// The trace context that the client has sent with the request, unchecked.
    ///
    /// [Specification: OpenTelemetry trace context](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)
    pub fn trace(&self) -> Option<&TraceContext> {
        self.call.trace.as_deref()
    }

    /// Checks that the token of the request has these scopes, separated by spaces. Use it where the
    /// scopes depend on the arguments. Prefer
    /// [`Registry::require_scopes`](crate::Registry::require_scopes), which refuses a call with
    /// HTTP 403 before its handler runs.
    ///
    /// Always succeeds on a byte stream. Fails with [`MissingScopes`], also if a request over HTTP
    /// has no claims.
    pub fn require_scopes(&self, scopes: &str) -> Result<(), MissingScopes> {
        let peer = self.peer();
        // No token contains a word that is no valid scope.
        let has = |scope| peer.scopes().is_some_and(|granted| granted.contains(scope));
        if !peer.is_http || scopes.split_ascii_whitespace().all(has) {
            return Ok(());
        }
        Err(MissingScopes::new(Scopes::words(scopes)))
    }

    /// The client of this request: its version, capabilities and principal.
    pub fn peer(&self) -> &Peer {
        &self.call.peer
    }

    /// The same, shared.
    pub(super) fn shared_peer(&self) -> Arc<Peer> {
        self.call.peer.clone()
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
