//! Executions, counted by key.
//!
//! In: the file to which servers append the key of each execution, `LINK.NUMBER`. Out: a failure
//! for each key that is there twice, and counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The executions of all links. It takes a bit of memory for each: literally.
pub struct Ledger {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// The begin of a line.
    rest: String,
    executed: BTreeMap<String, Executed>,
}

#[derive(Default)]
struct Executed {
    count: u64,
    bits: Vec<u64>,
}

impl Ledger {
    /// An empty ledger at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        let state =
            State { file: File::open(path)?, rest: String::new(), executed: BTreeMap::new() };
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// File to which servers write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what was written since; returns the keys that were executed before.
    pub fn read(&self) -> io::Result<Vec<String>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = std::mem::take(&mut state.rest);
        state.file.read_to_string(&mut text)?;
        let mut twice = Vec::new();
        for line in text.split_inclusive('\n') {
            if !line.ends_with('\n') {
                state.rest = line.to_owned();
                break;
            }
            let Some((link, number)) = line.trim_end().rsplit_once('.') else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            let executed = state.executed.entry(link.to_owned()).or_default();
            executed.count += 1;
            if executed.bits.len() <= number / 64 {
                executed.bits.resize(number / 64 + 1, 0);
            }
            let word = &mut executed.bits[number / 64];
            let bit = 1 << (number % 64);
            if *word & bit != 0 {
                twice.push(line.trim_end().to_owned());
            }
            *word |= bit;
        }
        Ok(twice)
    }

    /// Number of executions on a link.
    pub fn count(&self, link: &str) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.executed.get(link).map_or(0, |executed| executed.count)
    }
}
