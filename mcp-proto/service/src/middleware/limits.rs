//! Layers that limit the calls of each principal.
//!
//! Requests without a principal share one limit, such as all requests on byte streams.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::super::handler_call::BoxFuture;
use super::super::lock::Lock;
use super::{HandlerRequest, Next};
use mcp_proto::{Duration, Instant};

type Principal = Option<Arc<str>>;

/// A function for [`Registry::around`](crate::Registry::around) that refuses calls of a principal
/// beyond a rate of `calls` in `per`, with bursts of up to `calls`. All requests without a
/// principal count together, also those of different clients.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_proto::types::Implementation;
/// use mcp_service::{HandlerKind, Registry, limit_rate};
///
/// let mut registry = Registry::new(Implementation::new("limited", "1.0.0"));
/// registry.around(HandlerKind::Tool, limit_rate(10, Duration::from_secs(1)));
/// ```
///
/// A refused tool call has a result with `isError` and the time to wait; see
/// [`HandlerRequest::refuse`]. A request that is repeated with input counts again. So does a
/// [rerun](HandlerRequest::is_rerun), which is never refused. Zero `calls` count as one. The time
/// between two calls is rounded up to microseconds, so the highest rate is one call in a
/// microsecond.
pub fn limit_rate(
    calls: u32,
    per: Duration,
) -> impl Fn(HandlerRequest, Next) -> BoxFuture + Send + Sync + 'static {
    let per = per.min(MAX_PER);
    let interval = interval(calls.max(1), per);
    let burst = interval.saturating_mul(calls.saturating_sub(1));
    let limits = Lock::new(Rates { free_at: BTreeMap::new(), next_sweep: MIN_SWEEP });
    move |request, next| {
        let now = request.received;
        let principal = request.context.peer().principal.clone();
        let wait = {
            let mut limits = limits.lock();
            let free_at = limits.free_at(now, &principal);
            let wait = free_at.duration_since(now).saturating_sub(burst);
            let wait = if request.is_rerun { Duration::ZERO } else { wait };
            if wait.is_zero() {
                limits.set(now, principal, free_at + interval);
            }
            wait
        };
        if wait.is_zero() {
            return Box::pin(next.run(request));
        }
        let seconds = wait.as_secs_f64();
        let text = alloc::format!("Too many calls; try again in {seconds:.1} s.");
        Box::pin(core::future::ready(request.refuse(text)))
    }
}

/// The time for each of `calls` in `per`, rounded up to microseconds, the unit of [`Instant`]. A
/// shorter interval would count as none.
fn interval(calls: u32, per: Duration) -> Duration {
    let nanos = per.as_nanos().div_ceil(calls.into());
    Duration::from_micros(u64::try_from(nanos.div_ceil(1000)).unwrap_or(u64::MAX))
}

/// The longest time of a rate, 292,000 years. With a longer one `free_at` would not grow.
const MAX_PER: Duration = Duration::from_micros(u64::MAX / 2);

/// The fewest principals for which entries are swept.
const MIN_SWEEP: usize = 64;

/// The time at which each principal has its whole burst again.
struct Rates {
    free_at: BTreeMap<Principal, Instant>,
    /// The number of entries at which those in the past are dropped. It is twice the number that
    /// was left by the last sweep, so a call costs the same with any number of principals.
    next_sweep: usize,
}

impl Rates {
    fn free_at(&self, now: Instant, principal: &Principal) -> Instant {
        self.free_at.get(principal).map_or(now, |free_at| now.max(*free_at))
    }

    fn set(&mut self, now: Instant, principal: Principal, free_at: Instant) {
        self.free_at.insert(principal, free_at);
        if self.free_at.len() >= self.next_sweep {
            self.free_at.retain(|_, free_at| *free_at > now);
            self.next_sweep = (2 * self.free_at.len()).max(MIN_SWEEP);
        }
    }
}

/// A function for [`Registry::around`](crate::Registry::around) that refuses calls of a principal
/// while `calls` of the same principal run. All requests without a principal count together, also
/// those of different clients. A call that waits for input does not count. A
/// [rerun](HandlerRequest::is_rerun) counts, and is never refused. With zero `calls` all others are
/// refused.
///
/// A refused tool call has a result with `isError`; see [`HandlerRequest::refuse`].
pub fn limit_concurrency(
    calls: usize,
) -> impl Fn(HandlerRequest, Next) -> BoxFuture + Send + Sync + 'static {
    let running = Arc::new(Lock::new(BTreeMap::<Principal, usize>::new()));
    move |request, next| {
        let principal = request.context.peer().principal.clone();
        let most = if request.is_rerun { usize::MAX } else { calls };
        let Some(permit) = Permit::take(&running, principal, most) else {
            let text = alloc::format!("Too many calls at a time; at most {calls} may run.");
            return Box::pin(core::future::ready(request.refuse(text)));
        };
        Box::pin(async move {
            let outcome = next.run(request).await;
            drop(permit);
            outcome
        })
    }
}

/// A running call; dropping it ends its count.
struct Permit {
    running: Arc<Lock<BTreeMap<Principal, usize>>>,
    principal: Principal,
}

impl Permit {
    fn take(
        running: &Arc<Lock<BTreeMap<Principal, usize>>>,
        principal: Principal,
        max: usize,
    ) -> Option<Self> {
        let mut counts = running.lock();
        let count = counts.get(&principal).copied().unwrap_or_default();
        if count >= max {
            return None;
        }
        counts.insert(principal.clone(), count + 1);
        drop(counts);
        Some(Self { running: running.clone(), principal })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.running.lock();
        match counts.get_mut(&self.principal) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.principal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_that_have_their_whole_burst_again_are_dropped() {
        let mut rates = Rates { free_at: BTreeMap::new(), next_sweep: MIN_SWEEP };
        let second = Duration::from_secs(1);
        let mut now = Instant::ZERO;
        for number in 0..10_000 {
            now = now + second;
            let principal = Some(alloc::format!("{number}").into());
            assert_eq!(rates.free_at(now, &principal), now);
            rates.set(now, principal.clone(), now + 10 * second);
            assert_eq!(rates.free_at(now, &principal), now + 10 * second);
            assert_eq!(rates.free_at(now + 20 * second, &principal), now + 20 * second);
            assert!(rates.free_at.len() <= MIN_SWEEP, "{}", rates.free_at.len());
        }
    }
}
