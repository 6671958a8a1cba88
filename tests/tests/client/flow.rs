//! A server on a stream that does not read.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_proto::client::{CallError, Config, Negotiation};
use mcp_proto::types::{CallToolResult, Implementation};
use mcp_proto::{Bytes, Instant, UsageError};
use mcp_service::{ClientService, Drive};
use serde_json::{Value, json};

use crate::bench::ERAS;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

#[test]
fn second_hour_08_calls_wait_while_the_server_does_not_read() {
    for negotiation in ERAS {
        let mut client = Client::connected(negotiation, 16 * MIB);
        let mut calls = client.calls(50);
        client.turn();
        // What has not been sent is not cancelled either.
        drop(calls.split_off(40));
        let mut sent = Vec::new();
        loop {
            client.turn();
            let text = client.read();
            if text.is_empty() {
                break;
            }
            assert!(text.len() < 2 * MIB + 200 * KIB, "{}", text.len());
            sent.extend(numbers(&text));
            assert!(!text.contains("notifications/cancelled"), "nobody has begun with it");
        }
        assert_eq!(sent, (0..40).collect::<Vec<_>>(), "each once and in order");
    }
}

#[test]
fn second_hour_08_calls_beyond_the_limit_fail_at_once() {
    for negotiation in ERAS {
        let mut client = Client::connected(negotiation, MIB);
        let mut calls = client.calls(40);
        client.turn();
        let max_unsent_bytes = MIB;
        let error = CallError::Usage(UsageError::TooManyUnsentBytes { max_unsent_bytes });
        let results: Vec<_> = calls.iter_mut().map(result).collect();
        let failed = results.iter().filter(|result| **result == Some(Err(error.clone()))).count();
        let pending = results.iter().filter(|result| result.is_none()).count();
        assert_eq!(failed + pending, 40);
        // A mebibyte is on its way and a mebibyte is held.
        assert!((19..=23).contains(&pending), "{pending}");
    }
}

#[test]
fn second_hour_08_calls_before_the_connection_are_bounded() {
    let mut client = Client::new(Negotiation::Auto, MIB);
    let mut calls = client.calls(20);
    client.turn();
    let failed: Vec<_> = calls.iter_mut().filter_map(result).collect();
    assert_eq!(failed.len(), 10);
    for failed in failed {
        let text = failed.unwrap_err().to_string();
        assert!(
            text.contains("max_unsent_bytes = 1048576: the era of the server is not"),
            "{text}"
        );
    }
}

#[test]
fn second_hour_08_a_call_that_is_held_has_its_time() {
    for negotiation in ERAS {
        let mut client = Client::connected(negotiation, 16 * MIB);
        let mut calls = client.calls(30);
        client.turn();
        client.now = client.now + Duration::from_secs(60);
        client.turn();
        for call in &mut calls {
            assert_eq!(result(call), Some(Err(CallError::TimedOut)));
        }
        let text = client.read();
        let sent = numbers(&text).len();
        assert!((10..15).contains(&sent), "{sent}");
        assert_eq!(text.matches("notifications/cancelled").count(), sent);
        client.turn();
        assert_eq!(client.read(), "");
    }
}

#[test]
fn second_hour_08_cancellations_go_first() {
    let mut client = Client::connected(Negotiation::Auto, 16 * MIB);
    let mut calls = client.calls(30);
    client.turn();
    drop(calls.remove(0));
    client.turn();
    let text = client.read();
    assert!(numbers(&text).len() < 15, "before all that is held");
    assert!(text.contains("notifications/cancelled"));
}

/// A client whose server reads by hand.
struct Client {
    handle: mcp_service::Client,
    service: ClientService,
    now: Instant,
}

type Call = mcp_service::Call<CallToolResult>;

impl Client {
    fn new(negotiation: Negotiation, max_unsent_bytes: usize) -> Self {
        let mut config = Config::new(Implementation::new("app", "1"));
        config.negotiation = negotiation;
        config.limits.max_unsent_bytes = max_unsent_bytes;
        let handle = mcp_service::Client::new(config);
        let mut service = ClientService::new(&handle).unwrap();
        service.handle_opened(Instant::ZERO);
        Self { handle, service, now: Instant::ZERO }
    }

    fn connected(negotiation: Negotiation, max_unsent_bytes: usize) -> Self {
        let mut client = Self::new(negotiation, max_unsent_bytes);
        client.turn();
        let request: Value = serde_json::from_str(&client.read()).unwrap();
        let server = json!({"name": "s", "version": "1"});
        let result = if negotiation == Negotiation::Legacy {
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server})
        } else {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        client.service.handle_bytes(client.now, Bytes::from(format!("{answer}\n")));
        client.turn();
        client.read();
        assert!(client.handle.server().is_some());
        client
    }

    /// Calls with numbers, each with 100 KiB of arguments.
    fn calls(&self, count: usize) -> Vec<Call> {
        let call = |number| {
            let arguments = json!({"number": number, "text": "x".repeat(100 * KIB)});
            let mut call = self.handle.call_tool("echo", &arguments);
            assert_eq!(result(&mut call), None);
            call
        };
        (0..count).map(call).collect()
    }

    fn turn(&mut self) {
        self.service.turn(self.now, Waker::noop());
        while self.service.poll_timeout().is_some_and(|at| at <= self.now) {
            self.service.turn(self.now, Waker::noop());
        }
    }

    /// All that waits to be read.
    fn read(&mut self) -> String {
        let mut bytes = Vec::new();
        while !self.service.output().is_empty() {
            bytes.extend_from_slice(self.service.output());
            self.service.handle_written(self.service.output().len());
        }
        String::from_utf8(bytes).unwrap()
    }
}

fn result(call: &mut Call) -> Option<Result<CallToolResult, CallError>> {
    match Pin::new(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// The numbers of the calls in a text.
fn numbers(text: &str) -> Vec<usize> {
    let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls = messages.filter(|message| message["method"] == "tools/call");
    let number = |call: Value| call["params"]["arguments"]["number"].as_u64();
    calls.filter_map(number).map(|number| usize::try_from(number).unwrap()).collect()
}
