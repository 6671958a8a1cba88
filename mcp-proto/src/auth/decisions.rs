//! Log of the table rows that decided.
//!
//! In: the name of a table and of a row. Out: the last 64 rows, for tests and for diagnosis.

use alloc::collections::VecDeque;

const MAX_DECISIONS: usize = 64;

/// A row that decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AuthDecision {
    /// The table: `refusal`, `flow`, `registration`, `binding`, `iss` or `granted`.
    pub table: &'static str,
    /// The row.
    pub row: &'static str,
}

/// The rows that decided.
#[derive(Debug, Default)]
pub(super) struct Decisions(VecDeque<AuthDecision>);

impl Decisions {
    pub(super) fn record(&mut self, table: &'static str, row: &'static str) {
        if self.0.len() >= MAX_DECISIONS {
            self.0.pop_front();
        }
        self.0.push_back(AuthDecision { table, row });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = AuthDecision> {
        self.0.iter().copied()
    }
}
