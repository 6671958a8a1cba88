//! From a call to its answer.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_tests::pause::yield_now;
use serde_json::{Value, json};

use crate::bench::{Bench, Gate, answer, failure, panic_quietly};

#[test]
fn a_handler_that_is_ready_is_answered_at_once() {
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    bench.call(1);
    assert_eq!(bench.out(), [answer(1, "done")]);
    assert_eq!(bench.wakes(), 0);
}

#[test]
fn a_handler_that_waits_is_answered_when_it_is_woken() {
    let (mut bench, gates) = gated();
    bench.call_with(1, &json!({"gate": "a"}));
    assert_eq!((bench.out(), bench.wakes()), (vec![], 0));

    gates["a"].open();
    assert_eq!((bench.out(), bench.wakes()), (vec![], 1));
    bench.turn();
    assert_eq!((bench.out(), bench.wakes()), (vec![answer(1, "a")], 0));
}

#[test]
fn a_handler_is_polled_when_it_is_woken_and_only_then() {
    let (mut bench, gates) = gated();
    bench.call_with(1, &json!({"gate": "a"}));
    assert_eq!(gates["a"].polls(), 1);
    bench.turn();
    bench.assert_alive();
    assert_eq!(gates["a"].polls(), 1);

    for _ in 0..1000 {
        gates["a"].wake();
    }
    bench.turn();
    assert_eq!(gates["a"].polls(), 2, "many wakes are one");
    assert_eq!(bench.out(), [""; 0]);
}

#[test]
fn answers_come_in_the_order_in_which_handlers_finish() {
    let (mut bench, gates) = gated();
    for (id, gate) in [(1, "a"), (2, "b"), (3, "c")] {
        bench.call_with(id, &json!({"gate": gate}));
    }
    gates["b"].open();
    bench.turn();
    assert_eq!(bench.out(), [answer(2, "b")]);

    gates["c"].open();
    gates["a"].open();
    bench.turn();
    assert_eq!(bench.out(), [answer(3, "c"), answer(1, "a")]);
    bench.assert_alive();
}

#[test]
fn a_handler_that_wakes_itself_is_polled_in_the_same_turn() {
    let mut bench = Bench::new(|_: Value, _| async {
        yield_now().await;
        yield_now().await;
        "done"
    });
    bench.call(1);
    assert_eq!((bench.out(), bench.wakes()), (vec![answer(1, "done")], 0));
}

#[test]
fn a_handler_that_never_stops_yielding_lets_others_run() {
    let mut bench = Bench::new(|_: Value, context| async move {
        while !context.is_cancelled() {
            yield_now().await;
        }
        "cancelled"
    });
    bench.call(1);
    assert_eq!(bench.wakes(), 1, "there is more to do");
    bench.assert_alive();
    assert_eq!(bench.wakes(), 1);

    bench.cancel(1);
    bench.turn();
    assert_eq!((bench.out(), bench.wakes()), (vec![], 0));
}

#[test]
fn a_wake_after_the_end_finds_nobody() {
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    let keeper = kept.clone();
    let mut bench = Bench::new(move |_: Value, _| {
        let keeper = keeper.clone();
        poll_fn(move |context| match keeper.lock().unwrap().replace(context.waker().clone()) {
            None => Poll::Pending,
            Some(_) => Poll::Ready("done"),
        })
    });
    bench.call(1);
    let wake = || kept.lock().unwrap().clone().unwrap().wake();
    wake();
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "done")]);

    wake();
    bench.turn();
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn a_handler_that_panics_when_it_is_called() {
    assert_panics_are_answered(|| {
        Bench::new(|_: Value, _| {
            panic_quietly();
            async { "never" }
        })
    });
}

#[test]
fn a_handler_that_panics_when_it_is_first_polled() {
    assert_panics_are_answered(|| {
        Bench::new(|_: Value, _| async {
            panic_quietly();
            "never"
        })
    });
}

#[test]
fn a_handler_that_panics_when_it_is_polled_again() {
    assert_panics_are_answered(|| {
        Bench::new(|_: Value, _| async {
            yield_now().await;
            panic_quietly();
            "never"
        })
    });
}

#[test]
fn a_handler_that_panics_when_it_is_dropped() {
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_quietly();
        }
    }

    let bomb = |_: Value, _| async {
        let _held = Bomb;
        pending::<&str>().await
    };
    let mut in_place = Bench::new(bomb);
    in_place.call(1);
    in_place.cancel(1);
    assert_eq!(in_place.out(), [""; 0]);
    in_place.assert_alive();

    let mut spawned = Bench::new(bomb);
    let hands = spawned.spawn_by_hand();
    spawned.call(1);
    hands.drop_all();
    spawned.turn();
    assert_eq!(spawned.out(), [failure(1, "the handler ended without an answer")]);
    spawned.assert_alive();
}

/// In place and where it is spawned.
fn assert_panics_are_answered(bench: impl Fn() -> Bench) {
    let mut in_place = bench();
    in_place.call(1);
    assert_eq!(in_place.out(), [failure(1, "the handler panicked")]);
    in_place.assert_alive();

    let mut spawned = bench();
    let hands = spawned.spawn_by_hand();
    spawned.call(1);
    hands.poll();
    spawned.turn();
    assert_eq!(spawned.out(), [failure(1, "the handler panicked")]);
    assert_eq!(hands.count(), 0);
    spawned.assert_alive();
}

/// Under this key `serde_json` reads a string as another JSON text, with the whole depth again.
#[test]
fn arguments_that_hide_their_depth_in_strings_are_refused() {
    let mut hidden = "1".to_owned();
    for _ in 0..100 {
        let text = hidden.replace('\\', "\\u005c").replace('"', "\\u0022");
        let object = format!(r#"{{"$serde_json::private::RawValue":"{text}"}}"#);
        hidden = format!("{}{object}{}", "[".repeat(120), "]".repeat(120));
    }
    let params = format!(r#"{{"name":"t","arguments":{{"a":{hidden}}}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let mut of_values = Bench::new(|_: Value, _| async { "done" });
    let mut of_numbers = Bench::new(|_: BTreeMap<String, u8>, _| async { "done" });
    for bench in [&mut of_values, &mut of_numbers] {
        bench.line(&call);
        let out = bench.out().concat();
        assert!(out.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"#), "{out}");
        bench.assert_alive();
    }
}

/// A tool that waits at the gate that its argument names, and answers with that name.
fn gated() -> (Bench, BTreeMap<&'static str, Gate>) {
    let gates: BTreeMap<_, _> = ["a", "b", "c"].map(|name| (name, Gate::default())).into();
    let all = gates.clone();
    let bench = Bench::new(move |arguments: Value, _| {
        let name = arguments["gate"].as_str().unwrap().to_owned();
        let gate = all[name.as_str()].clone();
        async move {
            gate.passed().await;
            name
        }
    });
    (bench, gates)
}
