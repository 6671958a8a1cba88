//! Call that has had no response yet.
//!
//! | state | leaves by |
//! |---|---|
//! | `Waiting` for the era to be known, or held by the `Outbox` | being sent; cancellation, its time |
//! | `Sent` | a response, cancellation, its time |
//! | `AwaitingInput` for input | the last input, which sends it again; cancellation, its time |
//! | `Parked`: refused, and may be repeated once the server is known | the end of the negotiation |
//!
//! A call that the server may have dispatched to a handler is parked only if its method is
//! idempotent; see `recovery`.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;

use super::call_error::CallError;
use super::compose::{self, Envelope, Extras};
use super::event::{CallId, CallOptions, SubscriptionId};
use super::pages::Pages;
use crate::error::{ErrorCode, ProtocolError};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{Outgoing, is_idempotent};
use crate::time::Instant;
use crate::types::{InputResponse, InputResponses, LoggingLevel};
use crate::version::Era;

/// A call that has had no response yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) method: Cow<'static, str>,
    /// As the application has given them.
    pub(super) params: Json,
    pub(super) options: CallOptions,
    pub(super) goal: Goal,
    pub(super) state: State,
    /// When its time is over.
    pub(super) due: Instant,
    /// When its time is over at the latest.
    pub(super) ends: Instant,
    /// How often the server has refused it before it was repeated.
    pub(super) refusals: u8,
    /// How often it has brought input.
    pub(super) rounds: usize,
    /// The last progress.
    pub(super) progress: Option<f64>,
}

/// Who waits for the response.
#[derive(Debug)]
pub(super) enum Goal {
    /// The application.
    Answer,
    /// The application, for all pages at once.
    Pages(Pages),
    /// A subscription of a modern server, which the response ends.
    Listen { subscription: SubscriptionId },
    /// A subscription to one resource of a legacy server.
    Subscribe { subscription: SubscriptionId, uri: String },
    /// Nobody; it is a request that is not worth an event.
    Nobody,
    /// Nobody; it is a notification.
    Notification,
}

#[derive(Debug)]
pub(super) enum State {
    Waiting,
    Sent {
        /// The era in which it was sent.
        era: Era,
    },
    AwaitingInput(AwaitingInput),
    Parked {
        error: CallError,
        /// The era in which it was sent.
        refused_as: Era,
    },
}

/// What a modern server wants before it answers.
#[derive(Debug)]
pub(super) struct AwaitingInput {
    /// What is not there yet.
    pub(super) missing: BTreeSet<String>,
    pub(super) responses: InputResponses,
    /// What it wants back, as it came.
    pub(super) request_state: Option<Json>,
}

/// The way of a call once the era is known.
#[derive(Debug)]
pub(super) enum Resumption {
    /// It is sent.
    Send,
    /// It is sent under another number.
    SendAnew,
    /// The same; a response to the first one is of no interest any more.
    Recall,
    /// It stays as it is.
    Stay,
    Fail(CallError),
}

/// The way of a call whose response is complete.
#[derive(Debug)]
pub(super) enum Completed {
    /// There is another page, which is asked for.
    NextPage,
    /// This came of it.
    Over(Result<Json, CallError>),
}

impl Call {
    /// A call with a number that none has had.
    pub(super) fn new(
        now: Instant,
        number: u64,
        method: Cow<'static, str>,
        params: Json,
        options: CallOptions,
        goal: Goal,
    ) -> Self {
        let ends = now + options.max_total;
        Self {
            id: CallId(number),
            method,
            params,
            options,
            goal,
            state: State::Waiting,
            due: ends,
            ends,
            refusals: 0,
            rounds: 0,
            progress: None,
        }
    }

    /// The request, in this era, under this number.
    pub(super) fn request(
        &self,
        number: u64,
        era: Era,
        envelope: Option<&Envelope>,
        log_level: Option<LoggingLevel>,
    ) -> Outgoing {
        let (method, params) = match era {
            Era::Modern if self.method == "ping" => ("server/discover".into(), Json::EMPTY_OBJECT),
            Era::Modern | Era::Legacy => (self.method.clone(), self.params.clone()),
        };
        let params = match &self.state {
            State::AwaitingInput(asking) => {
                compose::with_input(&params, &asking.responses, asking.request_state.as_ref())
            }
            State::Waiting | State::Sent { .. } | State::Parked { .. } => params,
        };
        let log_level = self.options.log_level.or(log_level).filter(|_| era == Era::Modern);
        let trace = self.options.trace.as_deref();
        let extras = Extras { token: self.options.progress.then_some(number), log_level, trace };
        let (stamp, params) = compose::compose(envelope, extras, &params);
        Outgoing::Request { id: compose::id(number), method, stamp, params }
    }

    /// The way of the call with a server of this era. A server that serves without a handshake has
    /// `begun` with what it was sent.
    pub(super) fn resumption(&self, era: Era, begun: bool) -> Resumption {
        match &self.state {
            State::Waiting => Resumption::Send,
            State::AwaitingInput(asking) if asking.missing.is_empty() && era == Era::Modern => {
                Resumption::Send
            }
            // Its handler has begun, at a server that is another one by now.
            State::AwaitingInput(_) if era == Era::Legacy && !self.is_idempotent() => {
                Resumption::Fail(CallError::Interrupted)
            }
            State::AwaitingInput(asking) if asking.missing.is_empty() => Resumption::SendAnew,
            // The same server would refuse it again.
            State::Parked { error, refused_as: Era::Modern }
                if era == Era::Modern && !is_of_version(error) =>
            {
                Resumption::Fail(error.clone())
            }
            State::Parked { .. } => Resumption::SendAnew,
            State::Sent { .. } if era == Era::Legacy && !begun && self.is_idempotent() => {
                Resumption::Recall
            }
            State::Sent { .. } | State::AwaitingInput(_) => Resumption::Stay,
        }
    }

    /// The way of the call after a result; the parameters are those of the next page then.
    pub(super) fn complete(&mut self, result: Json, limits: &Limits) -> Completed {
        let Goal::Pages(pages) = &mut self.goal else { return Completed::Over(Ok(result)) };
        let fail = |error| Completed::Over(Err(CallError::Protocol(error)));
        let cursor = match pages.push(&result) {
            Ok(Some(cursor)) => cursor,
            Ok(None) => return Completed::Over(Ok(pages.whole())),
            Err(error) => return fail(error),
        };
        if pages.is_full(limits) {
            let Limits { max_pages, max_list_bytes, .. } = *limits;
            return fail(ProtocolError::ListTooLong { max_pages, max_list_bytes });
        }
        self.params = compose::with_cursor(&self.params, cursor);
        Completed::NextPage
    }

    /// Its time starts anew.
    pub(super) fn restart(&mut self, now: Instant) {
        self.due = (now + self.options.timeout).min(self.ends);
    }

    /// Its request is sent. Its time starts, or rests for as long as a legacy server waits for input.
    pub(super) fn sent(&mut self, now: Instant, era: Era, rests: bool) {
        self.state = State::Sent { era };
        self.progress = None;
        if rests {
            self.rest();
        } else {
            self.restart(now);
        }
    }

    /// Its time rests.
    pub(super) fn rest(&mut self) {
        self.due = self.ends;
    }

    pub(super) fn rests(&self) -> bool {
        self.due == self.ends
    }

    /// It is a subscription whose server has as long to begin as to answer a call.
    pub(super) fn begin_anew(&mut self) {
        if let Goal::Listen { .. } = self.goal {
            self.options.timeout = CallOptions::default().timeout;
        }
    }

    /// It is to be sent once there is a connection, and room; its time rests.
    pub(super) fn wait(&mut self) {
        self.state = State::Waiting;
        self.rest();
    }

    /// The server, of this era, has refused or lost it; it may be repeated.
    pub(super) fn park(&mut self, error: CallError, refused_as: Era) {
        self.state = State::Parked { error, refused_as };
        self.rest();
    }

    /// The server needs input first; returns whether all of it is there. The time of the call rests.
    pub(super) fn ask(&mut self, asking: AwaitingInput) -> bool {
        let is_complete = asking.missing.is_empty();
        self.rounds += 1;
        self.state = State::AwaitingInput(asking);
        if !is_complete {
            self.rest();
        }
        is_complete
    }

    /// One of the inputs that it asks for is there; returns whether it is the last.
    pub(super) fn give(&mut self, key: String, answer: Json) -> bool {
        let State::AwaitingInput(asking) = &mut self.state else { return false };
        asking.missing.remove(&key);
        asking.responses.insert(key, InputResponse::from(answer));
        asking.missing.is_empty()
    }

    /// Returns whether the server may see it twice.
    pub(super) fn is_idempotent(&self) -> bool {
        is_idempotent(&self.method)
    }

    /// Returns whether it is to be sent when there is a connection.
    pub(super) fn waits(&self) -> bool {
        matches!(self.state, State::Waiting | State::Parked { .. })
    }

    /// Returns whether its time is over before then, without a connection.
    pub(super) fn is_late(&self, now: Instant, then: Instant) -> bool {
        (now + self.options.timeout).min(self.ends) < then
    }

    /// Why it has no response when the connection ends, for this cause.
    pub(super) fn interruption(&self, cause: CallError) -> CallError {
        if self.is_sent() && !self.is_idempotent() { CallError::Interrupted } else { cause }
    }

    /// Returns whether it waits to be sent, or to be sent again with its input.
    pub(super) fn is_held(&self) -> bool {
        match &self.state {
            State::Waiting => true,
            State::AwaitingInput(asking) => asking.missing.is_empty(),
            State::Sent { .. } | State::Parked { .. } => false,
        }
    }

    /// The subscription to one resource of a legacy server that it asks for.
    pub(super) fn subscribes(&self) -> Option<SubscriptionId> {
        match self.goal {
            Goal::Subscribe { subscription, .. } => Some(subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Listen { .. }
            | Goal::Nobody
            | Goal::Notification => None,
        }
    }

    /// Returns whether it is a request for a subscription, the client's or one that is passed on.
    pub(super) fn is_subscription(&self) -> bool {
        self.listens().is_some() || self.method == "subscriptions/listen"
    }

    /// The subscription that it is.
    pub(super) fn listens(&self) -> Option<SubscriptionId> {
        match self.goal {
            Goal::Listen { subscription } => Some(subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => None,
        }
    }

    pub(super) fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent { .. })
    }
}

fn is_of_version(error: &CallError) -> bool {
    matches!(error, CallError::Error { error, .. } if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
}
