//! Order and timing of the attempts to connect to the addresses of a host: Happy Eyeballs.
//!
//! In: addresses, in the resolver's order of preference; failures of attempts; time. Out: the next
//! attempt, or the errors of all attempts. Called by [`race`](super::race::race), which owns the
//! sockets.
//!
//! | state | input | then |
//! |---|---|---|
//! | addresses are left | the start, [`ATTEMPT_DELAY`] after the last attempt, or the failure of the only open attempt | the next attempt begins |
//! | addresses are left | an attempt fails, others are open | the next attempt begins at once |
//! | none are left, attempts are open | an attempt fails | the others continue |
//! | none are left, none is open | | the race fails with all errors |
//! | any | an attempt succeeds | the race succeeds; the others are dropped |
//!
//! The address families alternate, beginning with that of the first address, so that a family
//! without a route costs one delay. The resolver returns all addresses at once, so the resolution
//! delay of the RFC does not apply.
//!
//! [RFC 8305](https://www.rfc-editor.org/rfc/rfc8305)

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::net::SocketAddr;
use std::io;

use mcp_proto::{Duration, Instant};

/// The time after which the next attempt begins while others are open (RFC 8305, section 5).
pub(super) const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The attempts to connect to one host.
#[derive(Debug)]
pub(super) struct Attempts {
    waiting: VecDeque<SocketAddr>,
    open: usize,
    /// The time of the next attempt; a failure moves it to now.
    next: Instant,
    failures: Vec<(SocketAddr, io::Error)>,
}

impl Attempts {
    /// The attempts for these addresses; the first one is due at once.
    pub(super) fn new(now: Instant, addresses: Vec<SocketAddr>) -> Self {
        let waiting = interleave(addresses);
        Self { waiting, open: 0, next: now, failures: Vec::new() }
    }

    /// Returns the address of an attempt to begin now.
    pub(super) fn poll_attempt(&mut self, now: Instant) -> Option<SocketAddr> {
        if now < self.next && self.open > 0 {
            return None;
        }
        let address = self.waiting.pop_front()?;
        self.open += 1;
        self.next = now + ATTEMPT_DELAY;
        Some(address)
    }

    /// The time of the next attempt.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }

    /// Records a failed attempt.
    pub(super) fn handle_failure(&mut self, now: Instant, address: SocketAddr, error: io::Error) {
        self.open = self.open.saturating_sub(1);
        self.next = now;
        self.failures.push((address, error));
    }

    /// Returns whether no attempt is open and no address is left.
    pub(super) fn is_over(&self) -> bool {
        self.open == 0 && self.waiting.is_empty()
    }

    /// All failures, as one error. Its kind is that of the first one.
    pub(super) fn into_error(self) -> io::Error {
        let mut failures = self.failures.into_iter();
        let Some((address, first)) = failures.next() else {
            return io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        };
        let kind = first.kind();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = write!(text, "{address}: {first}");
        for (address, error) in failures {
            let _ = write!(text, "; {address}: {error}");
        }
        io::Error::new(kind, text)
    }
}

/// The addresses, with alternating families.
fn interleave(addresses: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let Some(first) = addresses.first().copied() else { return VecDeque::new() };
    let is_of_first = |address: &SocketAddr| address.is_ipv6() == first.is_ipv6();
    let (one, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(is_of_first);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut all = VecDeque::new();
    loop {
        let pair = [one.next(), other.next()];
        if pair == [None, None] {
            return all;
        }
        all.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_from_the_first() {
        for (given, expected) in [
            ("6a 6b 6c 4a 4b", "6a 4a 6b 4b 6c"),
            ("4a 6a 6b", "4a 6a 6b"),
            ("4a 4b", "4a 4b"),
            ("6a", "6a"),
            ("", ""),
        ] {
            assert_eq!(interleave(addresses(given)), addresses(expected), "{given}");
        }
    }

    /// The table of the module, row by row.
    #[test]
    fn an_attempt_begins_after_the_delay_or_a_failure() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let [a, b, c] = [address("6a"), address("4a"), address("6b")];
        let mut attempts = Attempts::new(at(0), vec![a, c, b]);
        assert_eq!((attempts.poll_attempt(at(0)), attempts.poll_attempt(at(0))), (Some(a), None));
        assert_eq!(attempts.poll_timeout(), Some(at(250)));
        assert_eq!(attempts.poll_attempt(at(249)), None);
        assert_eq!(attempts.poll_attempt(at(250)), Some(b));
        // A failure does not wait for the delay of the others.
        attempts.handle_failure(at(300), a, refused());
        assert_eq!(attempts.poll_timeout(), Some(at(300)));
        assert_eq!(
            (attempts.poll_attempt(at(300)), attempts.poll_attempt(at(900))),
            (Some(c), None)
        );
        assert_eq!(attempts.poll_timeout(), None);
        attempts.handle_failure(at(900), b, io::ErrorKind::TimedOut.into());
        assert!(!attempts.is_over());
        attempts.handle_failure(at(901), c, refused());
        assert!(attempts.is_over());
        let error = attempts.into_error();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let text = error.to_string();
        let is_named = [a, b, c].map(|address| text.contains(&address.to_string()));
        assert!(is_named == [true; 3] && text.contains("timed out"), "{text}");
    }

    #[test]
    fn a_host_without_an_address_is_not_found() {
        let attempts = Attempts::new(at(0), Vec::new());
        assert!(attempts.is_over());
        assert_eq!(attempts.into_error().kind(), io::ErrorKind::NotFound);
    }

    fn addresses(names: &str) -> Vec<SocketAddr> {
        names.split_whitespace().map(address).collect()
    }

    /// `4a` is `192.0.2.74`, `6a` is `2001:db8::a`.
    fn address(name: &str) -> SocketAddr {
        let text = match name.strip_prefix('6') {
            Some(last) => format!("[2001:db8::{last}]:80"),
            None => format!("192.0.2.{}:80", u8::from_str_radix(name, 16).unwrap()),
        };
        text.parse().unwrap()
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }
}
