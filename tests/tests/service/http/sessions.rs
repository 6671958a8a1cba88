//! Handlers of sessions outlive connections, and report wherever there is one.

use std::sync::{Arc, Mutex};
use std::task::{self, Waker};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::http::{Config, Head};
use mcp_proto::server::{Change, List, Outcome, Progress, ServerEvent};
use mcp_proto::types::{
    BooleanSchema, ElicitRequestFormParams, Implementation, LoggingLevel, RequestedSchema, Tool,
};
use mcp_service::{Catalog, Context, Drive, Handler, HttpServer, Interrupt, Registry};
use serde_json::{Value, json};

use super::site::{Site, Socket, call, request};
use crate::bench::{Gate, Log, Wakes, answer, failure, panic_quietly, registry};

#[test]
fn what_is_ready_is_answered_at_once() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let mut socket = site.session();
    let out = socket.ask(&call(1));
    assert!(out.contains("Content-Type: application/json\r\n"), "{out}");
    assert!(out.ends_with(&answer(1, "done")), "{out}");
    assert_eq!((site.hands.count(), site.server.sessions()), (0, 1));
}

#[test]
fn refused_initialize_of_a_forwarder_opens_no_session() {
    let mut registry = Registry::new(Implementation::new("forwarder", "1.0.0"));
    let answers = |_, _, _| async { Outcome::Complete(Json::EMPTY_OBJECT) };
    registry.forward(Handler::forward(answers, |_, _, _| ()));
    let site = Site::new(registry);
    let client = json!({"name": "c", "version": "1"});
    let mut params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    params["_meta"] = json!({"progressToken": {}});
    let answer = site.connect().ask(&request(0, "initialize", params));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("-32602"), "{answer}");
    assert!(!answer.contains("Mcp-Session-Id"), "{answer}");
    assert_eq!(site.server.sessions(), 0);
    site.session();
    assert_eq!(site.server.sessions(), 1);
}

#[test]
fn each_session_has_an_id_of_its_own_whatever_is_drawn() {
    let mut drawn = [1_u128, 1, 1, 2, 1, 2, 3].into_iter();
    let ids = move || drawn.next().unwrap().to_be_bytes();
    let mut site = Site::new(registry(|_: Value, _| async { "done" }));
    let catalog: Catalog = registry(|_: Value, _| async { "done" }).into();
    site.server = HttpServer::new(catalog, Config::default(), ids, |_| ());
    let sessions = [1, 2, 3].map(|_| site.session());
    assert_eq!(site.server.sessions(), 3);
    let ids = sessions.each_ref().map(|socket| socket.session.clone().unwrap());
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}

#[test]
fn what_is_pending_is_spawned_and_wakes_its_connection() {
    let (mut site, gate) = gated();
    let mut socket = site.session();
    assert_eq!(socket.ask(&call(1)), "");
    assert_eq!(site.hands.count(), 1);
    socket.wakes();
    gate_passes(&mut site, &gate);
    assert!(socket.woken().ends_with(&answer(1, "passed")));
}

#[test]
fn a_handler_outlives_its_connection() {
    let (mut site, gate) = gated();
    let mut socket = site.session();
    let mut other = socket.again(&site);
    socket.post(&call(1));
    drop(socket);
    site.run();
    assert_eq!(site.hands.count(), 1);
    other.listen();
    gate_passes(&mut site, &gate);
    assert_eq!(site.hands.count(), 0);
}

#[test]
fn second_hour_14_one_session_does_not_use_up_the_queue_of_another() {
    let contexts = Arc::new(Mutex::new(Vec::new()));
    let theirs = contexts.clone();
    let mut registry = registry(move |_: Value, context: Context| {
        theirs.lock().unwrap().push(context);
        std::future::pending::<&str>()
    });
    registry.logging();
    let mut site = Site::new(registry);
    let lost = Arc::new(Mutex::new(0));
    let counts = lost.clone();
    site.server.on_event(move |event| {
        if let ServerEvent::MessagesLost { count } = event {
            *counts.lock().unwrap() += count;
        }
    });
    let (mut loud, mut quiet) = (site.session(), site.session());
    loud.post(&call(1));
    quiet.post(&call(1));
    let contexts = contexts.lock().unwrap().clone();
    for step in 0..2000 {
        contexts[0].log(LoggingLevel::Info, step);
    }
    contexts[1].log(LoggingLevel::Info, "quiet");
    site.run_background();
    assert!(quiet.woken().contains("\"quiet\""));
    let out = loud.woken();
    assert!(out.contains("976 notifications about this request were dropped"), "{out}");
    // 1,024 came to the endpoint, which keeps 256 for a client until it takes them.
    assert!(*lost.lock().unwrap() >= 976);
}

#[test]
fn background_task_is_woken_for_a_deadline_after_an_earlier_one_is_removed() {
    let contexts = Arc::new(Mutex::new(Vec::new()));
    let theirs = contexts.clone();
    let mut registry = registry(move |_: Value, context: Context| {
        theirs.lock().unwrap().push(context);
        std::future::pending::<&str>()
    });
    registry.logging();
    let mut site = Site::new(registry);
    let mut loud = site.session();
    loud.post(&call(1));
    // The next deadline of this session is far away.
    site.pass(Duration::from_secs(60));
    let earliest: Arc<Mutex<Option<Socket>>> = Arc::default();
    let ended = earliest.clone();
    site.server.on_event(move |event| {
        let earliest = ended.lock().unwrap().take();
        if let (ServerEvent::MessagesLost { .. }, Some(mut earliest)) = (event, earliest) {
            earliest.send("DELETE", &[], "");
        }
    });
    *earliest.lock().unwrap() = Some(site.session());
    assert!(site.tender_wakes() > 0);
    site.run_background();
    let context = contexts.lock().unwrap()[0].clone();
    for step in 0..2000 {
        context.log(LoggingLevel::Info, step);
    }
    site.run_background();
    assert_eq!(site.server.sessions(), 1);
    site.tender_wakes();
    let _socket = site.session();
    assert!(site.tender_wakes() > 0, "the deadline of the new session is missed");
}

#[test]
fn nothing_is_read_behind_the_end_of_input() {
    let (mut site, gate) = gated();
    let mut socket = site.session();
    let mut other = socket.again(&site);
    other.listen();
    socket.post(&call(1));
    for one in [&mut socket, &mut other] {
        assert!(one.service.wants_read());
        one.service.handle_eof(site.now());
        one.turn();
        // A stream that has ended is always ready: the driver would read nothing for ever.
        assert!(!one.service.wants_read() && !one.service.is_closed());
    }
    gate_passes(&mut site, &gate);
    assert!(socket.woken().ends_with(&answer(1, "passed")));
    assert!(socket.service.is_closed());
}

#[test]
fn a_request_whose_client_is_gone_at_once_keeps_no_session() {
    let (mut site, gate) = gated();
    let socket = site.session();
    let mut head = Head::new("POST", "/mcp");
    let session = socket.session.clone().unwrap();
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("mcp-session-id", session.as_str()),
    ] {
        head.push(name, value.as_bytes());
    }
    drop(site.answer_to(head, call(1).to_string().into()));
    assert_eq!(site.hands.count(), 1, "it is asked all the same");
    gate_passes(&mut site, &gate);
    site.pass(Duration::from_secs(30 * 60));
    assert_eq!(site.server.sessions(), 0, "Limits::session_idle_timeout");
}

#[test]
fn a_reader_that_was_replaced_takes_nothing_along() {
    let (mut site, gate) = gated();
    let mut socket = site.session();
    let (mut second, mut third) = (socket.again(&site), socket.again(&site));
    socket.post(&call(1));
    second.send("GET", &[("Last-Event-ID", "2-0")], "");
    gate_passes(&mut site, &gate);
    drop(second);
    socket.woken();
    third.send("GET", &[("Last-Event-ID", "2-0")], "");
    let out = third.out();
    assert!(out.contains(&answer(1, "passed")), "{out}");
}

#[test]
fn progress_and_logs_go_before_the_answer_on_its_stream() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut registry = registry(move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            context.progress(Progress::new(1.0));
            gate.passed().await;
            context.log(LoggingLevel::Error, "so far");
            context.progress(Progress::new(2.0));
            "passed"
        }
    });
    registry.logging();
    let mut site = Site::new(registry);
    let mut socket = site.session();
    socket.post(&call(1));
    site.run();
    let began = socket.woken();
    assert!(began.contains("text/event-stream"), "{began}");
    assert!(began.contains(r#""progress":1"#), "{began}");
    gate_passes(&mut site, &gate);
    let rest = socket.woken();
    let order = ["so far", r#""progress":2"#, r#""text":"passed""#].map(|text| rest.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{rest}");
}

#[test]
fn a_cancellation_comes_by_another_connection() {
    let (site, log) = noting();
    let mut socket = site.session();
    let mut other = socket.again(&site);
    socket.post(&call(1));
    site.hands.poll();
    other.ask(&cancel(1));
    site.hands.poll();
    assert_eq!((log.take(), site.hands.count()), (vec!["cancelled".to_owned()], 0));
}

#[test]
fn a_handler_that_the_end_cancels_runs_once_more_before_the_server_is_finished() {
    let (site, log) = noting();
    let mut socket = site.session();
    socket.post(&call(1));
    site.hands.poll();
    let wakes = Arc::<Wakes>::default();
    let task = Waker::from(wakes.clone());
    let mut task = task::Context::from_waker(&task);
    let mut finished = site.finish();
    assert!(finished.as_mut().poll(&mut task).is_pending(), "the handler has not ended");
    site.hands.poll();
    assert_eq!((log.take(), wakes.take()), (vec!["cancelled".to_owned()], 1));
    assert!(finished.as_mut().poll(&mut task).is_ready());
}

#[test]
fn a_handler_whose_task_is_never_polled_does_not_hold_up_the_end() {
    let mut site = Site::new(registry(|_: Value, context: Context| async move {
        context.cancelled().await;
        "never told"
    }));
    let mut socket = site.session();
    socket.post(&call(1));
    let mut task = task::Context::from_waker(Waker::noop());
    let mut finished = site.finish();
    assert!(finished.as_mut().poll(&mut task).is_pending());
    site.pass(Duration::from_millis(500));
    assert!(finished.as_mut().poll(&mut task).is_ready());
    site.hands.drop_all();
}

#[test]
fn a_cancellation_may_come_while_the_handler_is_polled_first() {
    let other: Arc<Mutex<Option<Socket>>> = Arc::default();
    let theirs = other.clone();
    let site = Site::new(registry(move |_: Value, context: Context| {
        let other = theirs.clone();
        async move {
            let other = other.lock().unwrap().take();
            // Another thread has this connection, and is faster.
            if let Some(mut other) = other {
                other.post(&cancel(1));
            }
            context.sleep(Duration::from_secs(60)).await;
            "never told"
        }
    }));
    let mut socket = site.session();
    *other.lock().unwrap() = Some(socket.again(&site));
    socket.post(&call(1));
    site.hands.poll();
    assert_eq!(site.hands.count(), 0, "it still runs");
}

#[test]
fn changes_reach_the_stream_of_a_session() {
    let mut offered = registry(|_: Value, _| async { "done" });
    offered.list_changed(List::Tools);
    let catalog = Catalog::from(offered);
    let mut site = Site::new(catalog.clone());
    let mut socket = site.session();
    let mut stream = socket.again(&site);
    stream.listen();
    stream.wakes();
    site.tender_wakes();
    let updated = catalog.update(|registry| {
        let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
        registry.tool_with(Tool::new("more", schema), |_: Value, _| async { "more" }).map(|_| ())
    });
    updated.unwrap();
    assert_eq!(site.tender_wakes(), 1);
    site.run_background();
    assert!(stream.woken().contains("notifications/tools/list_changed"));
    let listed = socket.ask(&request(1, "tools/list", json!({})));
    assert!(listed.contains(r#""name":"more""#), "{listed}");
}

#[test]
fn a_stream_that_was_replaced_takes_nothing_of_the_next_one() {
    let mut offered = registry(|_: Value, _| async { "done" });
    offered.list_changed(List::Tools);
    let catalog = Catalog::from(offered);
    let mut site = Site::new(catalog.clone());
    let socket = site.session();
    let (mut replaced, mut gone) = (socket.again(&site), socket.again(&site));
    replaced.listen();
    replaced.wakes();
    gone.listen();
    assert_eq!(replaced.wakes(), 1, "it is told, and does not look yet");
    drop(gone);
    // The session forgets a stream on which nothing was sent.
    site.pass(Duration::from_secs(2));
    let mut stream = socket.again(&site);
    stream.listen();
    stream.wakes();
    catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
    site.run_background();
    replaced.turn();
    let out = replaced.out();
    assert!(!out.contains("list_changed") && out.ends_with("0\r\n\r\n"), "{out}");
    assert!(stream.woken().contains("notifications/tools/list_changed"));
}

#[test]
fn a_handler_asks_and_the_answer_comes_by_another_post() {
    let site = Site::new(registry(|_: Value, context: Context| async move {
        let fields = RequestedSchema::new().required("sure", BooleanSchema::new());
        let answer = context.elicit("sure", ElicitRequestFormParams::new("Sure?", fields))?;
        Ok::<_, Interrupt>(format!("{:?}", answer.action))
    }));
    let mut socket = site.session();
    let mut other = socket.again(&site);
    let asked = socket.ask(&call(1));
    assert!(asked.contains(r#""method":"elicitation/create""#), "{asked}");
    let id = asked.split_once(r#""jsonrpc":"2.0","id":"#).unwrap().1.split_once(',').unwrap().0;
    let id: Value = serde_json::from_str(id).unwrap();
    socket.wakes();
    let result = json!({"action": "decline"});
    let accepted = other.ask(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    assert!(accepted.starts_with("HTTP/1.1 202 "), "{accepted}");
    assert!(socket.woken().contains("Decline"));
}

#[test]
fn panics_and_dropped_handlers_are_answered() {
    let mut site = Site::new(registry(|arguments: Value, context: Context| async move {
        if arguments["late"] == true {
            context.sleep(Duration::from_secs(1)).await;
        }
        panic_quietly();
        "never told"
    }));
    let mut socket = site.session();
    assert!(socket.ask(&call(1)).ends_with(&failure(1, "the handler panicked")));
    let late = json!({"name": "t", "arguments": {"late": true}});
    socket.post(&request(2, "tools/call", late.clone()));
    site.run();
    site.pass(Duration::from_secs(1));
    site.run();
    assert!(socket.woken().ends_with(&failure(2, "the handler panicked")));
    socket.post(&request(3, "tools/call", late));
    site.hands.drop_all();
    site.run_background();
    assert!(socket.woken().ends_with(&failure(3, "the handler ended without an answer")));
}

#[test]
fn a_stream_that_is_closed_ends_and_the_handler_goes_on() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut site = Site::new(registry(move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            context.close_stream();
            gate.passed().await;
            "passed"
        }
    }));
    let mut socket = site.session();
    socket.send("POST", &[("MCP-Protocol-Version", "2025-11-25")], &call(1).to_string());
    site.run();
    if socket.wakes() > 0 {
        socket.turn();
    }
    let out = socket.out();
    assert!(out.contains("retry: 1000") && out.ends_with("0\r\n\r\n"), "{out}");
    let id = out.split_once("id: ").unwrap().1.lines().next().unwrap().to_owned();
    gate_passes(&mut site, &gate);
    let mut back = socket.again(&site);
    back.send("GET", &[("Last-Event-ID", &id)], "");
    let out = back.out();
    assert!(out.contains(&answer(1, "passed")), "{out}");
}

#[test]
fn sessions_and_handlers_have_their_deadlines_without_connections() {
    let (mut site, _gate) = gated();
    let mut socket = site.session();
    socket.post(&call(1));
    drop(socket);
    site.run();
    site.pass(Duration::from_secs(60 * 60));
    site.run();
    assert_eq!(site.hands.count(), 0, "Limits::handler_timeout");
    site.pass(Duration::from_secs(60 * 60));
    assert_eq!(site.server.sessions(), 0, "Limits::session_idle_timeout");
}

#[test]
fn a_client_that_does_not_read_costs_no_more_than_a_limit() {
    for has_ended in [false, true] {
        let (mut site, mut socket) = flooded(has_ended);
        let kept = socket.service.output().len();
        let all = socket.out().len();
        assert!(all < 4 * 1024 * 1024, "{kept}, {all}");
        site.pass(Duration::from_secs(75));
        socket.turn();
        assert!(!socket.service.is_closed(), "it has read");
    }
}

#[test]
fn a_client_that_never_reads_is_gone_after_a_while() {
    for has_ended in [false, true] {
        let (mut site, mut socket) = flooded(has_ended);
        let due = socket.service.poll_timeout().unwrap();
        assert!(due <= site.now() + Duration::from_secs(75), "Limits::connection_idle_timeout");
        site.pass(Duration::from_secs(75));
        socket.turn();
        assert!(socket.service.is_closed() && socket.service.output().is_empty());
    }
}

#[test]
fn the_end_gives_handlers_their_time() {
    let (mut site, gate) = gated();
    let (mut socket, mut late) = (site.session(), site.session());
    let mut stream = socket.again(&site);
    stream.listen();
    socket.post(&call(1));
    late.post(&call(1));
    site.run();
    site.server.shutdown(site.now());
    for socket in [&mut stream, &mut socket, &mut late] {
        socket.service.handle_stop(site.now());
        socket.turn();
    }
    assert!(stream.out().ends_with("0\r\n\r\n"));
    assert!(stream.service.is_closed());
    gate_passes(&mut site, &gate);
    for socket in [&mut socket, &mut late] {
        assert!(socket.woken().ends_with(&answer(1, "passed")));
        assert!(socket.service.is_closed());
    }
}

#[test]
fn everything_may_be_dropped_while_handlers_run() {
    let log = Log::default();
    let notes = log.clone();
    let site = Site::new(registry(move |_: Value, context: Context| {
        let notes = notes.clone();
        async move {
            let _drop = notes.note_drop();
            context.cancelled().await;
            notes.note("cancelled");
            "never told"
        }
    }));
    let mut socket = site.session();
    socket.post(&call(1));
    let hands = site.hands.clone();
    hands.poll();
    drop(site);
    hands.poll();
    assert_eq!(hands.count(), 1, "a connection keeps the server");
    drop(socket);
    hands.poll();
    assert_eq!((log.take(), hands.count()), (vec!["cancelled".into(), "dropped".into()], 0));
}

#[test]
fn events_of_sessions_are_told() {
    let mut config = Config::default();
    config.server.limits.max_replay_events = 1;
    let site = Site::with(registry(|_: Value, _| async { "done" }), config);
    let log = Log::default();
    let (notes, server) = (log.clone(), site.server.clone());
    site.server.on_event(move |event| {
        if let ServerEvent::PeerFault(error) = event {
            notes.note(error.to_string());
            // It may do anything.
            server.shutdown(mcp_proto::Instant::ZERO);
        }
    });
    let mut socket = site.session();
    socket.ask(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    assert_eq!(log.take().len(), 1);
}

#[test]
fn a_panic_of_the_reader_of_events_ends_nothing() {
    let (mut site, gate) = gated();
    site.server.on_event(|_| panic_quietly());
    let mut socket = site.session();
    socket.ask(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    assert_eq!(socket.ask(&call(1)), "");
    gate_passes(&mut site, &gate);
    assert!(socket.woken().ends_with(&answer(1, "passed")));
}

#[test]
fn actions_that_waited_for_a_write_follow_it_though_memory_was_freed_before() {
    let mut offered = registry(|_: Value, context: Context| async move {
        for _ in 0..6 {
            context.log(LoggingLevel::Error, "x".repeat(8 * 1024));
        }
        "done"
    });
    offered.logging();
    let mut config = Config::default();
    config.server.limits.max_endpoint_bytes = 1024 * 1024;
    let mut memory = config.server.account();
    let site = Site::with(offered, config);
    let mut socket = site.session();
    memory.set(1024 * 1024 * 3 / 4 - 24 * 1024);
    socket.post(&call(1));
    assert!(socket.service.is_write_blocked());
    memory.set(0);
    assert!(socket.service.is_write_blocked(), "actions wait for a turn after the write");
    let out = socket.out();
    assert!(out.contains(r#""text":"done""#), "{out}");
    assert!(!socket.service.is_write_blocked());
}

/// A connection that was told much and has read nothing; its input may have ended.
fn flooded(has_ended: bool) -> (Site, Socket) {
    let mut offered = registry(|_: Value, context: Context| async move {
        loop {
            context.log(LoggingLevel::Error, "x".repeat(10_000));
            context.sleep(Duration::from_millis(1)).await;
        }
        #[expect(unreachable_code, reason = "it says what the handler would answer")]
        ""
    });
    offered.logging();
    let mut site = Site::new(offered);
    let mut socket = site.session();
    socket.post(&call(1));
    if has_ended {
        socket.service.handle_eof(site.now());
    }
    for _ in 0..1000 {
        site.pass(Duration::from_millis(1));
        site.run();
        socket.turn();
    }
    (site, socket)
}

fn gated() -> (Site, Gate) {
    let gate = Gate::default();
    let theirs = gate.clone();
    let site = Site::new(registry(move |_: Value, _| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            "passed"
        }
    }));
    (site, gate)
}

/// The handler is polled at the gate, passes, and its server knows.
fn gate_passes(site: &mut Site, gate: &Gate) {
    site.run();
    gate.open();
    site.run();
}

fn cancel(id: u32) -> Value {
    let method = "notifications/cancelled";
    json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": id}})
}

/// A server whose tool waits until it is cancelled, and notes that.
fn noting() -> (Site, Log) {
    let log = Log::default();
    let notes = log.clone();
    let site = Site::new(registry(move |_: Value, context: Context| {
        let notes = notes.clone();
        async move {
            context.cancelled().await;
            notes.note("cancelled");
            "never told"
        }
    }));
    (site, log)
}
