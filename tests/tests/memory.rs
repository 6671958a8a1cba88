//! Law 5: everything is bounded, whatever a peer sends. Here it is measured.
//!
//! The driver reads chunks of 64 KiB, takes all actions after each, and reads no more while
//! `wants_read()` is false. The application keeps the replies that it owes, and nothing else. The
//! peak of all that is allocated beyond the start must stay below [`bound`], beside what the test
//! holds by itself.

#![expect(clippy::print_stdout, reason = "the peak is worth knowing")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use mcp_proto::server::{
    Change, Config, Input, InputRequired, List, Notification, Outcome, Reply, Request, Server,
    ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{
    Implementation, InputRequest, RequestParams, ResourceContents, ResourceTemplate, Tool,
};
use mcp_proto::{Action, Binding, Bytes, ErrorData, Instant, Json, Limits, Machine};
use mcp_service::{Catalog, Context, Drive, Handler, Registry, Service};
use mcp_tests::fuzz;
use peak_alloc::PeakAlloc;
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;

/// Most memory that a server may allocate under these limits.
///
/// A line is held once as it comes and once more while the buffer grows to twice its size, and
/// what a message says (a method, a version) may stand in the answer, in the answer's data and in
/// the bytes to be written: eight times the longest line. A chunk may be full of the shortest
/// messages, each of which is answered with a sentence: each of its bytes makes 300 at most, as
/// messages and as bytes to be written. A request in flight is its id and its progress token, each
/// twice, and a kilobyte of book-keeping. A batch in flight holds its answers, and those of its
/// bytes that were short and wrong have made sixteen each. A subscription is its id, a few times,
/// and a kilobyte of book-keeping, and its URIs are there twice: what is wanted, and what has
/// changed.
fn bound(limits: &Limits) -> usize {
    8 * limits.max_line_bytes
        + 300 * CHUNK.min(limits.max_line_bytes)
        + limits.max_in_flight * (4 * limits.max_id_bytes + 1024)
        + 16 * limits.max_in_flight_bytes
        + limits.max_subscriptions * (4 * limits.max_id_bytes + 1024)
        + 4 * limits.max_subscription_bytes
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_line_bytes = MIB;
    limits.max_in_flight_bytes = MIB / 4;
    limits
}

#[test]
fn a_line_that_never_ends() {
    let alone = alone();
    let start = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"".to_owned();
    measure(&alone, limits(), [start].into_iter().chain((0..640).map(|_| "x".repeat(CHUNK))));
}

#[test]
fn brackets_up_to_the_limit_of_a_line() {
    let alone = alone();
    let mut limits = Limits::default();
    limits.max_in_flight_bytes = 0;
    let lines = (0..256).map(|_| "[".repeat(CHUNK));
    measure(&alone, limits, lines.chain(["\n".to_owned()]));
}

#[test]
fn an_endless_stream_of_garbage() {
    let alone = alone();
    measure(&alone, limits(), (0..200).map(|_| "x\n[\n{}\n\"\n{\"id\":1}\n".repeat(500)));
}

#[test]
fn names_that_are_as_long_as_a_line() {
    let alone = alone();
    let long = "n".repeat(MIB / 2);
    let lines = [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}\n"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{long}\",\"method\":\"ping\"}}\n"),
        modern(1, "tools/call", &format!("\"name\":\"{long}\"")),
        modern(1, "tools/list", "").replace("2026-07-28", &long),
        initialize(&long),
        initialize("2025-11-25").replace("\"c\"", &format!("\"{long}\"")),
    ];
    measure(&alone, limits(), lines.iter().cycle().take(18).cloned());
}

#[test]
fn requests_with_ids_and_parameters_of_every_size() {
    let alone = alone();
    let lines = (0..2000_usize).map(|n| {
        let id = format!("\"{n}{}\"", "i".repeat(n % 1100));
        let params = format!("\"name\":\"hold\",\"arguments\":{{\"a\":\"{}\"}}", "p".repeat(n * 3));
        modern(id, "tools/call", &params)
    });
    measure(&alone, limits(), lines);
}

#[test]
fn ten_thousand_requests_that_are_never_answered() {
    let alone = alone();
    measure(&alone, limits(), (0..10_000).map(|n| modern(n, "tools/call", "\"name\":\"hold\"")));
}

#[test]
fn the_shortest_requests_with_the_longest_answers() {
    let alone = alone();
    measure(&alone, limits(), (0..5000).map(|_| modern(1, "server/discover", "")));
}

#[test]
fn a_batch_of_a_million() {
    let alone = alone();
    let elements = (0..64).map(|_| "1,".repeat(MIB / 64));
    let start = initialize("2025-03-26") + "[";
    let mut limits = limits();
    limits.max_line_bytes = 4 * MIB;
    measure(&alone, limits, [start].into_iter().chain(elements).chain(["1]\n".to_owned()]));
}

#[test]
fn batches_that_wait_for_one_answer_each() {
    let alone = alone();
    let wrong = ",{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"nope\"}".repeat(199);
    let batches = (0..300).map(|n| {
        let hold =
            modern(n, "tools/call", "\"name\":\"hold\"").replace("io.modelcontextprotocol", "x");
        format!("[{}{wrong}]\n", hold.trim())
    });
    let mut limits = limits();
    limits.max_line_bytes = 16 * 1024;
    limits.max_in_flight = 200;
    measure(&alone, limits, [initialize("2025-03-26")].into_iter().chain(batches));
}

#[test]
fn ten_thousand_subscriptions() {
    let alone = alone();
    let lines = (0..10_000_usize).map(|n| {
        let id = format!("\"{n}{}\"", "i".repeat(n % 1000));
        let uris = format!("\"t:{n}{}\",\"t:{n}\",\"t:{n}\"", "u".repeat(n % 3000));
        listen(&id, &uris)
    });
    measure(&alone, limits(), lines);
}

#[test]
fn lists_as_long_as_a_line() {
    let alone = alone();
    let repeat = |element: &str| {
        let count = 8 * MIB / element.len() - 100;
        match element.split_once("xxxxx") {
            None => element.repeat(count),
            Some((before, after)) => (0..count).fold(String::new(), |mut text, n| {
                write!(text, "{before}{n:05x}{after}").unwrap();
                text
            }),
        }
    };
    let lines = [
        listen("1", &(repeat("\"t:xxxxx\",") + "\"t:1\"")),
        listen("1", &(repeat("\"\",") + "\"t:1\"")),
        listen("1", &(repeat("\"t:1\",") + "\"t:1\"")),
        complete(&(repeat("\"xxxxx\":\"\",") + "\"a\":\"\"")),
    ];
    for line in lines {
        let mut limits = limits();
        limits.max_line_bytes = 8 * MIB;
        limits.max_in_flight_bytes = 0;
        limits.max_subscription_bytes = MIB;
        limits.max_subscriptions = 10;
        limits.max_in_flight = 10;
        assert!(line.len() < limits.max_line_bytes, "{}", line.len());
        measure(&alone, limits, std::iter::once(line));
    }
}

#[test]
fn subscriptions_of_a_session_to_long_resources_twice() {
    let alone = alone();
    let lines = (0..10_000_usize).flat_map(|n| {
        let uri = format!("\"uri\":\"t:{n}{}\"", "u".repeat(n * 10 % 2000));
        [legacy(n, "resources/subscribe", &uri), legacy(n, "resources/subscribe", &uri)]
    });
    measure(&alone, limits(), opening().into_iter().chain(lines));
}

#[test]
fn changes_that_nobody_takes() {
    let alone = alone();
    let lines = (0..2000_usize).map(|n| listen(&n.to_string(), &format!("\"t:{}\"", n % 500)));
    let changes = (0..100_000).map(|n| Change::ResourceUpdated(format!("t:{}", n % 1000)));
    let mut changes = changes;
    Measured { limits: limits(), answer: Box::new(|_| None), publish: Some(&mut changes) }
        .run(&alone, lines);
}

#[test]
fn a_client_that_never_gives_input() {
    let alone = alone();
    let lines = (0..10_000).map(|n| legacy(n, "tools/call", "\"name\":\"hold\""));
    asking(&alone, limits(), &["a"], opening().into_iter().chain(lines));
}

#[test]
fn requests_that_wait_for_input_hold_no_more_than_themselves() {
    let alone = alone();
    let lines = (0..1000).map(|n| {
        let line = legacy(n, "tools/call", "\"name\":\"hold\",\"arguments\":{\"a\":1}");
        let rest = CHUNK - line.len() - 1;
        line + &" ".repeat(rest) + "\n"
    });
    let (opening, mut limits) = (opening().concat(), limits());
    limits.max_line_bytes = CHUNK;
    let opening = format!("{opening}{}\n", " ".repeat(CHUNK - opening.len() - 1));
    asking(&alone, limits, &["a"], std::iter::once(opening).chain(lines));
}

#[test]
fn input_of_a_mebibyte_for_each_of_a_thousand_requests() {
    let alone = alone();
    let calls = (0..1000).map(|n| legacy(n, "tools/call", "\"name\":\"hold\""));
    let long = "x".repeat(MIB - 100);
    // Two questions for each; the second is not answered.
    let answers = (0..100).map(|n| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"a\":\"{long}\"}}}}\n", 2 * n + 1)
    });
    let mut limits = limits();
    limits.max_in_flight_bytes = 4 * MIB;
    asking(&alone, limits, &["a", "b"], opening().into_iter().chain(calls).chain(answers));
}

#[test]
fn many_rounds_of_input_that_is_carried_along() {
    let alone = alone();
    let calls = (0..500).map(|n| legacy(n, "tools/call", "\"name\":\"hold\""));
    let long = "x".repeat(10_000);
    let answers = (0..5000).map(|n| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"a\":\"{long}\"}}}}\n", n + 1)
    });
    asking(&alone, limits(), &["a"], opening().into_iter().chain(calls).chain(answers));
}

#[test]
fn states_of_megabytes() {
    let alone = alone();
    let long = "\\n".repeat(MIB / 2 - 1000);
    let lines = (0..50).map(|n| {
        let responses = "\"inputResponses\":{\"a\":{}}";
        let params = format!("\"name\":\"hold\",{responses},\"requestState\":\"{long}\"");
        modern(n, "tools/call", &params)
    });
    let mut limits = limits();
    limits.max_in_flight_bytes = 8 * MIB;
    measure(&alone, limits, lines);
}

#[test]
fn as_many_answers_as_a_line_holds() {
    let alone = alone();
    let many: Vec<String> = (0..MIB / 12).map(|n| format!("\"{n:05}\":{{}},")).collect();
    let many = many.concat();
    // Four times as many as may be in flight.
    let lines = (0..16).map(|n| {
        let params = format!("\"name\":\"hold\",\"inputResponses\":{{{many}\"a\":{{}}}}");
        modern(n, "tools/call", &params)
    });
    let mut limits = limits();
    limits.max_in_flight_bytes = 4 * MIB;
    measure(&alone, limits, lines);
}

#[test]
fn a_client_that_does_not_read_while_everything_changes() {
    let alone = alone();
    for lines in [
        vec![modern_listen()],
        opening()
            .into_iter()
            .chain([legacy(1, "resources/subscribe", "\"uri\":\"t:7\"")])
            .collect(),
    ] {
        let mut registry = Registry::<Handler>::new(Implementation::new("c", "1"));
        registry.subscribe().list_changed(List::Tools);
        let read = |uri: String, _: Value, _| async { ResourceContents::text(uri, "") };
        registry.resource_template(ResourceTemplate::new("t:{x}", "t"), read).unwrap();
        let catalog = Catalog::from(registry);
        let mut service = Service::new(catalog.clone(), Config::default());
        service.handle_bytes(Instant::ZERO, Bytes::from(lines.concat()));
        service.turn(Instant::ZERO, Waker::noop());
        let before = start(&alone);
        let (mut most, mut written) = (0, 0);
        for n in 0..100_000 {
            catalog.publish(&Change::ResourceUpdated(format!("t:{}", n % 10_000))).unwrap();
            catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
            service.turn(Instant::ZERO, Waker::noop());
            most = most.max(ALLOCATOR.current_usage().saturating_sub(before));
        }
        assert!(most < 4 * MIB, "{:.1} MiB", mib(most));
        while !service.output().is_empty() {
            let count = service.output().len();
            written += count;
            service.handle_written(count);
            service.turn(Instant::ZERO, Waker::noop());
        }
        assert!(written < MIB + CHUNK, "{written} bytes wait");
        println!("{:.1} MiB for {:.1} MiB of output", mib(most), mib(written));
    }
}

#[test]
fn arguments_of_many_values_that_do_not_fit() {
    let alone = alone();
    let mut registry = Registry::<Handler>::new(Implementation::new("c", "1"));
    let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
    registry.tool_with(tool, |_: BTreeMap<String, u8>, _| async { "done" }).unwrap();
    let mut service = Service::new(Catalog::from(registry), Config::default());
    let values = "{\"\":0},".repeat(MIB / 7);
    let call =
        modern(1, "tools/call", &format!("\"name\":\"t\",\"arguments\":{{\"a\":[{values}0]}}"));
    let bytes = Bytes::from(call);
    let before = start(&alone);
    service.handle_bytes(Instant::ZERO, bytes);
    service.turn(Instant::ZERO, Waker::noop());
    let peak = ALLOCATOR.peak_usage() - before;
    println!("peak {:.1} MiB", mib(peak));
    assert!(service.output().windows(14).any(|text| text == b"\"isError\":true"));
    assert!(peak < 8 * MIB, "peak {:.1} MiB", mib(peak));
}

#[test]
fn long_answers_that_wait_in_their_batches() {
    const MAX: usize = 16 * MIB;
    let alone = alone();
    let mut limits = limits();
    limits.max_endpoint_bytes = MAX;
    let mut site = Owing::new(&alone, limits);
    site.feed(&initialize("2025-03-26"));
    let call = |id: usize| modern(id, "tools/call", "\"name\":\"hold\"");
    let call = |id| call(id).replace("io.modelcontextprotocol", "x");
    for n in 0..60 {
        site.feed(&format!("[{},{}]\n", call(2 * n).trim(), call(2 * n + 1).trim()));
    }
    assert_eq!(site.owed.len(), 120);
    (site.results, site.refused) = (0, 0);
    // The first of each batch is answered; the second one keeps the batch open.
    let text = format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(900 * 1024));
    let mut first = true;
    for reply in std::mem::take(&mut site.owed) {
        if first {
            site.respond(reply, Json::parse(text.clone()).unwrap());
        } else {
            site.owed.push(reply);
        }
        first = !first;
    }
    site.assert_peak("answers in batches", 2 * MAX);
    for reply in std::mem::take(&mut site.owed) {
        site.respond(reply, Json::EMPTY_OBJECT);
    }
    // Each request has an answer: a result that did not fit is an error.
    assert_eq!(site.results + site.refused, 120);
    assert!(site.results > 60 + 10 && site.refused > 10, "{} refused", site.refused);
}

#[test]
fn long_errors_that_wait_in_a_batch() {
    let alone = alone();
    let mut site = Owing::new(&alone, limits());
    site.feed(&initialize("2025-03-26"));
    let calls: Vec<_> = (0..100).map(|id| legacy(id, "tools/call", "\"name\":\"hold\"")).collect();
    site.feed(&format!("[{}]\n", calls.join(",").replace('\n', "")));
    assert_eq!(site.owed.len(), 100);
    (site.results, site.refused) = (0, 0);
    for reply in std::mem::take(&mut site.owed) {
        site.respond_with(reply, long_error(900 * 1024));
    }
    assert_eq!(site.refused, 100);
    site.assert_peak("errors in a batch", 8 * MIB);
}

#[test]
fn long_errors_that_nobody_reads() {
    const MAX: usize = 4 * MIB;
    let alone = alone();
    let mut limits = limits();
    limits.max_endpoint_bytes = MAX;
    let mut site = Owing::new(&alone, limits);
    for id in 0..40 {
        site.feed(&modern(id, "tools/call", "\"name\":\"hold\""));
    }
    assert_eq!(site.owed.len(), 40);
    for reply in std::mem::take(&mut site.owed) {
        let error = long_error(900 * 1024);
        let now = Instant::ZERO;
        site.server.with(now, |server| server.respond(now, reply, error));
    }
    site.assert_peak("errors in a queue", 2 * MAX);
    site.drain();
    assert_eq!(site.refused, 40);
}

#[test]
fn input_of_small_calls_counts_for_all_streams() {
    const MAX: usize = 400 * 1024;
    let alone = alone();
    let mut config = Config::default();
    config.limits.max_endpoint_bytes = MAX;
    let text = "x".repeat(200 * 1024);
    // The server has asked for two inputs, and gets the first one.
    let refusals = |sites: &mut [Owing<'_>]| -> Vec<usize> {
        for site in &mut *sites {
            for line in opening() {
                site.feed(&line);
            }
            site.feed(&legacy(1, "tools/call", "\"name\":\"hold\""));
            let request = || InputRequest::ListRoots(RequestParams::default());
            let required = InputRequired::default().and("a", request()).and("b", request());
            let reply = site.owed.pop().unwrap();
            (site.results, site.refused) = (0, 0);
            site.respond_with(reply, Outcome::InputRequired(required));
            let result = format!("{{\"roots\":[],\"x\":\"{text}\"}}");
            site.feed(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n"));
        }
        sites.iter().map(|site| site.refused).collect()
    };
    // New work gets 300 KiB. The input of a stream is let go with the stream.
    for _ in 0..2 {
        let new = || Owing::with_config(&alone, config.clone());
        assert_eq!(refusals(&mut [new(), new(), new()]), [0, 1, 1]);
    }
}

#[test]
fn sum_of_all_bounds_is_within_twice_the_limit() {
    const MAX: usize = 16 * MIB;
    let alone = alone();
    let mut limits = limits();
    limits.max_endpoint_bytes = MAX;
    limits.max_in_flight_bytes = 4 * MIB;
    let (count, subscriptions) = (limits.max_in_flight, limits.max_subscriptions);
    let mut site = Owing::new(&alone, limits);
    let roots = initialize("2025-03-26");
    let roots = roots.replace("\"capabilities\":{}", "\"capabilities\":{\"roots\":{}}");
    site.feed(&roots.replace("\"c\"", &format!("\"{}\"", "c".repeat(15 * 1024))));
    site.feed("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let uri = |n: usize| format!("t:{n}-{}", "u".repeat(1000));
    for n in 0..2 * subscriptions {
        site.feed(&legacy(n, "resources/subscribe", &format!("\"uri\":\"{}\"", uri(n))));
    }
    // Calls in batches, of which one half waits for a first answer, calls that need input, and
    // calls that nobody answers, with long ids.
    let hold = |id: String, length: usize| {
        let padding = "x".repeat(length);
        let params = format!("\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}}");
        legacy(id, "tools/call", &params)
    };
    for n in 0..40 {
        let pair = [0, 1].map(|at| hold(format!("\"b{n}-{at}\""), 100));
        site.feed(&format!("[{},{}]\n", pair[0].trim(), pair[1].trim()));
    }
    let in_batches = site.owed.len();
    let mut more = Vec::new();
    for n in 0..100 {
        site.feed(&hold(format!("\"i{n}{}\"", "i".repeat(900)), 10 * 1024));
    }
    more.extend(site.owed.drain(in_batches..));
    assert!(more.len() > 90, "{}", more.len());
    for reply in more {
        let required = InputRequired::default()
            .and("a", InputRequest::ListRoots(RequestParams::default()))
            .state("s".repeat(10 * 1024));
        site.respond_with(reply, Outcome::InputRequired(required));
    }
    for n in 0..2 * count {
        site.feed(&hold(format!("\"c{n}{}\"", "i".repeat(900)), 2 * 1024));
    }
    let text = format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(900 * 1024));
    let rest = site.owed.split_off(in_batches);
    for (at, reply) in std::mem::replace(&mut site.owed, rest).into_iter().enumerate() {
        if at % 2 == 0 {
            site.respond(reply, Json::parse(text.clone()).unwrap());
        } else {
            site.owed.push(reply);
        }
    }
    for n in 0..subscriptions {
        site.publish(&Change::ResourceUpdated(uri(n)));
    }
    // The rest of the line never comes.
    for _ in 0..15 {
        site.feed(&"x".repeat(CHUNK));
    }
    site.assert_peak("all bounds", 2 * MAX);
    site.server.handle_eof(Instant::ZERO);
    site.drain();
    site.owed.clear();
    let before = site.before;
    drop((site, text));
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < MIB, "{left} bytes are never freed");
}

#[test]
fn services_that_come_and_go() {
    let alone = alone();
    let catalog = Catalog::from(Registry::new(Implementation::new("c", "1")));
    drop(Service::new(catalog.clone(), Config::default()));
    let before = start(&alone);
    for _ in 0..10_000 {
        drop(Service::new(catalog.clone(), Config::default()));
    }
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < 4096, "{left} bytes are never freed");
}

/// They report to a client that does not read.
#[test]
fn contexts_that_outlive_their_requests() {
    const REQUESTS: usize = 20_000;
    let alone = alone();
    let kept = Arc::new(Mutex::new(Vec::with_capacity(REQUESTS + 1)));
    let keeper = kept.clone();
    let mut registry = Registry::<Handler>::new(Implementation::new("c", "1"));
    let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
    let keep = move |arguments: Value, context: Context| {
        keeper.lock().unwrap().push(context);
        async move { "x".repeat(if arguments.get("long").is_some() { 2 * MIB } else { 0 }) }
    };
    registry.tool_with(tool, keep).unwrap();
    let mut service = Service::new(Catalog::from(registry), Config::default());
    for number in 0..=REQUESTS {
        let arguments = if number == REQUESTS { "{\"long\":true}" } else { "{}" };
        let params = format!("\"name\":\"t\",\"arguments\":{arguments}");
        service.handle_bytes(Instant::ZERO, Bytes::from(modern(number, "tools/call", &params)));
        service.turn(Instant::ZERO, Waker::noop());
        while number < REQUESTS && !service.output().is_empty() {
            service.handle_written(service.output().len());
        }
    }
    let before = start(&alone);
    let contexts = kept.lock().unwrap();
    for contexts in contexts.chunks(500) {
        for context in contexts {
            context.notify(Notification::Progress(1.0.into()));
        }
        service.turn(Instant::ZERO, Waker::noop());
    }
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < CHUNK, "{left} bytes are kept");
    let mut unread = 0;
    while !service.output().is_empty() {
        unread += service.output().len();
        service.handle_written(service.output().len());
    }
    assert!(unread > MIB, "{unread} bytes were unread");
}

type Alone = MutexGuard<'static, ()>;

fn alone() -> Alone {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes in use before a test; the peak is counted from here on.
fn start(_alone: &Alone) -> usize {
    ALLOCATOR.reset_peak_usage();
    ALLOCATOR.current_usage()
}

/// Feeds a server whose requests are not answered, and looks at the peak.
fn measure(alone: &Alone, limits: Limits, text: impl Iterator<Item = String>) {
    Measured { limits, answer: Box::new(|_| None), publish: None }.run(alone, text);
}

/// The same where all requests need input of these keys, and take along what they got.
fn asking(
    alone: &Alone,
    limits: Limits,
    keys: &'static [&str],
    text: impl Iterator<Item = String>,
) {
    let answer = |request: &Request| {
        let mut required = InputRequired::default();
        for key in keys {
            let request = InputRequest::ListRoots(RequestParams::default());
            required = required.and(*key, request);
        }
        if let Some(Input { responses, state, .. }) = request.input.as_deref() {
            let mut all = state.clone().unwrap_or_default();
            for response in responses.values() {
                all += response.json().as_str();
            }
            required = required.state(all);
        }
        Some(Outcome::InputRequired(required))
    };
    Measured { limits, answer: Box::new(answer), publish: None }.run(alone, text);
}

/// Handler of the application.
type Answer<'a> = Box<dyn Fn(&Request) -> Option<Outcome> + 'a>;

struct Measured<'a> {
    limits: Limits,
    answer: Answer<'a>,
    /// Changes to publish at the end, while nobody takes actions.
    publish: Option<&'a mut dyn Iterator<Item = Change>>,
}

impl Measured<'_> {
    fn run(self, alone: &Alone, text: impl Iterator<Item = String>) {
        let Self { limits, answer, publish } = self;
        let declaration = fuzz::registry().declaration();
        let bound = bound(&limits);
        let mut config = Config::default();
        config.limits = limits;
        let before = start(alone);
        let mut server = Connection::server(declaration, config);
        let mut owed: Vec<Reply> = Vec::new();
        // What the test itself allocates: a piece of text, and the bytes that are not fed yet.
        let (mut unread, mut outside) = (Vec::new(), 0);
        for piece in text {
            unread.extend_from_slice(piece.as_bytes());
            outside = outside.max(2 * (unread.capacity() + piece.capacity()));
            while unread.len() >= CHUNK {
                let rest = unread.split_off(CHUNK);
                let chunk = std::mem::replace(&mut unread, rest);
                feed(&mut server, chunk, &answer, &mut owed);
            }
        }
        feed(&mut server, unread, &answer, &mut owed);
        for change in publish.into_iter().flatten() {
            server.with(Instant::ZERO, |server| server.publish(Instant::ZERO, &change)).unwrap();
        }
        drain(&mut server, &answer, &mut owed);
        let held = owed.len();
        for reply in owed.drain(..) {
            server.with(Instant::ZERO, |server| {
                server.respond(Instant::ZERO, reply, Outcome::Complete(Json::EMPTY_OBJECT));
            });
            drain(&mut server, &answer, &mut Vec::new());
        }
        server.handle_eof(Instant::ZERO);
        drain(&mut server, &answer, &mut owed);
        let peak = ALLOCATOR.peak_usage() - before;
        println!("peak {:.1} MiB of {:.1}, {held} held", mib(peak), mib(bound));
        assert!(peak <= bound + outside, "peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
        drop((server, owed));
        let left = ALLOCATOR.current_usage().saturating_sub(before);
        assert!(left < MIB, "{left} bytes are never freed");
    }
}

/// A server whose application owes all answers until a test gives them.
struct Owing<'a> {
    server: Connection<Server>,
    owed: Vec<Reply>,
    /// The results that the client has got, and the errors.
    results: usize,
    refused: usize,
    before: usize,
    _alone: &'a Alone,
}

impl<'a> Owing<'a> {
    fn new(alone: &'a Alone, limits: Limits) -> Self {
        let mut config = Config::default();
        config.limits = limits;
        Self::with_config(alone, config)
    }

    fn with_config(alone: &'a Alone, config: Config) -> Self {
        let declaration = fuzz::registry().declaration();
        let before = start(alone);
        let server = Connection::server(declaration, config);
        Self { server, owed: Vec::new(), results: 0, refused: 0, before, _alone: alone }
    }

    fn feed(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(CHUNK) {
            self.server.handle_bytes(Instant::ZERO, Bytes::copy_from_slice(chunk));
            self.drain();
        }
    }

    fn respond(&mut self, reply: Reply, result: Json) {
        self.respond_with(reply, Outcome::Complete(result));
    }

    fn respond_with(&mut self, reply: Reply, outcome: Outcome) {
        self.server.with(Instant::ZERO, |server| server.respond(Instant::ZERO, reply, outcome));
        self.drain();
    }

    fn publish(&mut self, change: &Change) {
        self.server.with(Instant::ZERO, |server| server.publish(Instant::ZERO, change)).unwrap();
    }

    fn drain(&mut self) {
        while let Some(action) = self.server.poll_action() {
            match action {
                Action::Event(ServerEvent::Request(request)) => self.owed.push(request.reply),
                Action::Transmit(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    self.results += text.matches("\"result\":").count();
                    self.refused += text.matches("\"code\":-32603").count();
                }
                Action::Event(_) | Action::Close => {}
            }
        }
    }

    fn assert_peak(&self, what: &str, bound: usize) {
        let peak = ALLOCATOR.peak_usage() - self.before;
        println!("{what}: peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
        assert!(peak <= bound, "{what}: peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
    }
}

fn feed(
    server: &mut Connection<Server>,
    chunk: Vec<u8>,
    answer: &Answer<'_>,
    owed: &mut Vec<Reply>,
) {
    assert!(server.wants_read(), "all actions are taken");
    server.handle_bytes(Instant::ZERO, Bytes::from(chunk));
    drain(server, answer, owed);
}

fn drain(server: &mut Connection<Server>, answer: &Answer<'_>, owed: &mut Vec<Reply>) {
    while let Some(action) = server.poll_action() {
        if let Action::Event(ServerEvent::Request(request)) = action {
            match answer(&request) {
                Some(outcome) => server.with(Instant::ZERO, |server| {
                    server.respond(Instant::ZERO, request.reply, outcome);
                }),
                None => owed.push(request.reply),
            }
        }
    }
}

/// The error of a handler, with this many bytes of data.
fn long_error(bytes: usize) -> Outcome {
    let mut error = ErrorData::internal("x");
    error.data = Some(Json::parse(format!("\"{}\"", "x".repeat(bytes))).unwrap());
    Outcome::Error(error)
}

fn listen(id: &str, uris: &str) -> String {
    let wanted = format!("\"notifications\":{{\"resourceSubscriptions\":[{uris}]}}");
    modern(id, "subscriptions/listen", &wanted)
}

fn complete(arguments: &str) -> String {
    let reference = "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}";
    let argument = "\"argument\":{\"name\":\"n\",\"value\":\"\"}";
    let context = format!("\"context\":{{\"arguments\":{{{arguments}}}}}");
    modern(1, "completion/complete", &format!("{reference},{argument},{context}"))
}

fn modern_listen() -> String {
    let wanted = "\"toolsListChanged\":true,\"resourceSubscriptions\":[\"t:7\"]";
    modern(1, "subscriptions/listen", &format!("\"notifications\":{{{wanted}}}"))
}

fn legacy(id: impl std::fmt::Display, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}\n")
}

/// A session of a client that can be asked for its roots.
fn opening() -> [String; 2] {
    let initialize = initialize("2025-11-25");
    let roots = initialize.replace("\"capabilities\":{}", "\"capabilities\":{\"roots\":{}}");
    [roots, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n".to_owned()]
}

fn modern(id: impl std::fmt::Display, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{comma}\
         \"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}\n"
    )
}

fn initialize(version: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{{\
         \"protocolVersion\":\"{version}\",\"capabilities\":{{}},\
         \"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}\n"
    )
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / MIB as f64
}
