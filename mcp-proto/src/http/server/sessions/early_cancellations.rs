//! Cancellations that have overtaken their requests.
//!
//! In: ids of requests, and of cancellations without a request in flight. Out: whether a request is
//! already cancelled.
//!
//! A request and its cancellation may come on two connections, so the cancellation may come first.
//! A cancellation that comes late must not hit a later request with the same id. Clients count
//! their requests, so only a number that no request has had is remembered: one above all numbers so
//! far, or one of the 63 below them.
//!
//! [Specification: Cancellation](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations)

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::message::RequestId;
use crate::time::{Duration, Instant};

/// Time for which a cancellation is remembered.
const KEEP: Duration = Duration::from_secs(5);

/// The most cancellations that a session remembers.
const MAX_CANCELLATIONS: usize = 16;

/// The most digits of a number that is remembered; it fits 64 bits.
const MAX_DIGITS: usize = 19;

/// The cancellations of a session that have no request yet.
#[derive(Debug, Default)]
pub(super) struct EarlyCancellations {
    /// The highest number of a request.
    highest: u64,
    /// A bit for each of the last 64 numbers that a request has had. The lowest bit is that of
    /// `highest`; there is none before the first request.
    seen: u64,
    /// Behind a pointer, since almost no session has any: an idle session has 24 bytes less.
    cancelled: Option<Box<CancelledNumbers>>,
}

/// The cancelled numbers, the oldest first, with the time of the cancellation.
#[derive(Debug, Default)]
struct CancelledNumbers(VecDeque<(Instant, u64)>);

impl EarlyCancellations {
    /// Records a cancellation that has no request in flight.
    pub(super) fn cancel(&mut self, now: Instant, id: &RequestId) {
        let Some(number) = number(id).filter(|number| self.is_new(*number)) else { return };
        let CancelledNumbers(numbers) = &mut **self.cancelled.get_or_insert_default();
        if numbers.len() >= MAX_CANCELLATIONS {
            numbers.pop_front();
        }
        numbers.push_back((now, number));
    }

    /// Records a request; returns whether the request is already cancelled.
    pub(super) fn begin(&mut self, now: Instant, id: &RequestId) -> bool {
        let Some(number) = number(id) else { return false };
        match number.checked_sub(self.highest) {
            Some(ahead) => {
                self.seen = shifted(self.seen, ahead) | 1;
                self.highest = number;
            }
            None => self.seen |= shifted(1, self.highest.abs_diff(number)),
        }
        self.cancelled.is_some() && self.take(now, number)
    }

    fn is_new(&self, number: u64) -> bool {
        let bit = shifted(1, self.highest.saturating_sub(number));
        self.seen != 0 && (number > self.highest || bit != 0 && self.seen & bit == 0)
    }

    #[cold]
    fn take(&mut self, now: Instant, number: u64) -> bool {
        let Some(CancelledNumbers(numbers)) = self.cancelled.as_deref_mut() else { return false };
        numbers.retain(|(since, _)| now < *since + KEEP);
        let found = numbers.iter().position(|(_, cancelled)| *cancelled == number);
        let is_cancelled = found.is_some_and(|at| numbers.remove(at).is_some());
        if numbers.is_empty() {
            self.cancelled = None;
        }
        is_cancelled
    }
}

/// The number that an id is, if it has at most [`MAX_DIGITS`] digits and no sign.
fn number(id: &RequestId) -> Option<u64> {
    let digits = Some(id.canonical()).filter(|digits| digits.len() <= MAX_DIGITS)?;
    let mut number = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(digit & 0xf);
    }
    Some(number)
}

/// The bits, as many places higher; none if there are not as many places.
fn shifted(bits: u64, places: u64) -> u64 {
    u32::try_from(places).ok().and_then(|places| bits.checked_shl(places)).unwrap_or_default()
}
