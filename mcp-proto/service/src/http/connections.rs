//! Open connections of a server: who has how many, and which one ends to make room for another.
//!
//! In: connections that open, close, and change their activity. Out: the connection that is told to
//! end. A connection keeps its activity in an atomic, so that a request takes no lock here.
//!
//! | activity | the connection | ends to make room |
//! |---|---|---|
//! | `Idle` | waits for a request | first, the one that has waited for longest |
//! | `Receiving` | reads the body of a request | if none is idle |
//! | `Streaming` | has a stream that answers no request | if neither is there |
//! | `Answering` | owes an answer, or is sending one | never |
//!
//! Only holders above their fair share lose a connection, the one with the most first.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::IpAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::lock::Lock;
use super::super::service_mailbox::ServiceMailbox;
use mcp_proto::Instant;
use mcp_proto::http::{Activity, Config};
use mcp_proto::internals::{Alarms, Holder, Shares};
use mcp_proto::server::ServerEvent;

/// The open connections of a server.
#[derive(Debug, Default)]
pub(super) struct Connections(Lock<ConnectionsState>);

#[derive(Debug, Default)]
struct ConnectionsState {
    /// The items are numbers of connections.
    shares: Shares<u64>,
    open: BTreeMap<u64, (Holder, Arc<Meter>)>,
    alarms: Alarms,
}

/// The activity of a connection, and the wish that it ends.
#[derive(Debug)]
pub(super) struct Meter {
    /// The microsecond at which the activity began, and in the lowest 2 bits the activity.
    activity: AtomicU64,
    ends: AtomicBool,
    mailbox: Arc<ServiceMailbox>,
}

impl Meter {
    fn new(now: Instant, mailbox: Arc<ServiceMailbox>) -> Arc<Self> {
        let meter = Self { activity: AtomicU64::new(0), ends: AtomicBool::new(false), mailbox };
        meter.record(now, Activity::Idle);
        Arc::new(meter)
    }

    /// The activity is another one since `now`.
    pub(super) fn record(&self, now: Instant, activity: Activity) {
        self.activity.store(now.as_micros() << 2 | activity as u64, Ordering::Relaxed);
    }

    /// Returns whether the connection is to end. It is told once.
    pub(super) fn take_end(&self) -> bool {
        self.ends.swap(false, Ordering::Relaxed)
    }

    /// The place in the order in which connections end; `None` if it must not.
    fn rank(&self) -> Option<(u64, u64)> {
        let word = self.activity.load(Ordering::Relaxed);
        let may_end = word & 3 != Activity::Answering as u64 && !self.ends.load(Ordering::Relaxed);
        may_end.then_some((word & 3, word >> 2))
    }
}

impl Connections {
    /// A connection has opened.
    pub(super) fn open(
        &self,
        now: Instant,
        number: u64,
        holder: Holder,
        mailbox: Arc<ServiceMailbox>,
    ) -> Arc<Meter> {
        let meter = Meter::new(now, mailbox);
        let mut state = self.0.lock();
        state.shares.charge(&holder, 1);
        state.shares.insert(&holder, number);
        state.open.insert(number, (holder, meter.clone()));
        meter
    }

    /// A connection has closed.
    pub(super) fn close(&self, number: u64) {
        let mut state = self.0.lock();
        if let Some((holder, _)) = state.open.remove(&number) {
            state.shares.remove(&holder, &number);
            state.shares.credit(&holder, 1);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().open.len()
    }

    /// Tells a connection to end in favour of one of `peer`, if there is one to end.
    pub(super) fn make_room(&self, config: &Config, peer: Option<IpAddr>) -> bool {
        let asking = Holder::new(config, None, peer);
        let victim = self.0.lock().victim(&asking);
        // Waking may run anything, and must not find the lock held.
        if let Some(meter) = &victim {
            meter.ends.store(true, Ordering::Relaxed);
            meter.mailbox.ask_for_visit();
        }
        victim.is_some()
    }

    /// Records that a limit was reached. Returns how often it was since the last report, if a
    /// report is due.
    pub(super) fn alarm(&self, now: Instant, name: &'static str) -> Option<u64> {
        self.0.lock().alarms.count(now, name, 1)
    }

    /// Records that `Limits::max_connections` was reached. Returns the report, if one is due.
    pub(super) fn full(&self, now: Instant) -> Option<ServerEvent> {
        self.0.lock().alarms.reached(now, "max_connections")
    }
}

impl ConnectionsState {
    fn victim(&self, asking: &Holder) -> Option<Arc<Meter>> {
        let holders = self.shares.above_fair_share(asking, 1, self.open.len());
        let first_of = |holder: &Holder| {
            let meters = self.shares.items(holder).filter_map(|number| self.open.get(number));
            let ranked = meters.filter_map(|(_, meter)| Some((meter.rank()?, meter)));
            ranked.min_by_key(|(rank, _)| *rank)
        };
        let firsts = holders.iter().filter_map(first_of);
        // Of several with the same activity, that of the holder that has most.
        let victim = firsts.min_by_key(|((activity, _), _)| *activity);
        victim.map(|(_, meter)| meter.clone())
    }
}
