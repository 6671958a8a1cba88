//! Steps in the detection of a server's era and version.
//!
//! In: the [`Decision`]s of a negotiation so far. Out: for people a line for each, as soon as it is
//! made, and a line for the error that it is about; for programs a document.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use mcp_tokio::mcp_proto::Era;
use mcp_tokio::mcp_proto::client::Decision;
use mcp_tokio::mcp_proto::client::probe::{self, Move};
use mcp_tokio::{Client, Negotiation};
use serde::Serialize;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::print;
use crate::refusals::excerpt;

/// Interval of the checks for another decision.
const TICK: Duration = Duration::from_millis(100);

/// Width of the column with the times.
const INDENT: usize = 10;

/// A negotiation, printed as it proceeds.
pub(crate) struct NegotiationLog<'a> {
    client: &'a Client,
    /// Request that is sent first.
    opening: &'static str,
    /// Number of lines so far; the first is the opening.
    printed: usize,
}

impl<'a> NegotiationLog<'a> {
    pub(crate) fn new(client: &'a Client, negotiation: Negotiation) -> Self {
        let is_legacy = negotiation == Negotiation::Legacy
            || matches!(negotiation, Negotiation::Pinned(version) if version.era() == Era::Legacy);
        let opening = if is_legacy { "initialize" } else { "server/discover" };
        Self { client, opening, printed: 0 }
    }

    /// Awaits the result of the negotiation, and prints new decisions meanwhile.
    pub(crate) async fn until<T>(&mut self, found: impl Future<Output = T>) -> T {
        let mut found = pin!(found);
        loop {
            if let Ok(found) = timeout(TICK, found.as_mut()).await {
                // A negotiation that failed at once has no decisions.
                if !self.client.decisions().is_empty() {
                    self.print_new();
                }
                return found;
            }
            self.print_new();
        }
    }

    /// Prints the new decisions.
    fn print_new(&mut self) {
        if self.printed == 0 {
            print::text(&line(0, &format!("{} is sent", self.opening)));
            self.printed = 1;
        }
        let decisions = self.client.decisions();
        let errors = self.client.decision_errors();
        for (decision, error) in decisions.iter().zip(errors).skip(self.printed - 1) {
            print::text(&line(millis(decision), &decision.to_string()));
            if let Some(error) = error.filter(|_| !ends_with_error(decision)) {
                print::text(&format!("{:INDENT$}{}", "", excerpt(&Failure::from(error).message)));
            }
            self.printed += 1;
        }
    }
}

/// Returns whether the negotiation, and so the command, fails with the error of the decision.
fn ends_with_error(decision: &Decision) -> bool {
    use probe::Failure::{Refused, Unauthorized, Unavailable};
    matches!(decision.then, Move::Fail(Refused | Unauthorized | Unavailable))
}

fn line(ms: u64, what: &str) -> String {
    format!("{:>width$}  {what}", format!("{ms} ms"), width = INDENT - 2)
}

/// A decision for programs, in the words of the table.
#[derive(Serialize)]
pub(crate) struct DecisionDocument {
    ms: u64,
    step: String,
    outcome: String,
    row: &'static str,
    then: String,
}

impl DecisionDocument {
    pub(crate) fn new(decision: &Decision) -> Self {
        Self {
            ms: millis(decision),
            step: format!("{:?}", decision.step),
            outcome: format!("{:?}", decision.outcome),
            row: decision.row,
            then: format!("{:?}", decision.then),
        }
    }
}

/// Time of a decision, in milliseconds since the start.
fn millis(decision: &Decision) -> u64 {
    decision.at.as_micros() / 1000
}
