//! Modern requests run where they are driven, and end with who asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::http::{Config, Head};
use mcp_proto::server::{List, Progress};
use mcp_proto::types::LoggingLevel;
use mcp_service::{Catalog, Context, Drive, Tasks};
use mcp_tests::pause::yield_now;
use serde_json::{Value, json};

use super::site::{Site, call, fields, modern};
use crate::bench::{Gate, Log, panic_quietly, registry};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[test]
fn an_answer_that_is_ready_comes_whole() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
    let (status, text, ended) = asked.out();
    assert_eq!((status, ended, site.hands.count()), (Some(200), true, 0));
    assert!(text.contains(r#""text":"done""#), "{text}");
    assert_eq!(asked.out(), (None, String::new(), true));
}

#[test]
fn a_head_that_is_refused_needs_no_body() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let mut head = Head::new("POST", "/mcp");
    head.push("host", b"evil.example");
    assert!(site.server.admit(head.clone()).is_err());
    let (status, _, ended) = site.answer_to(head, Bytes::new()).out();
    assert_eq!((status, ended), (Some(403), true));
}

#[test]
fn handlers_report_and_are_woken_where_they_are_driven() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut offered = registry(move |_: Value, context: Context| {
        let gate = theirs.clone();
        async move {
            context.progress(Progress::new(1.0));
            gate.passed().await;
            context.log(LoggingLevel::Error, "so far");
            context.sleep(Duration::from_secs(1)).await;
            "passed"
        }
    });
    offered.logging();
    let mut site = Site::new(offered);
    let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
    let (status, text, ended) = asked.out();
    assert_eq!((status, ended), (Some(200), false));
    assert!(text.contains(r#""progress":1"#), "{text}");
    asked.wakes.take();
    gate.open();
    assert_eq!((asked.wakes.take(), site.hands.count()), (1, 0));
    let (_, text, ended) = asked.out();
    assert!(text.contains("so far") && !ended, "{text}");
    let due = asked.answering.poll_timeout().unwrap();
    assert_eq!(due.duration_since(site.now()), Duration::from_secs(1));
    site.pass(Duration::from_secs(1));
    let (_, text, ended) = asked.out();
    assert!(text.contains("passed") && ended, "{text}");
}

#[test]
fn a_handler_that_always_goes_on_leaves_others_their_turn() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    let site = Site::new(registry(move |_: Value, _| {
        let polls = counted.clone();
        async move {
            while polls.fetch_add(1, Ordering::SeqCst) < 10_000 {
                yield_now().await;
            }
            "done"
        }
    }));
    let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
    assert_eq!(asked.out(), (None, String::new(), false));
    assert!(polls.load(Ordering::SeqCst) < 100);
    assert_eq!(asked.wakes.take(), 1);
}

#[test]
fn an_answer_is_taken_in_the_turn_that_makes_it() {
    for yields in 0..40 {
        let mut site = Site::new(registry(move |_: Value, context: Context| async move {
            context.sleep(Duration::from_secs(1)).await;
            for _ in 0..yields {
                yield_now().await;
            }
            "done"
        }));
        let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
        assert_eq!(asked.out(), (None, String::new(), false));
        site.pass(Duration::from_secs(1));
        let mut out = asked.out();
        while !out.2 && asked.wakes.take() > 0 {
            out = asked.out();
        }
        assert!(out.1.contains("done") && out.2, "{yields} yields: {out:?}");
    }
}

#[test]
fn a_modern_handler_ends_with_its_connection() {
    for asked_by_another_stack in [false, true] {
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
        if asked_by_another_stack {
            let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
            assert_eq!(asked.out(), (None, String::new(), false));
            drop(asked);
        } else {
            let mut socket = site.connect();
            socket.call_modern(1);
            socket.service.handle_eof(site.now());
            socket.turn();
            assert!(socket.service.is_closed());
        }
        assert_eq!(log.take(), ["cancelled", "dropped"], "{asked_by_another_stack}");
    }
}

#[test]
fn a_panic_is_answered_and_the_connection_goes_on() {
    let site = Site::new(registry(|_: Value, _| async {
        panic_quietly();
        "never told"
    }));
    let mut socket = site.connect();
    for id in 1..3 {
        socket.call_modern(id);
        assert!(socket.out().contains("the handler panicked"));
    }
}

#[test]
fn a_subscription_hears_of_changes_and_of_the_end() {
    let mut offered = registry(|_: Value, _| async { "done" });
    offered.list_changed(List::Tools);
    let catalog = Catalog::from(offered);
    let mut site = Site::new(catalog.clone());
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut asked = site.answer("subscriptions/listen", None, filter);
    let (status, text, ended) = asked.out();
    assert_eq!((status, ended), (Some(200), false));
    assert!(text.contains("notifications/subscriptions/acknowledged"), "{text}");
    let updated = catalog.update(|registry| {
        registry.remove_tool("t");
        Ok(())
    });
    updated.unwrap();
    site.run_background();
    assert!(asked.wakes.take() > 0);
    let (_, text, _) = asked.out();
    assert!(text.contains("notifications/tools/list_changed"), "{text}");

    site.server.shutdown(site.now());
    assert!(asked.wakes.take() > 0);
    let (_, text, ended) = asked.out();
    assert!(text.contains(r#""id":1,"result":{"#) && ended, "{text}");
}

#[test]
fn a_subscription_to_tasks_that_are_none_does_not_count_after_its_end() {
    let mut offered = registry(|_: Value, _| async { "done" });
    offered.tasks("t", Tasks::Always).unwrap();
    let mut config = Config::default();
    config.server.limits.max_subscriptions_per_holder = 2;
    let site = Site::with(offered, config);
    let mut socket = site.connect_from("192.0.2.1".parse().unwrap());
    for id in 1..10 {
        let filter = json!({"notifications": {"taskIds": ["nobody"]}});
        let mut request = modern(id, "subscriptions/listen", filter);
        let capabilities = &mut request["params"]["_meta"][CAPABILITIES];
        *capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        socket.send("POST", &fields("subscriptions/listen", None)[3..], &request.to_string());
        let out = socket.out();
        assert!(out.starts_with("HTTP/1.1 200 "), "{id}: {out}");
        assert!(out.contains(&format!(r#""id":{id},"result":{{"#)), "{out}");
    }
}

#[test]
fn a_handler_is_answered_while_another_server_holds_the_replay_of_the_budget() {
    let config = Config::default();
    let mut smaller = config.clone();
    smaller.server.limits.max_endpoint_bytes = 64 * 1024;
    let offered = |gate: &Gate, text: &str| {
        let (gate, text) = (gate.clone(), text.to_owned());
        registry(move |_: Value, _| {
            let (gate, text) = (gate.clone(), text.clone());
            async move {
                gate.passed().await;
                text
            }
        })
    };
    let gate = Gate::default();
    let mut holder = Site::with(offered(&gate, &"x".repeat(128 * 1024)), config);
    let mut socket = holder.session();
    socket.post(&call(1));
    drop(socket);
    gate.open();
    holder.run();

    let gate = Gate::default();
    let site = Site::with(offered(&gate, "passed"), smaller);
    let mut asked = site.answer("tools/call", Some("t"), json!({"name": "t"}));
    assert_eq!(asked.out(), (None, String::new(), false));
    assert_eq!(asked.wakes.take(), 0);
    gate.open();
    let (status, text, ended) = asked.out();
    assert_eq!((status, ended), (Some(200), true));
    assert!(text.contains("passed"), "{text}");
    let mut socket = site.connect();
    socket.call_modern(1);
    assert!(socket.out().contains("passed"));
}

#[test]
fn the_end_gives_a_handler_its_time_and_no_more() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let mut site = Site::new(registry(move |_: Value, _| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            "passed"
        }
    }));
    let call = || json!({"name": "t"});
    let mut slow = site.answer("tools/call", Some("t"), call());
    slow.out();
    slow.answering.shutdown(site.now());
    assert_eq!(slow.out(), (None, String::new(), false));
    site.pass(Duration::from_secs(2));
    let (status, _, ended) = slow.out();
    assert_eq!((status, ended), (Some(200), true));
    let mut quick = site.answer("tools/call", Some("t"), call());
    quick.out();
    quick.answering.shutdown(site.now());
    gate.open();
    let (status, text, ended) = quick.out();
    assert_eq!((status, ended), (Some(200), true));
    assert!(text.contains("passed"), "{text}");
}

#[test]
fn what_another_connection_does_not_concern_wakes_nobody() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let (mut one, other) = (site.connect(), site.connect());
    one.call_modern(1);
    let out = one.out();
    assert!(out.contains(r#""text":"done""#), "{out}");
    assert_eq!((other.wakes(), site.tender_wakes()), (0, 0));
}
