//! Code of the application that panics, beside handlers: callbacks. Everything else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_proto::Instant;
use serde_json::Value;

use crate::bench::{Bench, answer, panic_quietly};

/// A response to no request.
const FAULT: &str = r#"{"jsonrpc":"2.0","id":77,"result":{}}"#;

#[test]
fn panic_of_a_callback_for_faults_is_ignored() {
    let faults = Arc::new(AtomicUsize::new(0));
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let counted = faults.clone();
    bench.service.on_fault(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic_quietly();
    });
    for _ in 0..2 {
        bench.line(FAULT);
        bench.call(1);
        assert_eq!(bench.out(), [answer(1, "done")]);
    }
    assert_eq!(faults.load(Ordering::Relaxed), 2);
}

#[test]
fn panic_of_a_function_that_shows_lines_is_ignored() {
    let lines = Arc::new(AtomicUsize::new(0));
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let counted = lines.clone();
    bench.service.show_wire(Instant::ZERO, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic_quietly();
    });
    bench.call(1);
    assert_eq!(bench.out(), [answer(1, "done")]);
    assert_eq!(lines.load(Ordering::Relaxed), 2);
    bench.assert_alive();
}
