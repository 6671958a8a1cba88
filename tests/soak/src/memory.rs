//! Resident memory of processes.

use std::fs;
use std::time::Duration;

use crate::report::{Check, Report};
use crate::trace::Trace;

/// After this time memory must not grow.
const WARM: Duration = Duration::from_secs(60);

/// Growth that is allowed: a tenth, and the pages of an allocator that come and go.
const GROWTH: u64 = 10;
const NOISE_KIB: u64 = 1024;

/// A process of ours that lives as long as the run.
pub struct Watched {
    /// Its name, for people.
    pub name: String,
    id: u32,
    /// The most that was seen in the first minute. One look would depend on the weather of its
    /// moment.
    peak: u64,
    /// Memory after the first minute.
    warm: Option<u64>,
}

impl Watched {
    /// Watches a process.
    pub fn new(name: &str, id: u32, report: &Report) -> Self {
        report.expect(name, Check::Memory);
        Self { name: name.to_owned(), id, peak: 0, warm: None }
    }

    /// The run has lasted for `elapsed`.
    pub fn look(&mut self, elapsed: Duration) {
        if self.warm.is_some() {
            return;
        }
        let resident = resident(self.id);
        self.peak = self.peak.max(resident.unwrap_or_default());
        if elapsed >= WARM {
            self.warm = resident;
        }
    }

    /// The run is over. Returns a line for the table.
    pub fn end(&self, report: &Report, trace: &Trace) -> String {
        let (Some(warm), Some(end)) = (self.warm, resident(self.id)) else {
            return format!("{}: less than a minute", self.name);
        };
        let peak = self.peak;
        let text = format!(
            "{warm} KiB after a minute, {peak} KiB at most until then, {end} KiB at the end"
        );
        if end > peak + (peak / GROWTH).max(NOISE_KIB) {
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
