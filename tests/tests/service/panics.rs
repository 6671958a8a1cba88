//! Code of the application that panics, beside handlers: callbacks and spawners.
//! Requests are answered, and everything else goes on.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_proto::Instant;
use mcp_proto::http::Config as HttpConfig;
use serde_json::Value;

use crate::bench::{Bench, answer, failure, panic_quietly, registry};
use crate::http::site::{Site, call as http_call};

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

#[test]
fn handler_whose_task_cannot_be_spawned_is_answered() {
    let mut bench = Bench::new(|_: Value, _| pending::<&str>());
    bench.service.spawn_with(|_| panic_quietly());
    bench.call(1);
    bench.turn();
    assert_eq!(bench.out(), [failure(1, "the handler ended without an answer")]);
    bench.assert_alive();
}

#[test]
fn handler_of_a_session_whose_task_cannot_be_spawned_is_answered() {
    let spawns = Arc::new(AtomicBool::new(false));
    let is_possible = spawns.clone();
    let catalog = registry(|_: Value, _| pending::<&str>());
    let mut site = Site::spawning(catalog, HttpConfig::default(), move |future, hands| {
        if !is_possible.load(Ordering::Relaxed) {
            panic_quietly();
        }
        hands.take(future);
    });
    let mut socket = site.session();
    let mut answered = socket.ask(&http_call(1));
    site.run_background();
    socket.turn();
    answered += &socket.out();
    assert!(answered.ends_with(&failure(1, "the handler ended without an answer")), "{answered}");
    spawns.store(true, Ordering::Relaxed);
    assert_eq!(socket.ask(&http_call(2)), "");
    assert_eq!(site.hands.count(), 1);
}
