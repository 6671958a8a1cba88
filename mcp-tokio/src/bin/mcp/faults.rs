//! Protocol errors of servers, on standard error.
//!
//! In: errors, such as a line on standard output that is not a message. Out: lines on standard
//! error. Often there is a line for each request, so an error is shown once, and the number of
//! errors is limited.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use mcp_tokio::mcp_proto::ProtocolError;

use crate::print;

/// The most errors of a server that are shown.
const MAX_SHOWN: usize = 10;

/// The errors of a server.
pub(crate) struct Faults {
    /// The beginning of each line.
    of: String,
    shown: Mutex<BTreeSet<String>>,
}

impl Faults {
    /// No errors so far. Their lines begin with the text and a colon.
    pub(crate) fn new(of: String) -> Self {
        Self { of, shown: Mutex::default() }
    }

    /// Shows an error, unless it was shown before, or too many were.
    pub(crate) fn show(&self, error: &ProtocolError) {
        // Its text has the line.
        let is_foreign = matches!(error, ProtocolError::ForeignOutput { .. });
        let key = if is_foreign { String::new() } else { error.to_string() };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() > MAX_SHOWN || !shown.insert(key) {
            return;
        }
        let of = &self.of;
        print::note(&if shown.len() > MAX_SHOWN {
            format!("{of}: more errors are not shown")
        } else {
            format!("{of}: {error}")
        });
    }
}
