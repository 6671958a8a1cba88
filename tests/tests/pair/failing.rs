//! Failures of a test with a pair: they show the conversation so far, and the seed.

use std::env;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::task::Poll;

use mcp_service::testing::{Network, Pair};

use crate::recorder::{Heard, Notes, recorded};

#[test]
fn a_future_that_never_ends_panics_with_the_conversation() {
    let mut pair = pair();
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    let said = panic_of(|| pair.run(pending::<()>()));
    assert!(said.starts_with("nothing is going to happen any more"), "{said}");
    assert!(said.contains("server/discover") && said.contains("! connected"), "{said}");
}

#[test]
fn a_future_that_is_woken_for_ever_panics_too() {
    let mut pair = pair();
    let said = panic_of(|| {
        pair.run(poll_fn(|context| -> Poll<()> {
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    });
    assert!(said.starts_with("woken for ever"), "{said}");
}

#[test]
fn a_test_that_panics_tells_the_seed() {
    // What a thread prints when it panics is seen from outside of the process.
    let told = Command::new(env::current_exe().unwrap())
        .args(["--exact", "failing::panics_on_purpose", "--nocapture"])
        .env(ON_PURPOSE, "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8(told.stderr).unwrap();
    assert!(!told.status.success());
    assert!(stderr.contains("the seed of the pair: 4711"), "{stderr}");
    assert_eq!(stderr.matches("the seed").count(), 1, "{stderr}");
}

/// Set by the test above, which runs the one below.
const ON_PURPOSE: &str = "PAIR_PANICS_ON_PURPOSE";

#[test]
fn panics_on_purpose() {
    if env::var_os(ON_PURPOSE).is_none() {
        return;
    }
    drop(pair().seed(42));
    let mut pair = pair().network(Network::rough()).seed(4711);
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    assert_eq!(pair.starts(), 2, "on purpose");
}

fn pair() -> Pair {
    recorded(&Heard::default(), &Notes::default())
}

fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}
