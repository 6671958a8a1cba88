//! One request in flight, with the data that its answer and a second call of its handler need.

use alloc::boxed::Box;
use alloc::sync::Arc;

use bytes::BytesMut;

use super::event::{Peer, StreamId};
use super::extensions::Extensions;
use super::inputs::Inputs;
use super::outcome::Input;
use crate::budget::Charge;
use crate::message::{Method, Params, ProgressToken, RequestId};
use crate::time::Instant;
use crate::types::LoggingLevel;
use crate::version::{Era, EraPolicy};

/// The path of a message and of its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyPath {
    /// Stream of the response to the HTTP request of the message.
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
    /// Boxed, since few clients ask for progress: a smaller call is moved with fewer instructions.
    pub(super) progress: Option<Box<CallProgress>>,
    /// The least severe log messages that a modern client wants for its request.
    pub(super) log_level: Option<LoggingLevel>,
    /// Deadline of the handler.
    pub(super) deadline: Instant,
    /// The bytes of the message, and of the input that the client has given for it.
    pub(super) size: usize,
    /// The path of the answer.
    pub(super) path: ReplyPath,
    /// True if the handler may ask for input.
    pub(super) asks: bool,
    /// Kinds of input that the client supports.
    pub(super) inputs: Inputs,
    /// The data for another call of the handler; only for a legacy request whose handler may ask
    /// for input.
    pub(super) retry: Option<Box<RetryContext>>,
    /// The request's share of the endpoint's budget. The [`Reply`](super::Reply) owns the share
    /// while the handler runs.
    pub(super) charge: Option<Charge>,
}

/// The progress of a request.
#[derive(Debug)]
pub(super) struct CallProgress {
    /// The token of the client; `None` if it does not want progress.
    pub(super) token: Option<ProgressToken>,
    /// The last reported progress.
    pub(super) last: f64,
    /// Memory that the notifications share. An allocation for each takes more instructions than
    /// writing it.
    pub(super) memory: BytesMut,
}

impl CallProgress {
    /// The progress of a request before its first report.
    pub(super) fn new(token: Option<ProgressToken>) -> Self {
        Self { token, last: f64::NEG_INFINITY, memory: BytesMut::new() }
    }
}

impl Call {
    /// Returns whether this is a subscription that another server serves.
    pub(super) fn is_forwarded_subscription(&self) -> bool {
        self.kind == CallKind::Forwarded(Forward::Listen)
    }

    /// The token with which the client asked for progress.
    pub(super) fn token(&self) -> Option<&ProgressToken> {
        self.progress.as_ref()?.token.as_ref()
    }
}

/// Estimated memory of a request in flight in addition to its message, in bytes: its handler and
/// its stream.
pub(super) const PER_CALL: usize = 2 * 1024;

/// Properties of a request that its answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    Tool {
        /// True if legacy clients get the structured content wrapped in an object.
        wraps: bool,
        /// The call may become a task: its client is modern and declares the extension.
        task: bool,
    },
    Prompt,
    Resource {
        /// True if the request contains input, on which the answer depends.
        retried: bool,
    },
    Completion,
    /// A subscription that names tasks.
    Subscription,
    /// A request with a method that has a handler of its own.
    Other,
    /// A request that another server answers.
    Forwarded(Forward),
}

impl CallKind {
    pub(super) fn is_tool(self) -> bool {
        matches!(self, Self::Tool { .. })
    }

    /// Returns whether the server may ask the client for input, and accept input in the request.
    pub(super) fn takes_input(self) -> bool {
        match self {
            Self::Tool { .. } | Self::Prompt | Self::Resource { .. } => true,
            Self::Completion | Self::Subscription | Self::Other | Self::Forwarded(_) => false,
        }
    }
}

/// A forwarded request: the properties of its method that its answer depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forward {
    Initialize,
    Discover(EraPolicy),
    Listen,
    Other,
}

/// A request whose handler may have to be called again.
#[derive(Debug)]
pub(super) struct RetryContext {
    pub(super) method: Method,
    pub(super) params: Params,
    /// The values of the HTTP request.
    pub(super) extensions: Extensions,
    /// Number of times that the handler has asked for input.
    pub(super) rounds: usize,
    /// The bytes of the input of the last round.
    pub(super) input: usize,
}

/// The sender of a request, and the data that came with the request in addition to its parameters.
pub(super) struct Requester {
    pub(super) peer: Arc<Peer>,
    /// Kinds of input that the client supports.
    pub(super) inputs: Inputs,
    pub(super) input: Option<Box<Input>>,
    pub(super) log_level: Option<LoggingLevel>,
}
