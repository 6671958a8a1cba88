//! From a request to the head of its answer.
//!
//! | state | leaves by |
//! |---|---|
//! | `Reading` the body | its end; 400, 408 or 413 |
//! | `Answering` | the head, with all of the body if it is known |
//! | `Done` | |

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body;
use mcp_proto::Instant;
use mcp_proto::http::ResponseHead;
use mcp_proto::service::{Admission, Part};
use pin_project_lite::pin_project;

use super::body::{Answer, HttpBody};
use super::{Shared, head};
use crate::driver::Timer;

pin_project! {
    /// The response to a request, once its head is known.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct HttpFuture<B> {
        #[pin]
        body: B,
        state: State,
    }
}

enum State {
    Reading(Box<Reading>),
    Answering(Box<Answer>),
    Refused(ResponseHead),
    Done,
}

/// A body that is being read.
struct Reading {
    shared: Arc<Shared>,
    admission: Admission,
    read: Read,
    /// Since it had to wait.
    timer: Option<(Timer, Instant)>,
}

/// What has come of a body.
enum Read {
    One(Bytes),
    More(BytesMut),
}

impl<B: Body> HttpFuture<B> {
    pub(super) fn new(shared: Arc<Shared>, request: Request<B>) -> Self {
        let (parts, body) = request.into_parts();
        let state = match shared.server.admit(head::request(&parts)) {
            Err(answering) => State::Answering(Box::new(Answer::new(*answering, shared, None))),
            Ok(_) if is_longer(body.size_hint().lower(), shared.limits().max_body_bytes) => {
                State::Refused(ResponseHead::new(413))
            }
            Ok(admission) => {
                let read = Read::One(Bytes::new());
                State::Reading(Box::new(Reading { shared, admission, read, timer: None }))
            }
        };
        Self { body, state }
    }
}

impl<B: Body> Future for HttpFuture<B> {
    type Output = Result<Response<HttpBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state {
                State::Reading(reading) => {
                    let read = ready!(reading.poll(this.body.as_mut(), context));
                    *this.state = match (std::mem::replace(this.state, State::Done), read) {
                        (State::Reading(reading), Ok(())) => {
                            State::Answering(Box::new(reading.answer()))
                        }
                        (_, Ok(())) => State::Done,
                        (_, Err(status)) => State::Refused(ResponseHead::new(status)),
                    };
                }
                State::Answering(answer) => match ready!(answer.poll(context)) {
                    Part::Whole(head, data) => {
                        *this.state = State::Done;
                        return Poll::Ready(Ok(head::response(head, HttpBody::whole(data))));
                    }
                    Part::Head(head) => {
                        let body = match std::mem::replace(this.state, State::Done) {
                            State::Answering(answer) => HttpBody::stream(answer),
                            State::Reading(_) | State::Refused(_) | State::Done => {
                                HttpBody::whole(Bytes::new())
                            }
                        };
                        return Poll::Ready(Ok(head::response(head, body)));
                    }
                    // The head comes first.
                    Part::Data(_) => {}
                    Part::End => *this.state = State::Refused(ResponseHead::new(500)),
                },
                State::Refused(refused) => {
                    let head = std::mem::replace(refused, ResponseHead::new(500));
                    *this.state = State::Done;
                    return Poll::Ready(Ok(head::response(head, HttpBody::whole(Bytes::new()))));
                }
                State::Done => return Poll::Pending,
            }
        }
    }
}

impl Reading {
    /// Ready at the end of the body, or with the status that answers it.
    fn poll<B: Body>(
        &mut self,
        mut body: Pin<&mut B>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), u16>> {
        loop {
            if body.is_end_stream() {
                return Poll::Ready(Ok(()));
            }
            let Poll::Ready(frame) = body.as_mut().poll_frame(context) else { break };
            match frame {
                None => return Poll::Ready(Ok(())),
                Some(Err(_)) => return Poll::Ready(Err(400)),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let length = self.read.len().saturating_add(data.remaining());
                    if length > self.shared.limits().max_body_bytes {
                        return Poll::Ready(Err(413));
                    }
                    self.read.add(data);
                }
            }
        }
        let clock = self.shared.clock;
        let (timer, until) = self.timer.get_or_insert_with(|| {
            (Timer::new(clock), clock.now() + self.shared.limits().body_timeout)
        });
        timer.poll(context, *until).map(|()| Err(408))
    }

    fn answer(self) -> Answer {
        let Self { shared, admission, read, timer } = self;
        let answering = admission.answer(shared.clock.now(), &read.into_bytes());
        Answer::new(answering, shared, timer.map(|(timer, _)| timer))
    }
}

impl Read {
    fn len(&self) -> usize {
        match self {
            Self::One(bytes) => bytes.len(),
            Self::More(bytes) => bytes.len(),
        }
    }

    fn add(&mut self, mut data: impl Buf) {
        match self {
            Self::One(first) if first.is_empty() => *first = data.copy_to_bytes(data.remaining()),
            Self::One(first) => {
                let mut more = BytesMut::with_capacity(first.len() + data.remaining());
                more.extend_from_slice(first);
                bytes::BufMut::put(&mut more, data);
                *self = Self::More(more);
            }
            Self::More(more) => bytes::BufMut::put(more, data),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::One(bytes) => bytes,
            Self::More(bytes) => bytes.freeze(),
        }
    }
}

fn is_longer(length: u64, max: usize) -> bool {
    usize::try_from(length).map_or(true, |length| length > max)
}

impl<B> fmt::Debug for HttpFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFuture").finish_non_exhaustive()
    }
}
