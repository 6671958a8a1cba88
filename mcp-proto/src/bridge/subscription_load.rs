//! Number and size of the subscriptions of all clients of a bridge, which share one limit.
//!
//! In: the subscriptions of each kind of client. Out: their sum, or the error above the limit.

use crate::limits::Limits;
use crate::message::ErrorData;

/// The resources that clients of a bridge have subscribed to, once for each client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SubscriptionLoad {
    pub(super) count: usize,
    /// The length of the URIs.
    pub(super) bytes: usize,
}

impl SubscriptionLoad {
    pub(super) fn plus(self, other: Self) -> Self {
        let count = self.count.saturating_add(other.count);
        Self { count, bytes: self.bytes.saturating_add(other.bytes) }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let count = self.count.saturating_sub(other.count);
        Self { count, bytes: self.bytes.saturating_sub(other.bytes) }
    }

    pub(super) fn fits(self, limits: &Limits) -> bool {
        self.exceeded(limits).is_none()
    }

    /// Fails if the load is more than the limits allow.
    pub(super) fn check(self, limits: &Limits) -> Result<(), ErrorData> {
        self.exceeded(limits).map_or(Ok(()), |(name, max)| {
            let why = alloc::format!("the bridge's Limits::{name} = {max} would be exceeded");
            Err(ErrorData::internal(why))
        })
    }

    /// The limit that the load exceeds, and its value.
    fn exceeded(self, limits: &Limits) -> Option<(&'static str, usize)> {
        let Limits { max_subscriptions, max_subscription_bytes, .. } = *limits;
        if self.count > max_subscriptions {
            Some(("max_subscriptions", max_subscriptions))
        } else {
            (self.bytes > max_subscription_bytes)
                .then_some(("max_subscription_bytes", max_subscription_bytes))
        }
    }
}
