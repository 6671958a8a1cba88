//! State of a connection, with the known facts about the server.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | `Unopened` | | the opening |
//! | `Negotiating` | what is in flight, what the server has sent | the answers, by `probe::TABLE` |
//! | `Reopening` | the step that follows | the opening |
//! | `Modern` | the server, its envelope, whether it is confirmed | a refusal, by `recovery::TABLE`; without confirmation, by `probe::TABLE`; the end of the stream |
//! | `Legacy` | the session | the same; the loss of the session |
//! | `Unconnected` | the reason, the next attempt | a call, the time of that attempt |
//! | `Closed` | | |

use super::compose::Envelope;
use super::legacy;
use super::negotiation::probe::Step;
use super::negotiation::{Negotiating, PriorServer, ServerInfo, Verdict};
use super::outbox::Outbox;
use super::recovery::Known;
use super::unconnected::Unconnected;
use crate::version::{Era, ProtocolVersion};

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
pub(super) enum Conn {
    Unopened,
    Negotiating(Negotiating),
    Reopening { step: Step, before: PriorServer },
    Modern(Modern),
    Legacy(legacy::Session),
    Unconnected(Unconnected),
    Closed,
}

/// Knowledge of a modern server.
#[derive(Debug)]
pub(super) struct Modern {
    pub(super) server: ServerInfo,
    /// The verdict to store.
    pub(super) verdict: Verdict,
    pub(super) envelope: Envelope,
    /// True if an answer has confirmed that the server is modern.
    pub(super) confirmed: bool,
}

impl Conn {
    /// The server, once the era is known.
    pub(super) fn server(&self) -> Option<&ServerInfo> {
        let modern = self.modern().map(|modern| &modern.server);
        modern.or_else(|| self.legacy().map(legacy::Session::server))
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.server().map(ServerInfo::era)
    }

    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.server().map(|server| server.version)
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.legacy().is_some()
    }

    pub(super) fn modern(&self) -> Option<&Modern> {
        if let Self::Modern(modern) = self { Some(modern) } else { None }
    }

    pub(super) fn legacy(&self) -> Option<&legacy::Session> {
        if let Self::Legacy(session) = self { Some(session) } else { None }
    }

    /// Returns whether the server is a legacy server that does not declare `logging`.
    pub(super) fn lacks_logging(&self) -> bool {
        self.legacy().is_some_and(|session| session.server().capabilities.logging.is_none())
    }

    pub(super) fn negotiating(&self) -> Option<&Negotiating> {
        if let Self::Negotiating(negotiating) = self { Some(negotiating) } else { None }
    }

    pub(super) fn negotiating_mut(&mut self) -> Option<&mut Negotiating> {
        if let Self::Negotiating(negotiating) = self { Some(negotiating) } else { None }
    }

    /// Removes and returns the negotiation, if there is one; the state becomes `Unopened`.
    pub(super) fn take_negotiating(&mut self) -> Option<Negotiating> {
        let before = core::mem::replace(self, Self::Unopened);
        if let Self::Negotiating(negotiating) = before { Some(negotiating) } else { None }
    }

    /// Returns whether messages of a server may arrive.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Unopened | Self::Reopening { .. } | Self::Closed)
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Returns whether a stored verdict is the only fact about the server.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.modern().is_some_and(|modern| !modern.confirmed)
    }

    /// The step of a negotiation, for `probe::TABLE`.
    pub(super) fn step(&self) -> Option<Step> {
        let unconfirmed = self.is_unconfirmed().then_some(Step::Unconfirmed);
        self.negotiating().map(Negotiating::step).or(unconfirmed)
    }

    /// The knowledge about the server before the current negotiation.
    pub(super) fn before(&self) -> PriorServer {
        self.negotiating().map_or(PriorServer::Nothing, Negotiating::before)
    }

    /// The knowledge about the server, for `recovery::TABLE`.
    pub(super) fn known(&self) -> Option<Known> {
        match self.era()? {
            Era::Modern if self.is_unconfirmed() => Some(Known::Unconfirmed),
            Era::Modern => Some(Known::Modern),
            Era::Legacy => Some(Known::Legacy),
        }
    }

    /// The era in which the requests in flight were sent.
    pub(super) fn era_of_sent(&self) -> Era {
        if self.is_legacy() { Era::Legacy } else { self.before().era() }
    }

    /// Returns whether the server has understood the requests in flight. A server that turns out to
    /// be legacy has not understood them.
    pub(super) fn understands(&self) -> bool {
        self.server().is_some() || matches!(self.before(), PriorServer::Here(_))
    }

    /// Records that a message of a legacy server's batch, if there is one, is answered.
    pub(super) fn leave_batch(&mut self, batch: Option<u64>, outbox: &mut Outbox) {
        if let Self::Legacy(session) = self {
            session.leave_batch(batch, outbox);
        }
    }
}
