//! The bridge's own requests about resources of a legacy server.
//!
//! In: resources that clients need on another connection, and resources that no client needs any
//! more; answers. Out: `resources/subscribe` and `resources/unsubscribe`, in `resources`. They
//! leave a quarter of `Limits::max_in_flight` to the requests of clients.
//!
//! | request | planned | without room | not needed when its turn comes |
//! |---|---|---|---|
//! | subscribe | when another connection begins | waits | is left out |
//! | unsubscribe | when the last client leaves | waits; above `Limits::max_subscriptions` is left out | is left out: a client has subscribed |
//!
//! A resource that is left out is no problem: the bridge drops changes that no client needs.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;

use crate::client::CallId;

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
    to_leave: VecDeque<String>,
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

    /// Plans to unsubscribe from a resource, unless `max` resources wait for that.
    pub(super) fn plan_leave(&mut self, uri: &str, max: usize) {
        if self.to_leave.len() < max {
            self.to_leave.push_back(uri.into());
        }
    }

    /// The next planned call, while the calls in flight leave a quarter of `Limits::max_in_flight`
    /// to other calls.
    pub(super) fn next(&mut self, max_in_flight: usize) -> Option<(OwnCall, String)> {
        if self.pending.len() >= max_in_flight.saturating_sub(max_in_flight / 4) {
            return None;
        }
        let renewed = self.to_renew.pop_first().map(|uri| (OwnCall::Subscribe, uri));
        renewed.or_else(|| Some((OwnCall::Unsubscribe, self.to_leave.pop_front()?)))
    }
}
