//! Inputs, outputs and settings of a bridge.

use alloc::boxed::Box;
use core::fmt;

use crate::json::Json;
use crate::limits::Limits;
use crate::message::Method;
use crate::server::{Notification, Outcome, Peer, ReplyId, Request, SessionRef};
use crate::types::{InputRequest, LoggingLevel};

/// A request of a client, as a server that [forwards](crate::server::Registry::forward) has it.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// The id by which the answer finds the request.
    pub about: ReplyId,
    /// The method.
    pub method: Method,
    /// The parameters, as they came.
    pub params: Json,
    /// The client.
    pub peer: Peer,
    /// True if the client asked to be told of progress.
    pub wants_progress: bool,
    /// The least severe log messages that the client wants.
    pub log_level: Option<LoggingLevel>,
}

impl ClientRequest {
    /// Reads a request. The [`Reply`](crate::server::Reply) stays with the caller,
    /// who answers when [`BridgeAction::Respond`] says so.
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

/// A command for the server that has the client.
#[derive(Debug)]
#[non_exhaustive]
pub enum BridgeAction {
    /// Answer a request. Every request that was not cancelled gets one of these.
    Respond {
        /// The request.
        about: ReplyId,
        /// A result or an error, never [`Outcome::InputRequired`].
        outcome: Outcome,
    },
    /// Tell the client about a request.
    Notify {
        /// The request.
        about: ReplyId,
        /// The notification.
        notification: Notification,
    },
    /// Tell a legacy client, about no request.
    NotifySession {
        /// The session.
        session: SessionRef,
        /// The notification.
        notification: Notification,
    },
    /// Ask a legacy client. Report what comes of it with
    /// [`Bridge::handle_input_answered`](super::Bridge::handle_input_answered).
    RequestInput {
        /// The session.
        session: SessionRef,
        /// The request for whose sake the client is asked.
        about: Option<ReplyId>,
        /// The content.
        request: InputRequest,
        /// The name of the question.
        ticket: Ticket,
    },
    /// Withdraw what a legacy client was asked. Nothing is reported.
    CancelInput {
        /// The name of the question.
        ticket: Ticket,
    },
}

/// Names what a bridge asks a legacy client; never used twice by one bridge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub(super) u64);

/// Settings of a bridge.
#[non_exhaustive]
pub struct Config {
    /// The bounds. `max_in_flight` requests wait until the server is known. `input_timeout` is the
    /// time that a modern client has to bring input, and `max_input_rounds` how often a legacy one is
    /// asked. `max_subscriptions` and `max_subscription_bytes` count for all clients of the bridge.
    pub limits: Limits,
    /// A source of random bits, which the `requestState` of a modern client is made of.
    pub random: Box<dyn FnMut() -> [u8; 16] + Send>,
}

impl Config {
    /// Default bounds. `random` returns 128 bits that nobody can guess.
    pub fn new(random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self { limits: Limits::default(), random }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("limits", &self.limits).finish_non_exhaustive()
    }
}
