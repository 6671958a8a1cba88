//! Calls of a client in an order, and at times, that no driver would choose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::VecDeque;

use mcp_proto::client::{
    CallId, CallOptions, Client, ClientEvent, Config, InputReply, Listing, SubscriptionId,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{Implementation, LoggingLevel, Root, SubscriptionFilter};
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Machine, UsageError};
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(super::cases(400))]

    #[test]
    fn calls_of_a_client_may_come_in_any_order(calls in prop::collection::vec(call(), 1..60)) {
        let mut disorder = Disorder::new();
        for (at, n, call) in &calls {
            disorder.make(*at, *n, call);
        }
        disorder.end();
    }
}

#[derive(Clone, Debug)]
enum Call {
    Opened,
    Bytes(&'static str),
    Eof,
    Timeout,
    Poll,
    Answer,
    Command(Command),
}

#[derive(Clone, Copy, Debug)]
enum Command {
    Call,
    List,
    Ping,
    LogLevel,
    Cancel,
    Subscribe,
    Unsubscribe,
    Roots,
    Notify,
}

fn call() -> impl Strategy<Value = (Instant, u8, Call)> {
    let at = select(vec![0, 1, 5_000_000, 60_000_000, 3_600_000_000, u64::MAX]);
    let commands = [
        Command::Call,
        Command::Call,
        Command::List,
        Command::Ping,
        Command::LogLevel,
        Command::Cancel,
        Command::Subscribe,
        Command::Unsubscribe,
        Command::Roots,
        Command::Notify,
    ];
    let lines = [
        "{\"jsonrpc\":\"2.0\",\"id\":\"discover-1\",\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":\"discover-1\",\"error\":{\"code\":-32601,\"message\":\"\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{},\"resources\":{\"subscribe\":true}}}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[],\"nextCursor\":\"\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32022,\"message\":\"\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"elicitation/create\",\"params\":{\"message\":\"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}\n",
        "{\"jsonrpc\":",
        "\n",
    ];
    let calls = prop_oneof![
        3 => Just(Call::Opened),
        8 => select(lines.to_vec()).prop_map(Call::Bytes),
        1 => Just(Call::Eof),
        2 => Just(Call::Timeout),
        6 => Just(Call::Poll),
        3 => Just(Call::Answer),
        8 => select(commands.to_vec()).prop_map(Call::Command),
    ];
    (at.prop_map(Instant::from_micros), any::<u8>(), calls)
}

/// A client, and what it has given out.
struct Disorder {
    client: Connection<Client>,
    calls: Vec<CallId>,
    subscriptions: Vec<SubscriptionId>,
    replies: VecDeque<InputReply>,
}

impl Disorder {
    fn new() -> Self {
        let mut config = Config::new(Implementation::new("c", "1"));
        config.limits.max_in_flight = 3;
        let capabilities = "{\"elicitation\":{\"form\":{}}}";
        config.capabilities = Json::parse(capabilities).unwrap().decode().unwrap();
        let (calls, subscriptions, replies) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { client: Connection::client(config), calls, subscriptions, replies }
    }

    fn make(&mut self, at: Instant, n: u8, call: &Call) {
        match call {
            Call::Opened => self.client.handle_opened(at),
            Call::Bytes(text) => self.client.handle_bytes(at, Bytes::from_static(text.as_bytes())),
            Call::Eof if n < 64 => self.client.with(at, |client| client.close(at)),
            Call::Eof => self.client.handle_eof(at),
            Call::Timeout => {
                self.client.handle_timeout(at);
                let next = self.client.poll_timeout();
                let late = next.is_some_and(|next| next <= at);
                assert!(!late || at == Instant::NEVER, "{next:?} is past at {at:?}");
            }
            Call::Poll => {
                for _ in 0..n % 8 {
                    if let Some(Action::Event(ClientEvent::Input(input))) =
                        self.client.poll_action()
                    {
                        self.replies.push_back(input.reply);
                    }
                }
            }
            Call::Answer => {
                if let Some(reply) = self.replies.pop_front() {
                    let answer = if n < 200 { "{}" } else { "[]" };
                    self.client.with(at, |client| {
                        client.answer(at, reply, Ok(Json::parse(answer).unwrap()));
                    });
                }
            }
            Call::Command(command) => {
                let before = format!("{:?}", self.client);
                if self.command(at, n, *command).is_err() {
                    let after = format!("{:?}", self.client);
                    assert_eq!(after, before, "an error of {command:?} changed something");
                }
            }
        }
    }

    fn command(&mut self, at: Instant, n: u8, command: Command) -> Result<(), UsageError> {
        let params = if n < 230 { Json::EMPTY_OBJECT } else { Json::parse("[]").unwrap() };
        let options = CallOptions::default();
        let nth = usize::from(n);
        let call = match command {
            Command::Call => {
                self.client.with(at, |client| client.call(at, "tools/call", params, options))?
            }
            Command::List => {
                self.client.with(at, |client| client.list(at, Listing::Tools, options))?
            }
            Command::Ping => self.client.with(at, |client| client.ping(at, options))?,
            Command::LogLevel => self.client.with(at, |client| {
                client.set_log_level(at, LoggingLevel::Error, CallOptions::default())
            })?,
            Command::Cancel => {
                let call = self.calls.get(nth % self.calls.len().max(1)).copied();
                return call
                    .map_or(Ok(()), |call| self.client.with(at, |client| client.cancel(at, call)));
            }
            Command::Subscribe => {
                let mut filter = SubscriptionFilter::default();
                filter.resource_subscriptions = vec!["t:1".to_owned(), format!("t:{}", n % 2)];
                self.subscriptions
                    .push(self.client.with(at, |client| client.subscribe(at, filter))?);
                return Ok(());
            }
            Command::Unsubscribe => {
                let id = self.subscriptions.get(nth % self.subscriptions.len().max(1)).copied();
                return id.map_or(Ok(()), |id| {
                    self.client.with(at, |client| client.unsubscribe(at, id))
                });
            }
            Command::Roots => {
                let roots = (0..n % 2).map(|_| Root::new("file:///")).collect();
                return self.client.with(at, |client| client.set_roots(at, roots));
            }
            Command::Notify => {
                return self.client.with(at, |client| client.notify(at, "notifications/x", params));
            }
        };
        self.calls.push(call);
        Ok(())
    }

    fn end(mut self) {
        self.client.with(Instant::ZERO, |client| client.close(Instant::ZERO));
        while self.client.poll_action().is_some() {}
        self.client.handle_timeout(Instant::NEVER);
        for reply in self.replies.drain(..) {
            self.client.with(Instant::ZERO, |client| {
                client.answer(Instant::ZERO, reply, Ok(Json::EMPTY_OBJECT));
            });
        }
        assert!(self.client.poll_action().is_none(), "something after the end");
        assert_eq!(self.client.poll_timeout(), None);
        assert!(!self.client.wants_read());
    }
}
