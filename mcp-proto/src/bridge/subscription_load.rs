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
        self.count <= limits.max_subscriptions && self.bytes <= limits.max_subscription_bytes
    }

    /// Fails if the load is more than the limits allow.
    pub(super) fn check(self, limits: &Limits) -> Result<(), ErrorData> {
        if self.fits(limits) {
            return Ok(());
        }
        Err(ErrorData::internal("Limits::max_subscriptions of the bridge is reached"))
    }
}
