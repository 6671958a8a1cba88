//! All bounds of a server at the same time: the sum is within twice `Limits::max_endpoint_bytes`.

use mcp_proto::server::{Change, Outcome};
use mcp_proto::{Duration, Json, Limits};

use super::site::{INITIALIZED, Site, initialize, modern, of_session, post, session_id};
use super::{KIB, MIB, Meter};

/// A sixteenth of the defaults.
const MAX: usize = 16 * MIB;
const CONNECTIONS: usize = 1024;
const SESSIONS: usize = 625;

/// The listeners, and the resources of each.
const LISTENERS: usize = 600;
const RESOURCES: usize = 13;

fn uri(listener: usize, number: usize) -> String {
    format!("t:{}-{}", listener * 100 + number, "u".repeat(110))
}

fn request(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}

/// A client that reads nothing from now on.
fn silence(site: &mut Site, number: usize) {
    site.connections.get_mut(&number).expect("a client").reads = false;
}

#[test]
fn sum_of_all_bounds_is_within_twice_the_limit() {
    let mut meter = Meter::start();
    let long = post("", &format!("{{\"x\":\"{}\"}}", "x".repeat(4 * MIB - 200)));
    meter.restart();
    let mut limits = Limits::default();
    limits.max_endpoint_bytes = MAX;
    limits.max_connections = CONNECTIONS;
    limits.max_sessions = SESSIONS;
    let mut site = Site::new(limits);
    let sessions = open_sessions(&mut site);
    listen(&mut site);
    let shared = call(&mut site, &sessions);
    // Bodies that never end, and small calls that nobody answers.
    for _ in site.connections.len()..900 {
        let number = site.connect();
        site.write(number, &long[..200 * KIB]);
    }
    for _ in site.connections.len()..CONNECTIONS {
        let number = site.connect();
        let padding = "x".repeat(3 * KIB);
        let params = format!("\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}}");
        site.write(number, &modern(1, "tools/call", &params));
    }
    assert!(site.owed.len() > shared + 50, "small calls have room");
    for _ in 0..shared {
        let text = format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(500 * KIB));
        site.answer(0, Outcome::Complete(Json::parse(text).expect("JSON")));
    }
    meter.assert_peak("all bounds", 2 * MAX);
    let numbers: Vec<_> = site.connections.keys().copied().collect();
    for number in numbers {
        site.reset(number);
    }
    site.owed.clear();
    site.pass(Duration::from_secs(2 * 60 * 60));
    meter.assert_used("after all of it", MIB);
}

/// Opens sessions whose clients have long names, and as many subscriptions as they may have.
fn open_sessions(site: &mut Site) -> Vec<String> {
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let number = site.connect();
        let name = format!("{n}{}", "n".repeat(15 * KIB));
        let opened = site.ask(number, &post("", &initialize("2025-11-25", &name)));
        if opened.starts_with("HTTP/1.1 200 ") {
            let session = session_id(&opened);
            site.ask(number, &of_session(&session, INITIALIZED));
            for id in 0..5 {
                let params = format!("\"uri\":\"t:{n}-{id}-{}\"", "u".repeat(KIB));
                let subscribe = request(id, "resources/subscribe", &params);
                site.ask(number, &of_session(&session, &subscribe));
            }
            sessions.push(session);
        }
        site.reset(number);
    }
    sessions
}

/// Opens subscriptions of modern clients that do not read, and changes their resources.
fn listen(site: &mut Site) {
    for n in 0..LISTENERS {
        let uris: Vec<String> = (0..RESOURCES).map(|at| format!("\"{}\"", uri(n, at))).collect();
        let wanted =
            format!("\"notifications\":{{\"resourceSubscriptions\":[{}]}}", uris.join(","));
        let number = site.connect();
        site.ask(number, &modern(1, "subscriptions/listen", &wanted));
        silence(site, number);
    }
    assert_eq!(site.endpoint.listeners(), LISTENERS);
    for n in 0..LISTENERS {
        for at in 0..RESOURCES {
            site.publish(&Change::ResourceUpdated(uri(n, at)));
        }
    }
}

/// Calls a tool in each session and reads nothing of its progress; returns the number of calls.
fn call(site: &mut Site, sessions: &[String]) -> usize {
    let padding = "x".repeat(20 * KIB);
    let params = format!(
        "\"name\":\"hold\",\"arguments\":{{\"x\":\"{padding}\"}},\"_meta\":{{\"progressToken\":1}}"
    );
    let call = request(1, "tools/call", &params);
    for session in sessions {
        let (number, before) = (site.connect(), site.owed.len());
        site.write(number, &of_session(session, &call));
        if site.owed.len() > before {
            silence(site, number);
        } else {
            site.reset(number);
        }
    }
    let shared = site.owed.len();
    let message = "m".repeat(KIB);
    for at in 0..shared {
        (0..300).for_each(|step| site.progress(at, step, &message));
    }
    shared
}
