//! Subscriptions of modern clients at a legacy server.
//!
//! In: `subscriptions/listen`, the answers to `resources/subscribe`, changes. Out: resources to
//! subscribe to and to unsubscribe from, the acknowledgement, and the subscriptions that a change
//! belongs to.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::subscription_load::SubscriptionLoad;
use crate::change::is_part;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::ErrorData;
use crate::server::ReplyId;
use crate::types::{ServerCapabilities, SubscriptionFilter};

#[derive(Debug, Default)]
pub(super) struct ModernListeners {
    open: BTreeMap<ReplyId, ModernListener>,
}

#[derive(Debug)]
struct ModernListener {
    /// The part that the server has honoured so far.
    filter: SubscriptionFilter,
    /// The resources for which the server has not answered yet.
    missing: BTreeSet<String>,
}

impl ModernListeners {
    /// Opens a subscription; returns the resources to subscribe to, each once. `others` are the
    /// subscriptions of other clients.
    pub(super) fn open(
        &mut self,
        about: ReplyId,
        params: &Json,
        offered: &ServerCapabilities,
        (others, limits): (SubscriptionLoad, &Limits),
    ) -> Result<Vec<String>, ErrorData> {
        #[derive(serde::Deserialize)]
        struct Params {
            notifications: SubscriptionFilter,
        }
        let Ok(Params { notifications: wanted }) = params.decode() else {
            return Err(ErrorData::invalid_params("`notifications` is no SubscriptionFilter"));
        };
        let filter = wanted.lists_offered_by(offered);
        let subscribes = offered.resources.is_some_and(|resources| resources.subscribe);
        let uris = if subscribes { wanted.resource_subscriptions } else { Vec::new() };
        let missing: BTreeSet<String> = uris.into_iter().collect();
        let asks = missing.iter().cloned().collect();
        let listener = ModernListener { filter, missing };
        self.load().plus(others).plus(listener.load()).check(limits)?;
        self.open.insert(about, listener);
        Ok(asks)
    }

    pub(super) fn load(&self) -> SubscriptionLoad {
        self.open
            .values()
            .map(ModernListener::load)
            .fold(SubscriptionLoad::default(), SubscriptionLoad::plus)
    }

    /// Handles the server's answer for a resource.
    pub(super) fn handle_answer(&mut self, about: ReplyId, uri: &str, is_honoured: bool) {
        if let Some(listener) = self.open.get_mut(&about)
            && listener.missing.remove(uri)
            && is_honoured
        {
            listener.filter.resource_subscriptions.push(uri.into());
        }
    }

    /// The parameters of the acknowledgement, once the server has answered for all resources. The
    /// flag is true if nothing is honoured.
    pub(super) fn acknowledgement(&self, about: ReplyId) -> Option<(Json, bool)> {
        let listener = self.open.get(&about).filter(|listener| listener.missing.is_empty())?;
        Some((listener.filter.params(), listener.filter == SubscriptionFilter::default()))
    }

    /// The subscriptions that a notification belongs to.
    pub(super) fn of(&self, method: &str, uri: Option<&str>) -> Vec<ReplyId> {
        let wants = |ModernListener { filter, missing }: &ModernListener| {
            missing.is_empty()
                && match method {
                    "notifications/tools/list_changed" => filter.tools_list_changed,
                    "notifications/prompts/list_changed" => filter.prompts_list_changed,
                    "notifications/resources/list_changed" => filter.resources_list_changed,
                    _ => uri.is_some_and(|uri| {
                        filter.resource_subscriptions.iter().any(|whole| is_part(uri, whole))
                    }),
                }
        };
        self.open.iter().filter(|(_, listener)| wants(listener)).map(|(about, _)| *about).collect()
    }

    /// Closes a subscription; returns its resources. `None` if there was none.
    pub(super) fn close(&mut self, about: ReplyId) -> Option<Vec<String>> {
        let ModernListener { filter, missing } = self.open.remove(&about)?;
        Some(missing.into_iter().chain(filter.resource_subscriptions).collect())
    }

    /// Returns whether any subscription needs a resource.
    pub(super) fn wants(&self, uri: &str) -> bool {
        self.open.values().any(|it| {
            it.missing.contains(uri) || it.filter.resource_subscriptions.iter().any(|it| it == uri)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The subscriptions with their resources.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ReplyId, &[String])> {
        self.open.iter().map(|(about, it)| (*about, &*it.filter.resource_subscriptions))
    }
}

impl ModernListener {
    /// The load of the subscription's resources. A subscription without resources counts as one.
    fn load(&self) -> SubscriptionLoad {
        let uris = self.missing.iter().chain(&self.filter.resource_subscriptions);
        let (count, bytes) =
            uris.fold((0, 0), |(count, bytes), uri| (count + 1, bytes + uri.len()));
        SubscriptionLoad { count: count.max(1), bytes }
    }
}
