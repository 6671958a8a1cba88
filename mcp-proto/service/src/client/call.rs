//! A call as a future.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::super::trace::Span;
use super::ask::Ask;
use super::client_mailbox::{ClientMailbox, Command, OnProgress};
use super::slot::Slot;
use mcp_proto::Duration;
use mcp_proto::Json;
use mcp_proto::TraceContext;
use mcp_proto::client::{CallError, CallOptions, Progress};
use mcp_proto::types::LoggingLevel;

/// A call of a server, to be awaited: its result is an `R`. It begins when it is first polled, and
/// dropping it cancels it.
#[must_use = "a call begins when it is awaited"]
pub struct Call<R> {
    port: Arc<ClientMailbox>,
    state: CallState,
    decode: fn(&ClientMailbox, &Json) -> Result<R, CallError>,
}

enum CallState {
    New { ask: Result<Ask, CallError>, options: CallOptions, on_progress: Option<OnProgress> },
    HandlerCall(Arc<Slot>, Span),
    Done,
}

impl<R> Call<R> {
    pub(super) fn new(
        port: &Arc<ClientMailbox>,
        ask: Result<Ask, CallError>,
        decode: fn(&ClientMailbox, &Json) -> Result<R, CallError>,
    ) -> Self {
        let state = CallState::New { ask, options: CallOptions::default(), on_progress: None };
        Self { port: port.clone(), state, decode }
    }

    /// Sets all options at once; see [`CallOptions`].
    pub fn options(mut self, set: CallOptions) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            *options = set;
        }
        self
    }

    /// Sets how long the response may take, from when the request is sent; default 60 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.timeout = timeout;
        }
        self
    }

    /// Sets how long the call may take whatever happens; default 1 hour.
    pub fn max_total(mut self, max_total: Duration) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.max_total = max_total;
        }
        self
    }

    /// Sets whether progress starts the time for the response anew; default true.
    pub fn reset_on_progress(mut self, resets: bool) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.reset_on_progress = resets;
        }
        self
    }

    /// Sets the least severe log messages that are wanted about this call; see
    /// [`CallOptions::log_level`].
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        if let CallState::New { options, .. } = &mut self.state {
            options.log_level = Some(level);
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

    /// Asks the server to tell of progress, and tells `f`, where the client is driven.
    pub fn on_progress(mut self, f: impl FnMut(Progress) + Send + 'static) -> Self {
        if let CallState::New { options, on_progress, .. } = &mut self.state {
            options.progress = true;
            *on_progress = Some(Box::new(f));
        }
        self
    }

    fn start(&mut self) -> Result<(), CallError> {
        let CallState::New { ask, mut options, on_progress } =
            core::mem::replace(&mut self.state, CallState::Done)
        else {
            return Ok(());
        };
        let ask = ask?;
        let slot = Arc::new(Slot::default());
        let span = Span::of_call(|| ask.about());
        options.progress |= on_progress.is_some();
        if options.trace.is_none() {
            options.trace = span.within(|| self.port.trace());
        }
        self.port.command(Command::Start { slot: slot.clone(), ask, options, on_progress });
        self.state = CallState::HandlerCall(slot, span);
        Ok(())
    }
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    /// After it was ready it is ready with [`CallError::Closed`].
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let CallState::New { .. } = self.state {
            self.start()?;
        }
        let Self { port, state, decode } = &mut *self;
        let CallState::HandlerCall(slot, span) = state else {
            return Poll::Ready(Err(CallError::Closed));
        };
        let result = ready!(span.within(|| slot.poll(context.waker())));
        span.responded(|| (slot.call(), port.version()), &result);
        *state = CallState::Done;
        Poll::Ready(result.and_then(|result| decode(port, &result)))
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let CallState::HandlerCall(slot, _) = &self.state {
            let slot = slot.clone();
            self.port.apply(move |client, now| {
                if let Some(call) = slot.call() {
                    // It may have had its response meanwhile.
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
