//! Observations of a run beside the answers to its calls.

use std::fs;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use mcp_proto::ProtocolError;
use mcp_proto::client::Change;
use mcp_service::Stderr;

use super::servers::Server;
use super::{Outcome, equal};

/// Line that a server writes to stderr when a call is cancelled.
pub(super) const CANCELLED: &str = "cancelled";

/// Observations of all threads.
#[derive(Clone, Default)]
pub(super) struct Observed(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    faults: Vec<ProtocolError>,
    changes: Vec<Change>,
    /// The messages of forms.
    forms: Vec<String>,
    /// True if the next form is sent.
    accepts: bool,
    waker: Option<Waker>,
}

impl Observed {
    /// Takes the lines that a server writes to standard error.
    pub(super) fn stderr(&self) -> Stderr {
        let observed = self.clone();
        Stderr::lines(move |line| observed.line(line))
    }

    /// A server has written a line to standard error.
    pub(super) fn line(&self, line: &str) {
        self.lock().note(|seen| seen.lines.push(line.to_owned()));
    }

    pub(super) fn fault(&self, fault: &ProtocolError) {
        self.lock().faults.push(fault.clone());
    }

    pub(super) fn change(&self, change: &Change) {
        self.lock().changes.push(change.clone());
    }

    /// Takes note of a form; says whether it is to be sent.
    pub(super) fn form(&self, message: String) -> bool {
        let mut seen = self.lock();
        seen.forms.push(message);
        seen.accepts
    }

    /// Forms are to be sent from here on, or declined.
    pub(super) fn accept_forms(&self, accepts: bool) {
        self.lock().accepts = accepts;
    }

    /// The forms since this was asked before.
    pub(super) fn take_forms(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().forms)
    }

    /// Number of notifications of this change.
    pub(super) fn count(&self, change: &Change) -> usize {
        self.lock().changes.iter().filter(|seen| *seen == change).count()
    }

    /// Waits until a server has written as often that a call is cancelled.
    pub(super) async fn cancelled(&self, times: usize) {
        poll_fn(|context| {
            let mut seen = self.lock();
            seen.waker = Some(context.waker().clone());
            let count = seen.lines.iter().filter(|line| *line == CANCELLED).count();
            if count >= times { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Fails if a server was at fault, or has written what it does not write.
    pub(super) fn check(&self, server: &Server) -> Outcome {
        let seen = self.lock();
        equal("faults", &seen.faults, &vec![])?;
        let is_known = |line: &str| {
            server.writes.iter().any(|known| line.starts_with(known))
                || line == CANCELLED && server.cancels
        };
        let unexpected: Vec<_> = seen.lines.iter().filter(|line| !is_known(line)).collect();
        equal("on standard error", &unexpected, &vec![])
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn note(&mut self, note: impl FnOnce(&mut Self)) {
        note(self);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The processes that this one has started and that are still there, zombies too: ids and names.
pub(super) fn children() -> Outcome<Vec<String>> {
    let parent = process::id().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        // A process may end while it is looked at.
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
        // ID (NAME) STATE PARENT ...; the name may have brackets in it.
        let Some((front, back)) = stat.rsplit_once(") ") else { continue };
        if back.split(' ').nth(1) == Some(&parent) {
            children.push(front.to_owned() + ")");
        }
    }
    Ok(children)
}

/// Runs two futures at once, and returns both results.
pub(super) async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut first, mut second) = (None, None);
    poll_fn(move |context| {
        if first.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// Polls `long` until `short` is done, and drops it then; what `short` comes to, or `long` if that
/// is done before.
pub(super) async fn meanwhile<L: Future, S: Future>(
    long: L,
    short: S,
) -> Result<S::Output, L::Output> {
    let (mut long, mut short) = (pin!(long), pin!(short));
    poll_fn(move |context| {
        if let Poll::Ready(output) = long.as_mut().poll(context) {
            return Poll::Ready(Err(output));
        }
        short.as_mut().poll(context).map(Ok)
    })
    .await
}
