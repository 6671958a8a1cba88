//! Meeting place of a subscription and its changes.

use alloc::collections::VecDeque;
use core::task::{Context, Poll};

use super::super::mailbox::Mailbox;
use mcp_proto::client::{CallError, Change, SubscriptionId};
use mcp_proto::types::SubscriptionFilter;

/// As many changes, and bytes of their URIs and tasks, wait to be taken; then the oldest go. Each is
/// there once, and of a task its last state.
const MAX_CHANGES: usize = 1024;
const MAX_CHANGE_BYTES: usize = 1024 * 1024;

/// Changes of a subscription that the application has not taken.
#[derive(Default)]
pub(super) struct Feed {
    state: Mailbox<FeedState>,
}

#[derive(Default)]
struct FeedState {
    /// Id that the machine has given to the subscription, once it has.
    subscription: Option<SubscriptionId>,
    honoured: Option<SubscriptionFilter>,
    changes: VecDeque<Change>,
    bytes: usize,
    ended: Option<Result<(), CallError>>,
}

impl FeedState {
    /// Takes out the state of a task that another one follows.
    fn forget_task(&mut self, task_id: &str) {
        let Self { changes, bytes: total, .. } = self;
        changes.retain(|change| {
            let is_old = matches!(change, Change::TaskUpdated(it) if it.task_id() == task_id);
            if is_old {
                *total = total.saturating_sub(bytes(change));
            }
            !is_old
        });
    }
}

impl Feed {
    pub(super) fn begin(&self, subscription: SubscriptionId) {
        self.state.look(|state| state.subscription = Some(subscription));
    }

    pub(super) fn subscription(&self) -> Option<SubscriptionId> {
        self.state.look(|state| state.subscription)
    }

    /// The end, once it has come.
    pub(super) fn ended(&self) -> Option<Result<(), CallError>> {
        self.state.look(|state| state.ended.clone())
    }

    pub(super) fn honour(&self, honoured: SubscriptionFilter) {
        self.tell(|state| state.honoured = Some(honoured));
    }

    pub(super) fn push(&self, change: &Change) {
        self.tell(|state| {
            if state.changes.contains(change) {
                return;
            }
            if let Change::TaskUpdated(update) = change {
                state.forget_task(update.task_id());
            }
            state.bytes += bytes(change);
            state.changes.push_back(change.clone());
            // One is kept whatever its size.
            while state.changes.len() > MAX_CHANGES
                || state.changes.len() > 1 && state.bytes > MAX_CHANGE_BYTES
            {
                let Some(oldest) = state.changes.pop_front() else { break };
                state.bytes = state.bytes.saturating_sub(bytes(&oldest));
            }
        });
    }

    pub(super) fn end(&self, cause: Result<(), CallError>) {
        self.tell(|state| state.ended = Some(cause));
    }

    fn tell(&self, tell: impl FnOnce(&mut FeedState)) {
        self.state.put(|state| {
            tell(state);
            Some(())
        });
    }

    pub(super) fn poll_begun(
        &self,
        context: &Context<'_>,
    ) -> Poll<Result<SubscriptionFilter, CallError>> {
        self.state.poll(context.waker(), |state| match (&state.honoured, &state.ended) {
            (Some(honoured), _) => Some(Ok(honoured.clone())),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            // It was over before it began.
            (None, Some(Ok(()))) => Some(Ok(SubscriptionFilter::default())),
            (None, None) => None,
        })
    }

    pub(super) fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Change>> {
        self.state.poll(context.waker(), |state| match state.changes.pop_front() {
            Some(change) => {
                state.bytes = state.bytes.saturating_sub(bytes(&change));
                Some(Some(change))
            }
            None => state.ended.is_some().then_some(None),
        })
    }
}

/// The bytes of what a server chooses.
fn bytes(change: &Change) -> usize {
    match change {
        Change::ResourceUpdated(uri) => uri.len(),
        Change::TaskUpdated(update) => update.task().as_bytes().len(),
        _ => 0,
    }
}
