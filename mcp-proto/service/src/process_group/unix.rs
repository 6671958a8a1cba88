//! Signals to a process group on Unix.
//!
//! In: the id of a group, which is that of its leader. Out: signals to all processes of the group,
//! and whether any process is left. The system gives the id to no other process while the leader is
//! not reaped or the group has a member. Once a check finds no member, the id is never used again.
//! The groups that may have members are in a list of the process, for [`kill_all`].

use alloc::collections::BTreeSet;
use std::io;
use std::sync::LazyLock;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid,
};

use crate::lock::Lock;

/// The ids of all groups that may have members.
static LIVE: LazyLock<Lock<BTreeSet<i32>>> = LazyLock::new(Lock::default);

/// Kills all processes of all groups.
pub(super) fn kill_all() {
    for group in LIVE.lock().iter().filter_map(|id| Pid::from_raw(*id)) {
        // An error is ignored: the caller is about to exit.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Signals to one group.
#[derive(Debug)]
pub(super) struct Signals {
    /// `None` once no process is left.
    group: Option<Pid>,
}

impl Signals {
    pub(super) fn to(leader: u32) -> Self {
        let group = i32::try_from(leader).ok().and_then(Pid::from_raw);
        LIVE.lock().extend(group.map(Pid::as_raw_pid));
        Self { group }
    }

    pub(super) fn leader(&self) -> Option<Leader> {
        self.group.map(Leader)
    }

    /// Sends SIGTERM to all processes of the group.
    pub(super) fn terminate(&mut self) {
        let Some(group) = self.group else { return };
        // An error is ignored: a process that gets no signal is killed later.
        let _ = kill_process_group(group, Signal::TERM);
        // A stopped process handles the signal only when it continues.
        let _ = kill_process_group(group, Signal::CONT);
    }

    /// Kills all processes. Fails if the system forbids it, as for a process of another user.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        let Some(group) = self.group.take() else { return Ok(()) };
        LIVE.lock().remove(&group.as_raw_pid());
        match kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(io::Error::from_raw_os_error(error.raw_os_error())),
        }
    }

    /// Returns whether no process is left; call this only after the leader is reaped.
    pub(super) fn has_nobody_left(&mut self) -> bool {
        if let Some(group) = self.group {
            // A process that adopts orphans, such as the first of a container, must reap them.
            while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
            // Processes that may not be signalled cannot be ended.
            if test_kill_process_group(group).is_err() {
                LIVE.lock().remove(&group.as_raw_pid());
                self.group = None;
            }
        }
        self.group.is_none()
    }
}

/// The leader of a group, to be looked at until it is reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leader(Pid);

impl Leader {
    /// Returns whether the leader has exited with status 0; `None` if it runs, or cannot be looked
    /// at, as on systems without this way to look. Does not reap it.
    pub(crate) fn has_succeeded(self) -> Option<bool> {
        has_succeeded(self.0)
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd"))]
fn has_succeeded(leader: Pid) -> Option<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(leader), options).ok()??;
    Some(status.exit_status() == Some(0))
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    target_os = "freebsd"
)))]
fn has_succeeded(_: Pid) -> Option<bool> {
    None
}
