//! Connections that share a server: who is woken for a change, and which one ends for another.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::http::Config;
use mcp_proto::server::{Change, List, ServerEvent};
use mcp_proto::types::Tool;
use mcp_service::{Catalog, Drive};
use serde_json::{Value, json};

use super::site::{Site, Socket, modern};
use crate::bench::{Gate, registry};

const FLOODER: u8 = 9;

fn address(who: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, who).into()
}

/// A site with room for so many connections.
fn site(max_connections: usize) -> Site {
    let mut config = Config::default();
    config.server.limits.max_connections = max_connections;
    Site::with(registry(|_: Value, _| async { "done" }), config)
}

/// A connection that waits for a request.
fn idle(site: &Site, who: u8) -> Socket {
    let mut socket = site.connect_from(address(who));
    socket.turn();
    socket
}

#[test]
fn longest_drain_leaves_no_end_of_patience() {
    let mut config = Config::default();
    config.server.limits.drain = Duration::MAX;
    let site = Site::with(registry(|_: Value, _| async { "done" }), config);
    assert_eq!(site.server.shutdown_timeout(), Duration::MAX);
}

/// A site that closes connections with nothing in flight at once.
fn without_idle_time(text: String) -> Site {
    let mut config = Config::default();
    config.server.limits.connection_idle_timeout = Duration::ZERO;
    let handler = move |_: Value, _| {
        let text = text.clone();
        async move { text }
    };
    Site::with(registry(handler), config)
}

#[test]
fn connection_without_idle_time_waits_for_its_first_request() {
    let mut site = without_idle_time("done".into());
    let [mut socket, mut silent] = [idle(&site, 1), idle(&site, 2)];
    site.pass(Duration::from_secs(9));
    socket.turn();
    assert!(!socket.service.is_closed(), "before Limits::head_timeout");
    socket.call_modern(1);
    assert!(socket.out().contains("done"));
    socket.turn();
    assert!(socket.service.is_closed(), "after its answer");
    site.pass(Duration::from_secs(1));
    silent.turn();
    assert!(silent.service.is_closed(), "after Limits::head_timeout");
}

#[test]
fn long_answer_without_idle_time_is_read_within_the_drain() {
    const LONG: usize = 3 << 20;
    let mut site = without_idle_time("x".repeat(LONG));
    let mut socket = idle(&site, 1);
    socket.call_modern(1);
    site.pass(Duration::from_secs(1));
    socket.turn();
    assert!(socket.out().len() > LONG);
    let mut socket = idle(&site, 1);
    socket.call_modern(1);
    site.pass(Duration::from_secs(2));
    socket.turn();
    assert!(socket.out().len() < LONG, "after Limits::drain");
}

#[test]
fn second_hour_21_a_change_wakes_no_idle_connection() {
    let mut registry = registry(|_: Value, _| async { "done" });
    registry.list_changed(List::Tools).subscribe();
    let catalog = Catalog::from(registry);
    let mut site = Site::new(catalog.clone());
    let mut sockets: Vec<Socket> = (0..5).map(|_| idle(&site, 1)).collect();
    let mut session = site.session();
    session.listen();
    session.wakes();
    site.tender_wakes();
    catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
    let added = catalog.update(|registry| {
        let schema = Json::parse(r#"{"type":"object"}"#.to_owned()).unwrap();
        let more = |_: Value, _| async { "more" };
        registry.tool_with(Tool::new("more", schema), more).map(|_| ())
    });
    added.unwrap();
    assert_eq!(sockets.iter().map(Socket::wakes).sum::<usize>(), 0);
    assert!(site.tender_wakes() > 0);
    site.run_background();
    assert!(session.woken().contains("notifications/tools/list_changed"));
    // What is offered is known when it matters.
    sockets[0].call_modern(1);
    assert!(sockets[0].out().contains("done"));
    sockets[1].send(
        "POST",
        &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")],
        &modern(1, "tools/list", json!({})).to_string(),
    );
    let out = sockets[1].out();
    assert!(out.contains("\"more\""), "{out}");
}

#[test]
fn second_hour_21_more_changes_than_are_kept_are_told_as_all() {
    let mut registry = registry(|_: Value, _| async { "done" });
    registry.list_changed(List::Tools).subscribe();
    let catalog = Catalog::from(registry);
    let mut site = Site::new(catalog.clone());
    let mut session = site.session();
    session.listen();
    session.wakes();
    for n in 0..1000 {
        catalog.publish(&Change::ResourceUpdated(format!("x:{n}"))).unwrap();
    }
    site.run_background();
    // A legacy client is told of all lists that may change.
    assert!(session.woken().contains("notifications/tools/list_changed"));
}

#[test]
fn second_hour_20_the_connection_idle_for_longest_ends() {
    let mut site = site(4);
    let mut honest = idle(&site, 1);
    let mut first = idle(&site, FLOODER);
    site.pass(Duration::from_secs(1));
    let (mut second, mut third) = (idle(&site, FLOODER), idle(&site, FLOODER));
    // It is used, so that it is not the one that was idle for longest.
    site.pass(Duration::from_secs(1));
    first.call_modern(1);
    first.out();
    assert!(!site.server.has_room(site.now(), address(2)));
    assert_eq!([&honest, &first, &third].map(Socket::wakes), [0; 3]);
    assert_eq!(second.woken(), "");
    assert!(second.service.is_closed());
    drop(second);
    assert!(site.server.has_room(site.now(), address(2)));
    for socket in [&mut honest, &mut first, &mut third] {
        socket.call_modern(2);
        assert!(socket.out().contains("done"));
    }
}

#[test]
fn second_hour_20_a_connection_that_answers_does_not_end() {
    let gate = Gate::default();
    let theirs = gate.clone();
    let tool = move |_: Value, _| {
        let gate = theirs.clone();
        async move {
            gate.passed().await;
            "passed"
        }
    };
    let mut config = Config::default();
    config.server.limits.max_connections = 3;
    let site = Site::with(registry(tool), config);
    let honest = idle(&site, 1);
    let mut busy = [idle(&site, FLOODER), idle(&site, FLOODER)];
    for socket in &mut busy {
        socket.call_modern(1);
    }
    // That of another client keeps within its share.
    assert!(!site.server.has_room(site.now(), address(2)));
    assert_eq!(honest.wakes(), 0);
    // One that gets a request before it knows that it is to end answers it.
    gate.open();
    let [_, last] = &mut busy;
    assert!(last.woken().contains("passed"));
    assert!(!site.server.has_room(site.now(), address(2)));
    last.call_modern(2);
    assert!(last.out().contains("passed"));
}

#[test]
fn second_hour_20_a_failure_to_accept_is_reported_and_makes_room() {
    let site = site(100);
    let told = Arc::new(Mutex::new(Vec::new()));
    let theirs = told.clone();
    site.server.on_event(move |event| theirs.lock().unwrap().extend(event.alarm()));
    let mut sockets = [idle(&site, FLOODER), idle(&site, FLOODER), idle(&site, 1)];
    // EMFILE
    let error = io::Error::from_raw_os_error(24);
    for _ in 0..3 {
        assert!(site.server.handle_accept_error(site.now(), &error).is_some());
    }
    sockets.iter_mut().for_each(Socket::turn);
    assert_eq!(sockets.map(|socket| socket.service.is_closed()), [true, true, false]);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("connections cannot be accepted"), "{told:?}");
    assert!(told[0].contains(" (1 since the last report): "), "{told:?}");
    let event = ServerEvent::LimitReached { limit: "max_sessions", count: 3 };
    let alarm = "Limits::max_sessions was reached (3 since the last report)";
    assert_eq!(event.alarm().as_deref(), Some(alarm));
    let reset = io::ErrorKind::ConnectionReset.into();
    assert_eq!(site.server.handle_accept_error(site.now(), &reset), None);
}

/// A flooder that opens and uses connections as it likes, and others with no more than their share.
#[test]
fn second_hour_20_no_connection_within_a_fair_share_ends() {
    const SHARE: usize = 3;
    for seed in 1..20_u64 {
        let mut site = site(4 * SHARE);
        let reported = Arc::new(Mutex::new(0));
        let theirs = reported.clone();
        site.server.on_event(move |event| {
            if let ServerEvent::LimitReached { .. } = event {
                *theirs.lock().unwrap() += 1;
            }
        });
        let mut random = seed;
        let mut sockets: Vec<(u8, Socket)> = Vec::new();
        for _ in 0..300 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let who = if random & 1 == 0 { FLOODER } else { u8::try_from(random % 3).unwrap() };
            let count = sockets.iter().filter(|(of, _)| *of == who).count();
            match (random >> 16) % 4 {
                0 | 1 if who == FLOODER || count < SHARE => {
                    for _ in 0..2 {
                        if site.server.has_room(site.now(), address(who)) {
                            sockets.push((who, idle(&site, who)));
                            break;
                        }
                        for (_, socket) in &mut sockets {
                            socket.turn();
                        }
                        sockets.retain(|(of, socket)| {
                            assert!(*of == FLOODER || !socket.service.is_closed(), "seed {seed}");
                            !socket.service.is_closed()
                        });
                    }
                    let got = sockets.iter().filter(|(of, _)| *of == who).count();
                    assert!(who == FLOODER || got == count + 1, "seed {seed}: it had to wait");
                }
                2 => {
                    if let Some((_, socket)) = sockets.iter_mut().find(|(of, _)| *of == who) {
                        socket.call_modern(1);
                        socket.out();
                    }
                }
                _ => site.pass(Duration::from_millis(random >> 32 & 127)),
            }
        }
        assert!(*reported.lock().unwrap() > 0, "seed {seed}: the limit was not reached");
    }
}
