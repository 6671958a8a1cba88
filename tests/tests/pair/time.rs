//! Time that passes when nothing else happens, and not by itself.

use std::future::pending;
use std::time::Duration;

use mcp_proto::Instant;
use mcp_service::testing::Pair;
use serde_json::json;

use crate::recorder::{Heard, Notes, recorded};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[test]
fn hours_go_by_at_once() {
    let mut pair = pair();
    let client = pair.client();
    pair.run(client.connected()).unwrap();
    pair.pass(10_000 * HOUR);
    assert_eq!(pair.now(), Instant::ZERO + 10_000 * HOUR);
    let clock = pair.clock();
    pair.run(clock.sleep(20_000 * HOUR));
    assert_eq!(pair.now(), Instant::ZERO + 30_000 * HOUR);
}

#[test]
fn time_passes_exactly_as_far_as_was_said() {
    let mut pair = pair();
    pair.pass(Duration::from_micros(1));
    pair.pass(Duration::ZERO);
    assert_eq!(pair.now(), Instant::from_micros(1));
    pair.pass(HOUR);
    assert_eq!(pair.now(), Instant::from_micros(1) + HOUR);
    // The first look is what opens it, whoever looks.
    assert_eq!(pair.starts(), 1);
}

#[test]
fn what_is_due_happens_when_time_passes() {
    let mut pair = pair();
    let mut call = pair.client().call_tool("think", &json!({})).timeout(HOUR);
    assert!(pair.poll(&mut call).is_pending());
    pair.pass(Duration::from_micros(3_599_999_999));
    assert!(pair.poll(&mut call).is_pending());
    assert!(!pair.wire().contains("notifications/cancelled"));
    pair.pass(Duration::from_micros(1));
    assert!(pair.wire().contains("notifications/cancelled"));
    assert!(pair.poll(&mut call).is_ready());
}

#[test]
fn sleeps_end_in_order_and_take_no_time() {
    let mut pair = pair();
    let clock = pair.clock();
    let mut order = Vec::new();
    let (mut long, mut short) = (clock.sleep(2 * HOUR), clock.sleep(HOUR));
    drop(clock.sleep(HOUR / 2));
    assert!(pair.poll(&mut long).is_pending() && pair.poll(&mut short).is_pending());
    pair.run(&mut short);
    order.push(pair.now());
    pair.run(&mut long);
    order.push(clock.now());
    // It is over, and stays so.
    pair.run(&mut long);
    pair.run(clock.sleep(Duration::ZERO));
    assert_eq!(order, [Instant::ZERO + HOUR, Instant::ZERO + 2 * HOUR]);
    assert_eq!(pair.now(), clock.now());
}

#[test]
fn a_sleep_that_was_dropped_wakes_nobody() {
    let mut pair = pair();
    let mut sleep = pair.clock().sleep(HOUR);
    assert!(pair.poll(&mut sleep).is_pending());
    drop(sleep);
    let stuck = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pair.run(pending::<()>());
    }));
    assert!(stuck.is_err());
    assert_eq!(pair.now(), Instant::ZERO);
}

fn pair() -> Pair {
    recorded(&Heard::default(), &Notes::default())
}
