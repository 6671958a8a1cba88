//! Calls that are dropped.

use mcp_service::testing::Network;
use serde_json::Value;

use crate::bench::{Log, SECOND, WAYS, call, pair, said, text, thinking};

#[test]
fn a_call_that_is_dropped_is_cancelled_where_it_runs() {
    for way in WAYS {
        for network in [Network::calm(), Network::rough()] {
            let log = Log::default();
            let mut pair = way.pair(thinking(&log)).network(network).seed(1);
            let mut call = call(&pair.client());
            assert!(pair.poll(&mut call).is_pending());
            pair.pass(SECOND);
            assert_eq!(log.take(), ["thinks"]);
            drop(call);
            pair.pass(SECOND);
            assert_eq!(log.take(), ["cancelled", "dropped"]);
            let told = usize::from(!way.cancels_by_closing());
            assert_eq!(said(&pair, "notifications/cancelled"), told);
            pair.run(pair.client().ping()).unwrap();
        }
    }
}

#[test]
fn what_was_never_polled_was_never_asked() {
    for way in WAYS {
        let log = Log::default();
        let mut pair = way.pair(thinking(&log));
        drop(call(&pair.client()));
        pair.run(pair.client().ping()).unwrap();
        assert_eq!(log.take(), [""; 0]);
        assert_eq!(said(&pair, "tools/call"), 0);
    }
}

#[test]
fn a_call_that_is_dropped_before_the_connection_is_never_sent() {
    for way in WAYS {
        let log = Log::default();
        let network = Network::calm().latency(SECOND, SECOND);
        let mut pair = way.pair(thinking(&log)).network(network);
        let mut call = call(&pair.client());
        assert!(pair.poll(&mut call).is_pending());
        drop(call);
        pair.run(pair.client().ping()).unwrap();
        assert_eq!(log.take(), [""; 0]);
        assert_eq!((said(&pair, "tools/call"), said(&pair, "cancelled")), (0, 0));
    }
}

#[test]
fn a_call_that_is_done_is_not_cancelled_any_more() {
    for way in WAYS {
        let mut pair = pair(way, |_: Value, _| async { "done" });
        let mut done = call(&pair.client());
        let std::task::Poll::Ready(result) = pair.poll(&mut done) else { panic!("not done") };
        assert_eq!(text(result), "done");
        drop(done);
        pair.pass(SECOND);
        assert_eq!(said(&pair, "notifications/cancelled"), 0);
    }
}

#[test]
fn an_answer_that_crosses_a_cancellation_is_no_fault() {
    for way in WAYS {
        let network = Network::calm().latency(SECOND, SECOND);
        let mut pair = pair(way, |_: Value, _| async { "done" }).network(network);
        let (client, faults) = (pair.client(), Log::default());
        let noted = faults.clone();
        client.on_fault(move |error| noted.note(error.to_string()));
        // What is asked before a server has accepted that a session begins is not sent yet.
        pair.run(client.ping()).unwrap();
        let mut call = call(&client);
        assert!(pair.poll(&mut call).is_pending());
        pair.pass(SECOND);
        drop(call);
        pair.run(client.ping()).unwrap();
        let told = usize::from(!way.cancels_by_closing());
        assert_eq!(said(&pair, "notifications/cancelled"), told);
        assert_eq!(faults.take(), [""; 0]);
    }
}
