//! A server process together with every process that it has started.
//!
//! In: the id of a server that was started from a [`Command`](super::Command), and a future of its
//! exit. Out: the end of its process group. A server is often a launcher (`npx`, `uvx`, a shell),
//! so the process that speaks MCP is its child. Ending only the launcher would leave the child
//! running.
//!
//! [`ProcessGroup::end`] takes the steps in order, each with `grace` to take effect, and stops when
//! the server has exited and no process is left in its group:
//!
//! | step | before it | Unix | Windows |
//! |---|---|---|---|
//! | `InputClosed` | the adapter closes the standard input | | |
//! | `Terminated` | `grace` | SIGTERM to the group, then SIGCONT for whoever is stopped | |
//! | `Killed` | `grace` | SIGKILL to the group | the job object is closed, which ends whoever is in it |
//!
//! The last step waits for the exit of the server only. Dropping a group, or the future of its end,
//! is the last step at once. On Windows the group is a job object. A runtime whose children have no
//! [handle](super::runtime::Child), and a system that refuses the job, leave `taskkill /T`: it
//! finds descendants while the server runs, and none afterwards.
//!
//! "the client SHOULD initiate shutdown by: 1. First, closing the input stream to the child process
//! (the server) 2. Waiting for the server to exit, or sending `SIGTERM` if the server does not exit
//! within a reasonable time 3. Sending `SIGKILL` if the server does not exit within a reasonable
//! time after `SIGTERM`"
//!
//! [Specification: stdio, shutdown](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown)

#[cfg(not(any(unix, windows)))]
mod other;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use std::io;
use std::process::ExitStatus;

use super::Clock;
use mcp_proto::{Duration, Instant};

#[cfg(not(any(unix, windows)))]
use other::Signals;
#[cfg(unix)]
pub(crate) use unix::Leader;
#[cfg(unix)]
use unix::Signals;
#[cfg(windows)]
pub(crate) use windows::CREATE_NO_WINDOW;
#[cfg(windows)]
use windows::Signals;

/// The process group of a server. Dropping this kills the group.
#[derive(Debug)]
pub struct ProcessGroup {
    signals: Signals,
}

/// A step towards the end of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    InputClosed,
    Terminated,
    Killed,
}

/// Pauses between looks at a group whose leader has exited: nobody reports the exit of the others.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

impl ProcessGroup {
    /// The group of a child process that was started from
    /// [`Command::to_std`](super::Command::to_std), by its id.
    pub fn of(leader: u32) -> Self {
        Self { signals: Signals::to(leader) }
    }

    /// The group of a child process, by its id and its handle, which must be open. The server and
    /// every process that it starts from now on are in a job object. To be called at once after the
    /// start: a process that the server has started before is not in it.
    #[cfg(windows)]
    pub fn with_handle(leader: u32, handle: std::os::windows::io::RawHandle) -> Self {
        Self { signals: Signals::with_handle(leader, handle) }
    }

    /// Kills every group of this process that is still alive, and waits for nothing. For a program
    /// that is about to call [`std::process::exit`], which drops no group. Not on Windows: there
    /// the end of a process closes its job objects.
    #[cfg(unix)]
    pub fn kill_all() {
        unix::kill_all();
    }

    /// The leader; `None` once no process is left.
    #[cfg(unix)]
    pub(crate) fn leader(&self) -> Option<Leader> {
        self.signals.leader()
    }

    /// Ends the group, once the standard input of the server is closed. `exit` waits for the server
    /// and reaps it; `meanwhile` is polled until the group has ended, and reads what its processes
    /// still write. Returns the exit status of the server.
    ///
    /// Fails with the error of `exit`, or if the server may not be killed.
    pub async fn end(
        mut self,
        exit: impl Future<Output = io::Result<ExitStatus>>,
        meanwhile: impl Future<Output = ()>,
        mut clock: impl Clock,
        grace: Duration,
    ) -> io::Result<ExitStatus> {
        let mut exit = pin!(exit);
        let mut meanwhile = pin!(meanwhile);
        let mut step = Step::InputClosed;
        let mut until = clock.now() + grace;
        let mut exited: Option<(ExitStatus, Look)> = None;
        let mut is_read = false;
        poll_fn(|context| {
            if exited.is_none()
                && let Poll::Ready(status) = exit.as_mut().poll(context)
            {
                exited = Some((status?, Look::at(clock.now())));
            }
            // Processes that outlive the server write too.
            if !is_read {
                is_read = meanwhile.as_mut().poll(context).is_ready();
            }
            loop {
                let due = match &mut exited {
                    Some((status, _)) if step == Step::Killed => return Poll::Ready(Ok(*status)),
                    Some((status, look)) => {
                        if look.is_due(clock.now()) && self.signals.has_nobody_left() {
                            return Poll::Ready(Ok(*status));
                        }
                        look.next.min(until)
                    }
                    None if step == Step::Killed => return Poll::Pending,
                    None => until,
                };
                if clock.poll_timer(context, due).is_pending() {
                    return Poll::Pending;
                }
                if until <= clock.now() {
                    step = self.advance(step)?;
                    until = clock.now() + grace;
                }
            }
        })
        .await
    }

    /// Takes the next step.
    fn advance(&mut self, step: Step) -> io::Result<Step> {
        match step {
            Step::InputClosed => {
                self.signals.terminate();
                Ok(Step::Terminated)
            }
            Step::Terminated | Step::Killed => self.signals.kill().map(|()| Step::Killed),
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = self.signals.kill();
    }
}

/// Schedule of the checks whether processes are left in a group.
struct Look {
    next: Instant,
    pause: Duration,
}

impl Look {
    fn at(now: Instant) -> Self {
        Self { next: now, pause: FIRST_PAUSE }
    }

    fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
