//! Negotiation that is under way.
//!
//! In: requests that are sent, ids of responses, messages of the server. Out: the request that a
//! response answers; what was held and kept, once the era is known. The step is that of
//! [`probe::TABLE`](super::probe::TABLE), which decides.
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

use super::super::binding::TransportKind;
use super::super::calls;
use super::super::compose::{self, Envelope};
use super::super::config::Config;
use super::super::outbox::Outbox;
use super::early_messages::EarlyMessages;
use super::overdue::Overdue;
use super::probe::{Outcome, Step};
use super::probe_result::ProbeResult;
use super::verdict::Negotiation;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::{Message, Method, Outgoing, Request, RequestId, Response};
use crate::time::Duration;
use crate::version::Era;

/// A negotiation that is under way.
#[derive(Debug)]
pub(in crate::client) struct Negotiating {
    step: Step,
    flight: Flight,
    /// True if `initialize` said that the server will hear of changes of the roots.
    tells_roots: bool,
    overdue: Overdue,
    /// What the server has sent meanwhile.
    kept: EarlyMessages,
    before: Before,
    /// True if the server has answered a call without having been asked what it is.
    serves: bool,
}

/// The requests that are in flight and ask what the server is.
#[derive(Debug)]
enum Flight {
    Nothing,
    Discover(RequestId),
    Initialize(u64),
    Both { discover: RequestId, initialize: u64 },
}

/// The meaning of a response for a negotiation.
#[derive(Debug)]
pub(in crate::client) enum ResponseMeaning {
    /// It is that of a call.
    OfCall(Response),
    Outcome(Outcome, Box<ProbeResult>),
    /// None: nobody waits for it.
    Nothing,
}

/// The request that a response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbeAnswer {
    /// `server/discover`.
    Discover,
    /// The first `server/discover`, after its time.
    Overdue,
    /// `initialize`.
    Initialize,
}

/// What the server was taken for before a negotiation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::client) enum Before {
    /// Nothing, or what a stored verdict says.
    Nothing,
    /// A server of this era, which has spoken on this connection.
    Here(Era),
    /// A server of this era, on an earlier connection.
    Earlier(Era),
}

impl Before {
    /// The era in which requests that are in flight were sent. A client that has stored a verdict
    /// sends requests before it negotiates only if that says modern.
    pub(in crate::client) fn era(self) -> Era {
        match self {
            Self::Here(era) | Self::Earlier(era) => era,
            Self::Nothing => Era::Modern,
        }
    }
}

impl Flight {
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

    /// The request that this id is of.
    fn find(&self, id: &RequestId) -> Option<ProbeAnswer> {
        if self.discover() == Some(id) {
            Some(ProbeAnswer::Discover)
        } else if self.initialize().is_some() && self.initialize() == calls::number(id) {
            Some(ProbeAnswer::Initialize)
        } else {
            None
        }
    }

    /// A request has its response.
    fn land(&mut self, answer: ProbeAnswer) {
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
    /// One at `step` that has nothing in flight.
    pub(in crate::client) fn new(step: Step) -> Self {
        Self {
            step,
            flight: Flight::Nothing,
            tells_roots: false,
            overdue: Overdue::default(),
            kept: EarlyMessages::default(),
            before: Before::Nothing,
            serves: false,
        }
    }

    pub(in crate::client) fn step(&self) -> Step {
        self.step
    }

    /// Goes on at `step`; what is needed is in flight.
    pub(in crate::client) fn wait_at(&mut self, step: Step) {
        self.step = step;
    }

    pub(in crate::client) fn before(&self) -> Before {
        self.before
    }

    pub(in crate::client) fn set_before(&mut self, before: Before) {
        self.before = before;
    }

    /// The request of `step`, under this number, and the time for its response.
    pub(in crate::client) fn request(
        &mut self,
        step: Step,
        number: u64,
        config: &Config,
        binding: TransportKind,
    ) -> (Outgoing, Duration) {
        self.step = step;
        let Config { negotiation, probe_timeout, initialize_timeout, .. } = *config;
        if step.discovers() {
            let id = RequestId::string(&alloc::format!("discover-{number}"));
            self.discover(id.clone());
            let stamp = Envelope::new(negotiation.modern_version(), config).stamp();
            let method = "server/discover".into();
            let params = Json::EMPTY_OBJECT;
            // After `initialize`, or beside it, there is no other way left.
            let is_first = matches!(step, Step::Probe | Step::Correct);
            // Over HTTP silence does not mean that the server is a legacy one.
            let may_be_silent = is_first && binding == TransportKind::Stream;
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

    /// `server/discover` is sent, beside `initialize` if that is in flight.
    fn discover(&mut self, id: RequestId) {
        self.flight = match self.flight.initialize() {
            Some(initialize) => Flight::Both { discover: id, initialize },
            None => Flight::Discover(id),
        };
    }

    /// `initialize` is sent, in place of what is in flight.
    fn initialize(&mut self, number: u64, tells_roots: bool) {
        self.overdue = Overdue::new(self.flight.discover().cloned());
        self.flight = Flight::Initialize(number);
        self.tells_roots = tells_roots;
    }

    /// The number of the `initialize` that is in flight.
    pub(in crate::client) fn initialize_in_flight(&self) -> Option<u64> {
        self.flight.initialize()
    }

    /// The ids of what is in flight.
    pub(in crate::client) fn in_flight(&self) -> impl Iterator<Item = RequestId> {
        let initialize = self.flight.initialize().map(compose::id);
        self.flight.discover().cloned().into_iter().chain(initialize)
    }

    /// Returns whether the request with this id asks what the server is, and is in flight.
    pub(in crate::client) fn has_in_flight(&self, id: &RequestId) -> bool {
        self.flight.find(id).is_some()
    }

    /// A response has come.
    pub(in crate::client) fn response(
        &mut self,
        response: Response,
        chosen: Negotiation,
    ) -> ResponseMeaning {
        let answer = match &response.id {
            Some(id) => self.land(id),
            // Without an id it may be either's.
            None if self.step == Step::Silent => return ResponseMeaning::Nothing,
            // A server that cannot read the id of a request says so without one.
            None if self.step.discovers() => Some(ProbeAnswer::Discover),
            None => Some(ProbeAnswer::Initialize),
        };
        let (outcome, found) = match answer {
            Some(ProbeAnswer::Discover) => chosen.discovered(response.body),
            Some(ProbeAnswer::Initialize) => chosen.initialized(response.body),
            Some(ProbeAnswer::Overdue) => match chosen.discovered(response.body) {
                (Outcome::Modern, found) => (Outcome::Late, self.late(found)),
                _ => return ResponseMeaning::Nothing,
            },
            None => return ResponseMeaning::OfCall(response),
        };
        ResponseMeaning::Outcome(outcome, Box::new(found))
    }

    /// Returns the request that a response answers, which is not in flight any more.
    fn land(&mut self, id: &RequestId) -> Option<ProbeAnswer> {
        let answer = self.flight.find(id);
        match answer {
            Some(answer) => self.flight.land(answer),
            None => return self.overdue.settle(id).then_some(ProbeAnswer::Overdue),
        }
        answer
    }

    /// The first probe is answered after its time. The answer is held while `initialize` is not
    /// answered, and used otherwise.
    fn late(&mut self, found: ProbeResult) -> ProbeResult {
        if self.step == Step::Silent {
            self.overdue.hold(found);
            return ProbeResult::default();
        }
        found
    }

    /// The outcome of a response with this id that cannot be read.
    pub(in crate::client) fn unreadable(&self, id: &RequestId) -> Option<Outcome> {
        match self.flight.find(id)? {
            ProbeAnswer::Discover | ProbeAnswer::Overdue => Some(Outcome::Malformed),
            ProbeAnswer::Initialize => Some(Outcome::InitializeMalformed),
        }
    }

    /// The answer that is held.
    pub(in crate::client) fn take_held(&mut self) -> Option<ProbeResult> {
        self.overdue.take()
    }

    /// Keeps a message of the server until the era is known; to be alive is said in any.
    pub(in crate::client) fn keep(&mut self, message: Message, outbox: &mut Outbox) {
        if let Message::Request(Request { id, method: Method::Ping, .. }) = message {
            let stamp = Bytes::new();
            outbox.send(Outgoing::Result { id, stamp, result: Json::EMPTY_OBJECT });
        } else if !self.kept.push(message) {
            outbox.fault(ProtocolError::TooMuchBeforeConnected);
        }
    }

    /// What the server has sent meanwhile.
    pub(in crate::client) fn into_early_messages(self) -> impl Iterator<Item = Message> {
        self.kept.into_messages().into_iter()
    }

    /// Returns whether `initialize` said that the server will hear of changes of the roots.
    pub(in crate::client) fn tells_roots(&self) -> bool {
        self.tells_roots
    }

    /// The server has answered a call without having been asked what it is.
    pub(in crate::client) fn set_serves(&mut self) {
        self.serves = true;
    }

    /// Returns whether it has done so.
    pub(in crate::client) fn serves(&self) -> bool {
        self.serves
    }
}
