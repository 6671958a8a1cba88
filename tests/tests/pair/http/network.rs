//! The network: how late, in which pieces, and that everything follows from the seed.

use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::client::{CallError, ConnectError};
use mcp_service::testing::Network;

use super::site::{ERAS, SECOND, echo, echoing, pair, steps, text, walking};

const MILLI: Duration = Duration::from_millis(1);

#[test]
fn a_calm_network_takes_no_time() {
    for negotiation in ERAS {
        let (mut pair, notes, _) = pair(negotiation);
        assert_eq!(echo(&mut pair, "hello"), "hello");
        assert_eq!(pair.now(), Instant::ZERO);
        assert_eq!(*notes.lock().unwrap(), ["hello"]);
    }
}

#[test]
fn a_connection_takes_as_long_as_bytes_do_and_is_kept() {
    let (pair, ..) = pair(ERAS[0]);
    let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
    assert_eq!(echo(&mut pair, "hello"), "hello");
    // To connect, and there and back, twice: to ask for the versions, and to call. The server has
    // not shown yet that it keeps connections.
    assert_eq!(pair.now(), Instant::ZERO + 60 * MILLI);
    pair.pass(3 * SECOND);
    let before = pair.now();
    assert_eq!(echo(&mut pair, "hello"), "hello");
    assert_eq!(pair.now(), before + 20 * MILLI);
    assert_eq!(pair.connections(), 1);
    pair.pass(5 * SECOND);
    assert_eq!(pair.connections(), 0);
}

#[test]
fn what_arrives_in_pieces_is_the_same() {
    for negotiation in ERAS {
        for seed in 0..20 {
            let (pair, ..) = pair(negotiation);
            let mut pair = pair.network(Network::rough()).seed(seed);
            let client = pair.client();
            let (walk, seen) = steps(walking(&client, 5, 20));
            assert_eq!(text(pair.run(walk)), "5 steps");
            assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
            pair.run(client.close());
            pair.pass(SECOND);
            assert_eq!((pair.sessions(), pair.connections()), (0, 0));
        }
    }
}

#[test]
fn more_than_a_connection_holds_waits_for_whoever_reads() {
    for negotiation in ERAS {
        let (pair, ..) = pair(negotiation);
        let mut pair = pair.network(Network::calm().latency(10 * MILLI, 10 * MILLI));
        let long = "x".repeat(1024 * 1024);
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        let before = pair.now();
        assert_eq!(echo(&mut pair, &long), long);
        // At most 64 KiB are under way.
        assert!(pair.now() >= before + 2 * 16 * 10 * MILLI, "{:?}", pair.now());
    }
}

#[test]
fn everything_follows_from_the_seed() {
    let play = |seed| {
        let (pair, notes, _) = pair(ERAS[1]);
        let bad = Network::rough().cuts(3).refusals(5);
        let mut pair = pair.network(bad).seed(seed);
        let client = pair.client();
        let mut came = Vec::new();
        for n in 0..10 {
            let call = echoing(&client, &n.to_string());
            came.push(pair.run(call));
        }
        pair.pass(SECOND);
        let notes = notes.lock().unwrap().clone();
        (pair.wire(), pair.now(), came, notes)
    };
    assert_eq!(play(1), play(1));
    let ((one, ..), (two, ..)) = (play(1), play(2));
    assert_ne!(one, two);
}

#[test]
fn so_many_connections_are_cut_and_refused() {
    let run = |network: Network| {
        let mut failed = 0;
        for seed in 0..200 {
            let (pair, ..) = pair(ERAS[0]);
            let mut pair = pair.network(network.clone()).seed(seed);
            let call = echoing(&pair.client(), "hello");
            match pair.run(call) {
                Ok(_) => {}
                Err(CallError::Connect(ConnectError::Connection(_)) | CallError::Connection(_)) => {
                    failed += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        failed
    };
    assert_eq!(run(Network::calm()), 0);
    assert_eq!(run(Network::calm().refusals(1)), 200);
    let some = run(Network::calm().refusals(4));
    // There are two connections: one for a tool, too.
    assert!((60..120).contains(&some), "{some}");
    let some = run(Network::calm().cuts(2));
    assert!((30..120).contains(&some), "{some}");
}
