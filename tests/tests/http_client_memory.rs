//! Law 5 for clients over HTTP: everything is bounded, whatever a server sends. Here it is
//! measured.
//!
//! The driver feeds chunks of 64 KiB and takes all actions after each. The application keeps the
//! replies that it owes, and nothing else. The peak of all that is allocated beyond the start must
//! stay below [`bound`], beside what the test holds by itself. `client_memory.rs` does the same to
//! clients on byte streams.

#![expect(clippy::print_stdout, reason = "the peak is worth knowing")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_proto::client::{self, CallId, CallOptions, ClientEvent, InputReply, Negotiation, Verdict};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, Config, ExchangeId};
use mcp_proto::http::{Client, Url};
use mcp_proto::types::{ClientCapabilities, Implementation, SubscriptionFilter};
use mcp_proto::{Binding, Bytes, Duration, Instant, Json, Limits, ProtocolVersion};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;

/// Most memory that a client may allocate under these limits, for one answer at a time.
///
/// A message is held once as it comes and once more while the buffer grows to twice its size, and
/// what it says may stand in an event, a second time in what is kept of it, and a third time in
/// what is answered: eight times the longest. Of the shortest messages in a chunk each byte makes
/// 300 at most. A call, an input, and a message that is to be accepted are their requests with
/// their fields and four kilobytes of book-keeping. What is kept of schemas is four times their
/// text.
fn bound(limits: &Limits) -> usize {
    8 * limits.max_line_bytes.max(limits.max_sse_event_bytes)
        + 300 * CHUNK
        + 2 * MIB
        + limits.max_in_flight * (4 * limits.max_id_bytes + 4096)
        + 4 * limits.max_list_bytes
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_line_bytes = MIB;
    limits.max_sse_event_bytes = MIB;
    limits.max_list_bytes = MIB;
    limits.max_in_flight = 256;
    limits.max_in_flight_bytes = MIB;
    limits
}

#[test]
fn answers_that_never_end() {
    let alone = alone();
    for media in ["application/json", "text/event-stream", "text/html"] {
        let mut measured = Measured::new(Server::Modern);
        measured.call();
        let at = measured.last();
        measured.head(at, 200, media);
        measured.feed(at, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"");
        for _ in 0..40 {
            measured.feed(at, &"x".repeat(CHUNK));
        }
        measured.end(&alone);
    }
}

#[test]
fn events_of_every_kind_without_an_end() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let mut measured = Measured::new(server);
        measured.call();
        let at = measured.last();
        measured.head(at, 200, "text/event-stream");
        for n in 0..300_usize {
            let long = "i".repeat(n * 37 % 50_000);
            measured.feed(at, &format!("id: {long}\nretry: {n}\nevent: {long}\n\n"));
            measured
                .feed(at, &format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"x/{long}\"}}\n\n"));
            measured.feed(at, &":\n\n".repeat(1000));
            measured.feed(at, &"data: x\n\n".repeat(100));
        }
        measured.end(&alone);
    }
}

#[test]
fn pings_whose_answers_are_not_accepted() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    measured.call();
    let at = measured.last();
    measured.head(at, 200, "text/event-stream");
    for n in 0..5000 {
        measured.feed(at, &event(&asked(n, "ping", "")));
    }
    assert!(measured.open.len() < 400, "{} requests are out", measured.open.len());
    measured.end(&alone);
}

#[test]
fn input_that_nobody_gives() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    measured.call();
    let at = measured.last();
    measured.head(at, 200, "text/event-stream");
    let schema = "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}";
    for n in 0..1000 {
        let params = format!("\"message\":\"{}\",{schema}", "m".repeat(n % 5000));
        measured.feed(at, &event(&asked(n, "elicitation/create", &params)));
        // The refusals are accepted.
        for id in measured.open.split_off(1) {
            measured.client.handle_head(measured.now, id, &StatusHead::new(202));
            measured.client.handle_end(measured.now, id);
        }
    }
    measured.end(&alone);
}

#[test]
fn schemas_of_tools_without_an_end() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    for n in 0..100 {
        measured.list();
        let at = measured.last();
        measured.head(at, 200, "application/json");
        let id = measured.ids;
        let tools: Vec<String> = (0..10).map(|m| tool(&format!("{n}-{m}"), 200)).collect();
        let result = format!("{{\"resultType\":\"complete\",\"tools\":[{}]}}", tools.join(","));
        measured.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"));
        measured.client.handle_end(measured.now, at);
        measured.drain();
    }
    measured.end(&alone);
}

#[test]
fn pages_of_tools_while_a_call_waits() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    measured.call();
    let at = measured.last();
    measured.head(at, 400, "application/json");
    measured
        .feed(at, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32020,\"message\":\"\"}}");
    measured.client.handle_end(measured.now, at);
    measured.drain();
    for n in 0..100 {
        let at = measured.last();
        measured.head(at, 200, "text/event-stream");
        let id = measured.body_id.clone();
        let tools: Vec<String> = (0..5).map(|m| tool(&format!("{n}-{m}"), 200)).collect();
        let page = format!("\"tools\":[{}],\"nextCursor\":\"{}\"", tools.join(","), "c".repeat(n));
        measured.feed(
            at,
            &event(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{page}}}}}")),
        );
    }
    measured.end(&alone);
}

#[test]
fn streams_that_are_resumed_for_ever() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    measured.call();
    for n in 0..500 {
        let at = measured.last();
        measured.head(at, 200, "text/event-stream");
        measured.feed(at, &format!("retry: 0\nid: {n}{}\ndata:\n\n", "i".repeat(900)));
        measured.client.handle_end(measured.now, at);
        measured.pass(Duration::from_millis(10));
        if measured.open.is_empty() {
            measured.call();
        }
    }
    measured.end(&alone);
}

#[test]
fn subscriptions_that_break_for_ever() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = (0..100).map(|n| format!("t:{n}")).collect();
    measured.client.with(measured.now, |client| client.subscribe(measured.now, filter)).unwrap();
    measured.drain();
    for _ in 0..500 {
        let at = measured.last();
        measured.head(at, 200, "text/event-stream");
        measured.feed(at, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n");
        measured.client.handle_end(measured.now, at);
        measured.pass(Duration::from_secs(1));
    }
    measured.end(&alone);
}

#[test]
fn sessions_that_expire_for_ever() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    for _ in 0..200 {
        measured.pass(Duration::from_secs(6));
        let first = measured.call();
        let at = measured.last();
        measured.head(at, 200, "application/json");
        measured.client.with(measured.now, |client| client.cancel(measured.now, first)).unwrap();
        measured.drain();
        measured.call();
        let at = measured.last();
        measured.head(at, 404, "text/plain");
        measured.connect();
    }
    measured.end(&alone);
}

#[test]
fn calls_whose_streams_do_not_end() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let mut measured = Measured::new(server);
        for _ in 0..1000 {
            measured.call();
            let at = measured.last();
            measured.head(at, 200, "text/event-stream");
            let id = measured.ids;
            let result = "{\"resultType\":\"complete\"}";
            measured.feed(
                at,
                &event(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")),
            );
            measured.pass(Duration::from_millis(50));
        }
        assert!(measured.open.len() < 100, "{} requests are out", measured.open.len());
        measured.end(&alone);
    }
}

#[test]
fn calls_that_are_cancelled_in_masses() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let mut measured = Measured::new(server);
        for _ in 0..2000 {
            let call = measured.call();
            measured.client.with(measured.now, |client| client.cancel(measured.now, call)).unwrap();
            measured.drain();
        }
        assert!(measured.open.len() < 400, "{} requests are out", measured.open.len());
        measured.end(&alone);
    }
}

#[test]
fn long_ids_of_events_before_subscriptions_are_retried() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = (0..200).map(|n| format!("t:{n}")).collect();
    measured.client.with(measured.now, |client| client.subscribe(measured.now, filter)).unwrap();
    measured.drain();
    let id = format!("id: {}\ndata:\n\n", "i".repeat(MIB / 4));
    for _ in 0..200 {
        let at = measured.last();
        measured.head(at, 200, "text/event-stream");
        measured.feed(at, &id);
        measured.client.handle_end(measured.now, at);
        measured.open.retain(|open| *open != at);
        measured.drain();
    }
    measured.end(&alone);
}

#[test]
fn long_refusals_of_calls_that_wait_for_their_schemas() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    for _ in 0..200 {
        measured.call();
    }
    let message = "m".repeat(MIB / 2);
    while let Some((at, id)) = measured.next_call() {
        measured.head(at, 400, "application/json");
        let error = format!("\"code\":-32020,\"message\":\"{message}\"");
        measured.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{{error}}}}}"));
        measured.client.handle_end(measured.now, at);
        measured.drain();
    }
    measured.end(&alone);
}

#[test]
fn long_endpoint_of_an_old_server() {
    let alone = alone();
    let mut measured = Measured::new(Server::Old);
    let at = measured.last();
    measured.head(at, 405, "text/plain");
    measured.client.handle_end(measured.now, at);
    measured.drain();
    let stream = measured.last();
    measured.head(stream, 200, "text/event-stream");
    let endpoint = "e".repeat(MIB / 2);
    measured.feed(stream, &format!("event: endpoint\ndata: /{endpoint}\n\n"));
    // The client may have given up.
    if measured.open.contains(&stream) {
        let result = "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}}}";
        let id = measured.body_id.clone();
        measured.feed(
            stream,
            &event(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")),
        );
        // `initialize` and `notifications/initialized` are accepted.
        for _ in 0..2 {
            for at in measured.open.clone().into_iter().filter(|at| *at != stream) {
                measured.head(at, 202, "text/plain");
                measured.client.handle_end(measured.now, at);
                measured.open.retain(|open| *open != at);
                measured.drain();
            }
        }
        for _ in 0..200 {
            measured.call();
        }
    }
    measured.end(&alone);
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    Modern,
    Legacy,
    /// A legacy one that has not answered yet.
    Old,
}

struct Measured {
    client: Client,
    now: Instant,
    owed: Vec<InputReply>,
    /// The requests that are out, the newest last.
    open: Vec<ExchangeId>,
    /// The number of the last request that the application has asked for.
    ids: u64,
    /// The id of the last JSON-RPC request, as it was sent.
    body_id: String,
    /// The tool calls that are sent and not answered, with their ids.
    calls: VecDeque<(ExchangeId, String)>,
    before: usize,
    bound: usize,
    /// Memory that the test itself allocates at a time.
    outside: usize,
}

impl Measured {
    /// A client of this server, from whose creation on all is counted.
    fn new(server: Server) -> Self {
        let mut config = client::Config::new(Implementation::new("c", "1"));
        config.limits = limits();
        let capabilities = "{\"sampling\":{},\"elicitation\":{\"form\":{}},\"roots\":{}}";
        let capabilities: ClientCapabilities = Json::parse(capabilities).unwrap().decode().unwrap();
        config.capabilities = capabilities;
        match server {
            Server::Modern => config.verdict = Some(Verdict::new(ProtocolVersion::LATEST_MODERN)),
            Server::Legacy | Server::Old => config.negotiation = Negotiation::Legacy,
        }
        let bound = bound(&config.limits);
        let mut config = Config::new(Url::parse("http://localhost/mcp").unwrap(), config);
        config.listens = false;
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let mut client = Client::new(config, Box::new(|| [0; 16]));
        client.handle_opened(Instant::ZERO);
        let (owed, open, outside) = (Vec::new(), Vec::new(), 0);
        let (now, ids, body_id) = (Instant::ZERO, 0, String::new());
        let calls = VecDeque::new();
        let mut measured =
            Self { client, now, owed, open, ids, body_id, calls, before, bound, outside };
        measured.drain();
        if server == Server::Legacy {
            measured.connect();
        }
        measured
    }

    /// Answers `initialize`, and accepts `notifications/initialized`.
    fn connect(&mut self) {
        let at = self.last();
        let mut head = StatusHead::new(200);
        head.push("Content-Type", b"application/json");
        head.push("Mcp-Session-Id", b"s");
        self.client.handle_head(self.now, at, &head);
        let result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"resources\":{\"subscribe\":true}}}";
        let id = self.body_id.clone();
        self.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"));
        self.client.handle_end(self.now, at);
        self.drain();
        let at = self.last();
        self.head(at, 202, "text/plain");
        self.client.handle_end(self.now, at);
        self.drain();
        self.open.clear();
    }

    fn call(&mut self) -> CallId {
        let options = CallOptions::default().timeout(Duration::from_secs(300)).progress();
        let params = Json::parse("{\"name\":\"x\"}").unwrap();
        let call = self
            .client
            .with(self.now, |client| client.call(self.now, "tools/call", params, options))
            .unwrap();
        self.drain();
        call
    }

    fn list(&mut self) {
        let options = CallOptions::default();
        self.client
            .with(self.now, |client| {
                client.call(self.now, "tools/list", Json::EMPTY_OBJECT, options)
            })
            .unwrap();
        self.drain();
    }

    /// The oldest tool call that was not answered, and its id.
    fn next_call(&mut self) -> Option<(ExchangeId, String)> {
        self.calls.pop_front()
    }

    /// The newest request.
    fn last(&self) -> ExchangeId {
        self.open.last().copied().unwrap()
    }

    fn head(&mut self, at: ExchangeId, status: u16, media: &str) {
        let mut head = StatusHead::new(status);
        head.push("Content-Type", media.as_bytes());
        self.client.handle_head(self.now, at, &head);
        self.drain();
    }

    fn feed(&mut self, at: ExchangeId, text: &str) {
        self.outside = self.outside.max(8 * text.len());
        for chunk in text.as_bytes().chunks(CHUNK) {
            self.client.handle_body(self.now, at, Bytes::copy_from_slice(chunk));
            self.drain();
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.client.poll_timeout().filter(|due| *due <= end) {
            self.now = due;
            self.client.handle_timeout(due);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            #[expect(clippy::wildcard_enum_match_arm, reason = "nothing hangs on the others")]
            match action {
                Action::Open { exchange, request } => {
                    self.open.push(exchange);
                    let body: serde_json::Value =
                        serde_json::from_slice(&request.body).unwrap_or_default();
                    if let Some(id) = body.get("id").filter(|_| body.get("method").is_some()) {
                        self.body_id = id.to_string();
                        self.ids = id.as_u64().unwrap_or(self.ids);
                        if body.get("method").is_some_and(|method| method == "tools/call") {
                            self.calls.push_back((exchange, self.body_id.clone()));
                        }
                    }
                }
                Action::Abort { exchange } => self.open.retain(|open| *open != exchange),
                Action::Event(ClientEvent::Input(input)) => self.owed.push(input.reply),
                Action::Event(ClientEvent::InputCancelled { input }) => {
                    self.owed.retain(|reply| reply.id() != input);
                }
                _ => {}
            }
        }
    }

    /// The client closes; looks at the peak, and at what is left.
    fn end(mut self, _alone: &MutexGuard<'static, ()>) {
        self.client.with(self.now, |client| client.close(self.now));
        self.drain();
        let Self { before, bound, outside, .. } = self;
        let peak = ALLOCATOR.peak_usage() - before;
        println!("peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
        assert!(peak <= bound + outside, "peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
        drop(self);
        let left = ALLOCATOR.current_usage().saturating_sub(before);
        assert!(left < MIB, "{left} bytes are never freed");
    }
}

fn event(text: &str) -> String {
    format!("data: {text}\n\n")
}

fn asked(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}

/// A tool with so many headers.
fn tool(name: &str, count: usize) -> String {
    let headers = (0..count).map(|n| {
        let key = format!("{n}{}", "k".repeat(10));
        format!("\"{key}\":{{\"type\":\"string\",\"x-mcp-header\":\"{key}\"}}")
    });
    let properties: Vec<String> = headers.collect();
    let properties = properties.join(",");
    format!(
        "{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\",\"properties\":{{{properties}}}}}}}"
    )
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / MIB as f64
}
