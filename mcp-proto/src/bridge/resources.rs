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
use crate::version::Era;

impl Bridge {
    /// Unsubscribes from the resources that no client needs any more. A lost connection has no
    /// subscriptions to end; the server is not started again after the last one.
    pub(super) fn unsubscribe(&mut self, uris: &[String], client: &mut Client) {
        if self.upstream.era(client) != Some(Era::Legacy) {
            return;
        }
        if client.era().is_some() {
            let Self { own, sessions, listeners, config, .. } = self;
            let is_left = |uri: &&String| !sessions.wants(uri) && !listeners.wants(uri);
            own.plan_leaves(uris.iter().filter(is_left), &config.limits);
            self.send_own(client);
        }
        self.keep_subscriptions(client);
    }

    /// Handles the answer to a call of the bridge. If a client has subscribed while the bridge
    /// unsubscribed, the bridge subscribes again: over HTTP the server may have read both requests
    /// in the other order.
    pub(super) fn handle_own_answer(
        &mut self,
        (call, uri): (OwnCall, String),
        result: &Result<Json, CallError>,
    ) {
        match call {
            OwnCall::Subscribe => self.handle_renewed(&uri, result),
            OwnCall::Unsubscribe if self.is_needed(&uri) => {
                self.own.plan_again(OwnCall::Subscribe, uri);
            }
            OwnCall::Unsubscribe => {}
        }
    }

    /// Sends the planned calls, as many as there is room for. The others wait for a response.
    pub(super) fn send_own(&mut self, client: &mut Client) {
        while let Some((call, uri)) = self.own.next(self.config.limits.max_in_flight) {
            let (method, is_useful) = match call {
                OwnCall::Subscribe => ("resources/subscribe", self.is_needed(&uri)),
                OwnCall::Unsubscribe => ("resources/unsubscribe", !self.is_needed(&uri)),
            };
            if !is_useful {
                continue;
            }
            match client.call(self.now, method, about_resource(&uri), CallOptions::default()) {
                Ok(id) => self.own.add(id, call, uri),
                Err(_) => return self.own.plan_again(call, uri),
            }
        }
    }
}
