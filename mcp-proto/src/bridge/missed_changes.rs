//! Changes that a server may have made while it could not report them.
//!
//! In: acknowledgements of subscriptions, another connection to a legacy server, a gap in the
//! stream of its session. Out: a notification for each list and resource that may have changed, to
//! the clients that get notifications of its changes.
//!
//! | server | after | reported |
//! |---|---|---|
//! | modern | the acknowledgement of a request that replaces an earlier one | what is honoured |
//! | legacy | another connection | each list |
//! | legacy | the answer to a `resources/subscribe` of the bridge itself | the resource |
//! | legacy | [`ChangesMissed`] | each list and resource, in pieces |
//!
//! [`ChangesMissed`]: crate::client::ClientEvent::ChangesMissed

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::calls::UpstreamCall;
use super::machine::Bridge;
use super::subscriptions::about_resource;
use crate::change::List;
use crate::client::{CallError, CallId, Client};
use crate::json::Json;
use crate::server::SessionRef;
use crate::types::SubscriptionFilter;

const UPDATED: &str = "notifications/resources/updated";

impl Bridge {
    /// Records that the server has acknowledged a call that subscribes. Returns true if changes may
    /// have been missed, because the request replaces an earlier one.
    pub(super) fn has_missed_changes(&mut self, call: CallId, client: &Client) -> bool {
        let number = client.request_number(call);
        number.is_some_and(|number| self.calls.acknowledge(call, number))
    }

    /// The notifications that follow an acknowledgement with these parameters, if changes may have
    /// been missed.
    pub(super) fn missed_changes(
        &mut self,
        call: CallId,
        params: &Json,
        client: &Client,
    ) -> Vec<(String, Json)> {
        if !self.has_missed_changes(call, client) {
            return Vec::new();
        }
        self.honoured_changes(params)
    }

    /// A notification for each list and resource that an acknowledgement honours. They name at most
    /// `Limits::max_subscriptions` resources.
    pub(super) fn honoured_changes(&self, params: &Json) -> Vec<(String, Json)> {
        let honoured = params.raw().member("notifications");
        let honoured = honoured.and_then(|filter| serde_json::from_slice(filter.0).ok());
        let mut honoured: SubscriptionFilter = honoured.unwrap_or_default();
        honoured.resource_subscriptions.truncate(self.config.limits.max_subscriptions);
        notifications(&honoured)
    }

    /// Notifies a legacy client that a resource of a modern server may have changed.
    pub(super) fn report_resource(&mut self, session: SessionRef, uri: &str) {
        self.notify_session(session, UPDATED.into(), about_resource(uri));
    }

    /// Notifies the clients of a legacy server that a resource may have changed, if any client
    /// needs the resource.
    pub(super) fn report_shared_resource(&mut self, uri: &str) {
        if self.is_needed(uri) {
            self.changed(UPDATED, &about_resource(uri));
        }
    }

    /// Handles the answer to a request that subscribes again. A server that refuses
    /// the subscription, does not answer in time, or whose answer cannot be read, may have changed
    /// the resource as well. If the connection ends first, the next one subscribes again.
    pub(super) fn handle_renewed(&mut self, uri: &str, result: &Result<Json, CallError>) {
        let may_have_changed = matches!(
            result,
            Ok(_) | Err(CallError::Error { .. } | CallError::Protocol(_) | CallError::TimedOut)
        );
        if may_have_changed {
            self.report_shared_resource(uri);
        }
        if result.is_ok() {
            let Self { sessions, calls, .. } = self;
            // A client whose own request is pending may still cancel it.
            sessions.confirm_all(uri, |session| {
                let waits = |call: &UpstreamCall| call.awaits_resource(session, uri);
                calls.find(waits).is_empty()
            });
        }
    }

    /// Notifies the clients of a legacy server that each list may have changed.
    pub(super) fn report_lists(&mut self) {
        for (method, params) in notifications(&self.upstream.offered_lists()) {
            self.changed(&method, &params);
        }
    }

    /// Handles a gap in the stream of a legacy server.
    pub(super) fn report_everything(&mut self) {
        self.report_lists();
        let uris = self.resources();
        self.missed.add(self.now, uris);
        self.report_missed();
    }

    /// Reports the resources after a gap whose turn has come.
    pub(super) fn report_missed(&mut self) {
        for uri in self.missed.take_due(self.now) {
            self.report_shared_resource(&uri);
        }
    }

    /// The resources that clients of a legacy server need.
    pub(super) fn resources(&self) -> BTreeSet<String> {
        let mut uris = self.sessions.uris();
        uris.extend(self.listeners.iter().flat_map(|(_, uris)| uris.iter().cloned()));
        uris
    }
}

/// A notification for each list and resource that a filter names.
fn notifications(filter: &SubscriptionFilter) -> Vec<(String, Json)> {
    let is_named = |list: &List| match list {
        List::Tools => filter.tools_list_changed,
        List::Prompts => filter.prompts_list_changed,
        List::Resources => filter.resources_list_changed,
    };
    let lists = List::ALL.into_iter().filter(is_named);
    let lists = lists.map(|list| (list.notification().into(), Json::EMPTY_OBJECT));
    let resources = filter.resource_subscriptions.iter();
    lists.chain(resources.map(|uri| (UPDATED.into(), about_resource(uri)))).collect()
}
