//! A listener: the changes that its client wants to be notified of, and the pending changes.
//!
//! In: changes. Out: notifications.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::context::Context;
use super::event::Peer;
use super::filter::Filter;
use crate::change::{Change, PendingChanges};
use crate::json::{Json, write};
use crate::limits::Limits;
use crate::message::{Outgoing, RequestId};
use crate::meta::SUBSCRIPTION_ID;
use crate::version::ProtocolVersion;

#[derive(Debug)]
pub(super) struct Listener {
    /// The id of the listener's request; `None` for a legacy session.
    pub(super) id: Option<RequestId>,
    /// True if the listener may be sent notifications.
    pub(super) ready: bool,
    pub(super) filter: Filter,
    pub(super) pending: PendingChanges,
    /// The order of the last state of each task that the client was notified of.
    #[expect(clippy::box_collection, reason = "8 bytes in place of 24 where there is none")]
    last_sent: Option<Box<BTreeMap<String, u64>>>,
    /// The sender of the latest request; `None` if no entry had a filter at that time.
    pub(super) peer: Option<Arc<Peer>>,
}

impl Listener {
    pub(super) fn new(id: Option<RequestId>, ready: bool, filter: Filter) -> Self {
        Self { id, ready, filter, pending: PendingChanges::default(), last_sent: None, peer: None }
    }

    /// The order of the last state of a task that the client was notified of.
    fn last_sent(&self, task: &str) -> Option<u64> {
        self.last_sent.as_ref()?.get(task).copied()
    }

    pub(super) fn by(self, peer: Option<Arc<Peer>>) -> Self {
        Self { peer, ..self }
    }

    /// Queues a change, if the client wants it and may see it. Returns whether the change is the
    /// first pending one and the listener is ready.
    pub(super) fn enqueue(&mut self, change: &Change, context: &Context) -> bool {
        let is_late = matches!(change, Change::TaskUpdated(update)
            if self.last_sent(update.task_id()).is_some_and(|sent| sent >= update.order()));
        if is_late || !self.filter.admits(change) || self.is_hidden(change, context) {
            return false;
        }
        let is_first = self.pending.is_empty();
        self.pending.insert(change.clone());
        is_first && self.ready
    }

    pub(super) fn is_hidden(&self, change: &Change, context: &Context) -> bool {
        let Change::ResourceUpdated(uri) = change else { return false };
        context.declaration().hides_updates(uri, &|| match &self.peer {
            Some(peer) => peer.clone(),
            None if self.id.is_none() => unknown_peer(context, ProtocolVersion::LATEST_LEGACY),
            None => unknown_peer(context, ProtocolVersion::LATEST_MODERN),
        })
    }

    pub(super) fn encode_notification(&mut self, change: &Change) -> Outgoing {
        let mut params = Vec::new();
        let mut object = write::List::object(&mut params);
        if let Some(id) = &self.id {
            object.member("_meta", &subscription_meta(id));
        }
        let method = match change {
            Change::ListChanged(list) => list.notification(),
            Change::ResourceUpdated(uri) => {
                object.text("uri", uri);
                "notifications/resources/updated"
            }
            Change::TaskUpdated(update) => {
                let sent = self.last_sent.get_or_insert_default();
                sent.insert(update.task_id().into(), update.order());
                update.task().raw().members(|key, value| {
                    if key.0 != b"\"_meta\"" {
                        object.copy(key, value);
                    }
                });
                "notifications/tasks"
            }
        };
        object.end();
        Outgoing::Notification { method: method.into(), params: Json::trusted(params) }
    }
}

/// The sender of a subscription. A description above `Limits::max_client_bytes` is left out.
pub(super) fn bounded(peer: Arc<Peer>, limits: &Limits) -> Arc<Peer> {
    let info = peer.client_info.as_ref().map_or(0, |info| info.as_bytes().len());
    if info + peer.capabilities.as_bytes().len() > limits.max_client_bytes {
        let capabilities = Json::EMPTY_OBJECT;
        return Arc::new(Peer { client_info: None, capabilities, ..Arc::unwrap_or_clone(peer) });
    }
    peer
}

/// The sender of a subscription that was opened before the registry had filters.
fn unknown_peer(context: &Context, version: ProtocolVersion) -> Arc<Peer> {
    context.peer(version, None, Json::EMPTY_OBJECT)
}

pub(super) fn subscription_meta(id: &RequestId) -> Vec<u8> {
    let mut meta = Vec::new();
    let mut object = write::List::object(&mut meta);
    object.member(SUBSCRIPTION_ID, id.as_str().as_bytes());
    object.end();
    meta
}
