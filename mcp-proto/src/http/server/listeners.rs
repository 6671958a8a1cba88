//! Listeners to changes over HTTP: their limits, and their pending changes.
//!
//! In: the filters of `subscriptions/listen` exchanges, and changes. Out: exchanges to wake, and
//! for each the changes since its last visit. A change that repeats before a visit is sent once.
//!
//! | a filter | then |
//! |---|---|
//! | fits into the endpoint, and into its holder's share | it is admitted |
//! | exceeds `Limits::max_subscriptions_per_holder` | it is refused |
//! | exceeds the endpoint, and its holder would hold most | it is refused |
//! | exceeds the endpoint, and another one holds most | the newest listeners of that one end, with their result |
//!
//! The newest listeners end, not the oldest. A client whose listener ends opens another one, and
//! would otherwise end another listener of the same holder.
//!
//! [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::action::EndpointAction;
use super::alarms::Alarms;
use super::shares::{Holder, Shares};
use crate::change::{Change, PendingChanges};
use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::server::Filter;
use crate::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListenerId(u64);

#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "they are its listeners")]
pub(super) struct Listeners<W> {
    /// By serial number. Any of very many may end, which must not move the others.
    listeners: BTreeMap<u64, Listener<W>>,
    /// The topics of the filters, with the serial numbers of their listeners: a change looks only
    /// at the listeners of its topic.
    topics: BTreeSet<(u64, u64)>,
    serials: u64,
    /// The holders, charged with the units of their filters. The items are serial numbers of
    /// listeners.
    shares: Shares<u64>,
    alarms: Alarms,
}

#[derive(Debug)]
struct Listener<W> {
    wake: W,
    woken: bool,
    holder: Holder,
    filter: Filter,
    changed: PendingChanges,
    /// True if the listener is to end.
    ends: bool,
}

/// Changes that a listener has not been notified of.
#[derive(Debug, Default)]
pub(super) struct PendingUpdate {
    pub(super) changes: PendingChanges,
    /// True if no more changes follow.
    pub(super) ends: bool,
}

impl<W> Default for Listeners<W> {
    fn default() -> Self {
        Self {
            listeners: BTreeMap::new(),
            topics: BTreeSet::new(),
            serials: 0,
            shares: Shares::default(),
            alarms: Alarms::default(),
        }
    }
}

impl<W: Clone> Listeners<W> {
    /// Makes room for the listener of a filter. Returns the listeners to wake because they end, and
    /// perhaps a report. On failure no listener ends.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        holder: &Holder,
        filter: &Filter,
        limits: &Limits,
    ) -> (Vec<EndpointAction<W>>, Result<(), ProtocolError>) {
        let Limits { max_subscriptions_per_holder, max_connections, .. } = *limits;
        let units = filter.units();
        let limit = "max_subscriptions_per_holder";
        let max = max_subscriptions_per_holder;
        if holder.is_known() && self.shares.amount(holder).saturating_add(units) > max {
            return self.refuse(now, limit, max);
        }
        let most = limits.max_endpoint_subscriptions();
        let total = self.shares.total().saturating_add(units);
        let Some(excess) = total.checked_sub(most).filter(|excess| *excess > 0) else {
            return (Vec::new(), Ok(()));
        };
        let Some(ending) = self.newest(holder, units, excess, most) else {
            return self.refuse(now, "max_connections", max_connections);
        };
        let mut actions: Vec<EndpointAction<W>> = Vec::new();
        actions.extend(self.alarms.reached(now, "max_connections").map(EndpointAction::Event));
        for serial in ending {
            self.release(serial);
            if let Some(listener) = self.listeners.get_mut(&serial) {
                listener.ends = true;
                actions.extend(listener.wake());
            }
        }
        (actions, Ok(()))
    }

    fn refuse(
        &mut self,
        now: Instant,
        limit: &'static str,
        max: usize,
    ) -> (Vec<EndpointAction<W>>, Result<(), ProtocolError>) {
        let event = self.alarms.reached(now, limit);
        let error = ProtocolError::ShareExceeded { limit, max };
        (event.map(EndpointAction::Event).into_iter().collect(), Err(error))
    }

    /// The newest listeners of the holder with the most units, enough of them to free `excess`
    /// units. `None` if that holder is the requester, or has too few listeners.
    fn newest(
        &self,
        requester: &Holder,
        units: usize,
        excess: usize,
        most: usize,
    ) -> Option<Vec<u64>> {
        let holders = self.shares.above_fair_share(requester, units, most);
        let holder = holders.first().filter(|holder| *holder != requester)?;
        let mut ending = Vec::new();
        let mut freed = 0;
        for serial in self.shares.items(holder).rev() {
            if freed >= excess {
                break;
            }
            freed += self.listeners.get(serial).map_or(0, |listener| listener.filter.units());
            ending.push(*serial);
        }
        (freed >= excess).then_some(ending)
    }

    /// Adds a listener that was [admitted](Self::admit).
    pub(super) fn add(&mut self, wake: W, holder: Holder, filter: Filter) -> ListenerId {
        self.serials += 1;
        self.shares.charge(&holder, filter.units());
        self.shares.insert(&holder, self.serials);
        self.topics.extend(filter.topics().map(|topic| (topic, self.serials)));
        let changed = PendingChanges::default();
        let listener = Listener { wake, woken: false, holder, filter, changed, ends: false };
        self.listeners.insert(self.serials, listener);
        ListenerId(self.serials)
    }

    /// Credits the units of a listener, unless the listener is already ending.
    fn release(&mut self, serial: u64) {
        if let Some(listener) = self.listeners.get(&serial)
            && !listener.ends
        {
            self.shares.remove(&listener.holder, &serial);
            self.shares.credit(&listener.holder, listener.filter.units());
        }
    }

    pub(super) fn remove(&mut self, ListenerId(id): ListenerId) {
        self.release(id);
        let Some(Listener { filter, .. }) = self.listeners.remove(&id) else { return };
        for topic in filter.topics() {
            self.topics.remove(&(topic, id));
        }
    }

    /// Takes the changes that a listener has not been notified of. The next change wakes `wake`.
    pub(super) fn take(&mut self, ListenerId(id): ListenerId, wake: &W) -> PendingUpdate {
        let Some(listener) = self.listeners.get_mut(&id) else {
            return PendingUpdate { ends: true, ..PendingUpdate::default() };
        };
        listener.woken = false;
        listener.wake = wake.clone();
        PendingUpdate { changes: core::mem::take(&mut listener.changed), ends: listener.ends }
    }

    pub(super) fn publish(&mut self, change: &Change) -> Vec<EndpointAction<W>> {
        let Self { listeners, topics, .. } = self;
        let topic = Filter::topic(change);
        let woken = topics.range((topic, 0)..=(topic, u64::MAX)).filter_map(|(_, serial)| {
            // Several texts may be one topic.
            let listener = listeners.get_mut(serial)?;
            if !listener.filter.admits(change) {
                return None;
            }
            listener.changed.insert(change.clone());
            listener.wake()
        });
        woken.collect()
    }

    /// Marks every change that a listener has asked for.
    pub(super) fn publish_all(&mut self) -> Vec<EndpointAction<W>> {
        let woken = self.listeners.values_mut().filter_map(|listener| {
            for change in listener.filter.changes() {
                listener.changed.insert(change);
            }
            listener.wake()
        });
        woken.collect()
    }

    pub(super) fn end(&mut self) -> Vec<EndpointAction<W>> {
        self.shares = Shares::default();
        let woken = self.listeners.values_mut().filter_map(|listener| {
            listener.ends = true;
            listener.wake()
        });
        woken.collect()
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
