//! The actions of a server that nobody has taken yet.
//!
//! In: actions; the settings, for the bound of all answers together. Out: the actions, in order.
//! While the driver does not take them because the client does not read, the results of handlers
//! wait here; one that does not fit into `Limits::max_endpoint_bytes` becomes an error.

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
    /// The messages that count, if any does. Mostly none does, and an idle session has no room.
    counted: Option<Box<Counted>>,
}

/// The messages that count.
#[derive(Debug)]
struct Counted {
    bytes: usize,
    account: Account,
}

/// The error in place of a result that there is no room for.
const NO_ROOM: &str = "the request was executed, but its result does not fit into \
                       Limits::max_endpoint_bytes beside all that the server holds";

impl Outbox {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { actions: VecDeque::with_capacity(capacity), ..Self::default() }
    }

    /// Adds a message. `step` is where the request failed that it answers, if it did.
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

    /// Adds an action that sends nothing.
    pub(super) fn push(&mut self, action: ServerAction) {
        self.actions.push_back(action);
    }

    /// Takes the next action.
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

    /// Takes the next action if it is to send a message.
    pub(super) fn pop_message(&mut self) -> Option<Outgoing> {
        let Some(ServerAction::Send { .. }) = self.actions.front() else { return None };
        match self.pop()? {
            ServerAction::Send { message, .. } => Some(message),
            ServerAction::Unanswered(_) | ServerAction::Event(_) | ServerAction::Close => None,
        }
    }

    /// Takes the next action if it is not to send a message.
    pub(super) fn pop_event(&mut self) -> Option<Action<ServerEvent>> {
        if let ServerAction::Send { .. } = self.actions.front()? {
            return None;
        }
        match self.actions.pop_front()? {
            ServerAction::Event(event) => Some(Action::Event(event)),
            ServerAction::Close => Some(Action::Close),
            // Byte streams have no streams of their own.
            ServerAction::Unanswered(_) | ServerAction::Send { .. } => None,
        }
    }

    /// Nobody reads messages any more.
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
    /// Counts so many bytes from here on.
    fn set(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.account.set(bytes);
    }
}

/// The same answer without what it brings.
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
