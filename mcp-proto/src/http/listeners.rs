//! Who listens to changes over HTTP, and what they have not been told.
//!
//! In: the filters of `subscriptions/listen` exchanges, and changes. Out: whom to wake, and what
//! has changed for them since they looked; what changes again before they look is told once.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::endpoint::EndpointAction;
use crate::row::Row;
use crate::server::{Change, Filter};

/// What a listener is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListenerId(u64);

#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "they are its listeners")]
pub(super) struct Listeners<W> {
    listeners: Row<Listener<W>>,
    serials: u64,
    /// The subscriptions of all of them, and the bytes of their URIs.
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Listener<W> {
    wake: W,
    woken: bool,
    filter: Filter,
    changed: BTreeSet<Change>,
    /// Whether it is to end.
    ends: bool,
}

/// What a listener has not been told.
#[derive(Debug, Default)]
pub(super) struct Untold {
    pub(super) changes: BTreeSet<Change>,
    /// Whether nothing follows.
    pub(super) ends: bool,
}

impl<W> Default for Listeners<W> {
    fn default() -> Self {
        Self { listeners: Row::default(), serials: 0, count: 0, bytes: 0 }
    }
}

impl<W: Clone> Listeners<W> {
    pub(super) fn add(&mut self, wake: W, filter: Filter) -> ListenerId {
        self.serials += 1;
        self.count += filter.count();
        self.bytes += filter.bytes();
        let changed = BTreeSet::new();
        let listener = Listener { wake, woken: false, filter, changed, ends: false };
        self.listeners.insert(self.serials, listener);
        ListenerId(self.serials)
    }

    pub(super) fn remove(&mut self, ListenerId(id): ListenerId) {
        if let Some(listener) = self.listeners.remove(id) {
            self.count -= listener.filter.count();
            self.bytes -= listener.filter.bytes();
        }
    }

    /// What a listener has not been told, and is told now.
    pub(super) fn take(&mut self, ListenerId(id): ListenerId) -> Untold {
        let Some(listener) = self.listeners.get_mut(id) else {
            return Untold { ends: true, ..Untold::default() };
        };
        listener.woken = false;
        Untold { changes: core::mem::take(&mut listener.changed), ends: listener.ends }
    }

    pub(super) fn publish(&mut self, change: &Change) -> Vec<EndpointAction<W>> {
        let wanting = self.listeners.values_mut().filter(|listener| listener.filter.has(change));
        let woken = wanting.filter_map(|listener| {
            listener.changed.insert(change.clone());
            listener.wake()
        });
        woken.collect()
    }

    /// Has all of them end.
    pub(super) fn end(&mut self) -> Vec<EndpointAction<W>> {
        let woken = self.listeners.values_mut().filter_map(|listener| {
            listener.ends = true;
            listener.wake()
        });
        woken.collect()
    }

    /// The subscriptions of all listeners, and the bytes of their URIs.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.count, self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.listeners.len()
    }
}

impl<W: Clone> Listener<W> {
    fn wake(&mut self) -> Option<EndpointAction<W>> {
        let sleeps = !core::mem::replace(&mut self.woken, true);
        sleeps.then(|| EndpointAction::Wake(self.wake.clone()))
    }
}
