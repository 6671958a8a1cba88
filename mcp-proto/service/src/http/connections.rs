//! Open connections of a server: the number per client (`Holder`), and which to close for another.
//!
//! In: connections that open, close, and change their activity. Out: the connection to close. A
//! connection stores its activity in an atomic, so that a request takes no lock here.
//!
//! | activity | the connection | is closed to make room |
//! |---|---|---|
//! | `Idle` | waits for a request | first, the longest idle one |
//! | `Receiving` | reads the body of a request | if none is idle |
//! | `Streaming` | has a stream that answers no request | if none of the others |
//! | `Answering` | owes a response, or is sending one | never |
//!
//! Only a holder above its fair share loses one; in a tie, the holder with the most.

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
    /// The shares of the holders; each item is a connection's number.
    shares: Shares<u64>,
    open: BTreeMap<u64, (Holder, Arc<Meter>)>,
    alarms: Alarms,
}

/// The activity of a connection, and whether it is to close.
#[derive(Debug)]
pub(super) struct Meter {
    /// The microsecond at which the activity began, and in the lowest 2 bits the activity.
    activity: AtomicU64,
    is_closing: AtomicBool,
    mailbox: Arc<ServiceMailbox>,
}

impl Meter {
    fn new(now: Instant, mailbox: Arc<ServiceMailbox>) -> Arc<Self> {
        let meter =
            Self { activity: AtomicU64::new(0), is_closing: AtomicBool::new(false), mailbox };
        meter.record(now, Activity::Idle);
        Arc::new(meter)
    }

    /// Records a change of the activity at `now`.
    pub(super) fn record(&self, now: Instant, activity: Activity) {
        self.activity.store(now.as_micros() << 2 | activity as u64, Ordering::Relaxed);
    }

    /// Returns whether the connection is to close; true once.
    pub(super) fn take_close_request(&self) -> bool {
        self.is_closing.swap(false, Ordering::Relaxed)
    }

    /// The rank in the order in which connections are closed; `None` if it must stay open.
    fn rank(&self) -> Option<(u64, u64)> {
        let word = self.activity.load(Ordering::Relaxed);
        let may_end =
            word & 3 != Activity::Answering as u64 && !self.is_closing.load(Ordering::Relaxed);
        may_end.then_some((word & 3, word >> 2))
    }
}

impl Connections {
    /// Records an open connection.
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

    /// Records the end of a connection.
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

    /// Requests the end of a connection to make room for one of `peer`; returns false if none can
    /// be closed.
    pub(super) fn make_room(&self, config: &Config, peer: Option<IpAddr>) -> bool {
        let asking = Holder::new(config, None, peer);
        let victim = self.0.lock().victim(&asking);
        // A waker may run any code, so wake without the lock.
        if let Some(meter) = &victim {
            meter.is_closing.store(true, Ordering::Relaxed);
            meter.mailbox.request_visit();
        }
        victim.is_some()
    }

    /// Records that a connection could not be accepted. If a report is due, returns the count since
    /// the last report.
    pub(super) fn accept_failed(&self, now: Instant) -> Option<u64> {
        self.0.lock().alarms.count(now, "accept", 1)
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
        // Holders are sorted by their number of connections: the first one wins a tie.
        let victim = firsts.min_by_key(|((activity, _), _)| *activity);
        victim.map(|(_, meter)| meter.clone())
    }
}
