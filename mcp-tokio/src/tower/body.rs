//! The body of an answer, and the future of its parts.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mcp_proto::Instant;
use mcp_service::runtime::Runtime;
use mcp_service::{Answering, Clock, Part};

use super::{ServiceTimer, Shared};

/// The body of an answer: all of it at once, or a stream of events. Dropping a stream means that
/// the client is gone, which cancels a modern request.
pub struct HttpBody(BodyState);

enum BodyState {
    Whole(Bytes),
    Stream(Box<Answer>),
    Ended,
}

/// An answer in progress.
pub(super) struct Answer {
    answering: Answering,
    shared: Arc<Shared>,
    timer: Option<ServiceTimer>,
    /// Set once the answer has to wait.
    stopping: Option<Stopping>,
}

/// The signal that the server stops; `None` after it has arrived.
type Stopping = Option<Pin<Box<dyn Future<Output = ()> + Send>>>;

impl HttpBody {
    /// A complete body.
    pub(super) fn whole(data: Bytes) -> Self {
        Self(if data.is_empty() { BodyState::Ended } else { BodyState::Whole(data) })
    }

    pub(super) fn stream(answer: Box<Answer>) -> Self {
        Self(BodyState::Stream(answer))
    }
}

impl Answer {
    /// `timer` is an existing timer to reuse.
    pub(super) fn new(
        answering: Answering,
        shared: Arc<Shared>,
        timer: Option<ServiceTimer>,
    ) -> Self {
        Self { answering, shared, timer, stopping: None }
    }

    /// Ready if the answer is written at once.
    pub(super) fn poll_delay(&self, now: Instant, context: &mut Context<'_>) -> Poll<()> {
        self.shared.grouped_writes.poll_delay(now, context)
    }

    /// The next part.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Part> {
        self.poll_at(self.shared.runtime.epoch.now(), context)
    }

    /// The next part, for a caller that has read the clock.
    pub(super) fn poll_at(&mut self, mut now: Instant, context: &mut Context<'_>) -> Poll<Part> {
        loop {
            if let Some(part) = self.answering.turn(now, context.waker()) {
                return Poll::Ready(part);
            }
            if self.poll_stopping(context).is_ready() {
                self.answering.shutdown(now);
                continue;
            }
            let Some(due) = self.answering.poll_timeout() else { return Poll::Pending };
            let timer = self.timer.get_or_insert_with(|| self.shared.runtime.timer());
            if timer.poll_timer(context, due).is_pending() {
                return Poll::Pending;
            }
            now = self.shared.runtime.epoch.now();
        }
    }

    /// Ready once, when the server stops.
    fn poll_stopping(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let stopping = self.stopping.get_or_insert_with(|| {
            let mut stopped = self.shared.stopping.subscribe();
            Some(Box::pin(async move { drop(stopped.wait_for(|stopped| *stopped).await) }))
        });
        let Some(stopped) = stopping else { return Poll::Pending };
        let stopped = stopped.as_mut().poll(context);
        if stopped.is_ready() {
            *stopping = None;
        }
        stopped
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.0 {
            BodyState::Ended => return Poll::Ready(None),
            BodyState::Whole(data) => {
                let data = std::mem::take(data);
                self.0 = BodyState::Ended;
                data
            }
            BodyState::Stream(answer) => loop {
                match std::task::ready!(answer.poll(context)) {
                    Part::Data(data) => break data,
                    // The head was taken before.
                    Part::Head(_) | Part::Whole(..) => {}
                    Part::End => {
                        self.0 = BodyState::Ended;
                        return Poll::Ready(None);
                    }
                }
            },
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyState::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyState::Whole(data) => SizeHint::with_exact(data.len() as u64),
            BodyState::Stream(_) => SizeHint::default(),
            BodyState::Ended => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            BodyState::Whole(_) => "Whole",
            BodyState::Stream(_) => "Stream",
            BodyState::Ended => "Ended",
        };
        f.debug_tuple("HttpBody").field(&state).finish()
    }
}
