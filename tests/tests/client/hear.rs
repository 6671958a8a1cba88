//! Messages of servers: logs, other notifications, and errors.

use bytes::Bytes;
use mcp_proto::Json;
use mcp_proto::client::Negotiation;
use mcp_proto::server::{Config, Notification};
use mcp_proto::types::LoggingLevel;
use mcp_service::testing::{Network, Pair};
use mcp_service::{Client, Context, Drive, Handler, Registry, Service};
use serde_json::{Value, json};

use crate::bench::{ERAS, Log, WAYS, call, pair, panic_quietly, registry, said, text};

#[test]
fn logs_are_heard_as_far_as_they_are_wanted() {
    for way in WAYS {
        let mut pair = way.pair(logging());
        let (client, log) = (pair.client(), Log::default());
        hear(&client, &log);
        pair.run(client.set_log_level(LoggingLevel::Warning)).unwrap();
        assert_eq!(text(pair.run(call(&client))), "done");
        assert_eq!(log.take(), ["Error \"c\""]);
        pair.run(client.set_log_level(LoggingLevel::Debug)).unwrap();
        assert_eq!(text(pair.run(call(&client))), "done");
        assert_eq!(log.take(), ["Debug \"a\"", "Info \"b\"", "Error \"c\""]);
        let told = if way.is_legacy() { 2 } else { 0 };
        assert_eq!(said(&pair, "logging/setLevel"), told);
    }
}

#[test]
fn a_level_set_before_connecting_counts() {
    for way in WAYS {
        let mut pair = way.pair(logging());
        let (client, log) = (pair.client(), Log::default());
        hear(&client, &log);
        let (level, call) = (client.set_log_level(LoggingLevel::Error), call(&client));
        pair.run(async {
            level.await.unwrap();
            call.await.unwrap();
        });
        assert_eq!(log.take(), ["Error \"c\""]);
    }
}

#[test]
fn legacy_server_without_logging_is_a_fault_and_no_failed_call() {
    for way in WAYS {
        let mut pair = pair(way, |_: Value, _| async { "done" });
        let (client, log) = (pair.client(), Log::default());
        let faults = log.clone();
        client.on_fault(move |fault| faults.note(fault.to_string()));
        pair.run(client.set_log_level(LoggingLevel::Warning)).unwrap();
        assert_eq!(text(pair.run(call(&client))), "done");
        assert_eq!(said(&pair, "logging/setLevel"), 0);
        let faults = log.take();
        assert_eq!(faults.len(), usize::from(way.is_legacy()), "{faults:?}");
        assert!(faults.iter().all(|fault| fault.contains("does not declare `logging`")));
    }
}

#[test]
fn one_call_may_want_other_logs() {
    let mut pair = Pair::new(logging()).negotiation(Negotiation::Auto);
    let (client, log) = (pair.client(), Log::default());
    hear(&client, &log);
    text(pair.run(call(&client)));
    assert_eq!(log.take(), [""; 0], "a modern server tells nobody who did not ask");
    text(pair.run(call(&client).log_level(LoggingLevel::Info)));
    assert_eq!(log.take(), ["Info \"b\"", "Error \"c\""]);
    text(pair.run(call(&client)));
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn who_panics_at_what_is_heard_harms_nobody() {
    for way in WAYS {
        let mut pair = way.pair(logging());
        let client = pair.client();
        client.on_log(|_| panic_quietly());
        client.on_notification(|_, _| panic_quietly());
        pair.run(client.set_log_level(LoggingLevel::Debug)).unwrap();
        assert_eq!(text(pair.run(call(&client))), "done");
        assert_eq!(text(pair.run(call(&client))), "done");
    }
}

#[test]
fn notifications_of_an_extension_are_heard() {
    for way in WAYS {
        let mut pair = pair(way, |_: Value, context: Context| async move {
            let params = Json::encode(&json!({ "a": 1 })).unwrap();
            context.notify(Notification::Other { method: "notifications/vendor".into(), params });
            "done"
        });
        let (client, log) = (pair.client(), Log::default());
        let noted = log.clone();
        client.on_notification(move |method, params| {
            noted.note(format!("{method} {}", params.as_str()));
        });
        assert_eq!(text(pair.run(call(&client))), "done");
        assert_eq!(log.take(), [r#"notifications/vendor {"a":1}"#]);
    }
}

#[test]
fn what_cannot_be_read_is_a_fault_and_no_more() {
    for negotiation in ERAS {
        for network in [Network::calm(), Network::rough()] {
            let mut pair = Pair::with_server(|config| Box::new(Noisy::new(config)))
                .negotiation(negotiation)
                .network(network);
            let (client, log) = (pair.client(), Log::default());
            let noted = log.clone();
            client.on_fault(move |_| noted.note("fault"));
            assert_eq!(text(pair.run(call(&client))), "done");
            // Before anything, and after the answer that said who it is.
            assert_eq!(log.take(), ["fault"], "{}", pair.wire());
            assert_eq!(said(&pair, "error"), 0, "garbage is not answered");
        }
    }
}

fn hear(client: &Client, log: &Log) {
    let log = log.clone();
    client.on_log(move |message| {
        log.note(format!("{:?} {}", message.level, message.data.as_str()));
    });
}

fn logging() -> Registry<Handler> {
    let mut registry = registry(|_: Value, context: Context| async move {
        context.log(LoggingLevel::Debug, "a");
        context.log(LoggingLevel::Info, "b");
        context.log(LoggingLevel::Error, "c");
        "done"
    });
    registry.logging();
    registry
}

/// A server that prints a greeting where its messages go.
struct Noisy {
    service: Service,
    greeting: Bytes,
}

impl Noisy {
    fn new(config: Config) -> Self {
        let service = Service::new(registry(|_: Value, _| async { "done" }), config);
        Self { service, greeting: Bytes::from_static(b"Welcome!\n") }
    }
}

impl Drive for Noisy {
    fn output(&self) -> &[u8] {
        if self.greeting.is_empty() { self.service.output() } else { &self.greeting }
    }

    fn handle_written(&mut self, count: usize) {
        if self.greeting.is_empty() {
            self.service.handle_written(count);
        } else {
            drop(self.greeting.split_to(count));
        }
    }

    mcp_tests::pass_to_service! {
        handle_bytes handle_eof handle_stop turn handle_write_closed poll_timeout wants_read
        is_write_blocked is_closed flush_deadline is_aborted
    }
}

#[test]
fn the_conversation_is_seen_as_it_happens() {
    for way in WAYS {
        let mut pair = way.pair(logging());
        let (client, log) = (pair.client(), Log::default());
        let note = log.clone();
        client.on_wire(move |line| {
            note.note(line);
            panic_quietly();
        });
        assert_eq!(text(pair.run(call(&client))), "done");
        pair.run(client.close());
        assert_eq!(log.take(), pair.wire().lines().collect::<Vec<_>>());
    }
}
