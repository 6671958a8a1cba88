//! Handlers that go on elsewhere.

use std::future::Future;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::{self, Poll, Waker};

use mcp_proto::Instant;
use mcp_service::{Clock, Context, Drive};
use serde_json::Value;

use crate::bench::{Bench, Gate, Log, answer, failure};

#[test]
fn a_handler_that_is_ready_is_not_spawned() {
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let hands = bench.spawn_by_hand();
    bench.call(1);
    assert_eq!(bench.out(), [answer(1, "done")]);
    assert_eq!(hands.count(), 0);
}

#[test]
fn the_answer_of_a_spawned_handler_wakes_the_service() {
    let gate = Gate::default();
    let mut bench = gated(&gate);
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    assert_eq!((hands.count(), bench.wakes()), (1, 0));

    gate.open();
    assert_eq!((hands.wakes(), bench.wakes()), (1, 0), "the service need not know");
    hands.poll();
    assert_eq!((hands.count(), bench.wakes()), (0, 1));
    assert_eq!(bench.out(), [""; 0]);
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "passed")]);
}

#[test]
fn a_gate_that_opens_before_the_spawned_handler_is_polled_is_not_missed() {
    let gate = Gate::default();
    let mut bench = gated(&gate);
    let hands = bench.spawn_by_hand();
    bench.call(1);
    gate.open();
    hands.poll();
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "passed")]);
}

#[test]
fn a_spawned_handler_that_is_dropped_is_answered() {
    let gate = Gate::default();
    let mut bench = gated(&gate);
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.drop_all();
    assert_eq!(bench.wakes(), 1);
    bench.turn();
    assert_eq!(bench.out(), [failure(1, "the handler ended without an answer")]);
    bench.assert_alive();
}

#[test]
fn an_executor_that_drops_what_it_is_given_is_answered_at_once() {
    let mut bench = gated(&Gate::default());
    bench.service.spawn_with(drop);
    bench.call(1);
    assert_eq!(bench.out(), [failure(1, "the handler ended without an answer")]);
    bench.assert_alive();
}

#[test]
fn a_cancelled_spawned_handler_runs_once_more_and_is_dropped() {
    let (mut bench, log) = noting();
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    assert_eq!(log.take(), ["polled", "polled"]);

    bench.cancel(1);
    assert_eq!((hands.wakes(), log.take()), (1, vec![]));
    hands.poll();
    assert_eq!(log.take(), ["cancelled", "dropped"]);
    assert_eq!(hands.count(), 0);
    bench.turn();
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn the_end_waits_until_cancelled_handlers_have_run_once_more() {
    let (mut bench, log) = noting();
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    let _ = log.take();
    let mut task = task::Context::from_waker(Waker::noop());
    let mut clock = Stopped;
    let mut finished = pin!(bench.service.finish(&mut clock));
    assert!(finished.as_mut().poll(&mut task).is_pending());
    hands.poll();
    assert_eq!(
        (log.take(), hands.count()),
        (vec!["cancelled".to_owned(), "dropped".to_owned()], 0)
    );
    assert!(finished.as_mut().poll(&mut task).is_ready());
}

/// A clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn poll_timer(&mut self, _: &mut task::Context<'_>, _: Instant) -> Poll<()> {
        Poll::Pending
    }
}

#[test]
fn a_cancellation_before_the_spawned_handler_is_polled_is_not_missed() {
    let (mut bench, log) = noting();
    let hands = bench.spawn_by_hand();
    bench.call(1);
    bench.cancel(1);
    hands.poll();
    assert_eq!(log.take(), ["polled", "cancelled", "dropped"]);
    assert_eq!(hands.count(), 0);
}

#[test]
fn an_answer_that_crosses_its_cancellation_is_not_sent() {
    let gate = Gate::default();
    let mut bench = gated(&gate);
    let hands = bench.spawn_by_hand();
    bench.call(1);
    gate.open();
    hands.poll();
    bench.cancel(1);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn an_id_that_is_used_again_gets_its_own_answer() {
    let gate = Gate::default();
    let mut bench = gated(&gate);
    let hands = bench.spawn_by_hand();
    bench.call(1);
    bench.cancel(1);
    bench.call(1);
    gate.open();
    hands.poll();
    assert_eq!(hands.count(), 0);
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "passed")]);
}

#[test]
fn a_service_that_is_dropped_cancels_what_it_has_spawned() {
    let (mut bench, log) = noting();
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    log.take();
    drop(bench);
    assert_eq!(hands.wakes(), 1);
    hands.poll();
    assert_eq!((log.take(), hands.count()), (vec!["cancelled".into(), "dropped".into()], 0));
}

#[test]
fn the_end_cancels_what_is_spawned() {
    let (mut bench, log) = noting();
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    log.take();
    bench.eof();
    bench.pass(std::time::Duration::from_secs(2));
    assert!(bench.service.is_closed());
    hands.poll();
    assert_eq!(log.take(), ["cancelled", "dropped"]);
    assert_eq!(bench.out(), [""; 0]);
}

#[test]
fn a_handler_that_waits_for_its_cancellation_elsewhere() {
    let log = Log::default();
    let notes = log.clone();
    let mut bench = Bench::new(move |_: Value, context: Context| {
        let log = notes.clone();
        async move {
            context.cancelled().await;
            log.note("cancelled");
            pending::<&str>().await
        }
    });
    let hands = bench.spawn_by_hand();
    bench.call(1);
    hands.poll();
    bench.cancel(1);
    hands.poll();
    assert_eq!((log.take(), hands.count()), (vec!["cancelled".to_owned()], 0));
}

fn gated(gate: &Gate) -> Bench {
    let gate = gate.clone();
    Bench::new(move |_: Value, _| {
        let gate = gate.clone();
        async move {
            gate.passed().await;
            "passed"
        }
    })
}

/// A handler that is never done, and notes how it is polled.
fn noting() -> (Bench, Log) {
    let log = Log::default();
    let notes = log.clone();
    let bench = Bench::new(move |_: Value, context: Context| {
        let log = notes.clone();
        let dropped = log.note_drop();
        poll_fn(move |_| {
            let _held = &dropped;
            log.note(if context.is_cancelled() { "cancelled" } else { "polled" });
            Poll::<&str>::Pending
        })
    });
    (bench, log)
}
