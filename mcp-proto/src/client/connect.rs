//! From an opened stream to a known era: what `probe::TABLE` says, done.
//!
//! In: the opening, the answers to `server/discover` and `initialize`, silence, the end. Out:
//! those requests, and a client that is connected as modern or as legacy. Calls wait meanwhile, and
//! what the server sends is kept.
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)

use alloc::vec::Vec;
use core::mem;

use bytes::Bytes;

use super::calls::Call;
use super::compose::{self, Envelope};
use super::connect_error::ConnectError;
use super::http::{Binding, Origin};
use super::negotiation::probe::{self, Move, Outcome, Step};
use super::negotiation::{
    Answer, Before, Decision, Found, Negotiating, Negotiation, ServerInfo, Verdict,
};
use super::{CallError, Client, ClientEvent, Config, Life, Modern, Reason, legacy};
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::{Message, Method, Outgoing, Request, RequestId, Response};
use crate::time::Instant;

impl Client {
    pub(super) fn is_negotiating(&self) -> bool {
        matches!(self.life, Life::Negotiating(_))
    }

    /// Begins at `step`, on a stream that was just opened.
    pub(super) fn begin(&mut self, now: Instant, step: Step) {
        match (step, self.config.verdict.clone()) {
            (Step::Unconfirmed, Some(verdict)) => self.connect_modern(now, verdict, None, false),
            (Step::Unconfirmed, None) => self.enter(now, Step::Probe),
            _ => self.enter(now, step),
        }
    }

    /// Begins at `step`, with a server that was taken for something else.
    pub(super) fn enter_after(&mut self, now: Instant, step: Step, before: Before) {
        self.enter(now, step);
        if let Life::Negotiating(negotiating) = &mut self.life {
            negotiating.set_before(before);
        }
    }

    /// The server has answered a call, as a modern one does.
    pub(super) fn served_typed(&mut self, now: Instant) {
        let found = match &self.life {
            Life::Modern(modern) if !modern.confirmed => Found::default(),
            // It was slow, and it will not like the `initialize` that is out.
            Life::Negotiating(negotiating)
                if matches!(negotiating.step(), Step::Silent | Step::Held) =>
            {
                let Some(verdict) = self.config.verdict.clone() else { return };
                let version = Some(verdict.version);
                let discover = verdict.discover;
                Found { version, discover, ..Found::default() }
            }
            Life::Modern(_)
            | Life::Negotiating(_)
            | Life::Unopened
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Legacy(_)
            | Life::Closed => return,
        };
        self.judge_found(now, Outcome::Modern, found);
    }

    /// The server has answered a call, and not as a modern one does.
    pub(super) fn served_untyped(&mut self, now: Instant) {
        self.judge(now, Outcome::Untyped);
        if let Life::Negotiating(negotiating) = &mut self.life {
            negotiating.set_serves();
        }
    }

    /// Sends what `step` has out.
    fn enter(&mut self, now: Instant, step: Step) {
        let mut negotiating = self.take_negotiating().unwrap_or_else(|| Negotiating::new(step));
        let number = self.calls.number();
        let (timeout, request) = if step.discovers() {
            let id = RequestId::string(&alloc::format!("discover-{number}"));
            negotiating.discover(step, id.clone());
            let version = self.config.negotiation.modern_version();
            let stamp = Envelope::new(version, &self.config).stamp();
            let method = "server/discover".into();
            let params = Json::EMPTY_OBJECT;
            // After `initialize`, or beside it, there is no other way left.
            let Config { probe_timeout, initialize_timeout, .. } = self.config;
            let is_first = matches!(step, Step::Probe | Step::Correct);
            // Over HTTP silence does not mean that the server is a legacy one.
            let may_be_silent = is_first && self.binding == Binding::Stream;
            let timeout = if may_be_silent { probe_timeout } else { initialize_timeout };
            (timeout, Outgoing::Request { id, method, stamp, params })
        } else {
            let roots = self.config.capabilities.roots;
            negotiating.initialize(step, number, roots.is_some_and(|roots| roots.list_changed));
            let version = self.config.negotiation.legacy_version();
            let params = compose::initialize(version, &self.config);
            let id = compose::id(number);
            let stamp = Bytes::new();
            let method = "initialize".into();
            (self.config.initialize_timeout, Outgoing::Request { id, method, stamp, params })
        };
        self.deadlines.set(Reason::Negotiation, now + timeout);
        self.life = Life::Negotiating(negotiating);
        self.outbox.send(request);
    }

    /// Something came of what is out, or nothing.
    pub(super) fn judge(&mut self, now: Instant, outcome: Outcome) {
        self.judge_found(now, outcome, Found::default());
    }

    pub(super) fn judge_found(&mut self, now: Instant, outcome: Outcome, found: Found) {
        let step = match &self.life {
            Life::Negotiating(negotiating) => negotiating.step(),
            Life::Modern(modern) if !modern.confirmed => Step::Unconfirmed,
            Life::Modern(_)
            | Life::Legacy(_)
            | Life::Unopened
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => return,
        };
        let falls_back = self.config.negotiation == Negotiation::Auto;
        let Some(row) = probe::TABLE.find((step, falls_back, outcome)) else { return };
        self.decisions.extend(Decision::new(now, step, outcome, row));
        match row.then {
            Move::Stay => {}
            Move::Send(step) => self.enter(now, step),
            Move::Await(step) => {
                if let Life::Negotiating(negotiating) = &mut self.life {
                    negotiating.wait_at(step);
                }
            }
            Move::Reopen(step) => self.reopen(now, step, self.before()),
            Move::Fail(failure) => {
                let error = ConnectError::new(failure, found);
                if self.recovers() {
                    self.abort_probe();
                    self.attempt_failed(now, self.before().era(), error);
                } else {
                    self.end(now, Some(error));
                }
            }
            Move::Modern => self.found_modern(now, found),
            Move::UseHeld => {
                if let Life::Negotiating(negotiating) = &mut self.life
                    && let Some(held) = negotiating.take_held()
                {
                    self.found_modern(now, held);
                }
            }
            Move::Legacy => {
                if let Some(server) = found.server {
                    self.connect_legacy(now, server);
                }
            }
        }
    }

    /// Nobody waits for what is out any more.
    fn abort_probe(&mut self) {
        let Life::Negotiating(negotiating) = &self.life else { return };
        if self.binding == Binding::Http {
            negotiating.in_flight().for_each(|request| self.outbox.abort(request));
        }
    }

    /// What the server was taken for before this negotiation.
    fn before(&self) -> Before {
        match &self.life {
            Life::Negotiating(negotiating) => negotiating.before(),
            Life::Modern(_)
            | Life::Legacy(_)
            | Life::Unopened
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Closed => Before::Nothing,
        }
    }

    /// Has the stream opened again.
    pub(super) fn reopen(&mut self, now: Instant, step: Step, before: Before) {
        self.deadlines.clear(Reason::Negotiation);
        self.recall_sent(now);
        self.life = Life::Reopening { step, before };
        self.outbox.event(ClientEvent::Reopen);
    }

    /// The answer of a modern server to the first probe, after its time: used, or held.
    fn late(&mut self, now: Instant, found: Found) {
        let Life::Negotiating(negotiating) = &mut self.life else { return };
        if negotiating.step() != Step::Silent {
            return self.judge_found(now, Outcome::Late, found);
        }
        negotiating.hold(found);
        self.judge(now, Outcome::Late);
    }

    fn found_modern(&mut self, now: Instant, found: Found) {
        if let Life::Modern(modern) = &mut self.life {
            modern.confirmed = true;
            self.pace.connected(now);
            self.deadlines.clear(Reason::Negotiation);
            return;
        }
        let version = found.version.unwrap_or_else(|| self.config.negotiation.modern_version());
        let verdict = Verdict { version, discover: found.discover };
        self.connect_modern(now, verdict, found.server, true);
    }

    /// `server` is what else is known of it.
    fn connect_modern(
        &mut self,
        now: Instant,
        verdict: Verdict,
        server: Option<ServerInfo>,
        confirmed: bool,
    ) {
        let version = verdict.version;
        let server =
            server.unwrap_or_else(|| ServerInfo::discovered(version, verdict.discover.as_ref()));
        let envelope = Envelope::new(version, &self.config);
        let negotiating = self.take_negotiating();
        if let Some(number) = negotiating.as_ref().and_then(Negotiating::initialize_in_flight) {
            self.calls.ignore(number);
            self.abort(number);
        }
        let modern = Modern { server: server.clone(), verdict, envelope, confirmed };
        self.connected(now, Life::Modern(modern), server, negotiating);
    }

    fn connect_legacy(&mut self, now: Instant, server: ServerInfo) {
        let negotiating = self.take_negotiating();
        self.outbox.send(Outgoing::notification("notifications/initialized", Json::EMPTY_OBJECT));
        let tells_roots = negotiating.as_ref().is_some_and(Negotiating::tells_roots);
        let session = legacy::Session::new(server.clone(), tells_roots);
        self.connected(now, Life::Legacy(session), server, negotiating);
    }

    fn connected(
        &mut self,
        now: Instant,
        life: Life,
        server: ServerInfo,
        negotiating: Option<Negotiating>,
    ) {
        self.deadlines.clear(Reason::Negotiation);
        // A stored verdict that nothing has confirmed is no connection yet.
        if !matches!(&life, Life::Modern(modern) if !modern.confirmed) {
            self.pace.connected(now);
        }
        self.life = life;
        self.outbox.event(ClientEvent::Connected(server));
        self.send_waiting(now, negotiating.as_ref().is_some_and(Negotiating::serves));
        for message in negotiating.into_iter().flat_map(Negotiating::into_kept) {
            self.message(now, message, Origin::default());
        }
    }

    fn take_negotiating(&mut self) -> Option<Negotiating> {
        match mem::replace(&mut self.life, Life::Unopened) {
            Life::Negotiating(negotiating) => Some(negotiating),
            Life::Unopened
            | Life::Reopening { .. }
            | Life::Unconnected(_)
            | Life::Modern(_)
            | Life::Legacy(_)
            | Life::Closed => None,
        }
    }

    /// Capabilities have changed.
    pub(super) fn envelop(&mut self) {
        if let Life::Modern(modern) = &mut self.life {
            modern.envelope = Envelope::new(modern.server.version, &self.config);
        }
    }

    /// Keeps a message until the era is known; to be alive is said in any.
    pub(super) fn keep(&mut self, message: Message) {
        if let Message::Request(Request { id, method: Method::Ping, .. }) = &message {
            let answer = legacy::answer(id.clone(), Ok(Json::EMPTY_OBJECT));
            return self.outbox.send(answer);
        }
        if let Life::Negotiating(negotiating) = &mut self.life
            && !negotiating.keep(message)
        {
            self.outbox.fault(ProtocolError::TooMuchBeforeConnected);
        }
    }

    /// A response while the era is not known; gives it back if it is of a call.
    pub(super) fn negotiation_response(
        &mut self,
        now: Instant,
        response: Response,
    ) -> Option<Response> {
        let Life::Negotiating(negotiating) = &mut self.life else { return Some(response) };
        let step = negotiating.step();
        let chosen = self.config.negotiation;
        let answer = match &response.id {
            Some(id) => negotiating.land(id),
            // A server that cannot read the id of a request says so without one.
            None if step.discovers() => Some(Answer::Discover),
            None => Some(Answer::Initialize),
        };
        let (outcome, found) = match answer {
            // Without an id it may be either's.
            Some(_) if response.id.is_none() && step == Step::Silent => return None,
            Some(Answer::Discover) => chosen.discovered(response.body),
            Some(Answer::Initialize) => chosen.initialized(response.body),
            Some(Answer::Overdue) => {
                if let (Outcome::Modern, found) = chosen.discovered(response.body) {
                    self.late(now, found);
                }
                return None;
            }
            None => return Some(response),
        };
        self.judge_found(now, outcome, found);
        None
    }

    /// An answer that cannot be read; false if it is not to what is out.
    pub(super) fn negotiation_unreadable(&mut self, now: Instant, id: &RequestId) -> bool {
        let Life::Negotiating(negotiating) = &self.life else { return false };
        let Some(outcome) = negotiating.unreadable(id) else { return false };
        self.judge(now, outcome);
        true
    }

    /// Calls that were sent on a stream that has ended: idempotent ones wait to be sent again if the
    /// next server is of the other era, and no others are sent again.
    fn recall_sent(&mut self, now: Instant) {
        let numbers: Vec<u64> = self.calls.numbers_of(Call::is_sent).collect();
        for number in numbers {
            let Some(mut call) = self.calls.remove(number) else { continue };
            if call.is_idempotent() {
                call.park(CallError::Closed, self.before().era());
                self.calls.insert(number, call);
            } else {
                self.finish(now, call, Err(CallError::Interrupted));
            }
        }
    }
}
