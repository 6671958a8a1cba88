//! Law 5 for clients: everything is bounded, whatever a server sends. Here it is measured.
//!
//! The driver reads chunks of 64 KiB and takes all actions after each. The application keeps the
//! replies that it owes, and nothing else. The peak of all that is allocated beyond the start must
//! stay below [`bound`], beside what the test holds by itself. `memory.rs` does the same to
//! servers.

#![expect(clippy::print_stdout, reason = "the peak is worth knowing")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use mcp_proto::client::{
    CallOptions, Client, ClientEvent, Config, InputReply, Listing, Negotiation, Verdict,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{ClientCapabilities, Implementation, SubscriptionFilter};
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Limits, Machine, ProtocolVersion};
use mcp_service::{ClientService, Drive};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process: one test at a time, from its first allocation on.
static ALONE: Mutex<()> = Mutex::new(());

const CHUNK: usize = 64 * 1024;
const MIB: usize = 1024 * 1024;

/// Most memory that a client may allocate under these limits, for one list.
///
/// A line is held once as it comes and once more while the buffer grows to twice its size, and
/// what a message says may stand in an event, a second time in what is kept of it, and a third time
/// in what is answered: eight times the longest line. A chunk may be full of the shortest messages,
/// each of which is worth an event: each of its bytes makes 300 at most. What is kept before the
/// era is known is a mebibyte of text in 1024 messages. A call, an input and an id that is not
/// waited for are their ids and a kilobyte of book-keeping. A list is there once as it grows to
/// twice its size, and once as a result. Keys and states of what is asked for are copied, the keys
/// twice: where that is tested, four times `max_in_flight_bytes`.
fn bound(limits: &Limits) -> usize {
    8 * limits.max_line_bytes
        + 300 * CHUNK.min(limits.max_line_bytes)
        + 2 * MIB
        + if limits.max_in_flight_bytes < MIB * 64 { 4 * limits.max_in_flight_bytes } else { 0 }
        + limits.max_in_flight * (4 * limits.max_id_bytes + 1024)
        + 4 * limits.max_list_bytes
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_line_bytes = MIB;
    limits.max_list_bytes = MIB;
    limits.max_in_flight = 256;
    limits
}

#[test]
fn everything_at_once_before_the_era_is_known() {
    let alone = alone();
    let long = |n: usize| "n".repeat(50_000 + n * 37 % 50_000);
    let lines = (0..4000).map(|n| match n % 4 {
        0 => told(&format!("notifications/{}", long(n)), ""),
        1 => told("notifications/x", &format!("\"a\":\"{}\"", long(n))),
        2 => asked(&format!("\"{n}{}\"", "i".repeat(n % 1000)), "ping", ""),
        _ => asked(&n.to_string(), &format!("x/{}", long(n)), ""),
    });
    Measured::new(limits(), Server::None).run(&alone, lines);
}

#[test]
fn the_shortest_messages_before_the_era_is_known() {
    let alone = alone();
    let lines = (0..100_000).map(|_| "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n".to_owned());
    Measured::new(limits(), Server::None).run(&alone, lines);
}

#[test]
fn a_line_that_never_ends() {
    let alone = alone();
    for server in [Server::None, Server::Modern, Server::Legacy] {
        let start = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"".to_owned();
        let lines = [start].into_iter().chain((0..400).map(|_| "x".repeat(CHUNK)));
        Measured::new(Limits::default(), server).run(&alone, lines);
    }
}

#[test]
fn an_endless_stream_of_garbage() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let lines = (0..40).map(|_| "x\n[\n{}\n\"\n{\"id\":1}\n".repeat(500));
        Measured::new(limits(), server).run(&alone, lines);
    }
}

#[test]
fn lines_of_one_byte() {
    let alone = alone();
    let lines = (0..8).map(|_| "x\n".repeat(CHUNK));
    Measured::new(limits(), Server::Modern).run(&alone, lines);
}

#[test]
fn responses_to_nothing() {
    let alone = alone();
    let lines = (0..100_000_usize).map(|n| match n % 3 {
        0 => answered(&n.to_string(), "\"resultType\":\"complete\""),
        1 => answered(&format!("\"discover-{n}\""), &format!("\"a\":\"{}\"", "x".repeat(n % 999))),
        _ => "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"\"}}\n".to_owned(),
    });
    Measured::new(limits(), Server::Modern).run(&alone, lines);
}

#[test]
fn progress_without_an_end() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let id = measured.call();
    let message = "m".repeat(200);
    let lines = (0..50_000).map(|n| {
        let params = format!("\"progressToken\":{id},\"progress\":{n},\"message\":\"{message}\"");
        told("notifications/progress", &params)
    });
    measured.run(&alone, lines);
}

#[test]
fn logs_and_changes_that_nobody_wants() {
    let alone = alone();
    for server in [Server::Modern, Server::Legacy] {
        let mut measured = Measured::new(limits(), server);
        let mut filter = SubscriptionFilter::default();
        filter.resource_subscriptions = (0..20).map(|n| format!("t:{n}")).collect();
        measured
            .client
            .with(Instant::ZERO, |client| client.subscribe(Instant::ZERO, filter))
            .unwrap();
        let lines = (0..50_000_usize).map(|n| {
            let text = "x".repeat(n % 1000);
            match n % 3 {
                0 => told("notifications/message", "\"level\":\"error\",\"data\":[1,2,3]"),
                1 => told("notifications/resources/updated", &format!("\"uri\":\"t:{text}\"")),
                _ => told("notifications/tools/list_changed", ""),
            }
        });
        measured.run(&alone, lines);
    }
}

#[test]
fn pages_without_an_end() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let first = measured.client.with(Instant::ZERO, |client| {
        client.list(Instant::ZERO, Listing::Tools, CallOptions::default())
    });
    first.unwrap();
    let items = "{\"name\":\"tool\"},".repeat(2000) + "{}";
    // Each page is asked for under the next id.
    let lines = (2..2000).map(|id: usize| {
        let cursor = "c".repeat(id * 7 % 5000);
        answered(&id.to_string(), &format!("\"tools\":[{items}],\"nextCursor\":\"{cursor}\""))
    });
    measured.run(&alone, lines);
}

#[test]
fn requests_of_a_server_that_are_never_answered() {
    let alone = alone();
    let lines = (0..5000_usize).map(|n| {
        let id = format!("\"{n}{}\"", "i".repeat(n % 1000));
        let message = "m".repeat(n % 5000);
        asked(&id, "elicitation/create", &form(&message))
    });
    Measured::new(limits(), Server::Legacy).run(&alone, lines);
}

#[test]
fn batches_of_requests_that_are_never_answered() {
    let alone = alone();
    let wrong = ",{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"nope\"}".repeat(99);
    let batches = (0..300).map(|n| {
        let input = asked(&n.to_string(), "sampling/createMessage", SAMPLING);
        format!("[{}{wrong}]\n", input.trim())
    });
    let million = (0..15).map(|_| "1,".repeat(CHUNK / 2));
    let million = ["[".to_owned()].into_iter().chain(million).chain(["1]\n".to_owned()]);
    Measured::new(limits(), Server::Batches).run(&alone, batches.chain(million));
}

#[test]
fn input_for_calls_in_masses() {
    let alone = alone();
    let mut limits = limits();
    limits.max_in_flight = 8000;
    limits.max_in_flight_bytes = 2 * MIB;
    let mut measured = Measured::new(limits, Server::Modern);
    let ids: Vec<u64> = (0..8).map(|_| measured.call()).collect();
    let one = format!("{{\"method\":\"sampling/createMessage\",\"params\":{{{SAMPLING}}}}}");
    let lines = ids.into_iter().map(|id| {
        let requests = (0..7000).map(|n| format!("\"{n}\":{one}")).collect::<Vec<_>>().join(",");
        let state = "s".repeat(100_000);
        answered(
            &id.to_string(),
            &format!(
                "\"resultType\":\"input_required\",\"inputRequests\":{{{requests}}},\
                 \"requestState\":\"{state}\""
            ),
        )
    });
    // There is room for those of one call.
    let owed = measured.run(&alone, lines);
    assert_eq!(owed, 7000, "inputs");
}

#[test]
fn second_hour_08_a_server_that_never_reads() {
    let _alone = alone();
    let mut config = Config::new(Implementation::new("app", "1"));
    config.negotiation = Negotiation::Auto;
    config.limits.max_unsent_bytes = 4 * MIB;
    let client = mcp_service::Client::new(config);
    let mut driven = ClientService::new(&client).unwrap();
    let mut now = Instant::ZERO;
    driven.handle_opened(now);
    driven.turn(now, Waker::noop());
    driven.handle_bytes(now, Bytes::from(DISCOVERED));
    driven.turn(now, Waker::noop());
    assert!(client.server().is_some());
    ALLOCATOR.reset_peak_usage();
    let start = ALLOCATOR.current_usage();
    let arguments = Json::parse(format!("{{\"text\":\"{}\"}}", "x".repeat(64 * 1024))).unwrap();
    // Half of the calls are given up by the application, the others by their time.
    let mut calls = VecDeque::new();
    for number in 0..4000 {
        let mut call = Box::pin(client.call_tool("echo", &arguments));
        let mut context = Context::from_waker(Waker::noop());
        if call.as_mut().poll(&mut context).is_pending() && number % 2 == 0 {
            calls.push_back(call);
        }
        calls.truncate(500);
        now = now + Duration::from_millis(100);
        driven.turn(now, Waker::noop());
    }
    let peak = ALLOCATOR.peak_usage() - start;
    println!("a server that never reads: {} KiB", peak / 1024);
    // What is on its way, what is held, and one copy of either.
    assert!(peak < 16 * MIB, "{peak}");
}

#[test]
fn states_of_calls_that_ask_for_input() {
    let alone = alone();
    let mut limits = limits();
    limits.max_in_flight_bytes = 4 * MIB;
    let mut measured = Measured::new(limits, Server::Modern);
    let ids: Vec<u64> = (0..200).map(|_| measured.call()).collect();
    let lines = ids.into_iter().map(|id| {
        let state = "s".repeat(MIB / 2);
        answered(
            &id.to_string(),
            &format!(
                "\"resultType\":\"input_required\",\"requestState\":\"{state}\",\"inputRequests\":\
                 {{\"a\":{{\"method\":\"sampling/createMessage\",\"params\":{{{SAMPLING}}}}}}}"
            ),
        )
    });
    let owed = measured.run(&alone, lines);
    assert_eq!(owed, 7, "inputs");
}

#[test]
fn states_that_a_call_takes_along_without_input() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let first = measured.call();
    let lines = (first..first + 15).map(|id| {
        let state = "\\n".repeat(MIB / 2 - 1000);
        let members = format!("\"resultType\":\"input_required\",\"requestState\":\"{state}\"");
        answered(&id.to_string(), &members)
    });
    measured.run(&alone, lines);
}

#[test]
fn tasks_with_long_texts() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let ids: Vec<u64> = (0..250).map(|_| measured.call()).collect();
    let message = "m".repeat(MIB / 2);
    let lines = ids.into_iter().map(|id| {
        let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"pollIntervalMs\":1000";
        let task = format!("\"taskId\":\"t\",\"statusMessage\":\"{message}\",{times}");
        answered(&id.to_string(), &format!("\"resultType\":\"task\",\"status\":\"working\",{task}"))
    });
    measured.run(&alone, lines);
}

#[test]
fn tasks_with_long_ids() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let ids: Vec<u64> = (0..250).map(|_| measured.call()).collect();
    let lines = ids.into_iter().map(|id| {
        let task_id = format!("{id}{}", "t".repeat(MIB / 2));
        let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"pollIntervalMs\":1000";
        let task = format!("\"taskId\":\"{task_id}\",\"status\":\"working\",{times}");
        answered(&id.to_string(), &format!("\"resultType\":\"task\",{task}"))
    });
    measured.run(&alone, lines);
}

#[test]
fn subscriptions_of_which_a_server_honours_more_than_it_was_asked_for() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    for _ in 0..200 {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = true;
        let subscribed =
            measured.client.with(Instant::ZERO, |client| client.subscribe(Instant::ZERO, filter));
        subscribed.unwrap();
        measured.drain();
    }
    let lines = (2..202).map(|id| {
        let uris = format!(
            "\"toolsListChanged\":true,\"resourceSubscriptions\":[\"{}\"]",
            "u".repeat(MIB / 2)
        );
        let meta = format!("\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}");
        told(
            "notifications/subscriptions/acknowledged",
            &format!("{meta},\"notifications\":{{{uris}}}"),
        )
    });
    measured.run(&alone, lines);
}

#[test]
fn long_refusals_while_the_era_is_in_doubt() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Unconfirmed);
    for _ in 0..200 {
        let listed = measured.client.with(Instant::ZERO, |client| {
            let options = CallOptions::default();
            client.call(Instant::ZERO, "resources/read", Json::EMPTY_OBJECT, options)
        });
        listed.unwrap();
        measured.drain();
    }
    let message = "m".repeat(MIB / 2);
    let lines = (1..201).map(|id| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"{message}\"}}}}\n")
    });
    measured.run(&alone, lines);
}

#[test]
fn states_of_calls_whose_last_input_is_given_first() {
    let alone = alone();
    let mut limits = limits();
    limits.max_in_flight_bytes = 4 * MIB;
    let mut measured = Measured::new(limits, Server::Modern);
    let ids: Vec<u64> = (0..100).map(|_| measured.call()).collect();
    let one = format!("{{\"method\":\"sampling/createMessage\",\"params\":{{{SAMPLING}}}}}");
    for id in ids {
        let state = "s".repeat(MIB / 2);
        let line = answered(
            &id.to_string(),
            &format!(
                "\"resultType\":\"input_required\",\"requestState\":\"{state}\",\"inputRequests\":\
                 {{\"a\":{one},\"b\":{one}}}"
            ),
        );
        let before = measured.owed.len();
        measured.feed_line(line);
        if measured.owed.len() > before {
            let reply = measured.owed.pop().unwrap();
            let answer = Ok(Json::EMPTY_OBJECT);
            measured
                .client
                .with(Instant::ZERO, |client| client.answer(Instant::ZERO, reply, answer));
            measured.drain();
        }
    }
    let owed = measured.run(&alone, std::iter::empty());
    assert_eq!(owed, 7, "the first inputs");
}

#[test]
fn a_long_refusal_that_many_calls_wait_for() {
    let _alone = alone();
    let mut measured = Measured::new(limits(), Server::None);
    for _ in 0..200 {
        measured.call_id();
        measured.drain();
    }
    let error = format!("\"code\":-32603,\"message\":\"{}\"", "m".repeat(MIB / 4));
    let refused = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{{error}}}}}\n");
    measured.feed_line(refused("\"discover-1\""));
    // The id of `initialize`.
    measured.feed_line(refused(&measured.last_id.to_string()));
    assert!(!measured.client.wants_read(), "the client has given up");
    measured.end(0);
}

#[test]
fn long_keys_of_the_input_of_tasks() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let times =
        "\"taskId\":\"t\",\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"pollIntervalMs\":60000";
    let task = format!("{times},\"status\":\"input_required\"");
    let one = format!("{{\"method\":\"sampling/createMessage\",\"params\":{{{SAMPLING}}}}}");
    let key = "k".repeat(MIB / 2);
    for _ in 0..200 {
        let id = measured.call();
        measured.feed_line(answered(&id.to_string(), &format!("\"resultType\":\"task\",{task}")));
        let requests = format!("\"inputRequests\":{{\"{key}\":{one}}}");
        let id = measured.last_id;
        measured.feed_line(answered(
            &id.to_string(),
            &format!("\"resultType\":\"complete\",{task},{requests}"),
        ));
        let Some(reply) = measured.owed.pop() else { continue };
        let answer = Ok(Json::EMPTY_OBJECT);
        measured.client.with(Instant::ZERO, |client| client.answer(Instant::ZERO, reply, answer));
        measured.drain();
        measured.feed_line(answered(&measured.last_id.to_string(), "\"resultType\":\"complete\""));
    }
    measured.run(&alone, std::iter::empty());
}

#[test]
fn calls_beyond_a_mebibyte_of_output_follow_it() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let (now, before) = (Instant::ZERO, measured.last_id);
    let params = Json::parse(format!("{{\"a\":\"{}\"}}", "p".repeat(600_000))).unwrap();
    measured.client.with(now, |client| {
        for _ in 0..5 {
            client.call(now, "tools/call", params.clone(), CallOptions::default()).unwrap();
        }
    });
    measured.drain();
    // Nothing was blocked, so no driver reports that there is room again.
    while measured.last_id < before + 5 {
        let due = measured.client.poll_timeout().unwrap();
        assert!(due <= now + Duration::from_millis(50), "what is held is due soon");
        measured.client.handle_timeout(due);
        measured.drain();
    }
    drop(params);
    measured.run(&alone, std::iter::empty());
}

#[test]
fn calls_that_are_cancelled_in_masses() {
    let alone = alone();
    let mut measured = Measured::new(limits(), Server::Modern);
    let before = measured.before;
    for _ in 0..100_000 {
        let (call, now) = (measured.call_id(), Instant::ZERO);
        measured.client.with(now, |client| client.cancel(now, call)).unwrap();
        measured.drain();
    }
    let left = ALLOCATOR.current_usage().saturating_sub(before);
    assert!(left < limits().max_in_flight * 1024, "{left} bytes for calls that are over");
    measured.run(&alone, std::iter::empty());
}
#[test]
fn sum_of_all_bounds_is_within_what_the_limits_say() {
    const LISTS: usize = 4;
    let _alone = alone();
    let mut limits = limits();
    limits.max_in_flight = 1024;
    limits.max_in_flight_bytes = 4 * MIB;
    limits.max_unsent_bytes = 4 * MIB;
    // Each limit once: for a list its items and the page that may exceed the limit, for a message
    // its text and the buffer that it was read from.
    let sum = LISTS * (limits.max_list_bytes + limits.max_line_bytes)
        + 2 * limits.max_line_bytes
        + limits.max_in_flight_bytes
        + limits.max_unsent_bytes
        + limits.max_in_flight * (limits.max_id_bytes + 1024);
    let mut measured = Measured::new(limits, Server::Modern);
    fill_lists(&mut measured, LISTS);
    follow_tasks(&mut measured, 50);
    let owed = await_input(&mut measured, 20);
    subscribe_to_much(&mut measured, 10);
    // The server does not read any more, and sends the start of a line that never ends.
    let now = Instant::ZERO;
    measured.client.with(now, Client::handle_blocked);
    let params = Json::parse(format!("{{\"a\":\"{}\"}}", "p".repeat(MIB / 4))).unwrap();
    let one_more = |client: &mut Client| {
        client.call(now, "tools/call", params.clone(), CallOptions::default())
    };
    let held = (0..100).take_while(|_| measured.client.with(now, one_more).is_ok()).count();
    assert_eq!((owed, held), (7, 15), "inputs, and calls that are held");
    measured.feed_line("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"".to_owned());
    for _ in 0..15 {
        measured.feed(vec![b'x'; CHUNK]);
    }
    measured.bound = sum;
    measured.end(0);
}

#[test]
fn a_server_that_reads_nothing_and_never_stops_talking() {
    const SUBSCRIPTIONS: usize = 8;
    let _alone = alone();
    let client = mcp_service::Client::new(Config::new(Implementation::new("app", "1")));
    let mut driven = ClientService::new(&client).unwrap();
    let (now, waker) = (Instant::ZERO, Waker::noop());
    driven.handle_opened(now);
    driven.turn(now, waker);
    driven.handle_bytes(now, Bytes::from(DISCOVERED));
    driven.turn(now, waker);
    let mut context = Context::from_waker(waker);
    // Nobody takes the changes of these, and each has its own share of them.
    let mut subscriptions: Vec<_> = (0..SUBSCRIPTIONS)
        .map(|_| {
            let mut filter = SubscriptionFilter::default();
            filter.resource_subscriptions = vec!["t:a".into()];
            Box::pin(client.subscribe(filter))
        })
        .collect();
    for it in &mut subscriptions {
        assert!(it.as_mut().poll(&mut context).is_pending());
    }
    let mut calls: Vec<_> =
        (0..100).map(|_| Box::pin(client.call_tool("echo", &json!({})))).collect();
    for call in &mut calls {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    driven.turn(now, waker);
    let mut sent = String::new();
    while !driven.output().is_empty() {
        sent += &String::from_utf8_lossy(driven.output());
        driven.handle_written(driven.output().len());
        driven.turn(now, waker);
    }
    ALLOCATOR.reset_peak_usage();
    let start = ALLOCATOR.current_usage();
    let mut feed = |line: String| {
        for chunk in line.into_bytes().chunks(CHUNK) {
            if driven.wants_read() {
                driven.handle_bytes(now, Bytes::copy_from_slice(chunk));
                driven.turn(now, waker);
            }
        }
    };
    let ids = |method: &str| -> Vec<u64> {
        let of_method = sent.lines().filter(|line| line.contains(method));
        of_method.filter_map(|line| id_of(line.as_bytes())).collect()
    };
    let listens = ids("\"subscriptions/listen\"");
    assert_eq!(listens.len(), SUBSCRIPTIONS);
    for id in &listens {
        let meta = format!("\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}");
        let honoured = format!("{meta},\"notifications\":{{\"resourceSubscriptions\":[\"t:a\"]}}");
        feed(told("notifications/subscriptions/acknowledged", &honoured));
        for n in 0..40 {
            let uri = format!("t:a/{n}{}", "u".repeat(50_000));
            feed(told("notifications/resources/updated", &format!("{meta},\"uri\":\"{uri}\"")));
        }
    }
    let calls_on_the_wire = ids("\"tools/call\"");
    for id in calls_on_the_wire.into_iter().cycle().take(1000) {
        let state = "s".repeat(100_000);
        let members = format!("\"resultType\":\"input_required\",\"requestState\":\"{state}\"");
        feed(answered(&id.to_string(), &members));
    }
    let peak = ALLOCATOR.peak_usage() - start;
    println!("a server that only talks: peak {:.1} MiB", mib(peak));
    // The changes that wait, the output that is not written, and what is held meanwhile.
    assert!(peak < (SUBSCRIPTIONS + 4 + 16) * MIB, "{:.1} MiB", mib(peak));
}

/// Lists of which all pages but the last have come.
fn fill_lists(measured: &mut Measured, count: usize) {
    for _ in 0..count {
        let options = CallOptions::default();
        let list =
            |client: &mut Client| client.list(Instant::ZERO, Listing::Tools, options.clone());
        measured.client.with(Instant::ZERO, list).unwrap();
        measured.drain();
        for _ in 0..3 {
            let items = "{\"name\":\"tool\"},".repeat(20_000) + "{}";
            let (long, id) = ("c".repeat(MIB / 4), measured.last_id);
            let page = format!("\"tools\":[{items}],\"nextCursor\":\"{long}\"");
            measured.feed_line(answered(
                &id.to_string(),
                &format!("{page},\"_meta\":{{\"{long}\":1}}"),
            ));
        }
    }
}

/// Tasks that go on.
fn follow_tasks(measured: &mut Measured, count: usize) {
    for n in 0..count {
        let (id, long) = (measured.call(), "m".repeat(MIB / 2));
        let times = "\"createdAt\":\"\",\"lastUpdatedAt\":\"\",\"pollIntervalMs\":1000";
        let task_id = format!("{n}{}", "t".repeat(1000));
        let task = format!("\"taskId\":\"{task_id}\",\"statusMessage\":\"{long}\",{times}");
        measured.feed_line(answered(
            &id.to_string(),
            &format!("\"resultType\":\"task\",\"status\":\"working\",{task}"),
        ));
    }
}

/// Calls whose input nobody gives; returns how many there are.
fn await_input(measured: &mut Measured, count: usize) -> usize {
    let one = format!("{{\"method\":\"sampling/createMessage\",\"params\":{{{SAMPLING}}}}}");
    for _ in 0..count {
        let (id, state) = (measured.call(), "s".repeat(MIB / 2));
        measured.feed_line(answered(
            &id.to_string(),
            &format!(
                "\"resultType\":\"input_required\",\"requestState\":\"{state}\",\
                 \"inputRequests\":{{\"a\":{one}}}"
            ),
        ));
    }
    measured.owed.len()
}

/// Subscriptions of which the server honours more than it was asked for.
fn subscribe_to_much(measured: &mut Measured, count: usize) {
    for n in 0..count {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = true;
        filter.resource_subscriptions = vec![format!("t:{n}")];
        let subscribe = |client: &mut Client| client.subscribe(Instant::ZERO, filter);
        measured.client.with(Instant::ZERO, subscribe).unwrap();
        measured.drain();
        let (id, long) = (measured.last_id, "u".repeat(MIB / 2));
        let meta = format!("\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id}}}");
        let uris = format!("\"resourceSubscriptions\":[\"t:{n}\",\"{long}\"]");
        let honoured = format!("\"toolsListChanged\":true,{uris}");
        measured.feed_line(told(
            "notifications/subscriptions/acknowledged",
            &format!("{meta},\"notifications\":{{{honoured}}}"),
        ));
        let changed = format!("{meta},\"uri\":\"t:{n}/{long}\"");
        measured.feed_line(told("notifications/resources/updated", &changed));
    }
}

type Alone = MutexGuard<'static, ()>;

fn alone() -> Alone {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const DISCOVERED: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"discover-1\",\"result\":{\
    \"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\
    \"ttlMs\":0,\"cacheScope\":\"private\"}}\n";

const SAMPLING: &str = "\"messages\":[],\"maxTokens\":1";

/// Server that the client has found before the measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    /// Nothing: the server does not answer.
    None,
    Modern,
    /// A modern one by a stored verdict, which it has not confirmed.
    Unconfirmed,
    Legacy,
    /// A legacy one that speaks 2025-03-26.
    Batches,
}

struct Measured {
    client: Connection<Client>,
    owed: Vec<InputReply>,
    /// The id of the last request of the client.
    last_id: u64,
    before: usize,
    bound: usize,
}

impl Measured {
    /// A client of this server, from whose creation on all is counted.
    fn new(limits: Limits, server: Server) -> Self {
        let bound = bound(&limits);
        let mut config = Config::new(Implementation::new("c", "1")).follow_tasks();
        config.limits = limits;
        let capabilities = "{\"sampling\":{},\"elicitation\":{\"form\":{}},\"roots\":{}}";
        let capabilities: ClientCapabilities = Json::parse(capabilities).unwrap().decode().unwrap();
        config.capabilities = capabilities;
        let offers = "\"capabilities\":{\"tools\":{},\"resources\":{\"subscribe\":true}}";
        let initialized = |version: &str| {
            let server = "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}";
            answered("1", &format!("\"protocolVersion\":\"{version}\",{offers},{server}"))
        };
        let (negotiation, answer) = match server {
            Server::None => (Negotiation::Auto, None),
            Server::Modern => {
                let versions = "\"supportedVersions\":[\"2026-07-28\"]";
                let members = format!("\"resultType\":\"complete\",{versions},{offers}");
                (Negotiation::Auto, Some(answered("\"discover-1\"", &members)))
            }
            Server::Unconfirmed => {
                config.verdict = Some(Verdict::new(ProtocolVersion::V2026_07_28));
                (Negotiation::Auto, None)
            }
            Server::Legacy => (Negotiation::Legacy, Some(initialized("2025-11-25"))),
            Server::Batches => {
                let version = ProtocolVersion::V2025_03_26;
                (Negotiation::Pinned(version), Some(initialized("2025-03-26")))
            }
        };
        config.negotiation = negotiation;
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let mut client = Connection::client(config);
        client.handle_opened(Instant::ZERO);
        let mut measured = Self { client, owed: Vec::new(), last_id: 0, before, bound };
        measured.drain();
        if let Some(answer) = answer {
            measured.feed(answer.into_bytes());
        }
        assert_eq!(measured.client.machine().server().is_some(), server != Server::None);
        measured
    }

    /// Makes a call that wants progress; returns its id on the wire.
    fn call(&mut self) -> u64 {
        self.call_id();
        let Some(Action::Transmit(bytes)) = self.client.poll_action() else { return 0 };
        let request: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        self.drain();
        request.get("id").and_then(serde_json::Value::as_u64).unwrap()
    }

    fn call_id(&mut self) -> mcp_proto::client::CallId {
        let options = CallOptions::default().progress();
        self.client
            .with(Instant::ZERO, |client| {
                client.call(Instant::ZERO, "tools/call", Json::EMPTY_OBJECT, options)
            })
            .unwrap()
    }

    /// Feeds what the server says, and looks at the peak; returns how much input is owed.
    fn run(mut self, _alone: &Alone, text: impl Iterator<Item = String>) -> usize {
        // What the test itself allocates: a piece of text, and the bytes that are not fed yet.
        let (mut unread, mut outside) = (Vec::new(), 0);
        self.drain();
        for piece in text {
            unread.extend_from_slice(piece.as_bytes());
            outside = outside.max(2 * (unread.capacity() + piece.capacity()));
            while unread.len() >= CHUNK {
                let rest = unread.split_off(CHUNK);
                self.feed(std::mem::replace(&mut unread, rest));
            }
        }
        self.feed(unread);
        self.end(outside)
    }

    /// The server ends; looks at the peak. `outside` is what the test holds by itself.
    fn end(mut self, outside: usize) -> usize {
        let owed = self.owed.len();
        self.client.handle_eof(Instant::ZERO);
        self.drain();
        let Self { before, bound, .. } = self;
        let peak = ALLOCATOR.peak_usage() - before;
        println!("peak {:.1} MiB of {:.1}, {owed} owed", mib(peak), mib(bound));
        assert!(peak <= bound + outside, "peak {:.1} MiB of {:.1}", mib(peak), mib(bound));
        drop(self);
        let left = ALLOCATOR.current_usage().saturating_sub(before);
        assert!(left < MIB, "{left} bytes are never freed");
        owed
    }

    fn feed_line(&mut self, line: String) {
        for chunk in line.into_bytes().chunks(CHUNK) {
            self.feed(chunk.to_vec());
        }
    }

    fn feed(&mut self, chunk: Vec<u8>) {
        assert!(self.client.wants_read(), "all actions are taken");
        self.client.handle_bytes(Instant::ZERO, Bytes::from(chunk));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Event(ClientEvent::Input(input)) => self.owed.push(input.reply),
                Action::Transmit(bytes) => self.last_id = id_of(&bytes).unwrap_or(self.last_id),
                Action::Event(_) | Action::Close => {}
            }
        }
    }
}

/// The id of a request with a number, without reading its parameters.
fn id_of(message: &[u8]) -> Option<u64> {
    let (_, rest) = std::str::from_utf8(message).ok()?.split_once("\"id\":")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn told(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}}}}}\n")
}

fn asked(id: &str, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}\n")
}

fn answered(id: &str, members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{members}}}}}\n")
}

fn form(message: &str) -> String {
    let schema = "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}";
    format!("\"message\":\"{message}\",{schema}")
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / MIB as f64
}
