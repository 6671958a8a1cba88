//! The resources of a legacy server that subscriptions use.
//!
//! In: requests to subscribe, their answers, subscriptions that end. Out: whether any subscription
//! needs a resource. The cost does not grow with the number of subscriptions and resources.

use alloc::collections::BTreeMap;
use alloc::string::String;

/// The used resources, by URI.
#[derive(Debug, Default)]
pub(super) struct ResourceUses(BTreeMap<String, ResourceUse>);

/// The numbers of subscriptions that use a resource.
#[derive(Debug, Default)]
struct ResourceUse {
    /// Those for which the server has not answered yet.
    pending: usize,
    subscribed: usize,
}

impl ResourceUses {
    /// Records that a subscription waits for the server's answer.
    pub(super) fn begin(&mut self, uri: &str) {
        self.0.entry(uri.into()).or_default().pending += 1;
    }

    /// Records that the server has accepted the resource for a subscription.
    pub(super) fn accept(&mut self, uri: &str) {
        self.0.entry(uri.into()).or_default().subscribed += 1;
    }

    /// Records the answer to a subscription that has waited for it.
    pub(super) fn end_pending(&mut self, uri: &str) {
        self.change(uri, |it| it.pending = it.pending.saturating_sub(1));
    }

    /// Records that a subscription no longer uses a resource.
    pub(super) fn leave(&mut self, uri: &str) {
        self.change(uri, |it| it.subscribed = it.subscribed.saturating_sub(1));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns whether the server has accepted a resource for any subscription.
    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.0.get(uri).is_some_and(|it| it.subscribed > 0)
    }

    /// Returns whether any subscription uses a resource, or waits for it.
    pub(super) fn is_used(&self, uri: &str) -> bool {
        self.0.contains_key(uri)
    }

    fn change(&mut self, uri: &str, change: impl FnOnce(&mut ResourceUse)) {
        if let Some(found) = self.0.get_mut(uri) {
            change(found);
            if found.pending == 0 && found.subscribed == 0 {
                self.0.remove(uri);
            }
        }
    }
}
