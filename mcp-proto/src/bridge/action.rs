//! Inputs, outputs and settings of a bridge.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use crate::budget::{Account, Budget, ChargeKind};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::Method;
use crate::server::{Notification, Outcome, Peer, ReplyId, Request, SessionRef};
use crate::types::{InputRequest, LoggingLevel};

/// A request of a client, as a [forwarding](crate::server::Registry::forward) server receives it.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// The id of the request, for its answer.
    pub about: ReplyId,
    /// The method.
    pub method: Method,
    /// The parameters, unchanged.
    pub params: Json,
    /// The client.
    pub peer: Arc<Peer>,
    /// True if the client asked for progress notifications.
    pub wants_progress: bool,
    /// The least severe log messages that the client wants.
    pub log_level: Option<LoggingLevel>,
}

impl ClientRequest {
    /// Reads a request. The caller keeps the [`Reply`](crate::server::Reply), and answers with it
    /// at [`BridgeAction::Respond`].
    pub fn of(request: &Request) -> Self {
        Self {
            about: request.reply.id(),
            method: request.method.clone(),
            params: request.params.clone(),
            peer: request.peer.clone(),
            wants_progress: request.wants_progress,
            log_level: request.log_level,
        }
    }
}

/// A command for the server to which the client is connected.
#[derive(Debug)]
#[non_exhaustive]
pub enum BridgeAction {
    /// Answer a request. Every request that was not cancelled gets exactly one answer.
    Respond {
        /// The request.
        about: ReplyId,
        /// A result or an error, never [`Outcome::InputRequired`].
        outcome: Outcome,
    },
    /// Send the client a notification about a request.
    Notify {
        /// The request.
        about: ReplyId,
        /// The notification.
        notification: Notification,
    },
    /// Send a legacy client a notification that belongs to no request.
    NotifySession {
        /// The session.
        session: SessionRef,
        /// The notification.
        notification: Notification,
    },
    /// Ask a legacy client for input. Report the outcome with
    /// [`Bridge::handle_input_answered`](super::Bridge::handle_input_answered).
    RequestInput {
        /// The session.
        session: SessionRef,
        /// The request that needs the input.
        about: Option<ReplyId>,
        /// The content.
        request: InputRequest,
        /// The identifier of the request for input.
        ticket: Ticket,
    },
    /// Cancel a request for input of a legacy client. There is no outcome to report.
    CancelInput {
        /// The identifier of the request for input.
        ticket: Ticket,
    },
}

/// Identifier of a request for input of a legacy client; never used twice by one bridge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub(super) u64);

/// Settings of a bridge.
#[non_exhaustive]
pub struct Config {
    /// The limits. At most `max_in_flight` requests wait until the server is known, and a modern
    /// server's round of input fails if more requests for input would be pending. `input_timeout`
    /// is the longest time for a modern client to give input, and for a legacy client to open its
    /// session while its server asks for input. `max_input_rounds` is the most rounds of input for
    /// a legacy client. `max_subscriptions` and `max_subscription_bytes` apply to all clients of
    /// the bridge together.
    pub limits: Limits,
    /// A source of random bits for the `requestState` of modern clients.
    pub random: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// The bytes that wait for input, on all connections to the server.
    budget: Budget,
}

impl Config {
    /// Default limits. `random` returns 128 unguessable bits.
    pub fn new(random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self { limits: Limits::default(), random, budget: Budget::default() }
    }

    /// The settings of another connection to the server: the same limits, and one count of
    /// [`Limits::max_endpoint_bytes`] for all of them.
    pub fn for_connection(&self, random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self { limits: self.limits.clone(), random, budget: self.budget.clone() }
    }

    /// An account of bytes that wait for input.
    pub(super) fn account(&self) -> Account {
        self.budget.account(ChargeKind::Work, self.limits.max_endpoint_bytes)
    }

    /// Returns whether the responses that wait for their clients are within
    /// `Limits::max_endpoint_bytes`.
    pub(super) fn fits(&self) -> bool {
        self.budget.fits(self.limits.max_endpoint_bytes, 0)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("limits", &self.limits).finish_non_exhaustive()
    }
}
