//! The hosts of the tasks of a server.
//!
//! In: hosts, from the application and from each adapter that serves, and the ends of these
//! adapters. Out: the host that was added last, of those that are left.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::host::TaskHost;
use crate::lock::Lock;

/// The hosts of the tasks of a server, in the order in which they were added.
#[derive(Default)]
pub(super) struct TaskHosts(Lock<Vec<AddedHost>>);

struct AddedHost {
    host: Arc<TaskHost>,
    /// True if the host has a guard, which removes it.
    is_guarded: bool,
}

/// The time for which an adapter hosts tasks. Dropping it removes the host of the adapter.
pub(crate) struct HostGuard {
    hosts: Arc<TaskHosts>,
    host: Arc<TaskHost>,
}

impl TaskHosts {
    /// Adds a host that stays, in place of an earlier one that stays.
    pub(super) fn set(&self, host: TaskHost) {
        let host = AddedHost { host: Arc::new(host), is_guarded: false };
        let before = {
            let mut hosts = self.0.lock();
            let at = hosts.iter().position(|added| !added.is_guarded);
            let before = at.map(|at| hosts.remove(at));
            hosts.push(host);
            before
        };
        // The drop of a host may run any code: drop it without the lock.
        drop(before);
    }

    /// Adds a host, until the guard is dropped.
    pub(super) fn add(self: &Arc<Self>, host: TaskHost) -> HostGuard {
        let host = Arc::new(host);
        self.0.lock().push(AddedHost { host: host.clone(), is_guarded: true });
        HostGuard { hosts: self.clone(), host }
    }

    /// The host that was added last.
    pub(super) fn current(&self) -> Option<Arc<TaskHost>> {
        self.0.lock().last().map(|added| added.host.clone())
    }

    /// The host that was added last, except for one that has dropped its work.
    pub(super) fn current_except(&self, lost: &Arc<TaskHost>) -> Option<Arc<TaskHost>> {
        let hosts = self.0.lock();
        let other = hosts.iter().rev().find(|added| !Arc::ptr_eq(&added.host, lost));
        other.map(|added| added.host.clone())
    }
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        let removed = {
            let mut hosts = self.hosts.0.lock();
            let at = hosts.iter().rposition(|added| Arc::ptr_eq(&added.host, &self.host));
            at.map(|at| hosts.remove(at))
        };
        drop(removed);
    }
}
