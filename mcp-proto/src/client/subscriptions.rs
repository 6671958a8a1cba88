//! Subscriptions of the application, in both eras.
//!
//! In: filters; the parts that a server honours, and its reports of changes. Out: `Subscribed`,
//! `Changed` and `SubscriptionEnded`, in the outbox; requests to a legacy server.
//!
//! | stage of a subscription | holds | leaves by |
//! |---|---|---|
//! | `Pending` | | the acknowledgement: `Subscribed` |
//! | `Open` | the filter that the server honours | a new request, because the stream broke or the session was lost |
//! | `Reopening` | | the acknowledgement: `Subscribed`, then `Changed` for everything that is honoured |
//!
//! A subscription can end in every stage. Changes that occur between two streams are not
//! reported, so the application is notified that everything may have changed.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::call::Call;
use super::call_error::CallError;
use super::event::{ClientEvent, SubscriptionId};
use super::outbox::Outbox;
use super::resource_uses::ResourceUses;
use crate::change::{Change, List, is_part};
use crate::json::Json;
use crate::json::write;
use crate::types::{ServerCapabilities, SubscriptionFilter};

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    open: BTreeMap<SubscriptionId, Subscription>,
    /// The resources of a legacy server that the open subscriptions use.
    uses: ResourceUses,
    serials: u64,
    /// Number of the last state of a task; it orders the states for the application.
    task_updates: u64,
    /// The tasks whose state may have changed, and for which no poll is scheduled yet.
    changed_tasks: BTreeSet<String>,
    /// Queued requests to a legacy server.
    resource_requests: VecDeque<ResourceRequest>,
    /// The resources with an unanswered request to unsubscribe, each with the requests that wait
    /// for the answer: over HTTP a server may read two requests in the other order.
    leaving: BTreeMap<String, Vec<ResourceRequest>>,
    /// Reason why the legacy server cannot send messages outside of calls, if it cannot.
    no_stream: Option<CallError>,
}

/// Request to a legacy server about one resource.
#[derive(Debug)]
pub(super) struct ResourceRequest {
    /// The subscription that needs the resource; `None` for a request to unsubscribe.
    pub(super) subscription: Option<SubscriptionId>,
    pub(super) uri: String,
}

impl ResourceRequest {
    /// The parameters of the request.
    pub(super) fn params(&self) -> Json {
        write::text_object("uri", &self.uri)
    }
}

#[derive(Debug)]
struct Subscription {
    /// The requested notifications, whatever the current server offers: the next one may offer
    /// more.
    requested: SubscriptionFilter,
    /// The requested lists whose changes a legacy server reports.
    legacy_lists: SubscriptionFilter,
    /// The URIs for which a legacy server reports updates, each once.
    subscribed_uris: Vec<String>,
    /// The URIs for which a legacy server has not answered yet.
    pending_uris: BTreeSet<String>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Pending,
    Open(SubscriptionFilter),
    Reopening,
}

impl Subscriptions {
    pub(super) fn add(&mut self, filter: SubscriptionFilter) -> SubscriptionId {
        self.serials += 1;
        let id = SubscriptionId(self.serials);
        let subscription = Subscription {
            requested: filter,
            legacy_lists: SubscriptionFilter::default(),
            subscribed_uris: Vec::new(),
            pending_uris: BTreeSet::new(),
            stage: Stage::Pending,
        };
        self.open.insert(id, subscription);
        id
    }

    /// Removes the last subscription, whose id the application does not know yet.
    pub(super) fn withdraw(&mut self, id: SubscriptionId) {
        self.take(id);
        self.serials = id.0.saturating_sub(1);
    }

    /// Removes a subscription; returns the URIs for which a legacy server reports updates to it.
    pub(super) fn remove(&mut self, id: SubscriptionId) -> Option<Vec<String>> {
        self.take(id).map(|open| open.subscribed_uris)
    }

    fn take(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let open = self.open.remove(&id)?;
        open.pending_uris.iter().for_each(|uri| self.uses.end_pending(uri));
        open.subscribed_uris.iter().for_each(|uri| self.uses.leave(uri));
        Some(open)
    }

    pub(super) fn contains(&self, id: SubscriptionId) -> bool {
        self.open.contains_key(&id)
    }

    /// The parameters of `subscriptions/listen`.
    pub(super) fn listen_params(&self, id: SubscriptionId) -> Json {
        self.open.get(&id).map_or(Json::EMPTY_OBJECT, |open| open.requested.params())
    }

    /// Records that a request replaces an earlier request of this subscription, if there was one.
    pub(super) fn reopen(&mut self, id: SubscriptionId) {
        if let Some(Subscription { stage: stage @ Stage::Open(_), .. }) = self.open.get_mut(&id) {
            *stage = Stage::Reopening;
        }
    }

    /// Returns whether the current server or an earlier server has honoured a subscription.
    pub(super) fn has_begun(&self, id: SubscriptionId) -> bool {
        self.open.get(&id).is_some_and(|open| !matches!(open.stage, Stage::Pending))
    }

    /// Returns whether a request stays queued after a failed attempt to connect. It does so if
    /// its subscription has begun. A subscription that no server has honoured fails like a call.
    pub(super) fn lives_on(&self, call: &Call) -> bool {
        call.listens().is_some_and(|id| self.has_begun(id))
    }

    /// Records the part of a subscription that the server honours; anything else in `honoured` is
    /// ignored. Returns a change of everything that is honoured, since changes before the
    /// acknowledgement may not have been reported. If the stream was replaced, the application is
    /// notified of these changes.
    pub(super) fn honoured(
        &mut self,
        id: SubscriptionId,
        honoured: SubscriptionFilter,
        outbox: &mut Outbox,
    ) -> Vec<Change> {
        let Some(Subscription { stage, requested, .. }) = self.open.get_mut(&id) else {
            return Vec::new();
        };
        let is_reopened = match stage {
            Stage::Pending => false,
            Stage::Reopening => true,
            Stage::Open(_) => return Vec::new(),
        };
        let honoured = part_of(requested, honoured);
        let changes = changes(&honoured);
        *stage = Stage::Open(honoured.clone());
        if is_reopened {
            self.changed_tasks.extend(honoured.task_ids.iter().cloned());
        }
        outbox.event(ClientEvent::Subscribed { subscription: id, honoured });
        for change in changes.iter().filter(|_| is_reopened) {
            outbox.event(ClientEvent::Changed { subscription: Some(id), change: change.clone() });
        }
        changes
    }

    /// Handles a change that a modern server reports. Returns `None` if the report is not allowed:
    /// the server has not acknowledged the subscription, or the subscription does not include such
    /// changes.
    pub(super) fn changed_modern(
        &mut self,
        id: SubscriptionId,
        change: Change,
        outbox: &mut Outbox,
    ) -> Option<()> {
        let Subscription { requested, stage: Stage::Open(_), .. } = self.open.get(&id)? else {
            return None;
        };
        let change = match change {
            Change::TaskUpdated(update) => {
                self.task_updates += 1;
                Change::TaskUpdated(update.with_order(self.task_updates).into())
            }
            change @ (Change::ListChanged(_) | Change::ResourceUpdated(_)) => change,
        };
        is_among(&change, requested, &requested.resource_subscriptions).then(|| {
            if let Change::TaskUpdated(update) = &change {
                self.changed_tasks.insert(update.task_id().into());
            }
            outbox.event(ClientEvent::Changed { subscription: Some(id), change });
        })
    }

    /// The next task whose state may have changed.
    pub(super) fn next_changed_task(&mut self) -> Option<String> {
        self.changed_tasks.pop_first()
    }

    /// Handles a change that a legacy server reports.
    pub(super) fn changed_legacy(&mut self, change: &Change, outbox: &mut Outbox) {
        let wants = |it: &Subscription| is_among(change, &it.legacy_lists, &it.subscribed_uris);
        let wanting = self.open.iter().filter(|(_, subscription)| wants(subscription));
        let mut recipients: Vec<Option<SubscriptionId>> =
            wanting.map(|(id, _)| Some(*id)).collect();
        if recipients.is_empty() {
            recipients.push(None);
        }
        for subscription in recipients {
            outbox.event(ClientEvent::Changed { subscription, change: change.clone() });
        }
    }

    /// Reports a change of each list and resource that is honoured.
    pub(super) fn report_missed_changes(&self, outbox: &mut Outbox) {
        for (id, subscription) in &self.open {
            if let Stage::Open(honoured) = &subscription.stage {
                for change in changes(honoured) {
                    outbox.event(ClientEvent::Changed { subscription: Some(*id), change });
                }
            }
        }
    }

    pub(super) fn end(
        &mut self,
        id: SubscriptionId,
        cause: Result<(), CallError>,
        outbox: &mut Outbox,
    ) {
        if self.take(id).is_some() {
            outbox.event(ClientEvent::SubscriptionEnded { subscription: id, cause });
        }
    }

    pub(super) fn end_all(&mut self, cause: &CallError, outbox: &mut Outbox) {
        self.uses.clear();
        for subscription in core::mem::take(&mut self.open).into_keys() {
            let cause = Err(cause.clone());
            outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        }
    }

    /// Resets the subscriptions after a legacy server has lost its session. Returns the
    /// subscriptions that must be requested again.
    pub(super) fn forget_session(&mut self) -> Vec<SubscriptionId> {
        self.no_stream = None;
        self.resource_requests.clear();
        self.leaving.clear();
        self.uses.clear();
        for open in self.open.values_mut() {
            open.legacy_lists = SubscriptionFilter::default();
            open.subscribed_uris.clear();
            open.pending_uris.clear();
        }
        self.open.keys().copied().collect()
    }

    /// Begins a subscription with a legacy server that has these capabilities.
    pub(super) fn begin_legacy(
        &mut self,
        id: SubscriptionId,
        has: &ServerCapabilities,
        outbox: &mut Outbox,
    ) {
        if let Some(cause) = self.no_stream.clone() {
            return self.end(id, Err(cause), outbox);
        }
        let Some(subscription) = self.open.get_mut(&id) else { return };
        subscription.legacy_lists = subscription.requested.lists_offered_by(has);
        let wanted: &[String] = match has.resources {
            Some(resources) if resources.subscribe => {
                &subscription.requested.resource_subscriptions
            }
            Some(_) | None => &[],
        };
        let mut seen: BTreeSet<String> = subscription.subscribed_uris.iter().cloned().collect();
        for uri in wanted.iter().filter(|uri| seen.insert((*uri).clone())) {
            if self.uses.is_subscribed(uri) {
                self.uses.accept(uri);
                subscription.subscribed_uris.push(uri.clone());
            } else if subscription.pending_uris.insert(uri.clone()) {
                self.uses.begin(uri);
                let request = ResourceRequest { subscription: Some(id), uri: uri.clone() };
                self.resource_requests.push_back(request);
            }
        }
        self.check_begun(id, outbox);
    }

    /// The next request for a legacy server.
    pub(super) fn next_resource_request(&mut self) -> Option<ResourceRequest> {
        loop {
            let next = self.resource_requests.pop_front()?;
            // A subscription may have been removed while its request waited.
            if next.subscription.is_some_and(|id| !self.contains(id)) {
                continue;
            }
            if let Some(waiting) = self.leaving.get_mut(&next.uri) {
                waiting.push(next);
                continue;
            }
            if next.subscription.is_none() {
                self.leaving.insert(next.uri.clone(), Vec::new());
            }
            return Some(next);
        }
    }

    /// Handles the answer of a legacy server to a subscription to `uri`, or to its end.
    pub(super) fn answered(
        &mut self,
        id: Option<SubscriptionId>,
        uri: &str,
        is_accepted: bool,
        outbox: &mut Outbox,
    ) {
        let Some(id) = id else {
            return self.resource_requests.extend(self.leaving.remove(uri).unwrap_or_default());
        };
        let Some(subscription) = self.open.get_mut(&id) else {
            if is_accepted {
                self.unsubscribe(uri);
            }
            return;
        };
        // The requests of an earlier session are not pending any more.
        if subscription.pending_uris.remove(uri) {
            if is_accepted {
                self.uses.accept(uri);
                subscription.subscribed_uris.push(uri.into());
            }
            self.uses.end_pending(uri);
            self.check_begun(id, outbox);
        }
    }

    /// Begins a legacy subscription if all its requests are answered.
    fn check_begun(&mut self, id: SubscriptionId, outbox: &mut Outbox) {
        let Some(subscription) = self.open.get(&id) else { return };
        if subscription.pending_uris.is_empty() {
            let resource_subscriptions = subscription.subscribed_uris.clone();
            let honoured =
                SubscriptionFilter { resource_subscriptions, ..subscription.legacy_lists.clone() };
            let nothing = honoured == SubscriptionFilter::default();
            self.honoured(id, honoured, outbox);
            if nothing {
                // A modern server also ends a subscription of which it honours nothing.
                self.end(id, Ok(()), outbox);
            }
        }
    }

    /// Unsubscribes from `uri` at a legacy server, if no subscription needs the resource any more.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        if !self.uses.is_used(uri) {
            self.resource_requests
                .push_back(ResourceRequest { subscription: None, uri: uri.into() });
        }
    }

    /// Ends every subscription, also later ones in this session, because a legacy server has no
    /// stream for messages outside of calls.
    pub(super) fn end_without_stream(&mut self, cause: CallError, outbox: &mut Outbox) {
        let uris = self.open.values().flat_map(|open| open.subscribed_uris.iter().cloned());
        let uris: BTreeSet<String> = uris.collect();
        self.end_all(&cause, outbox);
        self.no_stream = Some(cause);
        for uri in uris {
            self.unsubscribe(&uri);
        }
    }
}

/// The part of `honoured` that is requested, without duplicates.
fn part_of(requested: &SubscriptionFilter, honoured: SubscriptionFilter) -> SubscriptionFilter {
    let common = |requested: &[String], mut honoured: Vec<String>| {
        let mut rest: BTreeSet<&str> = requested.iter().map(String::as_str).collect();
        honoured.retain(|item| rest.remove(item.as_str()));
        honoured.shrink_to_fit();
        honoured
    };
    SubscriptionFilter {
        tools_list_changed: requested.tools_list_changed && honoured.tools_list_changed,
        prompts_list_changed: requested.prompts_list_changed && honoured.prompts_list_changed,
        resources_list_changed: requested.resources_list_changed && honoured.resources_list_changed,
        resource_subscriptions: common(
            &requested.resource_subscriptions,
            honoured.resource_subscriptions,
        ),
        task_ids: common(&requested.task_ids, honoured.task_ids),
    }
}

/// Returns whether a change is of a kind in `filter`, or concerns one of these resources.
fn is_among(change: &Change, filter: &SubscriptionFilter, uris: &[String]) -> bool {
    match change {
        Change::ListChanged(List::Tools) => filter.tools_list_changed,
        Change::ListChanged(List::Prompts) => filter.prompts_list_changed,
        Change::ListChanged(List::Resources) => filter.resources_list_changed,
        Change::ResourceUpdated(uri) => uris.iter().any(|whole| is_part(uri, whole)),
        Change::TaskUpdated(update) => filter.task_ids.iter().any(|id| id == update.task_id()),
    }
}

/// A change of each list and resource that a filter names.
fn changes(filter: &SubscriptionFilter) -> Vec<Change> {
    let lists = [
        (List::Tools, filter.tools_list_changed),
        (List::Prompts, filter.prompts_list_changed),
        (List::Resources, filter.resources_list_changed),
    ];
    let lists = lists.into_iter().filter(|(_, named)| *named);
    let lists = lists.map(|(list, _)| Change::ListChanged(list));
    let uris = filter.resource_subscriptions.iter().cloned().map(Change::ResourceUpdated);
    lists.chain(uris).collect()
}
