//! Subscriptions to changes of a server.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::future::poll_fn;

use super::client_mailbox::{ClientCommand, ClientMailbox};
use super::feed::Feed;
use mcp_proto::client::{CallError, Change};
use mcp_proto::types::SubscriptionFilter;

/// An open subscription. Dropping it unsubscribes.
#[must_use = "dropping it unsubscribes"]
pub struct Subscription {
    mailbox: Arc<ClientMailbox>,
    feed: Arc<Feed>,
    honoured: SubscriptionFilter,
}

impl Subscription {
    /// Subscribes, and waits for the acknowledgement.
    pub(super) async fn open(
        mailbox: Arc<ClientMailbox>,
        filter: SubscriptionFilter,
    ) -> Result<Self, CallError> {
        let feed = Arc::new(Feed::default());
        mailbox.command(ClientCommand::Subscribe { feed: feed.clone(), filter });
        // From here on, dropping the future unsubscribes.
        let mut subscription =
            Self { mailbox, feed: feed.clone(), honoured: SubscriptionFilter::default() };
        subscription.honoured = poll_fn(|context| feed.poll_begun(context)).await?;
        Ok(subscription)
    }

    /// The cause of the end, if the subscription has ended: `Ok` if the server has ended it, as a
    /// modern server does at a graceful shutdown. The client does not subscribe again then. An
    /// application that follows the next server subscribes again after a pause.
    pub fn ended(&self) -> Option<Result<(), CallError>> {
        self.feed.ended()
    }

    /// Part of the requested filter that the server honoured when the subscription began. The part
    /// stays the same after a reconnect, although the next server may honour more or less.
    pub fn honoured(&self) -> &SubscriptionFilter {
        &self.honoured
    }

    /// Waits for the next change; `None` after the end. Equal changes that were not taken yet are
    /// merged. Above 1,024 changes or 1 MiB that were not taken, the oldest ones are dropped.
    ///
    /// Dropping the future loses no change.
    pub fn changed(&mut self) -> impl Future<Output = Option<Change>> + Send + '_ {
        poll_fn(|context| self.feed.poll_next(context))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let feed = self.feed.clone();
        self.mailbox.apply(move |client, now| {
            if let Some(subscription) = feed.subscription() {
                // The subscription may have ended by now.
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
