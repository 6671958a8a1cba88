//! From a request to the head of its answer.
//!
//! | state | ends with |
//! |---|---|
//! | `Verifying` the token | the result; 503 |
//! | `Reading` the body | its end; 400, 408, 413 or 503 |
//! | `Answering` | the head, with all of the body if it is known |
//! | `Complete`: refused, or answered while other requests are read | the response |
//! | `Done` | |

use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use mcp_proto::Instant;
use mcp_proto::frame::http1::HeadSource;
use mcp_proto::http::{Head, ResponseHead};
use mcp_proto::resource_server::{TokenRefusal, Verification, VerifiedToken};
use mcp_proto::server::Extensions;
use mcp_service::runtime::{Runtime, SUSPENSION};
use mcp_service::{Admission, Clock, Part};
use pin_project_lite::pin_project;

use super::body::{Answer, HttpBody};
use super::{ExtensionsOf, PeerOf, ServiceTimer, Shared, head};

pin_project! {
    /// The response to a request, once its head is known.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct HttpFuture<B> {
        #[pin]
        body: B,
        state: CallState,
        // Empty, with the memory of the request's fields, for those of the response.
        fields: HeaderMap,
    }
}

/// The parts of the state are boxed, since a future is moved before it is polled.
enum CallState {
    Verifying(Box<Verifying>),
    Reading(Reading),
    Answering(Box<Answer>),
    Complete(Box<Response<HttpBody>>),
    Done,
}

/// A request whose token is being verified.
struct Verifying {
    shared: Arc<Shared>,
    verification: Verification,
    head: Head,
    admitting: Admitting,
    /// Set once the request has to wait.
    timer: Option<(ServiceTimer, Instant)>,
}

/// A request to be admitted, without its head.
struct Admitting {
    /// The minimum length of the body.
    length: u64,
    peer: Option<IpAddr>,
    extensions: Extensions,
}

/// A body that is being read.
struct Reading {
    shared: Arc<Shared>,
    admission: Admission,
    /// Set once the request has to wait.
    timer: Option<(ServiceTimer, Instant)>,
    /// True if the body has got more time.
    is_extended: bool,
}

impl<B: Body> HttpFuture<B> {
    pub(super) fn new(
        shared: Arc<Shared>,
        request: Request<B>,
        peer: &PeerOf,
        extensions: Option<&ExtensionsOf>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let mut found = Extensions::default();
        if let Some(extensions) = extensions {
            extensions(&parts.extensions, &mut found);
        }
        let admitting = Admitting {
            length: body.size_hint().lower(),
            peer: peer(&parts.extensions),
            extensions: found,
        };
        let source = head::request(&parts);
        let state = if shared.server.config().verifier.is_none() {
            admitting.admit(shared, source, None)
        } else {
            let head = source.into_head();
            match shared.server.verification(&head) {
                None => admitting.admit(shared, head, None),
                Some(verification) => {
                    let verifying =
                        Verifying { shared, verification, head, admitting, timer: None };
                    CallState::Verifying(Box::new(verifying))
                }
            }
        };
        Self { body, state, fields: head::emptied(parts.headers) }
    }
}

impl<B: Body> Future for HttpFuture<B> {
    type Output = Result<Response<HttpBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state {
                CallState::Verifying(verifying) => {
                    let verified = ready!(verifying.poll(context));
                    *this.state = match std::mem::replace(this.state, CallState::Done) {
                        CallState::Verifying(verifying) => {
                            let Verifying { shared, head, admitting, .. } = *verifying;
                            admitting.admit(shared, head, Some(verified))
                        }
                        state @ (CallState::Reading(_)
                        | CallState::Answering(_)
                        | CallState::Complete(_)
                        | CallState::Done) => state,
                    };
                }
                CallState::Reading(reading) => {
                    let read = ready!(reading.poll(this.body.as_mut(), context));
                    let state = std::mem::replace(this.state, CallState::Done);
                    let CallState::Reading(reading) = state else { return Poll::Pending };
                    if let Err(status) = read {
                        *this.state = refused(&reading.admission, status);
                        continue;
                    }
                    let now = reading.shared.runtime.epoch.now();
                    let mut answer = reading.answer(now);
                    // Most answers are complete at once, and need no box.
                    let Poll::Ready(part) = answer.poll_at(now, context) else {
                        *this.state = CallState::Answering(Box::new(answer));
                        return Poll::Pending;
                    };
                    let delay = answer.poll_delay(now, context);
                    let response = if let Part::Whole(head, data) = part {
                        head::response(head, HttpBody::whole(data), this.fields)
                    } else {
                        response(part, Box::new(answer), this.fields)
                    };
                    if delay.is_ready() {
                        return Poll::Ready(Ok(response));
                    }
                    *this.state = CallState::Complete(Box::new(response));
                    return Poll::Pending;
                }
                CallState::Answering(answer) => {
                    let part = ready!(answer.poll(context));
                    let state = std::mem::replace(this.state, CallState::Done);
                    let CallState::Answering(answer) = state else { return Poll::Pending };
                    return Poll::Ready(Ok(response(part, answer, this.fields)));
                }
                CallState::Complete(_) | CallState::Done => {
                    let state = std::mem::replace(this.state, CallState::Done);
                    let CallState::Complete(response) = state else { return Poll::Pending };
                    return Poll::Ready(Ok(*response));
                }
            }
        }
    }
}

impl Verifying {
    /// Ready with the result of the verification; after `Limits::verify_timeout` it is a refusal.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<VerifiedToken> {
        if let Poll::Ready(verified) = self.verification.as_mut().poll(context) {
            return Poll::Ready(verified);
        }
        let runtime = &self.shared.runtime;
        let (timer, until) = self.timer.get_or_insert_with(|| {
            (runtime.timer(), runtime.epoch.now() + self.shared.limits().verify_timeout)
        });
        timer.poll_timer(context, *until).map(|()| Err(TokenRefusal::unavailable()))
    }
}

impl Admitting {
    /// Continues with the request; `verified` is the result for its token, if it has one.
    fn admit(
        self,
        shared: Arc<Shared>,
        head: impl HeadSource,
        verified: Option<VerifiedToken>,
    ) -> CallState {
        let Self { length, peer, extensions } = self;
        match shared.server.admit_with(head, verified) {
            Err(answering) => CallState::Answering(Box::new(Answer::new(*answering, shared, None))),
            Ok(admission) if is_longer(length, shared.limits().max_body_bytes) => {
                refused(&admission, 413)
            }
            Ok(mut admission) => {
                if let Some(peer) = peer {
                    admission.set_peer(peer);
                }
                if !extensions.is_empty() {
                    admission.extend(extensions);
                }
                CallState::Reading(Reading { shared, admission, timer: None, is_extended: false })
            }
        }
    }
}

impl Reading {
    /// Ready at the end of the body, or with the status of a refusal.
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
                    if let Err(status) = self.admission.add(data) {
                        return Poll::Ready(Err(status));
                    }
                }
            }
        }
        let runtime = &self.shared.runtime;
        let (timer, until) = self.timer.get_or_insert_with(|| {
            (runtime.timer(), runtime.epoch.now() + self.shared.limits().body_timeout)
        });
        ready!(timer.poll_timer(context, *until));
        let now = runtime.epoch.now();
        if self.is_extended || now < *until + SUSPENSION {
            return Poll::Ready(Err(408));
        }
        // The rest may have arrived before the deadline: the stack has not read it yet. It gets as
        // much time as shows a suspension.
        self.is_extended = true;
        *until = now + SUSPENSION;
        timer.poll_timer(context, *until).map(|()| Err(408))
    }

    fn answer(self, now: Instant) -> Answer {
        let Self { shared, admission, timer, .. } = self;
        Answer::new(admission.answer(now), shared, timer.map(|(timer, _)| timer))
    }
}

/// The response that begins with the first part of an answer.
fn response(first: Part, answer: Box<Answer>, fields: &mut HeaderMap) -> Response<HttpBody> {
    let (head, body) = match first {
        Part::Whole(head, data) => (head, HttpBody::whole(data)),
        Part::Head(head) => (head, HttpBody::stream(answer)),
        // The head comes first.
        Part::Data(_) | Part::End => (ResponseHead::new(500), HttpBody::whole(Bytes::new())),
    };
    head::response(head, body, fields)
}

fn refused(admission: &Admission, status: u16) -> CallState {
    let (head, body) = admission.refuse(status);
    let response = head::response(head, HttpBody::whole(body), &mut HeaderMap::new());
    CallState::Complete(Box::new(response))
}

fn is_longer(length: u64, max: usize) -> bool {
    usize::try_from(length).map_or(true, |length| length > max)
}

impl<B> fmt::Debug for HttpFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFuture").finish_non_exhaustive()
    }
}
