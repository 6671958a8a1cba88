//! Cancellations that have overtaken their requests.
//!
//! In: ids of requests, and of cancellations without a request in flight. Out: whether a request is
//! already cancelled.
//!
//! A request and its cancellation may come on two connections, so the cancellation may come first.
//! A cancellation that comes late must not hit a later request with the same id. Clients count
//! their requests, so only a number above that of the last request is remembered.
//!
//! [Specification: Cancellation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations)

use alloc::collections::VecDeque;

use crate::message::RequestId;
use crate::time::{Duration, Instant};

/// Time for which a cancellation is remembered.
const KEEP: Duration = Duration::from_secs(5);

/// The most cancellations that a session remembers.
const MAX_CANCELLATIONS: usize = 16;

/// The longest id that is remembered, in bytes: every 64-bit number is shorter.
const MAX_ID: usize = 20;

/// The cancellations of a session that have no request yet.
#[derive(Debug, Default)]
pub(super) struct EarlyCancellations {
    /// The id of the last request.
    last: Option<RequestId>,
    ids: VecDeque<(Instant, RequestId)>,
}

impl EarlyCancellations {
    /// Records a cancellation that has no request in flight.
    pub(super) fn cancel(&mut self, now: Instant, id: RequestId) {
        let is_new = self.last.as_ref().is_some_and(|last| is_higher(&id, last));
        if !is_new || id.as_bytes().len() > MAX_ID {
            return;
        }
        if self.ids.len() >= MAX_CANCELLATIONS {
            self.ids.pop_front();
        }
        self.ids.push_back((now, id));
    }

    /// Records a request, `None` for a batch; returns whether the request is already cancelled.
    pub(super) fn begin(&mut self, now: Instant, id: Option<RequestId>) -> bool {
        let is_cancelled = !self.ids.is_empty() && self.take(now, id.as_ref());
        self.last = id;
        is_cancelled
    }

    fn take(&mut self, now: Instant, id: Option<&RequestId>) -> bool {
        self.ids.retain(|(since, _)| now < *since + KEEP);
        let found = self.ids.iter().position(|(_, cancelled)| Some(cancelled) == id);
        let is_cancelled = found.is_some_and(|at| self.ids.remove(at).is_some());
        if self.ids.is_empty() {
            self.ids = VecDeque::new();
        }
        is_cancelled
    }
}

/// Returns whether both ids are whole numbers without a sign, and the first one is higher.
fn is_higher(id: &RequestId, last: &RequestId) -> bool {
    let (id, last) = (id.canonical(), last.canonical());
    let are_numbers = [id, last].iter().all(|it| it.first().is_some_and(u8::is_ascii_digit));
    are_numbers && (id.len(), id) > (last.len(), last)
}
