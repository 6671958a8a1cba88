//! What an application is told of, as it comes.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::future::poll_fn;
use core::task::{Context, Poll};

use super::super::mailbox::Mailbox;
use super::port::{Command, Port};
use mcp_proto::client::{CallError, Change, SubscriptionId};
use mcp_proto::types::SubscriptionFilter;

/// As many changes, and bytes of their URIs, wait to be taken; then the oldest go. Each is there
/// once.
const MAX_CHANGES: usize = 1024;
const MAX_CHANGE_BYTES: usize = 1024 * 1024;

/// An open subscription; dropping it ends it.
pub struct Subscription {
    port: Arc<Port>,
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
}

impl Subscription {
    /// Subscribes, and waits for what the server honours of it.
    pub(super) async fn open(
        port: Arc<Port>,
        filter: SubscriptionFilter,
    ) -> Result<Self, CallError> {
        let feed = Arc::new(Feed::default());
        port.command(Command::Subscribe { feed: feed.clone(), filter });
        // From here on, dropping it ends it.
        let mut subscription =
            Self { port, feed: feed.clone(), honoured: SubscriptionFilter::default() };
        subscription.honoured = poll_fn(|context| feed.poll_begun(context)).await?;
        Ok(subscription)
    }

    /// Why it has ended, once it has: `Ok` if the server has ended it, which means that it is not to
    /// be opened again.
    pub fn ended(&self) -> Option<Result<(), CallError>> {
        self.feed.state.look(|state| state.ended.clone())
    }

    /// What the server honours of what was asked for.
    pub fn honoured(&self) -> &SubscriptionFilter {
        &self.honoured
    }

    /// The next change; a change that comes again before it was taken is there once. `None` after
    /// the end.
    pub fn changed(&mut self) -> impl Future<Output = Option<Change>> + Send + '_ {
        poll_fn(|context| self.feed.poll_next(context))
    }
}

/// The bytes of what a server chooses.
fn bytes(change: &Change) -> usize {
    match change {
        Change::ResourceUpdated(uri) => uri.len(),
        _ => 0,
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let feed = self.feed.clone();
        self.port.apply(move |client, now| {
            if let Some(subscription) = feed.subscription() {
                // It may have ended meanwhile.
                let _ = client.unsubscribe(now, subscription);
            }
        });
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("honoured", &self.honoured).finish_non_exhaustive()
    }
}

/// Where the changes of a subscription are put.
#[derive(Default)]
pub(super) struct Feed {
    state: Mailbox<State>,
}

#[derive(Default)]
struct State {
    /// What the machine calls it, once it does.
    subscription: Option<SubscriptionId>,
    honoured: Option<SubscriptionFilter>,
    changes: VecDeque<Change>,
    bytes: usize,
    ended: Option<Result<(), CallError>>,
}

impl Feed {
    pub(super) fn begin(&self, subscription: SubscriptionId) {
        self.state.look(|state| state.subscription = Some(subscription));
    }

    pub(super) fn subscription(&self) -> Option<SubscriptionId> {
        self.state.look(|state| state.subscription)
    }

    pub(super) fn honour(&self, honoured: SubscriptionFilter) {
        self.tell(|state| state.honoured = Some(honoured));
    }

    pub(super) fn push(&self, change: &Change) {
        self.tell(|state| {
            if state.changes.contains(change) {
                return;
            }
            state.bytes += bytes(change);
            state.changes.push_back(change.clone());
            while state.changes.len() > MAX_CHANGES || state.bytes > MAX_CHANGE_BYTES {
                let Some(oldest) = state.changes.pop_front() else { break };
                state.bytes = state.bytes.saturating_sub(bytes(&oldest));
            }
        });
    }

    pub(super) fn end(&self, cause: Result<(), CallError>) {
        self.tell(|state| state.ended = Some(cause));
    }

    fn tell(&self, tell: impl FnOnce(&mut State)) {
        self.state.put(|state| {
            tell(state);
            Some(())
        });
    }

    fn poll_begun(&self, context: &Context<'_>) -> Poll<Result<SubscriptionFilter, CallError>> {
        self.state.poll(context.waker(), |state| match (&state.honoured, &state.ended) {
            (Some(honoured), _) => Some(Ok(honoured.clone())),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            // It was over before it began.
            (None, Some(Ok(()))) => Some(Ok(SubscriptionFilter::default())),
            (None, None) => None,
        })
    }

    fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Change>> {
        self.state.poll(context.waker(), |state| match state.changes.pop_front() {
            Some(change) => {
                state.bytes = state.bytes.saturating_sub(bytes(&change));
                Some(Some(change))
            }
            None => state.ended.is_some().then_some(None),
        })
    }
}
