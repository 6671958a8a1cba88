//! Nobody waits any more.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_service::{Context, Drive};
use serde_json::{Value, json};

use crate::bench::{Bench, Gate, Log, answer, failure};

const DRAIN: Duration = Duration::from_secs(2);

#[test]
fn a_cancelled_handler_runs_once_more_and_is_dropped() {
    let (mut bench, log) = cooperative();
    bench.call(1);
    assert_eq!(log.take(), ["waits"]);

    bench.cancel(1);
    assert_eq!(log.take(), ["cancelled true", "dropped"]);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn a_cancelled_handler_that_waits_for_something_else_is_dropped_there() {
    let log = Log::default();
    let notes = log.clone();
    let mut bench = Bench::new(move |_: Value, context: Context| {
        let log = notes.clone();
        async move {
            let _dropped = log.note_drop();
            context.cancelled().await;
            log.note("cleans up");
            pending::<()>().await;
            "never"
        }
    });
    bench.call(1);
    bench.cancel(1);
    assert_eq!(log.take(), ["cleans up", "dropped"]);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn a_handler_that_ignores_its_cancellation_is_dropped() {
    let (mut bench, log) = stubborn(Config::default());
    bench.call(1);
    assert_eq!(log.take(), ["polled"]);

    bench.cancel(1);
    assert_eq!(log.take(), ["polled", "dropped"]);
    bench.turn();
    assert_eq!((log.take(), bench.out()), (vec![], vec![]));
    bench.assert_alive();
}

#[test]
fn a_call_that_is_cancelled_before_it_runs() {
    let (mut bench, log) = stubborn(Config::default());
    let call = crate::bench::call(1, &json!({}));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    bench.bytes(format!("{call}\n{cancel}\n"));
    assert_eq!(log.take(), ["polled", "polled", "dropped"]);
    assert_eq!(bench.out(), [""; 0]);
    bench.assert_alive();
}

#[test]
fn a_cancellation_reaches_all_who_wait_for_it() {
    let log = Log::default();
    let notes = log.clone();
    let mut bench = Bench::new(move |_: Value, context: Context| {
        let log = notes.clone();
        async move {
            let (mut one, mut two) = (pin!(context.cancelled()), pin!(context.cancelled()));
            poll_fn(|task| {
                let ready = [one.as_mut().poll(task), two.as_mut().poll(task)];
                log.note(format!("{}", ready.iter().filter(|poll| poll.is_ready()).count()));
                Poll::<()>::Pending
            })
            .await;
            "never"
        }
    });
    bench.call(1);
    bench.cancel(1);
    assert_eq!(log.take(), ["0", "2"]);
}

#[test]
fn the_other_calls_go_on() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::new(move |arguments: Value, _| {
        let gate = theirs.clone();
        async move {
            if arguments["waits"] == true {
                gate.passed().await;
            } else {
                pending::<()>().await;
            }
            "passed"
        }
    });
    bench.call_with(1, &json!({"waits": true}));
    bench.call(2);
    bench.cancel(2);
    gate.open();
    bench.turn();
    assert_eq!(bench.out(), [answer(1, "passed")]);
}

#[test]
fn a_handler_that_takes_too_long_is_cancelled_and_answered() {
    let mut config = Config::default();
    config.limits.handler_timeout = Duration::from_secs(60);
    let (mut bench, log) = stubborn(config);
    bench.call(1);
    assert_eq!(bench.flush_deadline(), Some(Duration::from_secs(60)));

    bench.pass(Duration::from_secs(60));
    assert_eq!(log.take(), ["polled", "polled", "dropped"]);
    let message = "the handler took longer than Limits::handler_timeout";
    assert_eq!(bench.out(), [failure(1, message)]);
    bench.assert_alive();
}

#[test]
fn the_end_lets_handlers_finish() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut bench = Bench::new(move |_: Value, _| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            "just in time"
        }
    });
    bench.call(1);
    bench.eof();
    assert!(!bench.service.wants_read());
    assert!(!bench.service.is_closed());
    assert_eq!(bench.flush_deadline(), Some(DRAIN));

    bench.pass(Duration::from_millis(1999));
    gate.open();
    bench.turn();
    assert!(bench.service.is_closed());
    assert_eq!(bench.out(), [answer(1, "just in time")]);
    assert_eq!(bench.flush_deadline(), None);
}

#[test]
fn the_end_cancels_handlers_that_do_not_finish() {
    let (mut bench, log) = cooperative();
    bench.call(1);
    bench.call(2);
    bench.eof();
    assert_eq!(log.take(), ["waits", "waits"]);

    bench.pass(DRAIN);
    let expected = ["cancelled true", "dropped", "cancelled true", "dropped"];
    assert_eq!(log.take(), expected);
    assert!(bench.service.is_closed());
    assert_eq!((bench.out(), bench.flush_deadline()), (vec![], None));
}

#[test]
fn a_service_that_is_dropped_cancels_its_handlers() {
    let (mut bench, log) = cooperative();
    bench.call(1);
    log.take();
    drop(bench);
    assert_eq!(log.take(), ["cancelled true", "dropped"]);
}

#[test]
fn after_the_end_a_client_gets_as_long_again_whenever_it_reads() {
    let mut bench = Bench::new(|_: Value, _| async { "read me" });
    bench.call(1);
    bench.eof();
    assert!(bench.service.is_closed());
    assert_eq!(bench.flush_deadline(), Some(DRAIN));

    bench.pass(Duration::from_millis(1999));
    bench.service.handle_written(1);
    bench.turn();
    assert_eq!(bench.flush_deadline(), Some(DRAIN));
    bench.pass(DRAIN);
    assert_eq!((bench.out(), bench.flush_deadline()), (vec![], None));
}

#[test]
fn a_service_that_is_to_stop_does_not_wait_for_a_client_that_does_not_read() {
    let mut bench = Bench::new(|_: Value, _| async { "nobody reads me" });
    bench.call(1);
    stop(&mut bench);
    assert!(bench.service.is_closed());
    assert!(!bench.service.output().is_empty());
    assert_eq!(bench.flush_deadline(), Some(DRAIN));

    bench.pass(DRAIN);
    assert_eq!((bench.out(), bench.flush_deadline()), (vec![], None));
}

#[test]
fn stopping_after_the_end_waits_no_longer_whatever_the_client_reads() {
    let mut bench = Bench::new(|_: Value, _| async { "nobody reads me" });
    bench.call(1);
    bench.eof();
    bench.pass(Duration::from_secs(1));
    stop(&mut bench);
    bench.service.handle_written(1);
    bench.turn();
    assert_eq!(bench.flush_deadline(), Some(Duration::from_secs(1)));
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.out(), [""; 0]);
}

#[test]
fn stopping_lets_handlers_finish_and_the_client_read() {
    let mut bench = Bench::new(|_: Value, context: Context| async move {
        context.sleep(Duration::from_secs(1)).await;
        "in time"
    });
    bench.call(1);
    stop(&mut bench);
    bench.pass(Duration::from_secs(1));
    assert!(bench.service.is_closed());
    assert_eq!(bench.service.poll_timeout(), Some(Instant::from_micros(3_000_000)));
    assert_eq!(bench.out(), [answer(1, "in time")]);
    assert_eq!(bench.flush_deadline(), None);
}

fn stop(bench: &mut Bench) {
    bench.service.handle_stop(bench.now);
    bench.turn();
}

/// A handler that waits for its cancellation, and notes it.
fn cooperative() -> (Bench, Log) {
    let log = Log::default();
    let notes = log.clone();
    let bench = Bench::new(move |_: Value, context: Context| {
        let log = notes.clone();
        async move {
            let _dropped = log.note_drop();
            log.note("waits");
            context.cancelled().await;
            log.note(format!("cancelled {}", context.is_cancelled()));
            "nobody hears this"
        }
    });
    (bench, log)
}

/// A handler that is never done, and notes when it is polled.
fn stubborn(config: Config) -> (Bench, Log) {
    let log = Log::default();
    let notes = log.clone();
    let bench = Bench::with(config, move |_: Value, _| {
        let log = notes.clone();
        let dropped = log.note_drop();
        poll_fn(move |_| {
            let _held = &dropped;
            log.note("polled");
            Poll::<&str>::Pending
        })
    });
    (bench, log)
}
