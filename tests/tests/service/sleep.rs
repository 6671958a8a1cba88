//! `Context::sleep`, by virtual time.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use mcp_proto::server::Config;
use mcp_service::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Bench, Gate, answer};

#[derive(Deserialize)]
struct Nap {
    ms: u64,
}

#[test]
fn sleeps_end_in_the_order_of_their_deadlines() {
    let mut bench = naps();
    for (id, ms) in [(1, 30), (2, 10), (3, 20)] {
        bench.call_with(id, &json!({"ms": ms}));
    }
    for (id, ms) in [(2, 10), (3, 20), (1, 30)] {
        assert_eq!(bench.flush_deadline(), Some(millis(10)));
        bench.pass(millis(9));
        assert_eq!(bench.out(), [""; 0]);
        bench.pass(millis(1));
        assert_eq!(bench.out(), [answer(id, &ms.to_string())]);
    }
    assert_eq!(bench.flush_deadline(), None);
}

#[test]
fn sleeps_that_are_due_at_once_end_in_one_turn() {
    let mut bench = naps();
    for (id, ms) in [(1, 30), (2, 10), (3, 20)] {
        bench.call_with(id, &json!({"ms": ms}));
    }
    bench.pass(millis(100));
    assert_eq!(bench.out(), [answer(2, "10"), answer(3, "20"), answer(1, "30")]);
}

#[test]
fn one_sleep_after_the_other() {
    let mut bench = Bench::with(without_timeout(), |_: Value, context: Context| async move {
        for _ in 0..3 {
            context.sleep(millis(10)).await;
        }
        "done"
    });
    bench.call(1);
    for _ in 0..3 {
        assert_eq!(bench.out(), [""; 0]);
        assert_eq!(bench.flush_deadline(), Some(millis(10)));
        bench.pass(millis(10));
    }
    assert_eq!(bench.out(), [answer(1, "done")]);
    assert_eq!(bench.flush_deadline(), None);
}

#[test]
fn a_wake_for_another_reason_does_not_end_a_sleep() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::with(without_timeout(), move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            let (mut passed, mut slept) = (pin!(gate.passed()), pin!(context.sleep(millis(10))));
            let mut open = false;
            std::future::poll_fn(|task| {
                open = open || passed.as_mut().poll(task).is_ready();
                slept.as_mut().poll(task)
            })
            .await;
            "slept"
        }
    });
    bench.call(1);
    bench.pass(millis(5));
    gate.open();
    bench.turn();
    assert_eq!((bench.out(), bench.flush_deadline()), (vec![], Some(millis(5))));
    bench.pass(millis(5));
    assert_eq!(bench.out(), [answer(1, "slept")]);
}

#[test]
fn a_sleep_that_is_dropped_leaves_no_deadline() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::with(without_timeout(), move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            {
                let (mut passed, mut slept) =
                    (pin!(gate.passed()), pin!(context.sleep(millis(10))));
                std::future::poll_fn(|task| match slept.as_mut().poll(task) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => passed.as_mut().poll(task),
                })
                .await;
            }
            context.cancelled().await;
            "never"
        }
    });
    bench.call(1);
    assert_eq!(bench.flush_deadline(), Some(millis(10)));
    gate.open();
    bench.turn();
    assert_eq!(bench.flush_deadline(), None);
}

#[test]
fn a_cancelled_handler_leaves_no_deadline() {
    let mut bench = naps();
    bench.call_with(1, &json!({"ms": 10}));
    bench.cancel(1);
    assert_eq!(bench.flush_deadline(), None);
    bench.pass(millis(10));
    assert_eq!(bench.out(), [""; 0]);
}

#[test]
fn a_sleep_of_no_time_ends_in_the_next_turn() {
    let mut bench = naps();
    bench.call_with(1, &json!({"ms": 0}));
    assert_eq!((bench.out(), bench.flush_deadline()), (vec![], Some(Duration::ZERO)));
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "0")]);
}

#[test]
fn many_sleeps_end_in_the_order_of_their_ends() {
    const COUNT: u64 = 1000;
    let mut bench = Bench::with(without_timeout(), |_: Value, context: Context| async move {
        let sleeps = (0..COUNT).map(|number| {
            let ms = 1 + number * 7919 % COUNT;
            (ms, Box::pin(context.sleep(millis(ms))))
        });
        let (mut sleeps, mut ended): (Vec<_>, _) = (sleeps.collect(), Vec::new());
        std::future::poll_fn(|task| {
            sleeps.retain_mut(|(ms, sleep)| {
                let is_pending = sleep.as_mut().poll(task).is_pending();
                if !is_pending {
                    ended.push(*ms);
                }
                is_pending
            });
            if sleeps.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        if ended.is_sorted() { "slept" } else { "slept in another order" }
    });
    bench.call(1);
    for _ in 0..COUNT {
        assert_eq!(bench.out(), [""; 0]);
        bench.pass(millis(1));
    }
    assert_eq!(bench.out(), [answer(1, "slept")]);
}

#[test]
fn a_sleep_until_the_end_of_time_has_no_deadline() {
    let mut bench = naps();
    bench.call_with(1, &json!({"ms": u64::MAX}));
    assert_eq!(bench.flush_deadline(), None);
    bench.cancel(1);
    bench.assert_alive();
}

#[test]
fn a_spawned_handler_sleeps_from_the_next_turn_on() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::with(without_timeout(), move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            context.sleep(millis(10)).await;
            "slept"
        }
    });
    let hands = bench.spawn_by_hand();
    bench.call(1);
    gate.open();
    hands.poll();
    assert_eq!(bench.flush_deadline(), None, "the service does not know the time");
    assert_eq!(bench.wakes(), 1);

    bench.pass(millis(100));
    assert_eq!(bench.flush_deadline(), Some(millis(10)));
    bench.pass(millis(9));
    assert_eq!((bench.out(), hands.wakes()), (vec![], 0));
    bench.pass(millis(1));
    assert_eq!(hands.wakes(), 1);
    hands.poll();
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "slept")]);
}

#[test]
fn a_spawned_handler_that_is_dropped_before_that_turn_leaves_no_deadline() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::with(without_timeout(), move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            context.sleep(millis(10)).await;
            "slept"
        }
    });
    let hands = bench.spawn_by_hand();
    bench.call(1);
    gate.open();
    hands.poll();
    hands.drop_all();
    bench.turn();
    assert_eq!(bench.flush_deadline(), None);
}

/// A tool that sleeps as long as it is told to.
fn naps() -> Bench {
    Bench::with(without_timeout(), |nap: Nap, context: Context| async move {
        context.sleep(millis(nap.ms)).await;
        nap.ms.to_string()
    })
}

/// No deadlines but those of sleeps.
fn without_timeout() -> Config {
    let mut config = Config::default();
    config.limits.handler_timeout = Duration::MAX;
    config
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
