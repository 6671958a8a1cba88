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

use mcp_proto::auth::{
    self, Access, AuthAction, Authorizer, FetchAnswer, MAX_BODY_BYTES, SentRequest,
};
use mcp_proto::client::{self, CallId, CallOptions, ClientEvent, InputReply, Negotiation, Verdict};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Action, Config, ExchangeId};
use mcp_proto::http::{Client, Unauthorized, Url};
use mcp_proto::types::{ClientCapabilities, Implementation, SubscriptionFilter};
use mcp_proto::{Binding, Bytes, Duration, Instant, Json, Limits, ProtocolVersion};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;
const JSON: &str = "application/json";

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
    let used = ALLOCATOR.current_usage() - measured.before;
    assert!(used < 5 * limits().max_list_bytes, "{:.1} MiB are kept", mib(used));
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
fn messages_that_waited_for_a_connection_have_their_time_too() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    let now = measured.now;
    let notify = |client: &mut client::Client| {
        client.notify(now, "notifications/x", Json::EMPTY_OBJECT).unwrap();
    };
    // As many as have a connection, and one more.
    for _ in 0..9 {
        measured.client.with(now, notify);
    }
    measured.drain();
    assert_eq!(measured.open.len(), 8, "a quarter of the connections");
    let first = measured.open.remove(0);
    measured.client.handle_head(now, first, &StatusHead::new(202));
    measured.client.handle_end(now, first);
    measured.drain();
    assert_eq!(measured.open.len(), 8, "the last one is sent");
    let last = measured.last();
    measured.pass(Duration::from_secs(61));
    assert!(!measured.open.contains(&last), "a server that never answers keeps no connection");
    measured.end(&alone);
}

#[test]
fn messages_that_waited_for_their_session_count_once() {
    let alone = alone();
    let mut measured = Measured::new(Server::Old);
    measured.answer_initialize();
    // `notifications/initialized` is sent, and the others wait for its 202.
    let (now, mut count) = (measured.now, 0);
    let notify =
        |client: &mut client::Client| client.notify(now, "notifications/x", Json::EMPTY_OBJECT);
    while measured.client.with(now, notify).is_ok() {
        count += 1;
    }
    assert_eq!(count, limits().max_in_flight - 1);
    measured.drain();
    for _ in 0..=count {
        let at = measured.open.remove(0);
        measured.client.handle_head(now, at, &StatusHead::new(202));
        measured.client.handle_end(now, at);
        measured.drain();
    }
    assert!(measured.open.is_empty(), "all are accepted");
    // None of the accepted ones counts.
    for _ in 0..limits().max_in_flight {
        measured.client.with(now, notify).unwrap();
    }
    measured.end(&alone);
}

#[test]
fn bytes_of_input_count_in_their_session_only() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    let mut counts = Vec::new();
    for _ in 0..2 {
        request_input(&mut measured, 60);
        counts.push(measured.owed.len());
        // The session is lost, and the server has another one.
        measured.pass(Duration::from_secs(6));
        measured.call();
        let at = measured.last();
        measured.head(at, 404, "text/plain");
        measured.connect();
        measured.calls.clear();
        assert!(measured.owed.is_empty(), "nobody waits for them");
    }
    assert!(counts.iter().all(|count| (40..60).contains(count)), "{counts:?}");
    measured.end(&alone);
}

#[test]
fn a_stream_that_goes_on_after_its_call_keeps_no_connection() {
    let alone = alone();
    let mut measured = Measured::new(Server::Legacy);
    let calls = [(); 2].map(|()| {
        measured.call();
        let (at, id) = measured.next_call().unwrap();
        measured.head(at, 200, "text/event-stream");
        (at, id)
    });
    let [(_, id), (second, _)] = calls;
    // The first is answered on the stream of the second, and both go on.
    measured.feed(second, &event(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")));
    for _ in 0..5 {
        measured.pass(Duration::from_millis(400));
        measured.feed(second, &event("x"));
    }
    assert_eq!(measured.open, [second], "it had a second to end by itself");
    measured.end(&alone);
}

#[test]
fn a_subscription_that_would_wait_for_a_stream_fails() {
    let alone = alone();
    let mut measured = Measured::new(Server::Modern);
    // All connections for calls and streams have calls.
    for _ in 0..24 {
        measured.call();
    }
    assert_eq!(measured.open.len(), 24);
    let now = measured.now;
    let mut ended = 0;
    for _ in 0..20 {
        let filter = SubscriptionFilter::default().tools_list_changed();
        measured.client.with(now, |client| client.subscribe(now, filter)).unwrap();
        while let Some(action) = measured.client.poll_action() {
            let is_end = matches!(action, Action::Event(ClientEvent::SubscriptionEnded { .. }));
            ended += usize::from(is_end);
        }
    }
    assert_eq!(ended, 4, "half of the connections may have streams, also later");
    measured.end(&alone);
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

#[test]
fn sum_of_all_bounds_is_within_what_the_limits_say() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let mut measured = Measured::new(server);
        let limits = limits();
        // Each connection reads one message. Every call has its request, and its bookkeeping.
        measured.bound = limits.max_client_connections * limits.max_sse_event_bytes
            + 2 * limits.max_list_bytes
            + 2 * limits.max_in_flight_bytes
            + limits.max_in_flight * (4 * limits.max_id_bytes + 4096);
        measured.outside = 2 * MIB;
        if server == Server::Modern {
            listen_to_half_events(&mut measured, 16);
            list_tools(&mut measured, 20);
            await_input(&mut measured, 20);
            refuse_headers(&mut measured, 4);
        } else {
            request_input(&mut measured, 300);
        }
        // As many calls as there may be, each with the start of an answer that never ends.
        let options = || CallOptions::default().timeout(Duration::from_secs(300));
        let params = Json::parse("{\"name\":\"x\"}").unwrap();
        let now = measured.now;
        let call =
            |client: &mut client::Client| client.call(now, "tools/call", params.clone(), options());
        while measured.client.with(now, call).is_ok() {}
        measured.drain();
        let rest: Vec<_> = measured.calls.drain(..).map(|(at, _)| at).collect();
        for (n, at) in rest.into_iter().enumerate() {
            let has_events = n % 2 == 0;
            measured.head(at, 200, if has_events { "text/event-stream" } else { JSON });
            measured.feed_start(at, has_events);
        }
        measured.end(&alone);
    }
}

/// Subscriptions whose streams are open, with a half of an event each.
fn listen_to_half_events(measured: &mut Measured, count: usize) {
    for n in 0..count {
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = vec![format!("t:{n}")];
        let now = measured.now;
        measured.client.with(now, |client| client.subscribe(now, filter)).unwrap();
        measured.drain();
        let (at, id) = (measured.last(), measured.ids);
        measured.head(at, 200, "text/event-stream");
        let meta = format!("\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}");
        let params = format!("{meta},\"notifications\":{{\"resourceSubscriptions\":[\"t:{n}\"]}}");
        let method = "notifications/subscriptions/acknowledged";
        let text =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}}}}}");
        measured.feed(at, &event(&text));
        measured.feed_start(at, true);
    }
}

/// Lists with more schemas than are kept.
fn list_tools(measured: &mut Measured, count: usize) {
    for n in 0..count {
        measured.list();
        let (at, id) = (measured.last(), measured.ids);
        let tools: Vec<String> = (0..5).map(|m| tool(&format!("{n}-{m}"), 200)).collect();
        let result = format!("{{\"resultType\":\"complete\",\"tools\":[{}]}}", tools.join(","));
        measured.head(at, 200, JSON);
        measured.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"));
        measured.client.handle_end(measured.now, at);
        measured.drain();
    }
}

/// Calls whose input nobody gives.
fn await_input(measured: &mut Measured, count: usize) {
    let params = "\"params\":{\"messages\":[],\"maxTokens\":1}";
    let one = format!("{{\"a\":{{\"method\":\"sampling/createMessage\",{params}}}}}");
    for _ in 0..count {
        measured.call();
        let (at, id) = measured.next_call().unwrap();
        let state = "s".repeat(MIB / 4);
        let input = format!("\"inputRequests\":{one},\"requestState\":\"{state}\"");
        let result = format!("{{\"resultType\":\"input_required\",{input}}}");
        measured.head(at, 200, JSON);
        measured.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"));
        measured.client.handle_end(measured.now, at);
        measured.drain();
    }
    assert!(!measured.owed.is_empty(), "the first of them fit");
}

/// Calls that wait for the schemas of their tools.
fn refuse_headers(measured: &mut Measured, count: usize) {
    for _ in 0..count {
        measured.call();
        let (at, id) = measured.next_call().unwrap();
        let error = format!("\"code\":-32020,\"message\":\"{}\"", "m".repeat(MIB / 4));
        measured.head(at, 400, JSON);
        measured.feed(at, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{{error}}}}}"));
        measured.client.handle_end(measured.now, at);
        measured.drain();
    }
}

/// Requests of a legacy server for input that nobody gives, and pings whose answers are not
/// accepted.
fn request_input(measured: &mut Measured, count: usize) {
    measured.call();
    let (at, _) = measured.next_call().unwrap();
    measured.head(at, 200, "text/event-stream");
    let schema = "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}";
    for n in 0..count {
        let params = format!("\"message\":\"{}\",{schema}", "m".repeat(20_000));
        measured.feed(at, &event(&asked(2 * n, "elicitation/create", &params)));
        measured.feed(at, &event(&asked(2 * n + 1, "ping", "")));
    }
    assert!(!measured.owed.is_empty(), "the first of them fit");
}

#[test]
fn an_authorization_server_that_says_as_much_as_it_can() {
    let _alone = alone();
    let server = Url::parse("https://s.example/mcp").unwrap();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let mut authorizer = Authorizer::new(auth::Config::new(server.clone()), Box::new(|| [7; 16]));
    let (mut now, mut fetches, mut outside) = (Instant::ZERO, 0, 0);
    for round in 0..40 {
        now = now + Duration::from_secs(60);
        let mut sent = SentRequest::new("tools/list");
        let url = "https://s.example/m".to_owned() + &"m".repeat(20_000);
        let challenge =
            format!("Bearer scope=\"{}\", resource_metadata=\"{url}\"", "s ".repeat(10_000));
        let refusal = Unauthorized::new(401, [challenge.as_bytes(), &*b"Basic ".repeat(1000)]);
        if let Access::Ready(credentials) = authorizer.access(now, "POST", &server) {
            sent.token = Some(credentials.token);
        }
        authorizer.handle_refusal(now, &refusal, &sent);
        while let Some(action) = authorizer.poll_action() {
            #[expect(clippy::wildcard_enum_match_arm, reason = "nothing hangs on the others")]
            match action {
                AuthAction::Load { id, .. } => {
                    authorizer.handle_loaded(now, id, Duration::from_secs(1_800_000_000), None);
                }
                AuthAction::Release { id, .. } => authorizer.handle_released(now, id, Ok(())),
                AuthAction::Fetch(fetch) => {
                    fetches += 1;
                    let text = long_document(fetch.url.target(), round);
                    let redirects = round % 4 == 3;
                    let location = format!("https://s.example/{}", "l".repeat(100_000));
                    outside = outside.max(2 * (text.len() + location.len()));
                    let status = if redirects { 302 } else { 200 };
                    let mut answer = FetchAnswer::new(status, text.as_bytes());
                    answer.location = redirects.then_some(&location);
                    answer.nonce = Some(&location);
                    authorizer.handle_fetched(now, fetch.id, answer);
                }
                AuthAction::Listen { .. } => {
                    authorizer.handle_listening(now, Ok("http://127.0.0.1:49152/callback".into()));
                }
                AuthAction::Consent(page) => {
                    let code = "c".repeat(10_000);
                    let redirect = format!("?code={code}&state={}", page.state.expose());
                    authorizer.handle_redirect(now, &redirect);
                }
                _ => {}
            }
        }
    }
    let peak = ALLOCATOR.peak_usage() - before;
    println!("{fetches} requests, peak {:.1} MiB", mib(peak));
    assert!(fetches > 100, "{fetches}");
    // A few documents at a time, each read and copied.
    assert!(peak <= 8 * MAX_BODY_BYTES + outside, "peak {:.1} MiB", mib(peak));
    drop(authorizer);
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < 4096, "{left} bytes are never freed");
}

/// A document at this place, nearly as long as may be.
fn long_document(target: &str, round: usize) -> String {
    let issuer = "https://a.example";
    let long = "x".repeat(30_000);
    let many = |text: &str, count: usize| {
        let all: Vec<String> = (0..count).map(|n| format!("\"{text}{n}\"")).collect();
        all.join(",")
    };
    if target.starts_with("/m") {
        let scopes = many(&"s".repeat(400), 200);
        let issuers = many("https://b.example/", 1000);
        return format!(
            "{{\"resource\":\"https://s.example/mcp\",\"scopes_supported\":[{scopes}],\
             \"authorization_servers\":[\"{issuer}\",{issuers}],\"x\":\"{long}\"}}"
        );
    }
    if target.starts_with("/.well-known") {
        let scopes = many(&"s".repeat(400), 200);
        return format!(
            "{{\"issuer\":\"{issuer}\",\"authorization_endpoint\":\"{issuer}/authorize?{long}\",\
             \"token_endpoint\":\"{issuer}/token?{long}\",\"scopes_supported\":[{scopes}],\
             \"registration_endpoint\":\"{issuer}/register?{long}\",\
             \"code_challenge_methods_supported\":[\"S256\"]}}"
        );
    }
    if target.starts_with("/register") {
        return format!("{{\"client_id\":\"{round}{long}\",\"client_secret\":\"{long}\"}}");
    }
    format!(
        "{{\"access_token\":\"{round}{long}\",\"token_type\":\"Bearer\",\"expires_in\":30,\
         \"refresh_token\":\"{long}{long}\",\"scope\":\"{}\"}}",
        "s ".repeat(20_000)
    )
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
        self.answer_initialize();
        let at = self.last();
        self.head(at, 202, "text/plain");
        self.client.handle_end(self.now, at);
        self.drain();
        self.open.clear();
    }

    fn answer_initialize(&mut self) {
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
        self.open.retain(|open| *open != at);
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

    /// Feeds a message that is nearly as long as may be, up to its end.
    fn feed_start(&mut self, at: ExchangeId, is_event: bool) {
        if is_event {
            self.client.handle_body(self.now, at, Bytes::from_static(b"data: "));
        }
        for _ in 0..15 {
            self.client.handle_body(self.now, at, Bytes::from(vec![b'x'; CHUNK]));
        }
        self.drain();
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
