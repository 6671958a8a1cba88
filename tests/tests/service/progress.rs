//! `Context::progress`: before the answer, if it is asked for, and never after.

use std::sync::{Arc, Mutex};

use mcp_proto::server::{Config, Progress};
use mcp_proto::types::LoggingLevel;
use mcp_service::Context;
use mcp_tests::pause::yield_now;
use serde_json::{Value, json};

use crate::bench::{Bench, Gate, INITIALIZE, answer, registry};

#[test]
fn a_handler_reports_and_is_ready_at_once() {
    let mut bench = Bench::new(|_: Value, context: Context| async move {
        context.progress(Progress::new(1.0).total(2.0).message("half"));
        context.progress(Progress::new(2.0).total(2.0));
        "done"
    });
    bench.call_with_token(1);
    let half = progress(r#""progress":1,"total":2,"message":"half""#);
    let whole = progress(r#""progress":2,"total":2"#);
    assert_eq!(bench.out(), [half, whole, answer(1, "done")]);
}

#[test]
fn a_handler_reports_between_its_polls() {
    let gate = Gate::default();
    let mut bench = three_steps(&gate);
    bench.call_with_token(1);
    assert_eq!(bench.out(), [progress(r#""progress":1"#)]);
    gate.open();
    bench.turn();
    let last = [r#""progress":2"#, r#""progress":3"#].map(progress);
    assert_eq!(bench.out(), [&last[..], &[answer(1, "done")]].concat());
}

#[test]
fn a_spawned_handler_reports_in_order_too() {
    let gate = Gate::default();
    let mut bench = three_steps(&gate);
    let hands = bench.spawn_by_hand();
    bench.call_with_token(1);
    assert_eq!(bench.out(), [progress(r#""progress":1"#)]);
    gate.open();
    hands.poll();
    hands.poll();
    assert_eq!(bench.wakes(), 3);
    bench.turn();
    let last = [r#""progress":2"#, r#""progress":3"#].map(progress);
    assert_eq!(bench.out(), [&last[..], &[answer(1, "done")]].concat());
}

#[test]
fn nobody_asked() {
    let gate = Gate::default();
    let mut bench = three_steps(&gate);
    bench.call(1);
    gate.open();
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "done")]);
}

#[test]
fn what_does_not_increase_is_dropped() {
    let mut bench = Bench::new(|_: Value, context: Context| async move {
        for value in [1.0, 1.0, 0.5, f64::NAN, 2.0, f64::INFINITY] {
            context.progress(value);
        }
        "done"
    });
    bench.call_with_token(1);
    let reported = [r#""progress":1"#, r#""progress":2"#].map(progress);
    assert_eq!(bench.out(), [&reported[..], &[answer(1, "done")]].concat());
}

#[test]
fn nothing_comes_after_the_answer() {
    let (mut bench, kept) = keeps_its_context();
    bench.call_with_token(1);
    assert_eq!(bench.out(), [answer(1, "done")]);
    report(&kept);
    bench.turn();
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn nothing_comes_after_a_cancellation() {
    let mut bench = Bench::new(|_: Value, context: Context| async move {
        context.cancelled().await;
        context.progress(1.0);
        "never"
    });
    bench.call_with_token(1);
    bench.cancel(1);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn nobody_is_woken_after_the_service_is_gone() {
    let (mut bench, kept) = keeps_its_context();
    bench.call_with_token(1);
    drop(bench);
    for _ in 0..1000 {
        report(&kept);
    }
}

#[test]
fn a_client_that_does_not_read_misses_progress_and_no_answer() {
    const STEPS: u32 = 3000;
    let mut bench = Bench::new(|_: Value, context: Context| async move {
        for step in 1..=STEPS {
            context.progress(Progress::new(step).message("x".repeat(1000)));
            yield_now().await;
        }
        "done"
    });
    bench.call_with_token(1);
    while bench.wakes() > 0 {
        bench.turn();
    }
    let mut lines = bench.out();
    bench.turn();
    lines.extend(bench.out());
    assert_eq!(lines.last(), Some(&answer(1, "done")));
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert!((1024 * 1024..1100 * 1024).contains(&bytes), "{bytes}");
}

#[test]
fn notifications_beyond_the_queue_of_a_client_that_does_not_read_are_counted() {
    let gate = Gate::default();
    let passed = gate.clone();
    let mut registry = registry(move |arguments: Value, context: Context| {
        let gate = passed.clone();
        async move {
            if let Some(text) = arguments["text"].as_str() {
                return text.to_owned();
            }
            gate.passed().await;
            (0..1500).for_each(|step| context.log(LoggingLevel::Info, step));
            "done".to_owned()
        }
    });
    registry.logging();
    let mut bench = Bench::serving(registry, Config::default());
    bench.line(INITIALIZE);
    bench.call(1);
    bench.out();
    bench.call_with(2, &json!({"text": "x".repeat(1_100_000)}));
    gate.open();
    bench.turn();
    bench.out();
    bench.turn();
    let lines = bench.out();
    assert_eq!(lines.last(), Some(&answer(1, "done")));
    let text = "1500 notifications about this request were dropped";
    assert!(lines.iter().any(|line| line.contains(text)), "{lines:?}");
}

fn three_steps(gate: &Gate) -> Bench {
    let gate = gate.clone();
    Bench::new(move |_: Value, context: Context| {
        let gate = gate.clone();
        async move {
            context.progress(1.0);
            gate.passed().await;
            context.progress(2.0);
            yield_now().await;
            context.progress(3.0);
            "done"
        }
    })
}

type Kept = Arc<Mutex<Option<Context>>>;

fn keeps_its_context() -> (Bench, Kept) {
    let kept = Kept::default();
    let keeper = kept.clone();
    let bench = Bench::new(move |_: Value, context: Context| {
        *keeper.lock().unwrap() = Some(context);
        async { "done" }
    });
    (bench, kept)
}

fn report(kept: &Kept) {
    let context = kept.lock().unwrap().clone().unwrap();
    context.progress(1.0);
}

fn progress(members: &str) -> String {
    let params = format!(r#"{{"progressToken":"p",{members}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
}

#[test]
fn numbers_without_loss_are_progress() {
    for progress in [2.into(), 2_u8.into(), 2_u32.into(), 2.0_f32.into(), Progress::new(2)] {
        assert_eq!(progress, Progress::new(2.0));
    }
    assert_eq!(Progress::new(1).total(2), Progress::new(1.0).total(2.0));
}
