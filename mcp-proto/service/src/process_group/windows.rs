//! The end of a server and its descendants on Windows.
//!
//! In: the id of a server, and its handle if the runtime has one. Out: a job object with the server
//! and every process that it starts. Closing the job ends all of them, and the system closes
//! the job if this process ends.
//!
//! | there is | `kill` | `has_nobody_left` |
//! |---|---|---|
//! | a job | closes it, which ends whoever is in it | if nobody is in it |
//! | no job, and the server runs | `taskkill /T`, which finds descendants by their parents | |
//! | no job, and the server has exited | nothing: nobody is known | always |
//!
//! The server runs before it is added to the job. A process that the server starts in between is
//! not in the job, nor are the descendants of that process.

use std::io;
use std::os::windows::io::RawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Command, Stdio};

use win32job::{ExtendedLimitInfo, Job, JobError};

/// The flag that starts a program without a console window. A console program opens a window
/// otherwise, if the process that starts it has no console.
pub(crate) const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// The end of one server.
#[derive(Debug)]
pub(super) struct Signals {
    job: Option<Job>,
    /// `None` once it has exited.
    server: Option<u32>,
}

impl Signals {
    pub(super) fn to(server: u32) -> Self {
        Self { job: None, server: Some(server) }
    }

    /// The same with a job, if the system allows it: not for a process that has exited.
    pub(super) fn with_handle(server: u32, handle: RawHandle) -> Self {
        Self { job: job_of(handle).ok(), server: Some(server) }
    }

    /// There is no signal for a program without windows.
    #[expect(clippy::unused_self, reason = "the same verb as on Unix")]
    pub(super) fn terminate(&mut self) {}

    /// Kills the server and its descendants.
    ///
    /// Fails if there is no job and `taskkill` does.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        let server = self.server.take();
        if let Some(job) = self.job.take() {
            drop(job);
            return Ok(());
        }
        let Some(server) = server else { return Ok(()) };
        let mut command = Command::new("taskkill");
        command.args(["/T", "/F", "/PID"]).arg(alloc::format!("{server}"));
        command.creation_flags(CREATE_NO_WINDOW);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status()?.success() {
            return Ok(());
        }
        Err(io::Error::other("`taskkill` cannot end the server"))
    }

    /// Returns whether nobody is left, as far as is known; to be asked once the server has exited,
    /// since its id may be another's then.
    pub(super) fn has_nobody_left(&mut self) -> bool {
        self.server = None;
        // The list of a job with very many processes cannot be read.
        let is_empty = |job: &Job| job.query_process_id_list().is_ok_and(|ids| ids.is_empty());
        self.job.as_ref().is_none_or(is_empty)
    }
}

/// A job with this process. Closing the job ends the process and its descendants.
fn job_of(process: RawHandle) -> Result<Job, JobError> {
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    let job = Job::create_with_limit_info(&limits)?;
    job.assign_process(process.addr().cast_signed())?;
    Ok(job)
}
