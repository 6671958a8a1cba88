//! The end: of the client, of its service, of its handles.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Wake, Waker};

use mcp_proto::client::{CallError, Config, ConnectError, Negotiation};
use mcp_proto::types::{Implementation, LoggingLevel, Root, SubscriptionFilter};
use mcp_proto::{Bytes, Instant, UsageError};
use mcp_service::testing::Network;
use mcp_service::{Client, ClientService, CloseCause, Closed, Drive};
use serde_json::{Value, json};

use crate::bench::{ERAS, Log, Over, SECOND, WAYS, call, pair, registry, text, thinking};

#[test]
fn closing_ends_what_is_pending_and_cancels_what_runs() {
    for way in WAYS {
        for network in [Network::calm(), Network::rough()] {
            let log = Log::default();
            let mut pair = way.pair(thinking(&log)).network(network);
            let client = pair.client();
            let mut pending = call(&client);
            assert!(pair.poll(&mut pending).is_pending());
            pair.pass(SECOND);
            pair.run(client.close());
            assert_eq!(pair.run(pending), Err(CallError::Interrupted));
            pair.pass(5 * SECOND);
            assert_eq!(log.take(), ["thinks", "cancelled", "dropped"]);
        }
    }
}

#[test]
fn closing_before_the_connection_says_so() {
    for way in WAYS {
        let network = Network::calm().latency(SECOND, SECOND);
        let mut pair = pair(way, |_: Value, _| async { "done" }).network(network);
        let client = pair.client();
        let (mut pending, mut connected) = (call(&client), Box::pin(client.connected()));
        assert!(pair.poll(&mut pending).is_pending() && pair.poll(&mut connected).is_pending());
        pair.run(client.close());
        assert_eq!(pair.run(connected), Err(ConnectError::Closed));
        assert_eq!(pair.run(pending), Err(CallError::Connect(ConnectError::Closed)));
    }
}

#[test]
fn second_hour_09_the_end_is_reported_to_everybody_who_waits() {
    for way in WAYS {
        for closes in [true, false] {
            if way.over == Over::Http && !closes {
                // Over HTTP the end of a connection ends nothing.
                continue;
            }
            let mut pair = way.pair(registry(|_: Value, _| async { "done" }));
            let client = pair.client();
            let (mut first, mut second) = (Box::pin(client.closed()), Box::pin(client.closed()));
            assert_eq!(text(pair.run(call(&client))), "done");
            assert!(pair.poll(&mut first).is_pending() && pair.poll(&mut second).is_pending());
            if closes {
                pair.run(client.close());
            } else {
                pair.cut();
                pair.pass(SECOND);
            }
            let cause = if closes { CloseCause::Requested } else { CloseCause::Ended };
            let closed = Closed::new(cause);
            for waiter in [first, second, Box::pin(client.closed())] {
                assert_eq!(pair.run(waiter), closed, "{way:?}");
            }
        }
    }
}

#[test]
fn second_hour_09_an_error_of_the_stream_and_a_dropped_driver_are_reported() {
    let mut idle = pair(Negotiation::Auto, |_: Value, _| async { "done" });
    for broken in [true, false] {
        let client = client();
        let mut service = ClientService::new(&client).unwrap();
        service.handle_opened(Instant::ZERO);
        if broken {
            service.handle_error(&io::Error::other("the disk is full"));
        }
        drop(service);
        let cause = if broken {
            CloseCause::Io { kind: io::ErrorKind::Other, message: "the disk is full".into() }
        } else {
            CloseCause::Dropped
        };
        assert_eq!(idle.run(client.closed()), Closed::new(cause));
    }
}

#[test]
fn after_the_end_every_handle_says_so_at_once() {
    for negotiation in ERAS {
        for closes in [true, false] {
            let mut pair = pair(negotiation, |_: Value, _| async { "done" });
            let client = pair.client();
            assert_eq!(text(pair.run(call(&client))), "done");
            if closes {
                pair.run(client.close());
            } else {
                pair.cut();
                pair.pass(SECOND);
            }
            let (wire, now) = (pair.wire(), pair.now());
            assert_eq!(pair.run(call(&client)), Err(CallError::Closed));
            assert_eq!(pair.run(client.list_tools()), Err(CallError::Closed));
            assert_eq!(pair.run(client.ping()), Err(CallError::Closed));
            let level = client.set_log_level(LoggingLevel::Error);
            assert_eq!(pair.run(level), Err(CallError::Closed));
            let subscription = pair.run(client.subscribe(SubscriptionFilter::default()));
            assert_eq!(subscription.err(), Some(CallError::Closed));
            assert_eq!(pair.run(client.connected()), Err(ConnectError::Closed));
            assert_eq!((client.server(), client.verdict()), (None, None));
            client.set_roots(vec![Root::new("file:///a")]).unwrap();
            client.notify("notifications/x", &json!({})).unwrap();
            client.declare(|has| has.roots = None);
            pair.run(client.close());
            assert_eq!((pair.wire(), pair.now()), (wire, now));
        }
    }
}

#[test]
fn a_client_has_one_service() {
    let client = client();
    let service = ClientService::new(&client).unwrap();
    let second = ClientService::new(&client.clone()).map(drop);
    assert_eq!(second, Err(UsageError::AlreadyConnected));
    drop(service);
    let third = ClientService::new(&client).map(drop);
    assert_eq!(third, Err(UsageError::AlreadyConnected));
}

/// The client may never have had a connection.
#[test]
fn error_of_a_second_service_says_what_to_do() {
    let client = client();
    drop(ClientService::new(&client).unwrap());
    let second = ClientService::new(&client).map(drop).unwrap_err().to_string();
    assert!(!second.contains("already connected"), "{second}");
    assert!(second.ends_with("make another `Client`"), "{second}");
}

#[test]
fn a_service_that_is_dropped_leaves_nobody_waiting() {
    let (client, mut idle) = (client(), pair(Negotiation::Auto, |_: Value, _| async { "done" }));
    let service = ClientService::new(&client).unwrap();
    let (mut pending, mut connected) = (call(&client), Box::pin(client.connected()));
    assert!(idle.poll(&mut pending).is_pending() && idle.poll(&mut connected).is_pending());
    drop(service);
    assert_eq!(idle.run(pending), Err(CallError::Closed));
    assert_eq!(idle.run(connected), Err(ConnectError::Closed));
    assert_eq!(idle.run(call(&client)), Err(CallError::Closed));
    idle.run(client.close());
}

#[test]
fn a_client_that_was_never_driven_is_closed_at_once() {
    let mut idle = pair(Negotiation::Auto, |_: Value, _| async { "done" });
    idle.run(client().close());
    // Calls wait for a connection, which never comes.
    let client = client();
    let (mut pending, mut closed) = (call(&client), Box::pin(client.closed()));
    assert!(idle.poll(&mut pending).is_pending() && idle.poll(&mut closed).is_pending());
    drop(client.close());
    assert_eq!(idle.run(pending), Err(CallError::Closed));
    assert_eq!(idle.run(closed), Closed::new(CloseCause::Requested));
    assert_eq!(ClientService::new(&client).map(drop), Err(UsageError::AlreadyConnected));
}

#[test]
fn a_task_that_waits_no_longer_is_forgotten() {
    struct Task;
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let client = client();
    let task = Arc::new(Task);
    let waker = Waker::from(task.clone());
    for _ in 0..3 {
        let mut closed = pin!(client.closed());
        assert!(closed.as_mut().poll(&mut task::Context::from_waker(&waker)).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&task), 1);
}

#[test]
fn callback_of_a_closed_client_is_dropped() {
    let client = client();
    let held = Arc::new(client.clone());
    let mut idle = pair(Negotiation::Auto, |_: Value, _| async { "done" });
    idle.run(client.close());
    let owner = held.clone();
    client.on_fault(move |_| drop(owner.clone()));
    assert_eq!(Arc::strong_count(&held), 1, "the client keeps itself");
}

#[test]
fn a_service_goes_on_without_handles() {
    for negotiation in ERAS {
        let log = Log::default();
        // A pair keeps a handle of its own.
        let mut service = {
            let mut config = Config::new(Implementation::new("gone", "1"));
            config.negotiation = negotiation;
            let client = Client::new(config);
            let service = ClientService::new(&client).unwrap();
            let noted = log.clone();
            client.on_fault(move |error| noted.note(error.to_string()));
            drop(client);
            service
        };
        let now = Instant::ZERO;
        service.handle_opened(now);
        service.turn(now, Waker::noop());
        assert!(!service.output().is_empty());
        service.handle_bytes(now, Bytes::from_static(b"garbage\n"));
        service.turn(now, Waker::noop());
        assert_eq!(log.take().len(), 1);
        service.handle_stop(now);
        service.turn(now, Waker::noop());
        assert!(service.is_closed());
    }
}

fn client() -> Client {
    Client::new(Implementation::new("app", "1"))
}

#[test]
fn a_server_that_asks_and_does_not_read_is_not_read_either() {
    let mut config = Config::new(Implementation::new("app", "1"));
    config.negotiation = Negotiation::Legacy;
    let mut service = ClientService::new(&Client::new(config)).unwrap();
    service.handle_opened(Instant::ZERO);
    let mut read = |line: String| {
        service.handle_bytes(Instant::ZERO, Bytes::from(line));
        service.turn(Instant::ZERO, Waker::noop());
        service.wants_read()
    };
    let capabilities = r#""capabilities":{},"serverInfo":{"name":"s","version":"1"}"#;
    assert!(read(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":\"2025-11-25\",{capabilities}}}}}\n"
    )));
    let ping = |id: i32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    // An answer has about 40 bytes; those of a mebibyte may wait.
    let answered = (0..1_000_000).take_while(|id| read(ping(*id))).count();
    assert!((20_000..30_000).contains(&answered), "{answered}");
    while !service.output().is_empty() {
        service.handle_written(service.output().len());
    }
    assert!(service.wants_read());
}
