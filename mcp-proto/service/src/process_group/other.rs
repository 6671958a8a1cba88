//! The end of a server and its descendants where there are no process groups.
//!
//! In: the id of a server. Out, on Windows: `taskkill`, which ends a process and all that descend
//! from it, as long as the process runs. Elsewhere there are no processes.

use std::io;
use std::process::{Command, Stdio};

/// The end of one server.
#[derive(Debug)]
pub(super) struct Signals {
    /// `None` once it has exited.
    server: Option<u32>,
}

impl Signals {
    pub(super) fn to(server: u32) -> Self {
        Self { server: Some(server) }
    }

    /// There is no signal for a program without windows.
    pub(super) fn terminate(&mut self) {}

    /// Kills the server and its descendants.
    ///
    /// Fails if `taskkill` does.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        let Some(server) = self.server.take().filter(|_| cfg!(windows)) else { return Ok(()) };
        let mut command = Command::new("taskkill");
        command.args(["/T", "/F", "/PID"]).arg(alloc::format!("{server}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status()?.success() {
            return Ok(());
        }
        Err(io::Error::other("`taskkill` cannot end the server"))
    }

    /// The descendants of a server that has exited are not known; its id may be another's.
    pub(super) fn has_nobody_left(&mut self) -> bool {
        self.server = None;
        true
    }
}
