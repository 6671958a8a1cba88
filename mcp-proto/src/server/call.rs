//! One request in flight: what its answer, and a second visit to its handler, need.

use alloc::boxed::Box;

use super::event::{Peer, StreamId};
use super::inputs::Inputs;
use super::outcome::Input;
use crate::budget::Charge;
use crate::message::{Method, Params, ProgressToken, RequestId};
use crate::time::Instant;
use crate::types::LoggingLevel;
use crate::version::{Era, EraPolicy};

/// The way by which a message came, and its answer goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyPath {
    /// Stream of the response to its HTTP request.
    pub(super) stream: Option<StreamId>,
    /// The batch that waits for the answer.
    pub(super) batch: Option<u64>,
}

/// A request that is not answered yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) era: Era,
    pub(super) kind: CallKind,
    pub(super) token: Option<ProgressToken>,
    /// The last progress that went out.
    pub(super) progress: Option<f64>,
    /// Of a modern request: the least severe log messages that its client wants.
    pub(super) log_level: Option<LoggingLevel>,
    /// Deadline of the handler.
    pub(super) deadline: Instant,
    /// The bytes of its message, and of the input that was given for it.
    pub(super) size: usize,
    /// The way that the answer goes.
    pub(super) path: ReplyPath,
    /// True if its handler may ask for input.
    pub(super) asks: bool,
    /// Kinds of input that its client supports.
    pub(super) inputs: Inputs,
    /// Of a legacy request whose handler may ask: what it is asked again with.
    pub(super) again: Option<Box<RetryContext>>,
    /// Its share of the endpoint's budget. Its [`Reply`](super::Reply) holds the share while the
    /// handler runs.
    pub(super) charge: Option<Charge>,
}

/// Estimated memory of a request in flight in addition to its message, in bytes: its handler and
/// its stream.
pub(super) const PER_CALL: usize = 2 * 1024;

/// Properties of a request that its answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    Tool {
        /// Legacy clients see its structured content inside of an object.
        wraps: bool,
    },
    Prompt,
    Resource {
        /// It brought input, on which the answer depends.
        retried: bool,
    },
    Completion,
    /// Of a method that the specification does not have.
    Other,
    /// A request that another server answers.
    Forwarded(Forward),
}

impl CallKind {
    /// Returns whether the client may be asked for input, and may bring some along.
    pub(super) fn takes_input(self) -> bool {
        match self {
            Self::Tool { .. } | Self::Prompt | Self::Resource { .. } => true,
            Self::Completion | Self::Other | Self::Forwarded(_) => false,
        }
    }
}

/// A forwarded request, as far as its answer depends on its method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forward {
    Initialize,
    Discover(EraPolicy),
    Listen,
    Other,
}

/// A request that a handler may have to see again.
#[derive(Debug)]
pub(super) struct RetryContext {
    pub(super) method: Method,
    pub(super) params: Params,
    /// Number of times it has asked for input.
    pub(super) rounds: usize,
    /// The bytes of the input of the last round.
    pub(super) input: usize,
}

/// The sender of a request, and what came with it beside its parameters.
pub(super) struct Requester {
    pub(super) peer: Peer,
    /// Kinds of input that its client supports.
    pub(super) inputs: Inputs,
    pub(super) input: Option<Box<Input>>,
    pub(super) log_level: Option<LoggingLevel>,
}
