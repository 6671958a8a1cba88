//! State that the connections of a server share, behind a lock: the endpoint, the catalog snapshot,
//! and the requests for input that clients have not answered.
//!
//! In: commands of handlers and sessions, and updates of the catalog. Out: actions to execute,
//! values to drop and wakers to wake without the lock.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;
use core::task::Waker;

use super::super::catalog::CatalogSnapshot;
use super::super::commands::Commands;
use super::super::service_mailbox::{CatalogUpdate, Command};
use super::super::session::OpenInputRequests;
use super::running::RunningHandlers;
use super::visitor::EndpointWaker;
use mcp_proto::Instant;
use mcp_proto::http::{Endpoint, EndpointAction};
use mcp_proto::server::ServerEvent;

/// A time after all deadlines.
const LAST: Instant = Instant::from_micros(u64::MAX - 1);

pub(super) struct LockedState {
    pub(super) endpoint: Endpoint<EndpointWaker>,
    pub(super) snapshot: Arc<CatalogSnapshot>,
    pub(super) input_requests: OpenInputRequests,
    /// Time at which the background task runs next.
    pub(super) background_due: Instant,
}

/// Values to drop and tasks to wake without the lock. Both may run any code.
#[derive(Default)]
pub(super) struct Leftover {
    snapshot: Option<Arc<CatalogSnapshot>>,
    wakers: Vec<Waker>,
}

/// Actions to execute without the lock.
pub(super) struct DeferredActions<'a> {
    /// Usually there is only one action.
    pub(super) first: Option<EndpointAction<EndpointWaker>>,
    pub(super) others: VecDeque<EndpointAction<EndpointWaker>>,
    /// Set if the first action is a request that is still to be answered.
    pub(super) snapshot: Option<CurrentSnapshot<'a>>,
    /// True if the background task must be woken for an earlier deadline.
    pub(super) wakes_background: bool,
}

/// The current snapshot of the catalog: that of the visitor, or another one.
pub(super) enum CurrentSnapshot<'a> {
    Visitors(&'a CatalogSnapshot),
    Other(Arc<CatalogSnapshot>),
}

impl Deref for CurrentSnapshot<'_> {
    type Target = CatalogSnapshot;

    fn deref(&self) -> &CatalogSnapshot {
        match self {
            Self::Visitors(snapshot) => snapshot,
            Self::Other(snapshot) => snapshot,
        }
    }
}

impl Leftover {
    pub(super) fn finish(self) {
        let Self { snapshot, wakers } = self;
        drop(snapshot);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl LockedState {
    pub(super) fn new(endpoint: Endpoint<EndpointWaker>, snapshot: Arc<CatalogSnapshot>) -> Self {
        Self {
            endpoint,
            snapshot,
            input_requests: OpenInputRequests::default(),
            background_due: Instant::NEVER,
        }
    }

    /// Takes the actions of the endpoint. `known` is the snapshot that a visitor has.
    pub(super) fn take_actions<'a>(
        &mut self,
        known: Option<&'a CatalogSnapshot>,
    ) -> DeferredActions<'a> {
        let Self { endpoint, snapshot, background_due, .. } = self;
        let first = endpoint.poll_action();
        let others = endpoint.take_actions();
        let snapshot = match &first {
            Some(EndpointAction::Event(ServerEvent::Request(request))) => {
                // A later action may have cancelled the request.
                let is_owed = others.is_empty() || endpoint.is_owed(request.reply.id());
                is_owed.then(|| match known {
                    Some(known) if core::ptr::eq(known, Arc::as_ptr(snapshot)) => {
                        CurrentSnapshot::Visitors(known)
                    }
                    _ => CurrentSnapshot::Other(snapshot.clone()),
                })
            }
            _ => None,
        };
        let due = endpoint.poll_timeout().unwrap_or(Instant::NEVER);
        let wakes_background = due < *background_due;
        if wakes_background {
            *background_due = due;
        }
        DeferredActions { first, others, snapshot, wakes_background }
    }

    /// The time of the next deadline, at which the background task runs next.
    pub(super) fn plan_background(&mut self) -> Option<Instant> {
        let due = self.endpoint.poll_timeout();
        self.background_due = due.unwrap_or(Instant::NEVER);
        due
    }

    /// Applies queued commands and an update of the catalog.
    pub(super) fn apply_queued(
        &mut self,
        now: Instant,
        commands: Commands,
        update: CatalogUpdate,
        running: &RunningHandlers,
    ) -> Leftover {
        let snapshot = update.snapshot.map(|snapshot| self.take(now, snapshot));
        update.changes.publish(|change| match change {
            // The change was checked when it was queued.
            Some(change) => drop(self.endpoint.publish(now, change)),
            None => self.endpoint.publish_all(now),
        });
        let wakers =
            commands.into_iter().filter_map(|command| self.apply_command(now, command, running));
        Leftover { snapshot, wakers: wakers.collect() }
    }

    fn apply_command(
        &mut self,
        now: Instant,
        command: Command,
        running: &RunningHandlers,
    ) -> Option<Waker> {
        let endpoint = &mut self.endpoint;
        match command {
            // Errors are ignored, such as progress after the end of the request.
            Command::Notify(about, notification) => {
                let _ = endpoint.notify(now, about, notification);
            }
            Command::CloseStream(about) => {
                let _ = endpoint.close_stream(now, about);
            }
            Command::Respond(reply, outcome) => {
                running.remove(reply.id());
                endpoint.respond(now, reply, outcome);
            }
            Command::Session(command) => {
                return self.input_requests.apply_command(now, endpoint, *command, false);
            }
        }
        None
    }

    /// Ends all sessions, because the server is gone, and reports their ends.
    pub(super) fn end_sessions(&mut self) {
        self.endpoint.shutdown(Instant::ZERO);
        // Requests in flight get no time to end.
        self.endpoint.handle_timeout(LAST);
        while let Some(action) = self.endpoint.poll_action() {
            if let EndpointAction::Event(ServerEvent::SessionEnded { session, handler }) = action {
                self.snapshot.end_session(session, handler);
            }
        }
    }

    /// Replaces the snapshot of the catalog if `snapshot` is newer. Returns the older one, to be
    /// dropped.
    fn take(&mut self, now: Instant, snapshot: Arc<CatalogSnapshot>) -> Arc<CatalogSnapshot> {
        if snapshot.generation <= self.snapshot.generation {
            return snapshot;
        }
        self.endpoint.declare(now, snapshot.declaration.clone());
        core::mem::replace(&mut self.snapshot, snapshot)
    }
}
