//! The bridge's own requests about resources of a legacy server.
//!
//! In: resources that clients need on another connection, and resources that no client needs any
//! more; answers. Out: `resources/subscribe` and `resources/unsubscribe`, in `resources`. They
//! leave a quarter of `Limits::max_in_flight` to the requests of clients.
//!
//! | request | planned | without room | not needed when its turn comes |
//! |---|---|---|---|
//! | subscribe | when another connection begins; when a client subscribed while the bridge unsubscribed | waits | is left out |
//! | unsubscribe | when the last client leaves | waits; above `Limits::max_subscriptions`, or `Limits::max_subscription_bytes` of URIs, is left out | is left out: a client has subscribed |
//!
//! A call that the client has no room for is planned again. A response to any call makes room.
//! A resource that is left out is no problem: the bridge drops changes that no client needs.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::subscription_load::SubscriptionLoad;
use crate::client::CallId;
use crate::limits::Limits;

/// A call of the bridge itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum OwnCall {
    /// Subscribes again, to a resource that clients need.
    Subscribe,
    /// Unsubscribes, from a resource that no client needs.
    Unsubscribe,
}

#[derive(Debug, Default)]
pub(super) struct OwnCalls {
    /// The calls in flight, with their resources.
    pending: BTreeMap<CallId, (OwnCall, String)>,
    to_renew: BTreeSet<String>,
    to_leave: BTreeSet<String>,
}

impl OwnCalls {
    pub(super) fn add(&mut self, id: CallId, call: OwnCall, uri: String) {
        self.pending.insert(id, (call, uri));
    }

    pub(super) fn take(&mut self, id: CallId) -> Option<(OwnCall, String)> {
        self.pending.remove(&id)
    }

    /// Plans to subscribe again to these resources, except those whose calls are not answered: if
    /// the session is lost meanwhile, the client sends these calls once more. The connection has no
    /// other subscriptions.
    pub(super) fn plan_renewals(&mut self, mut uris: BTreeSet<String>) {
        for (call, uri) in self.pending.values() {
            if *call == OwnCall::Subscribe {
                uris.remove(uri);
            }
        }
        self.to_renew = uris;
        self.to_leave.clear();
    }

    /// Plans a call once more that could not be made.
    pub(super) fn plan_again(&mut self, call: OwnCall, uri: String) {
        match call {
            OwnCall::Subscribe => self.to_renew.insert(uri),
            OwnCall::Unsubscribe => self.to_leave.insert(uri),
        };
    }

    /// Plans to unsubscribe from these resources, except those above the limits. The bytes of those
    /// that the server has not answered count too.
    pub(super) fn plan_leaves<'a>(
        &mut self,
        uris: impl Iterator<Item = &'a String>,
        limits: &Limits,
    ) {
        let is_left = |(call, _): &&(OwnCall, String)| *call == OwnCall::Unsubscribe;
        let sent = self.pending.values().filter(is_left).map(|(_, uri)| uri);
        let bytes =
            sent.chain(&self.to_leave).fold(0_usize, |sum, uri| sum.saturating_add(uri.len()));
        let mut load = SubscriptionLoad { count: self.to_leave.len(), bytes };
        for uri in uris {
            let more = load.plus(SubscriptionLoad { count: 1, bytes: uri.len() });
            if more.fits(limits) && self.to_leave.insert(uri.clone()) {
                load = more;
            }
        }
    }

    /// The next planned call, while the calls in flight leave a quarter of `Limits::max_in_flight`
    /// to other calls.
    pub(super) fn next(&mut self, max_in_flight: usize) -> Option<(OwnCall, String)> {
        if self.pending.len() >= max_in_flight.saturating_sub(max_in_flight / 4) {
            return None;
        }
        let renewed = self.to_renew.pop_first().map(|uri| (OwnCall::Subscribe, uri));
        renewed.or_else(|| Some((OwnCall::Unsubscribe, self.to_leave.pop_first()?)))
    }
}
