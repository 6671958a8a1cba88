//! Code of the application that panics, beside handlers: callbacks, spawners, and drops of
//! handlers. Requests are answered, and everything else goes on.

use std::future::pending;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_proto::Instant;
use mcp_proto::http::{Authorization, Config as HttpConfig};
use mcp_proto::server::Config;
use mcp_service::Catalog;
use serde_json::{Value, json};

use crate::bench::{Bench, INITIALIZE, answer, failure, panic_quietly, registry};
use crate::http::site::{Site, call as http_call};

/// A response to no request.
const FAULT: &str = r#"{"jsonrpc":"2.0","id":77,"result":{}}"#;

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_quietly();
    }
}

#[test]
fn panic_of_a_callback_for_faults_is_ignored() {
    let faults = Arc::new(AtomicUsize::new(0));
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let counted = faults.clone();
    bench.service.on_fault(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic_quietly();
    });
    for _ in 0..2 {
        bench.line(FAULT);
        bench.call(1);
        assert_eq!(bench.out(), [answer(1, "done")]);
    }
    assert_eq!(faults.load(Ordering::Relaxed), 2);
}

#[test]
fn panic_of_a_function_that_shows_lines_is_ignored() {
    let lines = Arc::new(AtomicUsize::new(0));
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let counted = lines.clone();
    bench.service.show_wire(Instant::ZERO, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic_quietly();
    });
    bench.call(1);
    assert_eq!(bench.out(), [answer(1, "done")]);
    assert_eq!(lines.load(Ordering::Relaxed), 2);
    bench.assert_alive();
}

#[test]
fn handler_whose_task_cannot_be_spawned_is_answered() {
    let mut bench = Bench::new(|_: Value, _| pending::<&str>());
    bench.service.spawn_with(|_| panic_quietly());
    bench.call(1);
    bench.turn();
    assert_eq!(bench.out(), [failure(1, "the handler ended without an answer")]);
    bench.assert_alive();
}

#[test]
fn handler_of_a_session_whose_task_cannot_be_spawned_is_answered() {
    let spawns = Arc::new(AtomicBool::new(false));
    let is_possible = spawns.clone();
    let catalog = registry(|_: Value, _| pending::<&str>());
    let mut site = Site::spawning(catalog, HttpConfig::default(), move |future, hands| {
        if !is_possible.load(Ordering::Relaxed) {
            panic_quietly();
        }
        hands.take(future);
    });
    let mut socket = site.session();
    let mut answered = socket.ask(&http_call(1));
    site.run_background();
    socket.turn();
    answered += &socket.out();
    assert!(answered.ends_with(&failure(1, "the handler ended without an answer")), "{answered}");
    spawns.store(true, Ordering::Relaxed);
    assert_eq!(socket.ask(&http_call(2)), "");
    assert_eq!(site.hands.count(), 1);
}

/// The connection ends: nobody knows who its client is.
#[test]
fn connection_whose_client_cannot_be_authorized_for_a_panic_leaves_its_place() {
    let mut config = HttpConfig::default();
    config.server.limits.max_connections = 1;
    config.authorize = Some(Arc::new(|head| {
        if head.field("X-Panics").is_some() {
            panic_quietly();
        }
        Authorization::Allow(None)
    }));
    let site = Site::with(registry(|_: Value, _| async { "done" }), config);
    let peer = IpAddr::from([192, 0, 2, 1]);
    for _ in 0..3 {
        assert!(site.server.has_room(site.now(), peer));
        let mut socket = site.connect_from(peer);
        assert!(!site.server.has_room(site.now(), peer));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            socket.send("POST", &[("X-Panics", "1")], INITIALIZE);
        }));
        assert!(ended.is_err());
        drop(socket);
    }
    let mut socket = site.connect_from(peer);
    socket.call_modern(1);
    assert!(socket.out().contains("done"));
}

/// A catalog whose tool has a value whose drop panics.
fn explosive() -> Catalog {
    let bomb = Bomb;
    let registry = registry(move |_: Value, _| {
        let _bomb = &bomb;
        async { "done" }
    });
    Catalog::from(registry)
}

fn remove(catalog: &Catalog) {
    let removed = catalog.update(|registry| {
        drop(registry.remove_tool("t"));
        Ok(())
    });
    removed.unwrap();
}

#[test]
fn removed_handler_whose_drop_panics_ends_no_connection() {
    let catalog = explosive();
    let mut bench = Bench::serving(catalog.clone(), Config::default());
    bench.line(INITIALIZE);
    bench.call(1);
    assert_eq!(bench.out().last(), Some(&answer(1, "done")));
    remove(&catalog);
    bench.turn();
    bench.assert_alive();
}

#[test]
fn removed_handler_whose_drop_panics_ends_no_server() {
    let catalog = explosive();
    let mut site = Site::new(catalog.clone());
    let mut socket = site.session();
    assert!(socket.ask(&http_call(1)).ends_with(&answer(1, "done")));
    remove(&catalog);
    site.run_background();
    socket.turn();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    assert!(socket.ask(&ping).ends_with(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#));
}
