//! Resources of a legacy server that the bridge itself subscribes to, and unsubscribes from.
//!
//! In: resources that clients need or leave, and the server's answers. Out: the requests that
//! `own_calls` plans.

use alloc::string::String;

use super::machine::Bridge;
use super::own_calls::OwnCall;
use super::subscriptions::about_resource;
use crate::client::{CallError, CallOptions, Client};
use crate::json::Json;
use crate::time::Instant;
use crate::version::Era;

impl Bridge {
    /// Unsubscribes from the resources that no client needs any more.
    pub(super) fn unsubscribe(&mut self, now: Instant, uris: &[String], client: &mut Client) {
        if self.upstream.era(client) != Some(Era::Legacy) {
            return;
        }
        for uri in uris {
            if !self.is_needed(uri) {
                self.own.plan_leave(uri, self.config.limits.max_subscriptions);
            }
        }
        self.send_own(now, client);
    }

    /// Handles the answer to a call of the bridge. If a client has subscribed while the bridge
    /// unsubscribed, the bridge subscribes again: over HTTP the server may have read both requests
    /// in the other order.
    pub(super) fn handle_own_answer(
        &mut self,
        now: Instant,
        (call, uri): (OwnCall, String),
        result: &Result<Json, CallError>,
        client: &mut Client,
    ) {
        match call {
            OwnCall::Subscribe => self.handle_renewed(&uri, result),
            OwnCall::Unsubscribe if self.is_needed(&uri) => self.renew_resource(now, uri, client),
            OwnCall::Unsubscribe => {}
        }
        self.send_own(now, client);
    }

    /// Sends the planned calls, as many as there is room for.
    pub(super) fn send_own(&mut self, now: Instant, client: &mut Client) {
        while let Some((call, uri)) = self.own.next(self.config.limits.max_in_flight) {
            match (call, self.is_needed(&uri)) {
                (OwnCall::Subscribe, true) => self.renew_resource(now, uri, client),
                (OwnCall::Unsubscribe, false) => self.leave_resource(now, uri, client),
                (OwnCall::Subscribe, false) | (OwnCall::Unsubscribe, true) => {}
            }
        }
    }

    fn renew_resource(&mut self, now: Instant, uri: String, client: &mut Client) {
        let options = CallOptions::default();
        match client.call(now, "resources/subscribe", about_resource(&uri), options) {
            Ok(call) => self.own.add(call, OwnCall::Subscribe, uri),
            // Later changes of the resource are dropped.
            Err(_) => self.report_shared_resource(&uri),
        }
    }

    fn leave_resource(&mut self, now: Instant, uri: String, client: &mut Client) {
        let options = CallOptions::default();
        // If the call fails, later changes of the resource are dropped.
        if let Ok(call) = client.call(now, "resources/unsubscribe", about_resource(&uri), options) {
            self.own.add(call, OwnCall::Unsubscribe, uri);
        }
    }
}
