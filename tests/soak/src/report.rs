//! The report: what was counted, what failed, and the table at the end.
//!
//! In: calls and their ends, failures of checks. Out: a failure is printed when it is found, with
//! the seed and the end of its trace, the whole of which goes into a file; the table and the sum
//! are printed at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::trace::Trace;

/// As many failures of one check on one link are printed; the others are counted.
const PRINTED: u64 = 3;

/// As many lines of a trace are printed.
const LINES: usize = 30;

/// Requirement of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// Every call ends within its deadline.
    Deadline,
    /// Nothing is executed twice.
    Once,
    /// A client that was connected goes on by itself.
    Survives,
    /// After the faults everything works again within a minute, and then goes on to work.
    Recovers,
    /// No change is missed for longer than that.
    Changes,
    /// Memory does not grow.
    Memory,
}

impl Check {
    fn text(self) -> &'static str {
        match self {
            Self::Deadline => "every call ends within its deadline",
            Self::Once => "nothing is executed twice",
            Self::Survives => "a client that was connected goes on by itself",
            Self::Recovers => "after the faults everything works within a minute",
            Self::Changes => "no change is missed",
            Self::Memory => "memory does not grow",
        }
    }
}

/// All that is known about a run.
pub struct Report {
    seed: u64,
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    links: BTreeMap<String, Link>,
    checks: BTreeMap<(String, Check), u64>,
    kinds: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Link {
    calls: u64,
    completed: u64,
    clients: u64,
    recovery: Duration,
}

/// Counts of a link from other sources, for its row.
#[derive(Default)]
pub struct Extra {
    /// Number of executions.
    pub executed: u64,
    /// Number of connections.
    pub connections: u64,
    /// Number of faults, by kind.
    pub faults: BTreeMap<&'static str, u64>,
}

impl Report {
    /// An empty report; traces go to `folder`.
    pub fn new(seed: u64, folder: PathBuf) -> Self {
        Self { seed, folder, state: Mutex::default() }
    }

    /// A check is made on a link, and counts as passed until it fails.
    pub fn expect(&self, link: &str, check: Check) {
        self.state().checks.entry((link.to_owned(), check)).or_default();
    }

    /// A call begins.
    pub fn called(&self, link: &str) {
        self.state().links.entry(link.to_owned()).or_default().calls += 1;
    }

    /// A call has a result.
    pub fn completed(&self, link: &str) {
        self.state().links.entry(link.to_owned()).or_default().completed += 1;
    }

    /// A call has failed.
    pub fn failed(&self, kind: String) {
        *self.state().kinds.entry(kind).or_default() += 1;
    }

    /// A client was made.
    pub fn connected(&self, link: &str) {
        self.state().links.entry(link.to_owned()).or_default().clients += 1;
    }

    /// A link works again, after this time without faults.
    pub fn recovered(&self, link: &str, after: Duration) {
        let mut state = self.state();
        let row = state.links.entry(link.to_owned()).or_default();
        row.recovery = row.recovery.max(after);
    }

    /// A check has failed.
    pub fn fail(&self, link: &str, check: Check, text: &str, trace: &Trace) {
        let count = {
            let mut state = self.state();
            let count = state.checks.entry((link.to_owned(), check)).or_default();
            *count += 1;
            *count
        };
        trace.note(&format!("** FAILED: {}: {text}", check.text()));
        if count > PRINTED {
            return;
        }
        let lines = trace.lines();
        let name = format!("{}-{link}-{check:?}-{count}.txt", self.seed).to_lowercase();
        let file = self.folder.join(name.replace(' ', "-").replace(',', ""));
        let whole = match fs::write(&file, lines.join("\n")) {
            Ok(()) => file.display().to_string(),
            Err(error) => format!("{}: {error}", file.display()),
        };
        println!("\nFAILED with --seed {}: {link}: {}: {text}", self.seed, check.text());
        for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
            println!("  {line}");
        }
        println!("  all of it: {whole}");
    }

    /// Prints the table and the sum. Returns whether all checks have passed.
    pub fn print(&self, extras: &BTreeMap<String, Extra>, memory: &[String]) -> bool {
        let state = self.state();
        println!();
        println!(
            "{:<34} {:>7} {:>7} {:>7} {:>9} {:>8} {:>12} {:>7} {:>10}",
            "link",
            "calls",
            "ok",
            "failed",
            "executed",
            "clients",
            "connections",
            "faults",
            "recovered"
        );
        let mut faults = BTreeMap::<&str, u64>::new();
        let none = Extra::default();
        for (name, link) in &state.links {
            let extra = extras.get(name).unwrap_or(&none);
            for (kind, count) in &extra.faults {
                *faults.entry(kind).or_default() += count;
            }
            println!(
                "{name:<34} {:>7} {:>7} {:>7} {:>9} {:>8} {:>12} {:>7} {:>8.1} s",
                link.calls,
                link.completed,
                link.calls - link.completed,
                extra.executed,
                link.clients,
                extra.connections,
                extra.faults.values().sum::<u64>(),
                link.recovery.as_secs_f64()
            );
        }
        print_counts("failures of calls, by kind", &state.kinds);
        print_counts("faults, by kind", &faults);
        println!("\nmemory");
        for line in memory {
            println!("  {line}");
        }
        println!("\nseed {}", self.seed);
        let mut failed = 0;
        for ((link, check), count) in state.checks.iter().filter(|(_, count)| **count > 0) {
            println!("FAILED {link}: {} ({count} times)", check.text());
            failed += 1;
        }
        println!("{} passed, {failed} failed", state.checks.len() - failed);
        failed == 0 && !state.checks.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn print_counts<K: AsRef<str> + Ord>(title: &str, counts: &BTreeMap<K, u64>) {
    println!("\n{title}");
    for (kind, count) in counts {
        println!("  {count:>7} {}", kind.as_ref());
    }
}
