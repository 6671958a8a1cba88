//! A wire between two programs of a virtual runtime, with a fault at one of its bytes.
//!
//! In: the fault, and its place. Out: the bytes that went each way. All connections of a port, or
//! one stream, are one wire.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_proto::Duration;

/// A fault of a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The connection ends for both, before the byte.
    Cut,
    /// The sender can send nothing more on this connection; its peer reads the end.
    HalfCut,
    /// From the byte on, nothing of this connection arrives any more.
    Silence,
    /// The byte is another one.
    Garble,
    /// The byte is the end of a line.
    Break,
    /// The byte is not there.
    Loss,
    /// The write of the byte arrives twice.
    Twice,
    /// From the byte on, the connection is slow: what is sent arrives after this time.
    Delay(Duration),
}

/// A fault, its direction, and the number of bytes before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// True if it happens to bytes of the program that has connected.
    pub of_client: bool,
    /// The number of bytes of this direction before it.
    pub at: usize,
}

/// A wire. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Wire(Arc<Mutex<WireState>>);

#[derive(Debug, Default)]
struct WireState {
    fault: Option<Fault>,
    sent: [usize; 2],
    writes: [Vec<usize>; 2],
}

impl Wire {
    /// A wire with a fault.
    pub fn with_fault(fault: Fault) -> Self {
        let wire = Self::default();
        wire.state().fault = Some(fault);
        wire
    }

    /// The first byte of each write: of the program that has connected, or of the other one.
    pub fn writes(&self, of_client: bool) -> Vec<usize> {
        let [of_server, of_the_client] = self.state().writes.clone();
        if of_client { of_the_client } else { of_server }
    }

    /// The number of bytes that one side has sent.
    pub fn sent(&self, of_client: bool) -> usize {
        let [of_server, of_the_client] = self.state().sent;
        if of_client { of_the_client } else { of_server }
    }

    /// Counts a write. Returns the fault in it, and its place there. It happens once.
    pub(super) fn count(&self, of_client: bool, length: usize) -> Option<(FaultKind, usize)> {
        let state = &mut *self.state();
        let [of_server, of_the_client] = &mut state.sent;
        let sent = if of_client { of_the_client } else { of_server };
        let begin = *sent;
        *sent += length;
        let [of_server, of_the_client] = &mut state.writes;
        if of_client { of_the_client } else { of_server }.push(begin);
        let end = begin + length;
        let is_here = |it: &mut Fault| it.of_client == of_client && (begin..end).contains(&it.at);
        let fault = state.fault.take_if(is_here)?;
        Some((fault.kind, fault.at - begin))
    }

    fn state(&self) -> MutexGuard<'_, WireState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
