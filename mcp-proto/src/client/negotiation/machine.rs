//! A negotiation in progress.
//!
//! In: requests to send, ids of responses, messages of the server. Out: the request that a response
//! answers; held answers and queued messages, once the era is known.
//! [`probe::TABLE`](super::probe::TABLE) decides about each step.
//!
//! | in flight | owns | leaves by |
//! |---|---|---|
//! | `Nothing` | | the request of another step |
//! | `Discover` | the id of `server/discover` | its response, `initialize` in its place, `initialize` beside it |
//! | `Initialize` | the number of `initialize` | its response, `server/discover` beside it |
//! | `Both` | both | either response |

use alloc::boxed::Box;
use core::mem;

use bytes::Bytes;

use super::super::binding::BindingKind;
use super::super::calls;
use super::super::compose::{self, Envelope};
use super::super::config::Config;
use super::super::outbox::Outbox;
use super::early_messages::EarlyMessages;
use super::late_probe::LateProbe;
use super::probe::{ProbeOutcome, Step};
use super::probe_result::ProbeResult;
use super::verdict::Negotiation;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::{Message, Method, Outgoing, Request, RequestId, Response};
use crate::time::Duration;
use crate::version::Era;

/// A negotiation in progress.
#[derive(Debug)]
pub(in crate::client) struct Negotiating {
    step: Step,
    flight: ProbesInFlight,
    /// True if `initialize` declared notifications about changes of the roots.
    tells_roots: bool,
    late_probe: LateProbe,
    /// Messages from the server during the negotiation.
    early_messages: EarlyMessages,
    before: PriorServer,
    /// True if the server has answered a call before the era was known.
    has_answered_call: bool,
}

/// The requests in flight that find out the era of the server.
#[derive(Debug)]
enum ProbesInFlight {
    Nothing,
    Discover(RequestId),
    Initialize(u64),
    Both { discover: RequestId, initialize: u64 },
}

/// The meaning of a response for a negotiation.
#[derive(Debug)]
pub(in crate::client) enum ResponseMeaning {
    /// The response to a call.
    OfCall(Response),
    Outcome(ProbeOutcome, Box<ProbeResult>),
    /// No meaning: no request waits for the response.
    Nothing,
}

/// The request that a response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbeAnswer {
    /// `server/discover`.
    Discover,
    /// The first `server/discover`, after its timeout.
    Late,
    /// `initialize`.
    Initialize,
}

/// Knowledge about the server before a negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::client) enum PriorServer {
    /// Nothing, or only a stored verdict.
    Nothing,
    /// A server of this era, which has answered on this connection.
    Here(Era),
    /// A server of this era, on an earlier connection.
    Earlier(Era),
}

impl PriorServer {
    /// The era in which requests in flight were sent. Before a negotiation, a client sends requests
    /// only if its stored verdict is modern.
    pub(in crate::client) fn era(self) -> Era {
        match self {
            Self::Here(era) | Self::Earlier(era) => era,
            Self::Nothing => Era::Modern,
        }
    }
}

impl ProbesInFlight {
    fn discover(&self) -> Option<&RequestId> {
        match self {
            Self::Discover(id) | Self::Both { discover: id, .. } => Some(id),
            Self::Nothing | Self::Initialize(_) => None,
        }
    }

    fn initialize(&self) -> Option<u64> {
        match *self {
            Self::Initialize(number) | Self::Both { initialize: number, .. } => Some(number),
            Self::Nothing | Self::Discover(_) => None,
        }
    }

    /// The request with this id.
    fn find(&self, id: &RequestId) -> Option<ProbeAnswer> {
        if self.discover() == Some(id) {
            Some(ProbeAnswer::Discover)
        } else if self.initialize().is_some() && self.initialize() == calls::number(id) {
            Some(ProbeAnswer::Initialize)
        } else {
            None
        }
    }

    /// Removes a request that has its response.
    fn complete(&mut self, answer: ProbeAnswer) {
        *self = match (mem::replace(self, Self::Nothing), answer) {
            (Self::Both { discover, .. }, ProbeAnswer::Initialize) => Self::Discover(discover),
            (Self::Both { initialize, .. }, ProbeAnswer::Discover) => Self::Initialize(initialize),
            (Self::Discover(_), ProbeAnswer::Discover)
            | (Self::Initialize(_), ProbeAnswer::Initialize) => Self::Nothing,
            (flight, _) => flight,
        };
    }
}

impl Negotiating {
    /// A negotiation at `step` with nothing in flight.
    pub(in crate::client) fn new(step: Step) -> Self {
        Self {
            step,
            flight: ProbesInFlight::Nothing,
            tells_roots: false,
            late_probe: LateProbe::default(),
            early_messages: EarlyMessages::default(),
            before: PriorServer::Nothing,
            has_answered_call: false,
        }
    }

    pub(in crate::client) fn step(&self) -> Step {
        self.step
    }

    /// Continues at `step`, whose requests are already in flight.
    pub(in crate::client) fn wait_at(&mut self, step: Step) {
        self.step = step;
    }

    pub(in crate::client) fn before(&self) -> PriorServer {
        self.before
    }

    pub(in crate::client) fn set_before(&mut self, before: PriorServer) {
        self.before = before;
    }

    /// The request of `step`, under this number, and its timeout.
    pub(in crate::client) fn request(
        &mut self,
        step: Step,
        number: u64,
        config: &Config,
        binding: BindingKind,
    ) -> (Outgoing, Duration) {
        self.step = step;
        let Config { negotiation, probe_timeout, initialize_timeout, .. } = *config;
        if step.discovers() {
            let id = RequestId::string(&alloc::format!("discover-{number}"));
            self.discover(id.clone());
            let stamp = Envelope::new(negotiation.modern_version(), config).stamp();
            let method = "server/discover".into();
            let params = Json::EMPTY_OBJECT;
            // After `initialize`, or with it in flight, there is no other request to fall back to.
            let is_first = matches!(step, Step::Probe | Step::Correct);
            // Over HTTP, silence does not point to a legacy server.
            let may_be_silent = is_first && binding == BindingKind::Stream;
            let timeout = if may_be_silent { probe_timeout } else { initialize_timeout };
            (Outgoing::Request { id, method, stamp, params }, timeout)
        } else {
            let roots = config.capabilities.roots;
            self.initialize(number, roots.is_some_and(|roots| roots.list_changed));
            let params = compose::initialize(negotiation.legacy_version(), config);
            let id = compose::id(number);
            let stamp = Bytes::new();
            let method = "initialize".into();
            (Outgoing::Request { id, method, stamp, params }, initialize_timeout)
        }
    }

    /// Records that `server/discover` is sent; an `initialize` in flight stays in flight.
    fn discover(&mut self, id: RequestId) {
        self.flight = match self.flight.initialize() {
            Some(initialize) => ProbesInFlight::Both { discover: id, initialize },
            None => ProbesInFlight::Discover(id),
        };
    }

    /// Records that `initialize` is sent, in place of the request in flight.
    fn initialize(&mut self, number: u64, tells_roots: bool) {
        self.late_probe = LateProbe::new(self.flight.discover().cloned());
        self.flight = ProbesInFlight::Initialize(number);
        self.tells_roots = tells_roots;
    }

    /// The number of the `initialize` that is in flight.
    pub(in crate::client) fn initialize_in_flight(&self) -> Option<u64> {
        self.flight.initialize()
    }

    /// The ids of the requests in flight.
    pub(in crate::client) fn in_flight(&self) -> impl Iterator<Item = RequestId> {
        let initialize = self.flight.initialize().map(compose::id);
        self.flight.discover().cloned().into_iter().chain(initialize)
    }

    /// Returns whether the request with this id is in flight for this negotiation.
    pub(in crate::client) fn has_in_flight(&self, id: &RequestId) -> bool {
        self.flight.find(id).is_some()
    }

    /// Handles a response.
    pub(in crate::client) fn response(
        &mut self,
        response: Response,
        chosen: Negotiation,
    ) -> ResponseMeaning {
        let answer = match &response.id {
            Some(id) => self.complete(id),
            // Without an id the response may belong to either request.
            None if self.step == Step::Silent => return ResponseMeaning::Nothing,
            // A server that cannot read the id of a request answers without an id.
            None if self.step.discovers() => Some(ProbeAnswer::Discover),
            None => Some(ProbeAnswer::Initialize),
        };
        let (outcome, found) = match answer {
            Some(ProbeAnswer::Discover) => chosen.discovered(response.body),
            Some(ProbeAnswer::Initialize) => chosen.initialized(response.body),
            Some(ProbeAnswer::Late) => match chosen.discovered(response.body) {
                (ProbeOutcome::Modern, found) => (ProbeOutcome::Late, self.late(found)),
                _ => return ResponseMeaning::Nothing,
            },
            None => return ResponseMeaning::OfCall(response),
        };
        ResponseMeaning::Outcome(outcome, Box::new(found))
    }

    /// Returns the request that a response answers, and removes it from the requests in flight.
    fn complete(&mut self, id: &RequestId) -> Option<ProbeAnswer> {
        let answer = self.flight.find(id);
        match answer {
            Some(answer) => self.flight.complete(answer),
            None => return self.late_probe.settle(id).then_some(ProbeAnswer::Late),
        }
        answer
    }

    /// Handles an answer to the first probe after its timeout. Holds the answer while `initialize`
    /// is unanswered, and uses it otherwise.
    fn late(&mut self, found: ProbeResult) -> ProbeResult {
        if self.step == Step::Silent {
            self.late_probe.hold(found);
            return ProbeResult::default();
        }
        found
    }

    /// The outcome of an unreadable response with this id.
    pub(in crate::client) fn unreadable(&self, id: &RequestId) -> Option<ProbeOutcome> {
        match self.flight.find(id)? {
            ProbeAnswer::Discover | ProbeAnswer::Late => Some(ProbeOutcome::Malformed),
            ProbeAnswer::Initialize => Some(ProbeOutcome::InitializeMalformed),
        }
    }

    /// Removes and returns the held answer.
    pub(in crate::client) fn take_held(&mut self) -> Option<ProbeResult> {
        self.late_probe.take()
    }

    /// Queues a message of the server until the era is known. Answers `ping` at once, without
    /// waiting for the era.
    pub(in crate::client) fn keep(&mut self, message: Message, outbox: &mut Outbox) {
        if let Message::Request(Request { id, method: Method::Ping, .. }) = message {
            let stamp = Bytes::new();
            outbox.send(Outgoing::Result { id, stamp, result: Json::EMPTY_OBJECT.into() });
        } else if !self.early_messages.push(message) {
            outbox.fault(ProtocolError::TooMuchBeforeConnected);
        }
    }

    /// Messages that the server sent during the negotiation, in order.
    pub(in crate::client) fn into_early_messages(self) -> impl Iterator<Item = Message> {
        self.early_messages.into_messages().into_iter()
    }

    /// Returns whether `initialize` declared notifications about changes of the roots.
    pub(in crate::client) fn tells_roots(&self) -> bool {
        self.tells_roots
    }

    /// Records that the server has answered a call before the era was known.
    pub(in crate::client) fn set_has_answered_call(&mut self) {
        self.has_answered_call = true;
    }

    /// Returns whether the server has answered a call before the era was known.
    pub(in crate::client) fn has_answered_call(&self) -> bool {
        self.has_answered_call
    }
}
