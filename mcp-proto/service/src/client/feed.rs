//! Queue of the changes of a subscription, shared by the application and the service.

use alloc::collections::VecDeque;
use core::task::{Context, Poll};

use super::super::mailbox::Mailbox;
use mcp_proto::client::{CallError, Change, SubscriptionId};
use mcp_proto::types::SubscriptionFilter;

/// The most queued changes, and bytes of their URIs and tasks; beyond them the oldest changes are
/// dropped. Equal changes are queued once, and only the last state of a task.
const MAX_CHANGES: usize = 1024;
const MAX_CHANGE_BYTES: usize = 1024 * 1024;

/// Changes of a subscription that the application has not taken.
#[derive(Default)]
pub(super) struct Feed {
    state: Mailbox<FeedState>,
}

#[derive(Default)]
struct FeedState {
    /// The machine's id of the subscription, once it was sent.
    subscription: Option<SubscriptionId>,
    honoured: Option<SubscriptionFilter>,
    changes: VecDeque<Change>,
    bytes: usize,
    ended: Option<Result<(), CallError>>,
}

impl FeedState {
    /// Removes an older state of a task.
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
        self.state.with(|state| state.subscription = Some(subscription));
    }

    pub(super) fn subscription(&self) -> Option<SubscriptionId> {
        self.state.with(|state| state.subscription)
    }

    /// The end of the subscription, if it has ended.
    pub(super) fn ended(&self) -> Option<Result<(), CallError>> {
        self.state.with(|state| state.ended.clone())
    }

    pub(super) fn honour(&self, honoured: SubscriptionFilter) {
        self.state.update(|state| state.honoured = Some(honoured));
    }

    pub(super) fn push(&self, change: &Change) {
        self.state.update(|state| {
            if state.changes.contains(change) {
                return;
            }
            if let Change::TaskUpdated(update) = change {
                state.forget_task(update.task_id());
            }
            state.bytes += bytes(change);
            state.changes.push_back(change.clone());
            // One change is kept whatever its size.
            while state.changes.len() > MAX_CHANGES
                || state.changes.len() > 1 && state.bytes > MAX_CHANGE_BYTES
            {
                let Some(oldest) = state.changes.pop_front() else { break };
                state.bytes = state.bytes.saturating_sub(bytes(&oldest));
            }
        });
    }

    pub(super) fn end(&self, cause: Result<(), CallError>) {
        self.state.update(|state| state.ended = Some(cause));
    }

    pub(super) fn poll_begun(
        &self,
        context: &Context<'_>,
    ) -> Poll<Result<SubscriptionFilter, CallError>> {
        self.state.poll(context.waker(), |state| match (&state.honoured, &state.ended) {
            (Some(honoured), _) => Some(Ok(honoured.clone())),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            // The subscription has ended before the acknowledgement.
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

/// The bytes of a change whose length the server chooses.
fn bytes(change: &Change) -> usize {
    match change {
        Change::ResourceUpdated(uri) => uri.len(),
        Change::TaskUpdated(update) => update.task().as_bytes().len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::task::Waker;
    use mcp_proto::Json;
    use mcp_proto::server::TaskUpdate;

    fn updated(uri: &str, length: usize) -> Change {
        Change::ResourceUpdated(format!("{uri}{}", "u".repeat(length)))
    }

    /// The state of the task `t` with this number, and a text of this length.
    fn state(order: u64, length: usize) -> Change {
        let text = "x".repeat(length);
        let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"ttlMs\":null";
        let task = format!(
            "{{\"taskId\":\"t\",\"status\":\"working\",\"statusMessage\":\"{order}{text}\",{times}}}"
        );
        let update = TaskUpdate::new(Json::parse(task).unwrap(), order, None).unwrap();
        Change::TaskUpdated(Arc::new(update))
    }

    /// Takes all changes; shows URIs by their first characters and tasks by their orders.
    fn taken(feed: &Feed) -> Vec<String> {
        feed.end(Ok(()));
        let context = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        while let Poll::Ready(Some(change)) = feed.poll_next(&context) {
            all.push(match &change {
                Change::ResourceUpdated(uri) => uri.chars().take(1).collect(),
                Change::TaskUpdated(update) => {
                    let text = update.task().to_string();
                    text.chars().filter(char::is_ascii_digit).collect()
                }
                _ => String::new(),
            });
        }
        all
    }

    #[test]
    fn only_the_last_state_of_a_task_waits() {
        let feed = Feed::default();
        for change in [state(1, 0), updated("a", 0), state(2, 0), state(3, 0), updated("a", 0)] {
            feed.push(&change);
        }
        assert_eq!(taken(&feed), ["a", "3"]);
    }

    #[test]
    fn earlier_states_of_a_task_take_no_room() {
        let feed = Feed::default();
        feed.push(&updated("a", 0));
        for order in 1..=8 {
            feed.push(&state(order, MAX_CHANGE_BYTES / 4));
        }
        assert_eq!(taken(&feed), ["a", "8"]);
    }

    #[test]
    fn oldest_changes_beyond_the_bytes_are_dropped() {
        let feed = Feed::default();
        for uri in ["a", "b", "c", "d"] {
            feed.push(&updated(uri, MAX_CHANGE_BYTES / 2 - 1));
        }
        assert_eq!(taken(&feed), ["c", "d"]);
        let feed = Feed::default();
        feed.push(&updated("a", 2 * MAX_CHANGE_BYTES));
        assert_eq!(taken(&feed), ["a"], "one change is kept whatever its size");
    }
}
