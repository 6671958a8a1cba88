//! What the binding to HTTP needs of a client.
//!
//! In: messages with the HTTP response that they came on, requests that no response will come to.
//! Out: what the tables of `probe` and `recovery` make of that; calls that are over; the same
//! subscriptions once more.

use super::calls::{self, Goal};
use super::negotiation::probe::Outcome;
use super::negotiation::{self, Found};
use super::recovery::Refusal;
use super::{CallError, CallId, CallOptions, Client, Config, InputId, Life};
use crate::error::ErrorCode;
use crate::message::RequestId;
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

/// What a client's messages travel on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binding {
    /// One stream of them.
    Stream,
    /// Each request, and each notification, on an HTTP request of its own.
    Http,
}

/// What is known of where a message came from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// The batch that it is part of.
    pub(super) batch: Option<u64>,
    /// The call whose HTTP response it came on.
    pub(super) call: Option<CallId>,
    /// The status of the HTTP response that it came on.
    pub(super) status: Option<u16>,
    /// Whether that is the response to a GET for the rest of an answer: the call had been accepted
    /// before.
    pub(super) is_resumed: bool,
}

impl Client {
    /// A client whose binding is HTTP.
    pub(crate) fn over_http(config: Config) -> Self {
        Self { binding: Binding::Http, ..Self::new(config) }
    }

    /// So many messages without a response have not been accepted by the server.
    pub(crate) fn set_unaccepted(&mut self, unaccepted: usize) {
        self.outbox.set_unaccepted(unaccepted);
    }

    /// What came on the HTTP response to the request with this id.
    pub(crate) fn origin(&self, id: Option<&RequestId>, status: u16, is_resumed: bool) -> Origin {
        let number = id.and_then(calls::number);
        let call = number.and_then(|number| self.calls.get(number)).map(|call| call.id);
        Origin { batch: None, call, status: Some(status), is_resumed }
    }

    /// Whether a response to the request with this id is waited for.
    pub(crate) fn awaits(&self, id: &RequestId) -> bool {
        if let Life::Negotiating(negotiating) = &self.life
            && negotiating.has_in_flight(id)
        {
            return true;
        }
        calls::number(id).is_some_and(|number| self.is_awaited(number))
    }

    /// Whether the request with this id asks what the server is.
    pub(crate) fn is_probe(&self, id: &RequestId) -> bool {
        matches!(&self.life, Life::Negotiating(negotiating) if negotiating.has_in_flight(id))
    }

    /// Whether the server has honoured the subscription that the request with this id is.
    pub(crate) fn has_begun(&self, id: &RequestId) -> bool {
        self.subscription_of(id).is_some_and(|id| self.subscriptions.has_begun(id))
    }

    /// No response will come to the request with this id, for this reason.
    pub(crate) fn handle_lost(
        &mut self,
        now: Instant,
        id: &RequestId,
        refusal: Refusal,
        error: CallError,
    ) {
        if self.is_probe(id) {
            let outcome = outcome_of_loss(id, &error);
            let found = Found { lost: Some(error), ..Found::default() };
            return self.judge_found(now, outcome, found);
        }
        let Some(number) = calls::number(id).filter(|number| self.is_awaited(*number)) else {
            return;
        };
        self.refuse_call(now, number, refusal, error);
    }

    /// The request of a subscription broke; it is sent again, under another id.
    pub(crate) fn listen_again(&mut self, now: Instant, id: &RequestId) {
        let Some(mut call) = calls::number(id).and_then(|number| self.calls.remove(number)) else {
            return;
        };
        if let Goal::Listen { .. } = &call.goal {
            call.options.timeout = CallOptions::default().timeout;
        }
        self.send_anew(now, call);
    }

    /// The requests of a legacy server that were answered since
    /// [`forget_answered_inputs`](Self::forget_answered_inputs), and the inputs that they asked for.
    pub(crate) fn answered_inputs(&self) -> &[(RequestId, InputId)] {
        self.inputs.answered()
    }

    /// The binding has taken the answers.
    pub(crate) fn forget_answered_inputs(&mut self) {
        self.inputs.forget_answered();
    }

    /// A request waits in the binding: the time for its response rests meanwhile.
    pub(crate) fn rest_request(&mut self, id: &RequestId) {
        if let Some(call) = calls::number(id).and_then(|number| self.calls.get_mut(number)) {
            call.rest();
        }
    }

    /// A request that has waited in the binding goes out.
    pub(crate) fn restart_request(&mut self, now: Instant, id: &RequestId) {
        if let Some(number) = calls::number(id) {
            self.calls.restart(now, number, &self.inputs);
        }
    }

    /// What is spoken with the server, once that is known. A request that goes out before has its
    /// version in its parameters.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.server().map(|server| server.version)
    }

    /// What the parameters of a request of the binding's own begin with, if the server is modern.
    pub(crate) fn stamp(&self) -> Option<bytes::Bytes> {
        match &self.life {
            Life::Modern(modern) => Some(modern.envelope.stamp()),
            Life::Legacy(_)
            | Life::Unopened
            | Life::Negotiating(_)
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => None,
        }
    }

    /// Nothing came of what is out, in its time.
    pub(super) fn silence(&self) -> Outcome {
        match self.binding {
            Binding::Http => Outcome::NoAnswer,
            Binding::Stream => Outcome::Silence,
        }
    }

    /// The stream of a request is of no interest any more.
    pub(super) fn abort(&mut self, number: u64) {
        if self.binding == Binding::Http {
            self.outbox.abort(super::compose::id(number));
        }
    }

    /// Whether a server that is told of a cancellation is told by a notification.
    pub(super) fn notifies_of_cancellation(&self) -> bool {
        self.binding == Binding::Stream || self.era() == Some(Era::Legacy)
    }
}

/// Whether two ids are those of the same request of ours, however a server has spelled one of them.
pub(crate) fn is_same_request(one: &RequestId, other: &RequestId) -> bool {
    one == other || calls::number(one).is_some_and(|number| calls::number(other) == Some(number))
}

/// Whether only a modern server answers with this code; -32022 is one of these.
pub(crate) fn is_modern_error(code: ErrorCode) -> bool {
    negotiation::is_modern(code) || code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
}

/// What it means for the negotiation that no response will come to the request with this id.
fn outcome_of_loss(id: &RequestId, error: &CallError) -> Outcome {
    let discovers = calls::number(id).is_none();
    match error {
        CallError::Unauthorized(_) => Outcome::Unauthorized,
        CallError::Protocol(_) if discovers => Outcome::Malformed,
        CallError::Protocol(_) => Outcome::InitializeMalformed,
        CallError::Http { status: 200..=299 | 400..=499 } if discovers => Outcome::Error,
        CallError::Http { status: 200..=299 | 400..=499 } => Outcome::Refused,
        CallError::Http { .. }
        | CallError::Connection(_)
        | CallError::Error { .. }
        | CallError::TimedOut
        | CallError::Cancelled
        | CallError::InputRefused(_)
        | CallError::Connect(_)
        | CallError::Closed
        | CallError::Interrupted
        | CallError::SessionExpired
        | CallError::Header(_)
        | CallError::Usage(_) => Outcome::Unavailable,
    }
}
