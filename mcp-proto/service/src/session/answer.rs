//! Futures of the methods of a session.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::super::Context as RequestContext;
use super::Session;
use super::command::SessionCommand;
use super::error::SessionError;
use super::slot::AnswerSlot;
use mcp_proto::Duration;
use mcp_proto::Json;
use mcp_proto::UsageError;
use mcp_proto::server::ReplyId;
use mcp_proto::types::InputRequest;

/// The result of a notification. The notification is sent whether or not this is awaited.
#[derive(Debug)]
pub struct Sent(Sending);

#[derive(Debug)]
enum Sending {
    Waiting(Arc<AnswerSlot<()>>),
    Failed(SessionError),
}

impl Sent {
    pub(super) fn new(slot: Arc<AnswerSlot<()>>) -> Self {
        Self(Sending::Waiting(slot))
    }

    /// The failure of a value that cannot be serialized.
    pub(super) fn not_json(name: &str) -> Self {
        Self(Sending::Failed(UsageError::NotJson { name: name.into() }.into()))
    }
}

impl Future for Sent {
    type Output = Result<(), SessionError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.0 {
            Sending::Waiting(slot) => slot.poll(context.waker()),
            Sending::Failed(error) => Poll::Ready(Err(error.clone())),
        }
    }
}

/// A request to a client: a future of its answer, an `R`. The first poll sends the request;
/// dropping the future cancels it (`notifications/cancelled`).
#[must_use = "the request is sent when this is awaited"]
pub struct Answer<R> {
    session: Session,
    state: AnswerState,
    decode: fn(&Json) -> Result<R, serde_json::Error>,
}

/// A request to a client that is not sent.
struct UnsentRequest {
    request: InputRequest,
    /// The client's request that this request is about.
    about: Option<ReplyId>,
    timeout: Option<Duration>,
}

enum AnswerState {
    New(UnsentRequest),
    Pending { slot: Arc<AnswerSlot<Json>>, method: Cow<'static, str> },
    Over,
}

impl<R> Answer<R> {
    pub(super) fn new(
        session: &Session,
        request: InputRequest,
        decode: fn(&Json) -> Result<R, serde_json::Error>,
    ) -> Self {
        let state = AnswerState::New(UnsentRequest { request, about: None, timeout: None });
        Self { session: session.clone(), state, decode }
    }

    /// Sets the longest time for the answer, counted from when the request is sent; default
    /// [`Limits::input_timeout`](mcp_proto::Limits::input_timeout).
    pub fn timeout(mut self, set: Duration) -> Self {
        if let AnswerState::New(unsent) = &mut self.state {
            unsent.timeout = Some(set);
        }
        self
    }

    /// Relates the request to one that the same client waits for. Over HTTP it is sent on the
    /// stream of that request, so that the client needs no GET stream. With a request of
    /// another client this fails with [`SessionError::NotSent`].
    pub fn about(mut self, context: &RequestContext) -> Self {
        if let AnswerState::New(unsent) = &mut self.state {
            unsent.about = Some(context.about());
        }
        self
    }

    fn start(&mut self, unsent: UnsentRequest) {
        let UnsentRequest { request, about, timeout } = unsent;
        let (ticket, slot) = AnswerSlot::new();
        self.state = AnswerState::Pending { slot, method: request.method_name() };
        let session = self.session.id;
        self.session.command(SessionCommand::Ask { session, about, request, timeout, ticket });
    }
}

impl<R> Future for Answer<R> {
    type Output = Result<R, SessionError>;

    /// Returns [`SessionError::Closed`] if it is polled again after its result.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.state, AnswerState::Over) {
            AnswerState::New(unsent) => self.start(unsent),
            state @ (AnswerState::Pending { .. } | AnswerState::Over) => self.state = state,
        }
        let AnswerState::Pending { slot, method } = &self.state else {
            return Poll::Ready(Err(SessionError::Closed));
        };
        let (Poll::Ready(answer), method) = (slot.poll(context.waker()), method.clone()) else {
            return Poll::Pending;
        };
        self.state = AnswerState::Over;
        let invalid = |error: serde_json::Error| SessionError::InvalidAnswer {
            method,
            reason: error.to_string(),
        };
        Poll::Ready(answer.and_then(|answer| (self.decode)(&answer).map_err(invalid)))
    }
}

impl<R> Drop for Answer<R> {
    fn drop(&mut self) {
        if let AnswerState::Pending { slot, .. } = &self.state
            && let Some(input) = slot.abandon()
        {
            self.session.command(SessionCommand::Cancel(input));
        }
    }
}

impl<R> fmt::Debug for Answer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
