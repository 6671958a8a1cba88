//! Subscriptions of the application, in both eras.
//!
//! In: filters; acknowledgements and ends of a modern server, responses of a legacy one. Out:
//! `subscriptions/listen`, or `resources/subscribe` for each URI that nobody has subscribed to.
//!
//! | stage of a subscription | holds | leaves by |
//! |---|---|---|
//! | `Asked` | | the acknowledgement: `Subscribed` |
//! | `Open` | the filter that the server honours | a request that replaces its own: the stream broke, or the session was lost |
//! | `Reopening` | | the acknowledgement: `Subscribed`, then `Changed` for everything that is honoured |
//!
//! A subscription leaves every stage when it ends. What changes between two streams is not sent on
//! either of them, so the application is told that all of it may have changed.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::calls::{self, Goal};
use super::event::SubscriptionId;
use super::{CallError, CallId, CallOptions, Change, Client, ClientEvent, Life, List};
use crate::change::is_part;
use crate::error::UsageError;
use crate::json::Json;
use crate::json::write::List as Writer;
use crate::message::RequestId;
use crate::time::{Duration, Instant};
use crate::types::SubscriptionFilter;
use crate::version::Era;

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    open: BTreeMap<SubscriptionId, Subscription>,
    serials: u64,
    /// Why the legacy server cannot send anything outside of calls, if it cannot.
    no_stream: Option<CallError>,
}

impl Subscriptions {
    /// A request goes out that replaces the one of this subscription, if there was one.
    pub(super) fn reopen(&mut self, id: SubscriptionId) {
        if let Some(Subscription { stage: stage @ Stage::Open(_), .. }) = self.open.get_mut(&id) {
            *stage = Stage::Reopening;
        }
    }

    /// The server honours a subscription; returns what it honours if that is news, and whether it
    /// may have changed meanwhile.
    fn open(&mut self, id: SubscriptionId, honoured: &SubscriptionFilter) -> Option<bool> {
        let subscription = self.open.get_mut(&id)?;
        let stage = core::mem::replace(&mut subscription.stage, Stage::Open(honoured.clone()));
        match stage {
            Stage::Asked => Some(false),
            Stage::Reopening => Some(true),
            Stage::Open(honoured) => {
                subscription.stage = Stage::Open(honoured);
                None
            }
        }
    }

    /// Whether the server has honoured a subscription, this one or an earlier one.
    pub(super) fn has_begun(&self, id: SubscriptionId) -> bool {
        self.open.get(&id).is_some_and(|open| !matches!(open.stage, Stage::Asked))
    }

    /// Whether a modern server may tell of such a change: it has acknowledged the subscription,
    /// which asks for that kind, or for that resource.
    fn may_tell(&self, id: SubscriptionId, change: &Change) -> bool {
        self.open.get(&id).is_some_and(|Subscription { filter, stage, .. }| {
            matches!(stage, Stage::Open(_))
                && is_among(change, filter, &filter.resource_subscriptions)
        })
    }
}

#[derive(Debug)]
struct Subscription {
    /// What is wanted; of a legacy server, once it is known, no more than it offers.
    filter: SubscriptionFilter,
    /// The URIs that a legacy server tells of.
    told: Vec<String>,
    /// The URIs that a legacy server has not answered yet.
    asked: BTreeSet<String>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Asked,
    Open(SubscriptionFilter),
    Reopening,
}

/// Whether a change is of a kind in `filter`, or of one of these resources.
fn is_among(change: &Change, filter: &SubscriptionFilter, uris: &[String]) -> bool {
    match change {
        Change::ListChanged(List::Tools) => filter.tools_list_changed,
        Change::ListChanged(List::Prompts) => filter.prompts_list_changed,
        Change::ListChanged(List::Resources) => filter.resources_list_changed,
        Change::ResourceUpdated(uri) => uris.iter().any(|whole| is_part(uri, whole)),
    }
}

/// Everything that a filter names, as changed.
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

impl Client {
    /// Wants to be told when something changes. What the server honours of it is told by
    /// [`ClientEvent::Subscribed`], and each change by [`ClientEvent::Changed`], until
    /// [`ClientEvent::SubscriptionEnded`]. The server has as long to begin as to answer a call.
    /// Before the era is known it waits.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::TooManyCalls`] at
    /// `Limits::max_in_flight`.
    pub fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter,
    ) -> Result<SubscriptionId, UsageError> {
        let serial = self.subscriptions.serials + 1;
        let subscription = SubscriptionId(serial);
        let (told, asked, stage) = (Vec::new(), BTreeSet::new(), Stage::Asked);
        self.subscriptions.open.insert(subscription, Subscription { filter, told, asked, stage });
        if let Err(error) = self.start_listening(now, subscription) {
            self.subscriptions.open.remove(&subscription);
            return Err(error);
        }
        self.subscriptions.serials = serial;
        Ok(subscription)
    }

    fn start_listening(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<CallId, UsageError> {
        let open = self.subscriptions.open.get(&subscription);
        let params = open.map_or(Json::EMPTY_OBJECT, |open| listen_params(&open.filter));
        let options = CallOptions::default().max_total(Duration::MAX);
        let goal = Goal::Listen { subscription };
        self.start(now, "subscriptions/listen".into(), params, options, goal)
    }

    /// A legacy server has forgotten all subscriptions: those of the application are wanted as in the
    /// beginning.
    pub(super) fn forget_subscriptions(&mut self) -> Vec<SubscriptionId> {
        self.subscriptions.no_stream = None;
        for open in self.subscriptions.open.values_mut() {
            let mut uris = core::mem::take(&mut open.told);
            uris.extend(core::mem::take(&mut open.asked));
            open.filter.resource_subscriptions = uris;
        }
        self.subscriptions.open.keys().copied().collect()
    }

    /// Wants to be told as before.
    pub(super) fn listen(&mut self, now: Instant, subscription: SubscriptionId) {
        if let Err(error) = self.start_listening(now, subscription) {
            self.subscription_ended(subscription, Err(CallError::Usage(error)));
        }
    }

    /// Does not want to be told any more: [`ClientEvent::SubscriptionEnded`] comes at once, with
    /// [`CallError::Cancelled`].
    ///
    /// Fails with [`UsageError::NotInFlight`] if it has ended.
    pub fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId,
    ) -> Result<(), UsageError> {
        let Some(Subscription { told, .. }) = self.subscriptions.open.remove(&subscription) else {
            return Err(UsageError::NotInFlight);
        };
        if let Some(number) = self.calls.find_listen(subscription) {
            self.stop_call(now, number, CallError::Cancelled);
        }
        if self.era() == Some(Era::Legacy) {
            for uri in told {
                self.unsubscribe_legacy(now, &uri);
            }
        }
        let cause = Err(CallError::Cancelled);
        self.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        Ok(())
    }

    /// The server has acknowledged the subscription that the request with this number is.
    pub(super) fn acknowledged(&mut self, number: u64, honoured: SubscriptionFilter) -> bool {
        let Some(call) = self.calls.get_mut(number) else { return false };
        let Goal::Listen { subscription } = call.goal else { return false };
        call.options.timeout = Duration::MAX;
        call.rest();
        self.honoured(subscription, honoured);
        true
    }

    /// The server honours this of a subscription.
    fn honoured(&mut self, subscription: SubscriptionId, honoured: SubscriptionFilter) {
        let Some(may_have_changed) = self.subscriptions.open(subscription, &honoured) else {
            return;
        };
        let changes = if may_have_changed { changes(&honoured) } else { Vec::new() };
        self.outbox.event(ClientEvent::Subscribed { subscription, honoured });
        for change in changes {
            self.outbox.event(ClientEvent::Changed { subscription: Some(subscription), change });
        }
    }

    /// A modern server says that something has changed; returns `None` if it was not to say so.
    pub(super) fn changed_modern(
        &mut self,
        subscription: SubscriptionId,
        change: Change,
    ) -> Option<()> {
        if !self.subscriptions.may_tell(subscription, &change) {
            return None;
        }
        self.outbox.event(ClientEvent::Changed { subscription: Some(subscription), change });
        Some(())
    }

    /// The stream of a legacy session has a gap: whatever is subscribed to may have changed.
    pub(crate) fn changes_missed(&mut self) {
        let mut missed = Vec::new();
        for (id, subscription) in &self.subscriptions.open {
            if let Stage::Open(honoured) = &subscription.stage {
                missed.extend(changes(honoured).into_iter().map(|change| (*id, change)));
            }
        }
        for (id, change) in missed {
            self.outbox.event(ClientEvent::Changed { subscription: Some(id), change });
        }
    }

    /// A legacy server has no stream for what it sends outside of calls: subscriptions end, those
    /// that are yet to come as well, until the server is another one.
    pub(crate) fn handle_no_stream(&mut self, now: Instant, cause: CallError) {
        if self.era() != Some(Era::Legacy) {
            return;
        }
        let told: BTreeSet<String> =
            self.subscriptions.open.values().flat_map(|open| open.told.iter().cloned()).collect();
        self.end_subscriptions(&cause);
        for uri in told {
            self.unsubscribe_legacy(now, &uri);
        }
        self.subscriptions.no_stream = Some(cause);
    }

    /// Asks a legacy server with `ping` whether it knows the session. The binding sees the answer.
    pub(crate) fn check_session(&mut self, now: Instant) {
        let (params, options) = (Json::EMPTY_OBJECT, CallOptions::default());
        // If there is no room for it, there are requests in flight that ask the same.
        let _ = self.start(now, "ping".into(), params, options, Goal::Nobody);
    }

    /// The subscription that the request with this id is.
    pub(crate) fn subscription_of(&self, id: &RequestId) -> Option<SubscriptionId> {
        self.subscription(calls::number(id)?)
    }

    /// Whether the request with this id subscribes to a resource of a legacy server, and a
    /// subscription of the application still wants that.
    pub(crate) fn subscribes(&self, id: &RequestId) -> bool {
        let call = calls::number(id).and_then(|number| self.calls.get(number));
        call.is_some_and(|call| match &call.goal {
            Goal::Subscribe { subscription, .. } => {
                self.subscriptions.open.contains_key(subscription)
            }
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Listen { .. }
            | Goal::Nobody
            | Goal::Notification => false,
        })
    }

    /// The subscription that the request with this number is.
    pub(super) fn subscription(&self, number: u64) -> Option<SubscriptionId> {
        match &self.calls.get(number)?.goal {
            Goal::Listen { subscription } => Some(*subscription),
            Goal::Answer
            | Goal::Pages(_)
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => None,
        }
    }

    pub(super) fn subscription_ended(
        &mut self,
        subscription: SubscriptionId,
        cause: Result<(), CallError>,
    ) {
        if self.subscriptions.open.remove(&subscription).is_some() {
            self.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        }
    }

    pub(super) fn end_subscriptions(&mut self, cause: &CallError) {
        for subscription in core::mem::take(&mut self.subscriptions.open).into_keys() {
            let cause = Err(cause.clone());
            self.outbox.event(ClientEvent::SubscriptionEnded { subscription, cause });
        }
    }

    /// A legacy server has told of a change.
    pub(super) fn changed_legacy(&mut self, change: &Change) {
        let open = &self.subscriptions.open;
        let wanting = open.iter().filter(|(_, it)| is_among(change, &it.filter, &it.told));
        let mut told: Vec<Option<SubscriptionId>> = wanting.map(|(id, _)| Some(*id)).collect();
        if told.is_empty() {
            told.push(None);
        }
        for subscription in told {
            self.outbox.event(ClientEvent::Changed { subscription, change: change.clone() });
        }
    }

    /// A subscription, where each resource is subscribed to by itself.
    pub(super) fn subscribe_legacy(&mut self, now: Instant, id: SubscriptionId) {
        if let Some(cause) = self.subscriptions.no_stream.clone() {
            return self.subscription_ended(id, Err(cause));
        }
        let Life::Legacy(session) = &self.life else { return };
        let has = &session.server().capabilities;
        let (tools, prompts) = (has.tools, has.prompts);
        let resources = has.resources.unwrap_or_default();
        let Some(subscription) = self.subscriptions.open.get_mut(&id) else { return };
        let filter = &mut subscription.filter;
        filter.tools_list_changed &= tools.is_some_and(|tools| tools.list_changed);
        filter.prompts_list_changed &= prompts.is_some_and(|prompts| prompts.list_changed);
        filter.resources_list_changed &= resources.list_changed;
        let wanted = core::mem::take(&mut filter.resource_subscriptions);
        let wanted = if resources.subscribe { wanted } else { Vec::new() };
        let mut asked = BTreeSet::new();
        for uri in wanted {
            if self.is_subscribed(&uri) {
                self.honour(id, uri);
            } else if asked.insert(uri.clone()) {
                let params = uri_params(&uri);
                let goal = Goal::Subscribe { subscription: id, uri: uri.clone() };
                let method = "resources/subscribe".into();
                let options = CallOptions::default().max_total(Duration::MAX);
                if self.start(now, method, params, options, goal).is_err() {
                    asked.remove(&uri);
                }
            }
        }
        if let Some(subscription) = self.subscriptions.open.get_mut(&id) {
            subscription.asked = asked;
        }
        self.begin_subscription(id);
    }

    /// A legacy server has answered whether it tells of updates of `uri`.
    pub(super) fn subscribed_legacy(
        &mut self,
        now: Instant,
        id: SubscriptionId,
        uri: &str,
        ok: bool,
    ) {
        let Some(subscription) = self.subscriptions.open.get_mut(&id) else {
            if ok {
                self.unsubscribe_legacy(now, uri);
            }
            return;
        };
        subscription.asked.remove(uri);
        if ok {
            self.honour(id, uri.into());
        }
        self.begin_subscription(id);
    }

    fn honour(&mut self, id: SubscriptionId, uri: String) {
        if let Some(subscription) = self.subscriptions.open.get_mut(&id)
            && !subscription.told.contains(&uri)
        {
            subscription.told.push(uri);
        }
    }

    /// Whether the server tells of updates of `uri` already.
    fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.open.values().flat_map(|open| &open.told).any(|told| told == uri)
    }

    /// A legacy subscription begins once all is answered.
    fn begin_subscription(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.subscriptions.open.get(&id) else { return };
        if subscription.asked.is_empty() {
            let resource_subscriptions = subscription.told.clone();
            let honoured = SubscriptionFilter { resource_subscriptions, ..subscription.filter };
            let nothing = honoured == SubscriptionFilter::default();
            self.honoured(id, honoured);
            if nothing {
                // As a modern server does.
                self.subscription_ended(id, Ok(()));
            }
        }
    }

    /// Ends what nobody else wants.
    fn unsubscribe_legacy(&mut self, now: Instant, uri: &str) {
        let is_asked = self.subscriptions.open.values().any(|open| open.asked.contains(uri));
        if !is_asked && !self.is_subscribed(uri) {
            let (method, params) = ("resources/unsubscribe".into(), uri_params(uri));
            // If there is no room for it, its notifications go nowhere.
            let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
        }
    }
}

/// The parameters of `subscriptions/listen`.
fn listen_params(filter: &SubscriptionFilter) -> Json {
    let mut params = Vec::new();
    let mut object = Writer::object(&mut params);
    // It is a plain value, which always can be written.
    let filter = Json::encode(filter).unwrap_or(Json::EMPTY_OBJECT);
    object.member("notifications", filter.as_bytes());
    object.end();
    Json::trusted(params)
}

/// The parameters of `resources/subscribe` and `resources/unsubscribe`.
fn uri_params(uri: &str) -> Json {
    let mut params = Vec::new();
    let mut object = Writer::object(&mut params);
    object.text("uri", uri);
    object.end();
    Json::trusted(params)
}
