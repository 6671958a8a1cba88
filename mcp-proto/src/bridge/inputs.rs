//! Requests for input of legacy clients, on behalf of a server of either era.
//!
//! In: requests of a legacy server; results of a modern server that ask for input; answers. Out:
//! tickets of the requests to clients; the recipient of each answer; the input of a complete round.
//!
//! | waits | until |
//! |---|---|
//! | a request of a legacy server | the answer; `notifications/cancelled` of the server; the end of its call |
//! | a round of a modern server | all answers, then the request goes out again; a refusal; the end of the request |

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::{Config, Ticket};
use super::calls::UpstreamCall;
use crate::budget::{Account, BudgetExceeded};
use crate::client::{CallId, InputId, InputReply};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::ErrorData;
use crate::server::ReplyId;

#[derive(Debug, Default)]
pub(super) struct ClientInputs {
    pending: BTreeMap<Ticket, InputRecipient>,
    rounds: BTreeMap<ReplyId, Round>,
    tickets: u64,
}

/// The recipient of an answer.
#[derive(Debug)]
pub(super) enum InputRecipient {
    /// A request of a legacy server, and the call with which the request ends.
    Server { reply: InputReply, call: Option<CallId> },
    /// A round of a request; the answer has this key.
    Round { about: ReplyId, key: String },
}

/// A request whose modern server needs input.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) call: UpstreamCall,
    missing: usize,
    /// The bytes of the answers so far, of the keys of all inputs, and of the state.
    bytes: usize,
    account: Account,
    responses: Vec<(String, Json)>,
    state: Option<Json>,
}

/// A request for input of a modern server.
pub(super) struct RoundRequest {
    pub(super) ticket: Ticket,
    pub(super) method: String,
    pub(super) params: Json,
}

/// The reason why a round cannot begin.
pub(super) enum RoundError {
    Unreadable,
    /// More requests to clients would be pending than `Limits::max_in_flight` allows.
    TooMany,
    TooMuch(TooMuchInput),
}

/// The limit that what waits for input would exceed.
#[derive(Clone, Copy, Debug)]
pub(super) enum TooMuchInput {
    /// `Limits::max_in_flight_bytes`.
    OfConnection,
    /// Three quarters of `Limits::max_endpoint_bytes`.
    OfBridge,
}

impl InputRecipient {
    fn is_round_of(&self, request: ReplyId) -> bool {
        matches!(self, Self::Round { about, .. } if *about == request)
    }

    fn ends_with(&self, ended: CallId) -> bool {
        matches!(self, Self::Server { call: Some(call), .. } if *call == ended)
    }

    fn reply(&self) -> Option<&InputReply> {
        if let Self::Server { reply, .. } = self { Some(reply) } else { None }
    }
}

impl ClientInputs {
    /// Registers a request of a legacy server to a client.
    pub(super) fn ask(&mut self, reply: InputReply, call: Option<CallId>) -> Ticket {
        self.insert(InputRecipient::Server { reply, call })
    }

    /// Begins a round of input for a request to a modern server; returns the requests for the
    /// client. Members that are `null` count as absent. Fails if the result cannot be read, if more
    /// than `max_in_flight` requests to clients would be pending, or if too many bytes would be
    /// kept.
    pub(super) fn begin(
        &mut self,
        about: ReplyId,
        call: UpstreamCall,
        result: &Json,
        config: &Config,
    ) -> Result<Vec<RoundRequest>, RoundError> {
        let room = config.limits.max_in_flight.saturating_sub(self.pending.len());
        let mut requests = Vec::new();
        let mut is_too_long = false;
        let mut state = None;
        let mut is_readable = true;
        result.raw().members(|key, value| match key.string().as_deref() {
            Some("inputRequests") => value.members(|key, request| {
                is_too_long |= requests.len() >= room;
                if is_too_long {
                    return;
                }
                let method = request.member("method").and_then(Raw::string);
                let params = request.member("params").filter(|params| params.is_object());
                match (key.string(), method) {
                    (Some(key), Some(method)) => {
                        let params = params.map_or(Json::EMPTY_OBJECT, copy);
                        requests.push((key.into_owned(), method.into_owned(), params));
                    }
                    _ => is_readable = false,
                }
            }),
            Some("requestState") if value.0 != b"null" => {
                is_readable &= value.is_string();
                state = Some(copy(value));
            }
            _ => {}
        });
        if is_too_long {
            return Err(RoundError::TooMany);
        }
        if !is_readable || requests.is_empty() && state.is_none() {
            return Err(RoundError::Unreadable);
        }
        let state_bytes = state.as_ref().map_or(0, |state| state.as_bytes().len());
        let bytes =
            requests.iter().fold(state_bytes, |sum, (key, ..)| sum.saturating_add(key.len()));
        let mut round = Round {
            call,
            missing: requests.len(),
            bytes: 0,
            account: config.account(),
            responses: Vec::new(),
            state,
        };
        round.admit(bytes, self.bytes(), &config.limits).map_err(RoundError::TooMuch)?;
        let requests = requests.into_iter().map(|(key, method, params)| {
            let ticket = self.insert(InputRecipient::Round { about, key });
            RoundRequest { ticket, method, params }
        });
        let requests = requests.collect();
        self.rounds.insert(about, round);
        Ok(requests)
    }

    /// Removes an answered request for input; returns the recipient of the answer.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<InputRecipient> {
        self.pending.remove(&ticket)
    }

    /// The bytes that all rounds keep.
    fn bytes(&self) -> usize {
        self.rounds.values().fold(0, |sum, round| sum.saturating_add(round.bytes))
    }

    /// Adds an answer to a round. Fails if too many bytes would be kept.
    pub(super) fn give(
        &mut self,
        about: ReplyId,
        key: String,
        answer: Json,
        limits: &Limits,
    ) -> Result<(), TooMuchInput> {
        let kept = self.bytes();
        let Some(round) = self.rounds.get_mut(&about) else { return Ok(()) };
        round.admit(answer.as_bytes().len(), kept, limits)?;
        round.missing = round.missing.saturating_sub(1);
        round.responses.push((key, answer));
        Ok(())
    }

    /// Removes and returns a round, if it is complete.
    pub(super) fn take_complete(&mut self, about: ReplyId) -> Option<Round> {
        if self.rounds.get(&about)?.missing > 0 {
            return None;
        }
        self.rounds.remove(&about)
    }

    /// Ends a round, complete or not; returns the requests for input to cancel.
    pub(super) fn end_round(&mut self, about: ReplyId) -> Option<(UpstreamCall, Vec<Ticket>)> {
        let round = self.rounds.remove(&about)?;
        let ended = self.take_all(|recipient| recipient.is_round_of(about)).into_iter();
        let tickets = ended.map(|(ticket, _)| ticket).collect();
        Some((round.call, tickets))
    }

    /// Ends all rounds, because the server cannot be called again, and gets no answers. Returns
    /// their requests, and the tickets of the requests to cancel.
    pub(super) fn end_rounds(&mut self) -> Vec<(ReplyId, Vec<Ticket>)> {
        let all: Vec<ReplyId> = self.rounds.keys().copied().collect();
        let end = |about| Some((about, self.end_round(about)?.1));
        all.into_iter().filter_map(end).collect()
    }

    /// Handles a legacy server's cancellation of its request; returns the ticket to cancel.
    pub(super) fn withdraw(&mut self, input: InputId) -> Option<Ticket> {
        let ended = self.take_all(|it| it.reply().is_some_and(|reply| reply.id() == input)).pop();
        ended.map(|(ticket, _)| ticket)
    }

    /// Ends the requests of a legacy server that belong to a call; returns them.
    pub(super) fn end_call(&mut self, ended: CallId) -> Vec<(Ticket, InputReply)> {
        let server = |(ticket, recipient)| match recipient {
            InputRecipient::Server { reply, .. } => Some((ticket, reply)),
            InputRecipient::Round { .. } => None,
        };
        let ended = self.take_all(|recipient| recipient.ends_with(ended)).into_iter();
        ended.filter_map(server).collect()
    }

    /// Removes the requests for which `ends` is true, oldest first.
    fn take_all(
        &mut self,
        ends: impl Fn(&InputRecipient) -> bool,
    ) -> Vec<(Ticket, InputRecipient)> {
        let tickets = self.pending.iter().filter(|(_, recipient)| ends(recipient));
        let tickets: Vec<Ticket> = tickets.map(|(ticket, _)| *ticket).collect();
        let take = |ticket| self.pending.remove(&ticket).map(|recipient| (ticket, recipient));
        tickets.into_iter().filter_map(take).collect()
    }

    fn insert(&mut self, recipient: InputRecipient) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.pending.insert(ticket, recipient);
        ticket
    }
}

impl Round {
    /// Charges `added` bytes. All rounds keep `kept` bytes so far.
    fn admit(&mut self, added: usize, kept: usize, limits: &Limits) -> Result<(), TooMuchInput> {
        if kept.saturating_add(added) > limits.max_in_flight_bytes {
            return Err(TooMuchInput::OfConnection);
        }
        let bytes = self.bytes.saturating_add(added);
        self.account.admit(bytes).map_err(|BudgetExceeded| TooMuchInput::OfBridge)?;
        self.bytes = bytes;
        Ok(())
    }

    /// The parameters of the repeated request, with the input.
    pub(super) fn params(&self) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        self.call.params.raw().members(|key, value| {
            if !is_input(key) {
                object.copy(key, value);
            }
        });
        if !self.responses.is_empty() {
            object.key("inputResponses");
            let mut responses = List::object(object.out());
            for (key, response) in &self.responses {
                responses.member(key, response.as_bytes());
            }
            responses.end();
        }
        if let Some(state) = &self.state {
            object.member("requestState", state.as_bytes());
        }
        object.end();
        Json::trusted(out)
    }
}

impl TooMuchInput {
    /// The error for the request whose input does not fit.
    pub(super) fn describe(self, limits: &Limits) -> ErrorData {
        let why = match self {
            Self::OfConnection => {
                let max = limits.max_in_flight_bytes;
                alloc::format!("Limits::max_in_flight_bytes = {max} of input are kept")
            }
            Self::OfBridge => {
                let max = limits.max_endpoint_bytes;
                alloc::format!(
                    "three quarters of Limits::max_endpoint_bytes = {max} of input are kept"
                )
            }
        };
        ErrorData::internal(why)
    }
}

/// Returns whether a member of the parameters contains input.
pub(super) fn is_input(key: Raw<'_>) -> bool {
    matches!(key.string().as_deref(), Some("inputResponses" | "requestState"))
}

/// A copy that shares no memory with the original.
pub(super) fn copy(Raw(value): Raw<'_>) -> Json {
    Json::trusted(value.to_vec())
}
