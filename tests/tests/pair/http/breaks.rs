//! Connections that break: wherever it is, a call has one outcome, and a tool runs once at most.

use mcp_proto::client::{CallError, ConnectError, Negotiation};
use serde_json::json;

use super::site::{ERAS, SECOND, echo, echoing, pair, said, sent, steps, take, text, walking};

#[test]
fn a_request_that_is_cut_anywhere_fails_and_does_not_run() {
    for negotiation in ERAS {
        let (mut failed, mut ran) = (0, 0);
        for after in (0..1000).step_by(13) {
            let (mut pair, notes, _) = pair(negotiation);
            let client = pair.client();
            pair.run(client.connected()).unwrap();
            pair.pass(SECOND);
            pair.cut_request(after);
            let call = echoing(&client, "once");
            let came = pair.run(call);
            let before = ran;
            ran = take(&notes).len();
            match came {
                Ok(_) => break,
                // The last one has arrived as a whole, if only just.
                _ if before > 0 => panic!("{after}: it had run before"),
                Err(CallError::Connection(_)) => failed += 1,
                Err(other) => panic!("{after}: {other:?}"),
            }
            if ran == 0 {
                assert_eq!(echo(&mut pair, "again"), "again");
            }
        }
        assert!((20..70).contains(&failed), "in the head and in the body: {failed}");
    }
}

#[test]
fn a_response_that_is_cut_anywhere_fails_and_has_run_once() {
    for negotiation in ERAS {
        let mut failed = 0;
        for after in (0..1000).step_by(13) {
            let (mut pair, notes, _) = pair(negotiation);
            let client = pair.client();
            pair.run(client.connected()).unwrap();
            pair.pass(SECOND);
            pair.cut_response(after);
            let call = echoing(&client, "once");
            let came = pair.run(call);
            assert_eq!(take(&notes), ["once"], "{after}");
            match came {
                Ok(_) => break,
                Err(CallError::Connection(_)) => failed += 1,
                Err(other) => panic!("{after}: {other:?}"),
            }
            assert_eq!(echo(&mut pair, "again"), "again");
        }
        assert!((5..40).contains(&failed), "in the head and in the body: {failed}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_resumed_where_it_has_ids() {
    for negotiation in ERAS {
        let (mut failed, mut resumed) = (0, 0);
        for after in (0..1500).step_by(17) {
            let (mut pair, ..) = pair(negotiation);
            let client = pair.client();
            pair.run(client.connected()).unwrap();
            pair.pass(SECOND);
            pair.cut_response(after);
            let (walk, seen) = steps(walking(&client, 3, 10));
            let came = pair.run(walk);
            let seen = seen.lock().unwrap().clone();
            if came.is_ok() {
                assert_eq!((text(came), seen), ("3 steps".into(), vec![1.0, 2.0, 3.0]), "{after}");
                let gets = sent(&pair, "Last-Event-ID:");
                if gets == 0 {
                    break;
                }
                resumed += 1;
            } else {
                assert!(matches!(came, Err(CallError::Connection(_))), "{after}: {came:?}");
                assert!([1.0, 2.0, 3.0].starts_with(&seen), "{after}: {seen:?}");
                assert_eq!(resumed, 0, "{after}: it had an id before");
                failed += 1;
            }
            assert_eq!(said(&pair, "tools/call"), 1);
        }
        assert!(failed > 5, "{failed}");
        assert_eq!(resumed > 5, negotiation == Negotiation::Legacy, "{resumed}");
    }
}

#[test]
fn a_lost_response_is_asked_for_again_if_that_is_safe() {
    for negotiation in ERAS {
        let (mut pair, notes, _) = pair(negotiation);
        let client = pair.client();
        assert_eq!(echo(&mut pair, "first"), "first");
        // The connection is one that was kept: the server may have closed it just then.
        pair.cut_response(0);
        assert_eq!(pair.run(client.list_tools()).unwrap().tools.len(), 4);
        assert_eq!(said(&pair, "tools/list"), 2);
        pair.cut_response(0);
        let call = echoing(&client, "second");
        assert!(matches!(pair.run(call), Err(CallError::Connection(_))));
        assert_eq!(take(&notes), ["first", "second"]);
    }
}

#[test]
fn who_is_refused_is_told_so_and_may_try_again() {
    for negotiation in ERAS {
        let (mut pair, notes, _) = pair(negotiation);
        assert_eq!(echo(&mut pair, "before"), "before");
        pair.pass(5 * SECOND);
        pair.refuse(10 * SECOND);
        let call = echoing(&pair.client(), "refused");
        let error = pair.run(call).unwrap_err();
        assert!(matches!(error, CallError::Connect(ConnectError::Connection(_))), "{error}");
        assert!(!error.may_have_been_executed());
        pair.pass(10 * SECOND);
        assert_eq!(echo(&mut pair, "after"), "after");
        assert_eq!(take(&notes), ["before", "after"]);
    }
}

#[test]
fn a_request_that_was_written_before_a_refusal_may_have_been_executed() {
    for negotiation in ERAS {
        let (mut pair, ..) = pair(negotiation);
        let client = pair.client();
        assert_eq!(echo(&mut pair, "first"), "first");
        // The list is requested on the kept connection, and again on a connection that is refused.
        pair.cut_response(0);
        pair.refuse(10 * SECOND);
        let error = pair.run(client.list_tools()).unwrap_err();
        assert!(matches!(error, CallError::Connection(_)), "{error}");
        assert!(error.may_have_been_executed());
    }
}

#[test]
fn a_cut_cancels_what_is_modern_and_no_session() {
    for negotiation in ERAS {
        let (mut pair, notes, _) = pair(negotiation);
        let mut call = pair.client().call_tool("think", &json!({}));
        assert!(pair.poll(&mut call).is_pending());
        pair.cut();
        if negotiation == Negotiation::Legacy {
            // It could have been answered, had it had an id.
            pair.pass(SECOND);
            assert_eq!(take(&notes), ["thinks"]);
        } else {
            assert!(matches!(pair.run(call), Err(CallError::Connection(_))));
            pair.pass(SECOND);
            assert_eq!(take(&notes), ["thinks", "cancelled"]);
        }
    }
}

#[test]
fn an_end_lets_through_what_is_under_way() {
    for negotiation in ERAS {
        let (pair, notes, _) = pair(negotiation);
        let network = mcp_service::testing::Network::calm().latency(SECOND, SECOND);
        let mut pair = pair.network(network);
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        pair.pass(10 * SECOND);
        let mut call = echoing(&client, "last");
        assert!(pair.poll(&mut call).is_pending());
        pair.pass(SECOND + SECOND / 2);
        pair.end_of_client();
        let came = pair.run(call);
        // A modern client that sends nothing more is gone.
        assert_eq!(take(&notes), ["last"], "{came:?}");
        let mut call = echoing(&client, "again");
        assert!(pair.poll(&mut call).is_pending());
        pair.pass(2 * SECOND + SECOND / 2);
        pair.end_of_server();
        assert_eq!(text(pair.run(call)), "again");
    }
}
