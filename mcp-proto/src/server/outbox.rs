//! Queue of the actions that the driver of a server has not polled yet.
//!
//! In: actions; the configuration, for the total size of all answers. Out: the actions, in order.
//! If the client does not read, the driver polls no actions, and the results of handlers wait here.
//! A result that does not fit into `Limits::max_endpoint_bytes` becomes an error.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::event::{ServerAction, StreamId};
use super::{Config, ServerEvent};
use crate::budget::{Account, SMALL};
use crate::error::ValidationStep;
use crate::machine::Action;
use crate::message::{ErrorData, Outgoing};

#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<ServerAction>,
    /// The charged messages. Usually there are none, so an idle session has no allocation for them.
    counted: Option<Box<Counted>>,
}

/// The charged messages.
#[derive(Debug)]
struct Counted {
    bytes: usize,
    account: Account,
}

/// The error in place of a result that does not fit into the budget.
const NO_ROOM: &str = "the request was executed, but its result does not fit into \
                       what is left of Limits::max_endpoint_bytes";

impl Outbox {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { actions: VecDeque::with_capacity(capacity), counted: None }
    }

    /// Adds a message. `step` is the step at which the answered request failed, if any.
    pub(super) fn send(
        &mut self,
        config: &Config,
        mut message: Outgoing,
        stream: Option<StreamId>,
        step: Option<ValidationStep>,
    ) {
        let size = message.size_hint();
        if size > SMALL {
            let max = config.limits.max_endpoint_bytes;
            let before = self.counted.as_ref().map_or(0, |counted| counted.bytes);
            let bytes = before.saturating_add(size);
            if message.is_answer() && !config.budget.fits(max, bytes) {
                config.budget.record_refusal();
                message = without_result(message);
            } else {
                let none = || Box::new(Counted { bytes: 0, account: config.account() });
                self.counted.get_or_insert_with(none).set(bytes);
            }
        }
        self.actions.push_back(ServerAction::Send { message, stream, step });
    }

    /// Adds an action other than a message.
    pub(super) fn push(&mut self, action: ServerAction) {
        self.actions.push_back(action);
    }

    /// Removes and returns the next action.
    pub(super) fn pop(&mut self) -> Option<ServerAction> {
        if let Some(counted) = &mut self.counted
            && let Some(ServerAction::Send { message, .. }) = self.actions.front()
        {
            let size = message.size_hint();
            counted.set(counted.bytes.saturating_sub(if size > SMALL { size } else { 0 }));
            if counted.bytes == 0 {
                self.counted = None;
            }
        }
        self.actions.pop_front()
    }

    /// Removes and returns the next action, if it is a message.
    pub(super) fn pop_message(&mut self) -> Option<Outgoing> {
        let Some(ServerAction::Send { .. }) = self.actions.front() else { return None };
        match self.pop()? {
            ServerAction::Send { message, .. } => Some(message),
            ServerAction::Unanswered(_) | ServerAction::Event(_) | ServerAction::Close => None,
        }
    }

    /// Removes and returns the next action, if it is not a message.
    pub(super) fn pop_event(&mut self) -> Option<Action<ServerEvent>> {
        if let ServerAction::Send { .. } = self.actions.front()? {
            return None;
        }
        match self.actions.pop_front()? {
            ServerAction::Event(event) => Some(Action::Event(event)),
            ServerAction::Close => Some(Action::Close),
            // `Unanswered` is only queued over HTTP.
            ServerAction::Unanswered(_) | ServerAction::Send { .. } => None,
        }
    }

    /// Drops all messages, because the client does not read any more.
    pub(super) fn forget_messages(&mut self) {
        self.actions.retain(|action| !matches!(action, ServerAction::Send { .. }));
        self.counted = None;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub(super) fn shrink(&mut self) {
        self.actions.shrink_to_fit();
    }
}

impl Counted {
    /// Sets the charged bytes.
    fn set(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.account.set(bytes);
    }
}

/// The same answer to a request of a batch, which waits for the other answers. A result that does
/// not fit into the budget becomes an error.
pub(super) fn fitting(config: &Config, answer: Outgoing) -> Outgoing {
    let size = answer.size_hint();
    if size <= SMALL || config.budget.fits(config.limits.max_endpoint_bytes, size) {
        return answer;
    }
    config.budget.record_refusal();
    without_result(answer)
}

/// The same answer with the error `NO_ROOM` in place of its result or error.
pub(super) fn without_result(message: Outgoing) -> Outgoing {
    let error = ErrorData::internal(NO_ROOM);
    match message {
        Outgoing::Result { id, .. } => Outgoing::Error { id: Some(id), error },
        Outgoing::Error { id, .. } => Outgoing::Error { id, error },
        Outgoing::Batch(answers) => {
            Outgoing::Batch(answers.into_iter().map(without_result).collect())
        }
        other @ (Outgoing::Notification { .. } | Outgoing::Request { .. }) => other,
    }
}
