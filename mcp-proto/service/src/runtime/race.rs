//! Connection to the first address of a host that accepts.
//!
//! In: addresses, a function that connects to one, a clock. Out: the first connection; the other
//! attempts are dropped. `eyeballs` schedules the attempts.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::net::SocketAddr;
use core::pin::Pin;
use core::task::Poll;
use std::io;

use super::eyeballs::Attempts;
use crate::Clock;

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 32;

/// Connects to one of `addresses`, with `connect`.
///
/// Fails with the errors of all attempts, or if there is no address.
pub(super) async fn race<T, F>(
    mut clock: impl Clock,
    mut addresses: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    addresses.truncate(MAX_ADDRESSES);
    let mut attempts = Attempts::new(clock.now(), addresses);
    let mut open: Vec<(SocketAddr, Pin<Box<F>>)> = Vec::new();
    let won = poll_fn(|context| {
        loop {
            let now = clock.now();
            while let Some(address) = attempts.poll_attempt(now) {
                open.push((address, Box::pin(connect(address))));
            }
            let mut won = None;
            open.retain_mut(|(address, attempt)| match attempt.as_mut().poll(context) {
                Poll::Ready(Ok(connection)) => {
                    won.get_or_insert(connection);
                    false
                }
                Poll::Ready(Err(error)) => {
                    attempts.handle_failure(now, *address, error);
                    false
                }
                Poll::Pending => true,
            });
            if won.is_some() || attempts.is_over() {
                return Poll::Ready(won);
            }
            let due = attempts.poll_timeout();
            if !due.is_some_and(|at| clock.poll_timer(context, at).is_ready()) {
                return Poll::Pending;
            }
        }
    });
    let won = won.await;
    won.ok_or_else(|| attempts.into_error())
}

#[cfg(test)]
mod tests {
    use core::cell::{Cell, RefCell};
    use core::future::pending;
    use core::pin::pin;
    use core::task::{Context, Waker};

    use mcp_proto::{Duration, Instant};

    use super::*;

    /// End of an attempt to connect, after this many milliseconds.
    #[derive(Clone, Copy, Debug)]
    enum Fate {
        Answers(u64),
        Refuses(u64),
        Silent,
    }
    use Fate::{Answers, Refuses, Silent};

    #[test]
    fn the_first_address_that_answers_wins() {
        for (fates, expected) in [
            (&[Answers(20)][..], (Some(0), 20, 1)),
            // The first family has no route: the second has 250 ms less.
            (&[Silent, Answers(20)], (Some(1), 270, 2)),
            (&[Answers(300), Answers(100)], (Some(0), 300, 2)),
            (&[Answers(300), Answers(10)], (Some(1), 260, 2)),
            (&[Refuses(5), Answers(20)], (Some(1), 25, 2)),
            (&[Refuses(5), Refuses(5), Answers(20)], (Some(2), 30, 3)),
            (&[Silent, Refuses(10), Answers(1)], (Some(2), 261, 3)),
            (&[Silent, Silent, Silent, Answers(1)], (Some(3), 751, 4)),
            (&[Refuses(5), Refuses(7)], (None, 12, 2)),
            (&[], (None, 0, 0)),
        ] {
            let outcome = run(fates);
            let begun = outcome.begun.len();
            assert_eq!((outcome.result.ok(), outcome.at, begun), expected, "{fates:?}");
            assert_eq!(outcome.left, 0, "{fates:?}: others are dropped");
        }
    }

    #[test]
    fn attempts_begin_in_their_order_250_ms_apart() {
        let fates = [Answers(2000), Silent, Silent, Silent];
        assert_eq!(run(&fates).begun, [(0, 0), (1, 250), (2, 500), (3, 750)]);
    }

    #[test]
    fn a_failure_names_all_addresses() {
        let error = run(&[Refuses(5), Refuses(7), Refuses(9)]).result.unwrap_err();
        for last in 0..3 {
            assert!(error.to_string().contains(&format!("192.0.2.{last}:80: ")), "{error}");
        }
    }

    #[test]
    fn no_more_than_32_addresses_are_tried() {
        assert_eq!(run(&[Refuses(1); 100]).begun.len(), MAX_ADDRESSES);
    }

    struct Outcome {
        result: io::Result<u8>,
        at: u64,
        begun: Vec<(u8, u64)>,
        /// Attempts that were neither polled to their end nor dropped.
        left: usize,
    }

    /// Runs a race in virtual time.
    fn run(fates: &[Fate]) -> Outcome {
        let clock = VirtualClock::default();
        let begun = RefCell::new(Vec::new());
        let left = Cell::new(0);
        let connect = |address: SocketAddr| {
            let SocketAddr::V4(v4) = address else { panic!("{address}") };
            let number = v4.ip().octets()[3];
            begun.borrow_mut().push((number, clock.millis()));
            let (clock, guard) = (&clock, Guard::new(&left));
            async move {
                let _guard = guard;
                match fates[usize::from(number)] {
                    Answers(after) => clock.sleep(after).await,
                    Refuses(after) => {
                        clock.sleep(after).await;
                        return Err(io::ErrorKind::ConnectionRefused.into());
                    }
                    Silent => pending().await,
                }
                Ok(number)
            }
        };
        let addresses = (0..fates.len()).map(|n| format!("192.0.2.{n}:80").parse().unwrap());
        let mut future = pin!(race(&clock, addresses.collect(), connect));
        let mut context = Context::from_waker(Waker::noop());
        let result = loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                break result;
            }
            clock.advance();
        };
        let at = clock.millis();
        Outcome { result, at, begun: begun.take(), left: left.get() }
    }

    struct Guard<'a>(&'a Cell<usize>);

    impl<'a> Guard<'a> {
        fn new(count: &'a Cell<usize>) -> Self {
            count.set(count.get() + 1);
            Self(count)
        }
    }

    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }

    /// A clock that only advances when all futures wait for it.
    #[derive(Default)]
    struct VirtualClock {
        now: Cell<Instant>,
        /// The times that futures wait for.
        due: RefCell<Vec<Instant>>,
    }

    impl VirtualClock {
        fn millis(&self) -> u64 {
            let passed = self.now.get().duration_since(Instant::ZERO);
            u64::try_from(passed.as_millis()).unwrap()
        }

        fn advance(&self) {
            let due = self.due.take().into_iter().filter(|at| *at > self.now.get()).min();
            self.now.set(due.expect("somebody waits for a time"));
        }

        async fn sleep(&self, millis: u64) {
            let at = self.now.get() + Duration::from_millis(millis);
            poll_fn(|_| self.poll(at)).await;
        }

        fn poll(&self, at: Instant) -> Poll<()> {
            if self.now.get() >= at {
                return Poll::Ready(());
            }
            self.due.borrow_mut().push(at);
            Poll::Pending
        }
    }

    impl Clock for &VirtualClock {
        fn now(&self) -> Instant {
            self.now.get()
        }

        fn poll_timer(&mut self, _: &mut Context<'_>, at: Instant) -> Poll<()> {
            self.poll(at)
        }
    }
}
