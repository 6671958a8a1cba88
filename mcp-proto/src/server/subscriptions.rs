//! Subscriptions to changes, and the pending changes.
//!
//! In: `subscriptions/listen` of modern clients; the session and the subscriptions of a legacy
//! client; changes. Out: notifications, one by one, as the driver polls them. A change that repeats
//! while it is pending is sent once.
//!
//! | listener | may be notified | leaves by |
//! |---|---|---|
//! | a legacy session | once its client is initialized | the end of the session |
//! | a subscription | at once | cancellation, the end of input |
//! | one that names tasks | once a handler has said which of them are its client's; changes wait | the same, and the end of the handler without an answer |
//!
//! Only the last state of a task is pending. A state is never sent after a later state.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::call::{Call, ReplyPath};
use super::calls::Calls;
use super::config::Config;
use super::context::Context;
use super::event::Peer;
use super::filter::Filter;
use super::listener::{Listener, bounded, subscription_meta};
use super::outcome::Outcome;
use crate::change::{Change, PendingChanges};
use crate::error::ProtocolError;
use crate::json::{Json, write};
use crate::limits::Limits;
use crate::message::{Outgoing, Params, RequestId};
use crate::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::seq_map::SeqMap;

/// The key of a legacy session as a listener; requests are counted from 1.
const SESSION: u64 = 0;

/// Estimated memory of a subscription in addition to its URI or task id, in bytes.
const PER_SUBSCRIPTION: usize = 96;

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// The listeners by the serial numbers of their requests.
    listeners: SeqMap<Listener>,
    /// The listeners with pending changes, each once.
    dirty: VecDeque<u64>,
    /// The number of subscriptions, and the bytes of their URIs and task ids.
    count: usize,
    bytes: usize,
    /// Number of listeners that wait for the lookup of their tasks.
    pending_lookups: usize,
}

impl Subscriptions {
    /// Begins a legacy session; its client gets changes of all lists, once it is initialized.
    pub(super) fn open_session(&mut self) {
        self.listeners.insert(SESSION, Listener::new(None, false, Filter::of_session()));
    }

    /// Handles `notifications/initialized` of a legacy session.
    pub(super) fn start_session(&mut self) {
        if let Some(session) = self.listeners.get_mut(SESSION)
            && !core::mem::replace(&mut session.ready, true)
            && !session.pending.is_empty()
        {
            self.dirty.push_back(SESSION);
        }
    }

    /// Adds a subscription of a legacy session to a resource. Fails if the session, or the server
    /// as a whole, has no room for another one.
    pub(super) fn subscribe(
        &mut self,
        uri: &str,
        peer: Option<Arc<Peer>>,
        config: &Config,
    ) -> Result<(), ProtocolError> {
        let known = self.listeners.get(SESSION).is_some_and(|session| session.filter.has_uri(uri));
        if !known {
            self.admit(1, uri.len(), &config.limits)?;
            if !config.has_lasting_room(uri.len().saturating_add(PER_SUBSCRIPTION)) {
                return Err(config.endpoint_full());
            }
        }
        if let Some(session) = self.listeners.get_mut(SESSION) {
            session.peer = peer;
            if session.filter.insert_uri(uri) {
                self.count += 1;
                self.bytes += uri.len();
            }
        }
        Ok(())
    }

    /// Ends the subscription of a legacy session to a resource.
    pub(super) fn unsubscribe(&mut self, uri: &str) {
        if let Some(session) = self.listeners.get_mut(SESSION)
            && session.filter.remove_uri(uri)
        {
            session.pending.remove(&Change::ResourceUpdated(uri.into()));
            self.count -= 1;
            self.bytes -= uri.len();
        }
    }

    /// Frees memory, if no changes are pending. (An empty set keeps a node.)
    pub(super) fn shrink(&mut self) {
        if self.dirty.is_empty() {
            self.dirty = VecDeque::new();
        }
        for listener in self.listeners.values_mut() {
            if listener.pending.is_empty() {
                listener.pending = PendingChanges::default();
            }
            listener.filter.shrink();
        }
    }

    pub(super) fn publish(&mut self, change: &Change, context: &Context) {
        for (serial, listener) in self.listeners.iter_mut() {
            if listener.enqueue(change, context) {
                self.dirty.push_back(serial);
            }
        }
    }

    /// Queues a change of everything that a listener has subscribed to, as far as changes are
    /// declared.
    pub(super) fn publish_all(&mut self, context: &Context) {
        let declaration = context.declaration();
        for (serial, listener) in self.listeners.iter_mut() {
            let silent = listener.pending.is_empty();
            let changes = listener.filter.changes();
            let changes = changes.filter(|change| declaration.check(change).is_ok());
            let visible: Vec<Change> =
                changes.filter(|change| !listener.is_hidden(change, context)).collect();
            for change in visible {
                listener.pending.insert(change);
            }
            if listener.ready && silent && !listener.pending.is_empty() {
                self.dirty.push_back(serial);
            }
        }
    }

    /// Returns whether any change is pending.
    pub(super) fn has_pending(&self) -> bool {
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
            return Some(listener.encode_notification(&change));
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
        peer: Option<Arc<Peer>>,
    ) -> Result<(), ProtocolError> {
        let filter = self.read(context, params)?;
        context.send(None, acknowledged(&id, &filter));
        if filter.is_empty() {
            let end = end_of_subscription(context, id);
            context.send(None, end);
            return Ok(());
        }
        let peer = peer.map(|peer| bounded(peer, context.limits()));
        self.open(calls.reserve_id(&id), Listener::new(Some(id), true, filter).by(peer));
        Ok(())
    }

    /// Adds a subscription that names tasks, before its request is passed to the handler that looks
    /// up the tasks.
    pub(super) fn look_up(
        &mut self,
        context: &Context,
        calls: &Calls,
        id: RequestId,
        params: &Params,
        peer: Option<Arc<Peer>>,
    ) -> Result<(), ProtocolError> {
        let filter = self.read(context, params)?;
        self.pending_lookups += 1;
        let peer = peer.map(|peer| bounded(peer, context.limits()));
        self.open(calls.next_serial(), Listener::new(Some(id), false, filter).by(peer));
        Ok(())
    }

    /// Handles the outcome of the lookup of a subscription's tasks. The result names the tasks of
    /// the client. `opens` is false after the end of input.
    pub(super) fn handle_tasks(
        &mut self,
        context: &mut Context,
        calls: &mut Calls,
        (serial, call, outcome): (u64, Call, &Outcome),
        opens: bool,
    ) {
        calls.settle(&call);
        let Some(mut listener) = self.remove(serial) else { return };
        self.pending_lookups = self.pending_lookups.saturating_sub(1);
        let found = found_tasks(outcome);
        listener.filter.retain_tasks(|id| opens && found.contains(id));
        context.send(None, acknowledged(&call.id, &listener.filter));
        if listener.filter.is_empty() || !opens {
            let end = end_of_subscription(context, call.id);
            return context.end_with_answer(call.path, None, end);
        }
        listener.ready = true;
        let mut pending = core::mem::take(&mut listener.pending);
        while let Some(change) = pending.pop_first() {
            listener.enqueue(&change, context);
        }
        let serial = calls.reserve_id(&call.id);
        if !listener.pending.is_empty() {
            self.dirty.push_back(serial);
        }
        self.open(serial, listener);
    }

    /// Removes the subscriptions whose lookup of tasks has ended without an answer.
    pub(super) fn forget_unanswered(&mut self, calls: &Calls) {
        if self.pending_lookups == 0 {
            return;
        }
        let waits = |(serial, listener): (u64, &Listener)| {
            let is_over = !listener.ready && serial != SESSION && !calls.is_in_handler(serial);
            is_over.then_some(serial)
        };
        let over: Vec<u64> = self.listeners.iter().filter_map(waits).collect();
        for serial in over {
            self.remove(serial);
            self.pending_lookups = self.pending_lookups.saturating_sub(1);
        }
    }

    /// Ends a subscription that the client has cancelled.
    pub(super) fn cancel(&mut self, calls: &mut Calls, serial: u64) {
        if let Some(id) = self.close(serial) {
            calls.release_id(&id);
        }
    }

    /// Sends the pending changes, and ends all subscriptions.
    pub(super) fn handle_eof(&mut self, context: &mut Context, calls: &mut Calls) {
        self.flush(context);
        while let Some(serial) = self.oldest() {
            let Some(id) = self.close(serial) else { continue };
            calls.release_id(&id);
            let end = end_of_subscription(context, id);
            context.end_subscription(ReplyPath::default(), end);
        }
        // Lists are no part of the count of a session.
        if let Some(session) = self.listeners.remove(SESSION) {
            self.count -= session.filter.texts();
            self.bytes -= session.filter.bytes();
        }
    }

    /// Sends all pending changes now, instead of when the driver polls.
    pub(super) fn flush(&mut self, context: &mut Context) {
        while let Some(change) = self.next() {
            context.send(None, change);
        }
    }

    /// Filter of the subscription of a modern client, if there is one.
    pub(super) fn filter(&self) -> Option<Filter> {
        let mut listeners = self.listeners.iter();
        let found = listeners.find(|(serial, _)| *serial != SESSION);
        found.map(|(_, listener)| listener.filter.clone())
    }

    fn read(&self, context: &Context, params: &Params) -> Result<Filter, ProtocolError> {
        let limits = context.limits();
        Filter::read(context, params, |count, bytes| self.admit(count, bytes, limits))
    }

    /// Returns whether there are no subscriptions; a session counts only its resources.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The memory of all subscriptions, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.saturating_add(self.count.saturating_mul(PER_SUBSCRIPTION))
    }

    /// Checks that `count` more subscriptions, with `bytes` bytes of URIs, may be open.
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

    fn open(&mut self, serial: u64, listener: Listener) {
        self.count += listener.filter.count();
        self.bytes += listener.filter.bytes();
        self.listeners.insert(serial, listener);
    }

    fn close(&mut self, serial: u64) -> Option<RequestId> {
        self.remove(serial)?.id
    }

    fn remove(&mut self, serial: u64) -> Option<Listener> {
        let listener = self.listeners.remove(serial)?;
        self.count -= listener.filter.count();
        self.bytes -= listener.filter.bytes();
        Some(listener)
    }

    /// The oldest subscription of a modern client that is acknowledged.
    fn oldest(&self) -> Option<u64> {
        let is_open = |(serial, listener): &(u64, &Listener)| *serial != SESSION && listener.ready;
        self.listeners.iter().find(is_open).map(|(serial, _)| serial)
    }
}

/// The ids in the result of the handler that looks up tasks: `{"taskIds": [...]}`.
fn found_tasks(outcome: &Outcome) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Outcome::Complete(result) = outcome
        && let Some(ids) = result.raw().member("taskIds")
    {
        ids.elements(|id| found.extend(id.string().map(String::from)));
    }
    found
}

fn end_of_subscription(context: &Context, id: RequestId) -> Outgoing {
    let mut stamp = b"\"resultType\":\"complete\",\"_meta\":".to_vec();
    let mut meta = write::List::object(&mut stamp);
    meta.member(SERVER_INFO, context.declaration().server_info().as_bytes());
    meta.member(SUBSCRIPTION_ID, id.as_str().as_bytes());
    meta.end();
    Outgoing::Result { id, stamp: Bytes::from(stamp), result: Json::EMPTY_OBJECT.into() }
}

fn acknowledged(id: &RequestId, filter: &Filter) -> Outgoing {
    let filter = filter.acknowledged();
    let filter = Json::encode(&filter).unwrap_or(Json::EMPTY_OBJECT);
    let mut params = Vec::new();
    let mut object = write::List::object(&mut params);
    object.member("_meta", &subscription_meta(id));
    object.member("notifications", filter.as_bytes());
    object.end();
    Outgoing::notification("notifications/subscriptions/acknowledged", Json::trusted(params))
}
