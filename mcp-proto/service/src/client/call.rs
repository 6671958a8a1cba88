//! A call as a future.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::super::trace::Span;
use super::client_mailbox::{CallHooks, ClientCommand, ClientMailbox};
use super::response_slot::ResponseSlot;
use super::unsent_call::UnsentCall;
use mcp_proto::Duration;
use mcp_proto::Json;
use mcp_proto::TraceContext;
use mcp_proto::client::{CallError, CallOptions, Progress};
use mcp_proto::types::{LoggingLevel, Task};

/// A request to a server: a future of an `R`. The first poll sends the request. Dropping the call
/// cancels the request, and the task that the server may have made of it.
#[must_use = "a call begins when it is awaited"]
pub struct Call<R> {
    mailbox: Arc<ClientMailbox>,
    state: CallState,
    decode: fn(&Arc<ClientMailbox>, &Json) -> Result<R, CallError>,
}

enum CallState {
    New {
        unsent: UnsentCall,
        options: CallOptions,
        hooks: Option<Box<CallHooks>>,
    },
    /// The call has this error, and is not sent.
    Invalid(Box<CallError>),
    InFlight(Arc<ResponseSlot>, Span),
    Done,
}

impl<R> Call<R> {
    pub(super) fn new(
        mailbox: &Arc<ClientMailbox>,
        unsent: Result<UnsentCall, CallError>,
        decode: fn(&Arc<ClientMailbox>, &Json) -> Result<R, CallError>,
    ) -> Self {
        let state = match unsent {
            Ok(unsent) => CallState::New { unsent, options: CallOptions::default(), hooks: None },
            Err(error) => CallState::Invalid(Box::new(error)),
        };
        Self { mailbox: mailbox.clone(), state, decode }
    }

    /// Sets all options at once; see [`CallOptions`].
    pub fn options(mut self, set: CallOptions) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            *options = set;
        }
        self
    }

    /// Sets the longest time for the response; default 60 s. The time counts from when the request
    /// is sent, or has to wait because the server does not read. It is paused while the server
    /// waits for input.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.timeout = timeout;
        }
        self
    }

    /// Sets the longest total time of the call, with its task, and with the times in which it waits
    /// for the connection or for input; default 1 hour.
    pub fn max_total(mut self, max_total: Duration) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.max_total = max_total;
        }
        self
    }

    /// Sets whether progress restarts the timeout of the response; default true. Servers report
    /// progress only to calls that ask for it; see [`Call::on_progress`].
    pub fn reset_on_progress(mut self, resets: bool) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.reset_on_progress = resets;
        }
        self
    }

    /// Sets the lowest level of log messages that the server sends for this call; see
    /// [`CallOptions::log_level`].
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.log_level = Some(level);
        }
        self
    }

    /// Sends the request even if the result is in the cache; see
    /// [`Config::cache`](mcp_proto::client::Config::cache).
    pub fn refresh(mut self) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.refresh = true;
        }
        self
    }

    /// Sets the trace that the call belongs to; see
    /// [`Client::trace_with`](super::Client::trace_with).
    pub fn trace(mut self, trace: TraceContext) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.trace = Some(Box::new(trace));
        }
        self
    }

    /// Asks the server for progress, and calls `f` with it. The task that drives the client runs
    /// `f`, so `f` must not block.
    pub fn on_progress(mut self, f: impl FnMut(Progress) + Send + 'static) -> Self {
        if let CallState::New { options, hooks, .. } = &mut self.state {
            options.progress = true;
            hooks.get_or_insert_default().progress = Some(Box::new(f));
        }
        self
    }

    /// If the server makes a task of the call, calls `f` with the task, and again when its status
    /// or message changes. The task that drives the client runs `f`, so `f` must not block. See
    /// [`Config::follow_tasks`](mcp_proto::client::Config::follow_tasks).
    pub fn on_task(mut self, f: impl FnMut(Task) + Send + 'static) -> Self {
        if let CallState::New { hooks, .. } = &mut self.state {
            hooks.get_or_insert_default().task = Some(Box::new(f));
        }
        self
    }

    /// Stops following the task of the call and returns its id, for
    /// [`Client::task`](super::Client::task). The task continues on the server. The call is over:
    /// dropping it cancels nothing.
    ///
    /// Returns `None`, and changes nothing, before the server has made a task and after the result
    /// was returned.
    pub fn detach(&mut self) -> Option<String> {
        let CallState::InFlight(slot, _) = &self.state else { return None };
        let task = slot.task()?;
        let slot = slot.clone();
        self.mailbox.apply(move |client, now| {
            if let Some(call) = slot.call() {
                // The call may have had its response by now.
                let _ = client.leave_task(now, call);
            }
        });
        self.state = CallState::Done;
        Some(task.into())
    }

    fn start(&mut self) -> Result<(), CallError> {
        let (unsent, mut options, hooks) =
            match core::mem::replace(&mut self.state, CallState::Done) {
                CallState::New { unsent, options, hooks } => (unsent, options, hooks),
                CallState::Invalid(error) => return Err(*error),
                CallState::InFlight(..) | CallState::Done => return Ok(()),
            };
        let slot = Arc::new(ResponseSlot::default());
        let span = Span::of_call(|| unsent.about());
        options.progress |= hooks.as_ref().is_some_and(|hooks| hooks.progress.is_some());
        if options.trace.is_none() {
            options.trace = span.within(|| self.mailbox.trace());
        }
        self.mailbox.command(ClientCommand::Start { slot: slot.clone(), unsent, options, hooks });
        self.state = CallState::InFlight(slot, span);
        Ok(())
    }
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    /// Returns [`CallError::Closed`] if it is polled again after its result.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let CallState::New { .. } | CallState::Invalid(_) = self.state {
            self.start()?;
        }
        let Self { mailbox, state, decode } = &mut *self;
        let CallState::InFlight(slot, span) = state else {
            return Poll::Ready(Err(CallError::Closed));
        };
        let result = ready!(span.within(|| slot.poll(context.waker())));
        span.responded(|| (slot.call(), mailbox.version()), &result);
        *state = CallState::Done;
        Poll::Ready(result.and_then(|result| decode(mailbox, &result)))
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let CallState::InFlight(slot, _) = &self.state {
            let slot = slot.clone();
            self.mailbox.apply(move |client, now| {
                if let Some(call) = slot.call() {
                    // The call may have had its response by now.
                    let _ = client.cancel(now, call);
                }
            });
        }
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
