//! Resident memory of processes.

use std::fs;
use std::time::Duration;

use crate::report::{Check, Report};
use crate::trace::Trace;

/// From then on memory must not grow.
pub const WARM: Duration = Duration::from_secs(60);

/// By this much it may grow: a tenth, and the pages of an allocator that come and go.
const GROWTH: u64 = 10;
const NOISE_KIB: u64 = 1024;

/// A process of ours that lives as long as the run.
pub struct Watched {
    /// Its name, for people.
    pub name: String,
    id: u32,
    warm: Option<u64>,
}

impl Watched {
    /// Watches a process.
    pub fn new(name: &str, id: u32, report: &Report) -> Self {
        report.expect(name, Check::Memory);
        Self { name: name.to_owned(), id, warm: None }
    }

    /// The run has lasted for `elapsed`.
    pub fn look(&mut self, elapsed: Duration) {
        if elapsed >= WARM && self.warm.is_none() {
            self.warm = resident(self.id);
        }
    }

    /// The run is over. Returns a line for the table.
    pub fn end(&self, report: &Report, trace: &Trace) -> String {
        let (Some(warm), Some(end)) = (self.warm, resident(self.id)) else {
            return format!("{}: less than a minute", self.name);
        };
        let text = format!("{warm} KiB after a minute, {end} KiB at the end");
        if end > warm + (warm / GROWTH).max(NOISE_KIB) {
            report.fail(&self.name, Check::Memory, &text, trace);
        }
        format!("{}: {text}", self.name)
    }
}

/// In KiB; `None` where there is no `/proc`, or no such process.
fn resident(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
