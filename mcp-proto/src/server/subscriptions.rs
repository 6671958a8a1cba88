//! Subscriptions to changes, and the changes that have not been told yet.
//!
//! In: `subscriptions/listen` of modern clients; the session and the subscriptions of a legacy
//! one; and changes. Out: notifications, one by one, as the driver takes them; what changes again
//! before it was told is told once.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::calls::Calls;
use super::context::{Context, ServerChannel};
use super::declaration::Declaration;
use super::names::has_scheme;
use crate::change::{Change, List};
use crate::error::ProtocolError;
use crate::json::{Json, Raw, write};
use crate::limits::Limits;
use crate::message::{Capability, Outgoing, Params, RequestId};
use crate::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::seq_map::SeqMap;
use crate::types::SubscriptionFilter;

/// The listener that is a legacy session; requests are counted from 1.
const SESSION: u64 = 0;

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// By the serial numbers of their requests.
    listeners: SeqMap<Listener>,
    /// Those that have something to be told, each once.
    dirty: VecDeque<u64>,
    /// The subscriptions in all, and the bytes of their URIs.
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Listener {
    /// The id of its request; a legacy session has none.
    id: Option<RequestId>,
    /// True if it may be told anything yet.
    ready: bool,
    filter: Filter,
    pending: BTreeSet<Change>,
}

impl Listener {
    fn tell(&self, change: &Change) -> Outgoing {
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
        };
        object.end();
        Outgoing::Notification { method: method.into(), params: Json::trusted(params) }
    }
}

impl Subscriptions {
    /// A legacy session has begun; it is told of all lists, once it is ready.
    pub(super) fn open_session(&mut self) {
        let filter = Filter { lists: List::ALL.into_iter().collect(), uris: BTreeSet::new() };
        let pending = BTreeSet::new();
        self.listeners.insert(SESSION, Listener { id: None, ready: false, filter, pending });
    }

    /// The client of a legacy session has said that it is initialized.
    pub(super) fn start_session(&mut self) {
        if let Some(session) = self.listeners.get_mut(SESSION)
            && !core::mem::replace(&mut session.ready, true)
            && !session.pending.is_empty()
        {
            self.dirty.push_back(SESSION);
        }
    }

    /// The client of a legacy session wants to hear of a resource.
    pub(super) fn subscribe(&mut self, uri: &str, limits: &Limits) -> Result<(), ProtocolError> {
        let known =
            self.listeners.get(SESSION).is_some_and(|session| session.filter.uris.contains(uri));
        if !known {
            self.admit(1, uri.len(), limits)?;
        }
        if let Some(session) = self.listeners.get_mut(SESSION)
            && session.filter.uris.insert(uri.into())
        {
            self.count += 1;
            self.bytes += uri.len();
        }
        Ok(())
    }

    /// It does not want to any more.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        if let Some(session) = self.listeners.get_mut(SESSION)
            && session.filter.uris.remove(uri)
        {
            session.pending.remove(&Change::ResourceUpdated(uri.into()));
            self.count -= 1;
            self.bytes -= uri.len();
        }
    }

    /// Gives back the memory that only pending changes need. (An empty set keeps a node.)
    pub(super) fn shrink(&mut self) {
        if self.dirty.is_empty() {
            self.dirty = VecDeque::new();
        }
        for listener in self.listeners.values_mut() {
            if listener.pending.is_empty() {
                listener.pending = BTreeSet::new();
            }
            if listener.filter.uris.is_empty() {
                listener.filter.uris = BTreeSet::new();
            }
        }
    }

    pub(super) fn publish(&mut self, change: &Change) {
        for (serial, listener) in self.listeners.iter_mut() {
            if listener.filter.has(change) {
                if listener.ready && listener.pending.is_empty() {
                    self.dirty.push_back(serial);
                }
                listener.pending.insert(change.clone());
            }
        }
    }

    /// All that anybody has subscribed to has changed, as far as it is declared to change.
    pub(super) fn publish_all(&mut self, declaration: &Declaration) {
        for (serial, listener) in self.listeners.iter_mut() {
            let silent = listener.pending.is_empty();
            let changes = listener.filter.changes();
            listener.pending.extend(changes.filter(|change| declaration.check(change).is_ok()));
            if listener.ready && silent && !listener.pending.is_empty() {
                self.dirty.push_back(serial);
            }
        }
    }

    /// Returns whether there is something to tell.
    pub(super) fn has_news(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The next notification.
    pub(super) fn next(&mut self) -> Option<Outgoing> {
        while let Some(serial) = self.dirty.pop_front() {
            let Some(listener) = self.listeners.get_mut(serial) else { continue };
            let Some(change) = listener.pending.pop_first() else { continue };
            if !listener.pending.is_empty() {
                self.dirty.push_back(serial);
            }
            return Some(listener.tell(&change));
        }
        None
    }

    /// Serves `subscriptions/listen`.
    pub(super) fn listen(
        &mut self,
        context: &mut Context,
        calls: &mut Calls,
        id: RequestId,
        params: &Params,
    ) -> Result<(), ProtocolError> {
        let filter = self.honoured(context, params)?;
        context.send(None, acknowledged(&id, &filter));
        if filter.is_empty() {
            let end = end_of_subscription(context, id);
            context.send(None, end);
            return Ok(());
        }
        self.open(calls.hold(&id), id, filter);
        Ok(())
    }

    /// The client does not listen any more.
    pub(super) fn cancel(&mut self, calls: &mut Calls, serial: u64) {
        if let Some(id) = self.close(serial) {
            calls.release(&id);
        }
    }

    /// Ends all subscriptions of modern clients, after what there is to tell them.
    pub(super) fn handle_eof(&mut self, context: &mut Context, calls: &mut Calls) {
        self.tell(context);
        while let Some(serial) = self.oldest() {
            let Some(id) = self.close(serial) else { continue };
            calls.release(&id);
            let is_stream = context.binding() == ServerChannel::Stream;
            let cancelled = is_stream.then(|| Outgoing::cancelled(&id));
            let end = end_of_subscription(context, id);
            context.send(None, end);
            if let Some(cancelled) = cancelled {
                context.send(None, cancelled);
            }
        }
    }

    /// Tells all that there is to tell, here and not when the driver takes actions.
    pub(super) fn tell(&mut self, context: &mut Context) {
        while let Some(change) = self.next() {
            context.send(None, change);
        }
    }

    /// Filter of the subscription of a modern client, if there is one.
    pub(super) fn filter(&self) -> Option<Filter> {
        let serial = self.oldest()?;
        self.listeners.get(serial).map(|listener| listener.filter.clone())
    }

    /// What of the wanted notifications there is. What is not honoured is not kept, be it millions
    /// of URIs.
    fn honoured(&self, context: &Context, params: &Params) -> Result<Filter, ProtocolError> {
        let declaration = context.declaration();
        let limits = context.limits();
        let mut lists = BTreeSet::new();
        let mut uris = BTreeSet::new();
        let mut bytes = 0;
        let mut filters = 0;
        let mut valid = true;
        let mut room = Ok(());
        let mut list = |list, wanted: Raw<'_>| match wanted.0 {
            b"true" if declaration.list_changed.contains(&list) => {
                lists.insert(list);
                true
            }
            wanted => matches!(wanted, b"true" | b"false"),
        };
        let mut subscribe = |uri: &str| {
            // A resource that does not exist may come to exist, which is what the client waits for.
            let wanted = declaration.declares(Capability::ResourceSubscriptions) && has_scheme(uri);
            if wanted && room.is_ok() && !uris.contains(uri) {
                bytes += uri.len();
                uris.insert(String::from(uri));
                room = self.admit(uris.len(), bytes, limits);
            }
        };
        params.json().raw().members(|key, filter| {
            if key.string().as_deref() != Some("notifications") {
                return;
            }
            filters += 1;
            valid &= filter.is_object();
            filter.members(|key, wanted| match key.string().as_deref() {
                Some("toolsListChanged") => valid &= list(List::Tools, wanted),
                Some("promptsListChanged") => valid &= list(List::Prompts, wanted),
                Some("resourcesListChanged") => valid &= list(List::Resources, wanted),
                Some("resourceSubscriptions") => {
                    valid &= wanted.is_array();
                    wanted.elements(|uri| match uri.string() {
                        Some(uri) => subscribe(&uri),
                        None => valid = false,
                    });
                }
                _ => {}
            });
        });
        if filters != 1 || !valid {
            let expected = "a SubscriptionFilter";
            return Err(ProtocolError::InvalidParam { member: "notifications", expected });
        }
        room?;
        let filter = Filter { lists, uris };
        if !filter.is_empty() {
            self.admit(filter.count(), bytes, limits)?;
        }
        Ok(filter)
    }

    /// The bytes of the URIs of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether so many subscriptions more, with so many bytes of URIs, may be open.
    fn admit(&self, count: usize, bytes: usize, limits: &Limits) -> Result<(), ProtocolError> {
        let Limits { max_subscriptions, max_subscription_bytes, .. } = *limits;
        if self.count.saturating_add(count) > max_subscriptions {
            return Err(ProtocolError::TooManySubscriptions { max_subscriptions });
        }
        if self.bytes.saturating_add(bytes) > max_subscription_bytes {
            return Err(ProtocolError::TooManySubscriptionBytes { max_subscription_bytes });
        }
        Ok(())
    }

    fn open(&mut self, serial: u64, id: RequestId, filter: Filter) {
        self.count += filter.count();
        self.bytes += filter.bytes();
        let id = Some(id);
        let pending = BTreeSet::new();
        self.listeners.insert(serial, Listener { id, ready: true, filter, pending });
    }

    fn close(&mut self, serial: u64) -> Option<RequestId> {
        let listener = self.listeners.remove(serial)?;
        self.count -= listener.filter.count();
        self.bytes -= listener.filter.bytes();
        listener.id
    }

    fn oldest(&self) -> Option<u64> {
        self.listeners.iter().map(|(serial, _)| serial).find(|serial| *serial != SESSION)
    }
}

/// Changes that a subscriber wants to be notified of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    lists: BTreeSet<List>,
    uris: BTreeSet<String>,
}

impl Filter {
    pub(crate) fn has(&self, change: &Change) -> bool {
        match change {
            Change::ListChanged(list) => self.lists.contains(list),
            Change::ResourceUpdated(uri) => self.uris.contains(uri),
        }
    }

    /// All changes that it has.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let lists = self.lists.iter().copied().map(Change::ListChanged);
        lists.chain(self.uris.iter().cloned().map(Change::ResourceUpdated))
    }

    /// As how many subscriptions it counts: each URI is one, and so is what names none.
    pub(crate) fn count(&self) -> usize {
        self.uris.len().max(1)
    }

    /// The units that it counts as over HTTP, where listeners share the memory of an endpoint: each
    /// URI has one for each 128 bytes that it has begun.
    pub(crate) fn units(&self) -> usize {
        self.uris.iter().map(|uri| uri.len().div_ceil(128).max(1)).sum::<usize>().max(1)
    }

    /// The bytes of its URIs.
    pub(crate) fn bytes(&self) -> usize {
        self.uris.iter().map(String::len).sum()
    }

    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.uris.is_empty()
    }
}

fn end_of_subscription(context: &Context, id: RequestId) -> Outgoing {
    let mut stamp = b"\"resultType\":\"complete\",\"_meta\":".to_vec();
    let mut meta = write::List::object(&mut stamp);
    meta.member(SERVER_INFO, context.declaration().server_info().as_bytes());
    meta.member(SUBSCRIPTION_ID, id.as_str().as_bytes());
    meta.end();
    Outgoing::Result { id, stamp: Bytes::from(stamp), result: Json::EMPTY_OBJECT }
}

fn acknowledged(id: &RequestId, Filter { lists, uris }: &Filter) -> Outgoing {
    let filter = SubscriptionFilter {
        tools_list_changed: lists.contains(&List::Tools),
        prompts_list_changed: lists.contains(&List::Prompts),
        resources_list_changed: lists.contains(&List::Resources),
        resource_subscriptions: uris.iter().cloned().collect(),
    };
    let filter = Json::encode(&filter).unwrap_or(Json::EMPTY_OBJECT);
    let mut params = Vec::new();
    let mut object = write::List::object(&mut params);
    object.member("_meta", &subscription_meta(id));
    object.member("notifications", filter.as_bytes());
    object.end();
    let method = "notifications/subscriptions/acknowledged".into();
    Outgoing::Notification { method, params: Json::trusted(params) }
}

fn subscription_meta(id: &RequestId) -> Vec<u8> {
    let mut meta = Vec::new();
    let mut object = write::List::object(&mut meta);
    object.member(SUBSCRIPTION_ID, id.as_str().as_bytes());
    object.end();
    meta
}
