//! The longest time that calls may take.

use std::time::Duration;

use mcp_proto::client::{CallError, CallOptions, ClientEvent, Config};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, EmptyResult, Implementation, LoggingLevel,
    RequestedSchema,
};
use mcp_proto::{Action, Binding, Bytes, Era, Instant, Json, Machine, server};
use mcp_service::testing::{Network, Pair};
use mcp_service::{Context, Interrupt};
use serde_json::Value;

use crate::bench::{Log, MINUTE, SECOND, WAYS, call, pair, registry, said, text, thinking};

#[test]
fn a_call_that_takes_too_long_ends_and_the_server_is_told() {
    for way in WAYS {
        let log = Log::default();
        let mut pair = way.pair(thinking(&log));
        let client = pair.client();
        assert_eq!(pair.run(call(&client)), Err(CallError::TimedOut));
        assert_eq!(pair.now(), Instant::ZERO + MINUTE, "the default");
        assert_eq!(pair.run(call(&client).timeout(5 * SECOND)), Err(CallError::TimedOut));
        assert_eq!(pair.now(), Instant::ZERO + MINUTE + 5 * SECOND);
        pair.run(client.ping()).unwrap();
        assert_eq!(log.take(), ["thinks", "cancelled", "dropped"].repeat(2));
        let told = if way.cancels_by_closing() { 0 } else { 2 };
        assert_eq!(said(&pair, "notifications/cancelled"), told);
    }
}

#[test]
fn a_call_may_take_for_ever() {
    for way in WAYS {
        let mut config = server::Config::default();
        config.limits.handler_timeout = Duration::MAX;
        let mut pair = pair(way, |_: Value, context: Context| async move {
            context.sleep(10 * 60 * MINUTE).await;
            "done"
        })
        .server_config(config);
        let call = call(&pair.client()).timeout(Duration::MAX).max_total(Duration::MAX);
        assert_eq!(text(pair.run(call)), "done");
    }
}

#[test]
fn progress_is_told_and_gives_more_time() {
    for way in WAYS {
        let log = Log::default();
        let mut pair = pair(way, walks);
        let noted = log.clone();
        let call = call(&pair.client()).timeout(MINUTE).on_progress(move |progress| {
            noted.note(format!("{} of {:?}", progress.progress, progress.total));
        });
        // A step each 50 s, and nothing after the last.
        assert_eq!(text(pair.run(call)), "there");
        assert_eq!(pair.now(), Instant::ZERO + 200 * SECOND);
        let told: Vec<String> = (1..4).map(|step| format!("{step} of Some(4.0)")).collect();
        assert_eq!(log.take(), told);
    }
}

#[test]
fn progress_need_not_give_more_time() {
    for way in WAYS {
        let log = Log::default();
        let mut pair = pair(way, walks);
        let noted = log.clone();
        let call = call(&pair.client())
            .options(CallOptions::default().reset_on_progress(false))
            .on_progress(move |progress| noted.note(progress.progress.to_string()));
        assert_eq!(pair.run(call), Err(CallError::TimedOut));
        assert_eq!((pair.now(), log.take()), (Instant::ZERO + MINUTE, vec!["1".to_owned()]));
    }
}

#[test]
fn a_call_has_its_time_whatever_progress_it_makes() {
    for way in WAYS {
        let mut pair = pair(way, walks);
        let call = call(&pair.client()).on_progress(|_| ()).max_total(2 * MINUTE);
        assert_eq!(pair.run(call), Err(CallError::TimedOut));
        assert_eq!(pair.now(), Instant::ZERO + 2 * MINUTE);
    }
}

#[test]
fn nobody_is_told_of_progress_who_did_not_ask() {
    for way in WAYS {
        let mut pair = pair(way, walks);
        assert_eq!(text(pair.run(call(&pair.client()).timeout(5 * MINUTE))), "there");
        assert!(!pair.wire().contains("progress"), "{}", pair.wire());
    }
}

#[test]
fn who_panics_when_told_of_progress_harms_nobody() {
    for way in WAYS {
        let mut pair = pair(way, walks);
        let call = call(&pair.client()).on_progress(|_| crate::bench::panic_quietly());
        assert_eq!(text(pair.run(call)), "there");
    }
}

#[test]
fn the_time_of_a_call_rests_while_the_user_thinks() {
    for way in WAYS {
        let mut pair = way.pair(registry(asks));
        slow_user(&pair, 2 * MINUTE);
        let call = call(&pair.client()).timeout(MINUTE);
        assert_eq!(text(pair.run(call)), "Decline");
        // 50 s before, 50 s after: the time starts anew.
        assert!(pair.now() >= Instant::ZERO + 2 * MINUTE + 50 * SECOND, "{:?}", pair.now());
    }
}

#[test]
fn the_time_in_all_does_not_rest() {
    for way in WAYS {
        let mut pair = way.pair(registry(asks));
        slow_user(&pair, 2 * MINUTE);
        let call = call(&pair.client()).max_total(100 * SECOND);
        assert_eq!(pair.run(call), Err(CallError::TimedOut));
        assert_eq!(pair.now(), Instant::ZERO + 100 * SECOND);
    }
}

#[test]
fn every_call_has_the_time_that_was_said() {
    for way in WAYS {
        let network = Network::calm().latency(SECOND, SECOND);
        let mut registry = registry(walks);
        registry.logging();
        let mut pair = way.pair(registry).network(network);
        let client = pair.client();
        pair.run(client.connected()).unwrap();
        let before = pair.now();
        assert_eq!(pair.run(client.ping().timeout(SECOND)), Err(CallError::TimedOut));
        assert_eq!(pair.run(client.list_tools().timeout(SECOND)).err(), Some(CallError::TimedOut));
        assert_eq!(pair.now(), before + 2 * SECOND);
        let level = client.set_log_level(LoggingLevel::Error).timeout(SECOND);
        // A modern server need not be told.
        let expected = match client.server().unwrap().era() {
            Era::Modern => Ok(EmptyResult::default()),
            Era::Legacy => Err(CallError::TimedOut),
        };
        assert_eq!(pair.run(level), expected);
    }
}

async fn walks(_: Value, context: Context) -> &'static str {
    for step in 1..=3 {
        context.sleep(50 * SECOND).await;
        context.progress(server::Progress::new(f64::from(step)).total(4.0));
    }
    context.sleep(50 * SECOND).await;
    "there"
}

/// It takes 50 s whenever it is called.
async fn asks(_: Value, context: Context) -> Result<String, Interrupt> {
    context.sleep(50 * SECOND).await;
    let form = ElicitRequestFormParams::new("Sure?", RequestedSchema::new());
    Ok(format!("{:?}", context.elicit("sure", form)?.action))
}

fn slow_user(pair: &Pair, takes: Duration) {
    let clock = pair.clock();
    pair.client().on_form(move |_| {
        let clock = clock.clone();
        async move {
            clock.sleep(takes).await;
            ElicitResult::new(ElicitAction::Decline)
        }
    });
}

/// The process was suspended while it connected: the time of the call is over before the call can
/// be sent.
#[test]
fn a_call_that_has_had_its_time_before_the_era_is_known_is_not_sent() {
    let config = Config::new(Implementation::new("bench", "1"));
    let mut client = Connection::client(config);
    client.handle_opened(Instant::ZERO);
    let options = CallOptions::default().max_total(SECOND);
    client
        .with(Instant::ZERO, |client| {
            client.call(Instant::ZERO, "tools/call", Json::EMPTY_OBJECT, options)
        })
        .unwrap();
    while client.poll_action().is_some() {}
    let late = Instant::ZERO + 2 * SECOND;
    let discovered = r#"{"jsonrpc":"2.0","id":"discover-1","result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    client.handle_bytes(late, Bytes::from(format!("{discovered}\n")));
    client.handle_timeout(late);
    let (mut sent, mut results) = (0, Vec::new());
    while let Some(action) = client.poll_action() {
        match action {
            Action::Transmit(_) => sent += 1,
            Action::Event(ClientEvent::Response { result, .. }) => results.push(result),
            Action::Event(_) | Action::Close => {}
        }
    }
    assert_eq!((sent, results), (0, vec![Err(CallError::TimedOut)]));
}
