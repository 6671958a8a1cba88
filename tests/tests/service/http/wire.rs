//! `Service::show_wire` over HTTP: whole lines of numbered connections, without secrets.

use std::time::Duration;

use mcp_proto::service::{Context, Driven};
use serde_json::Value;

use super::site::{Site, Socket};
use crate::bench::{INITIALIZE, Log, registry};

const BODY: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","password":"x"}}"#;

#[test]
fn connections_are_numbered_and_time_is_told_once() {
    let (mut site, log) = (slow(), Log::default());
    let (mut one, mut two) = (shown(&site, &log), shown(&site, &log));
    one.send("POST", &[("Authorization", "Bearer x"), ("Cookie", "x")], INITIALIZE);
    let lines = log.take();
    assert_eq!(lines[0], "1> POST /mcp HTTP/1.1");
    for expected in [
        "1> Authorization: ***",
        "1> Cookie: ***",
        "1> Host: localhost",
        &format!("1> {INITIALIZE}"),
        "1< HTTP/1.1 200 OK",
        "1< Mcp-Session-Id: ***",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
    }
    assert!(lines.last().unwrap().starts_with(r#"1< {"jsonrpc":"2.0","id":0,"result":"#));

    two.call_modern(1);
    site.pass(Duration::from_millis(1500));
    two.turn();
    let lines = log.take();
    let at = |text: &str| lines.iter().position(|line| line.starts_with(text));
    assert_eq!(at("2> POST"), Some(0));
    assert!(at("2> {").unwrap() < at("@ 1.5s").unwrap(), "{lines:#?}");
    assert!(at("@ 1.5s").unwrap() < at("2< HTTP").unwrap(), "{lines:#?}");
    one.send("POST", &[], INITIALIZE);
    assert!(!log.take().iter().any(|line| line.starts_with('@')), "it was told");
}

#[test]
fn bytes_in_pieces_are_shown_as_whole_lines() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    for byte in text.as_bytes() {
        socket.service.handle_bytes(site.now(), vec![*byte].into());
        socket.turn();
    }
    let masked = BODY.replace(r#":"x""#, r#":"***""#);
    let lines = log.take();
    assert_eq!(
        lines[..3],
        [
            "1> POST /mcp HTTP/1.1",
            "1> Host: localhost",
            &format!("1> Content-Length: {}", BODY.len())
        ]
    );
    assert!(lines.contains(&format!("1> {masked}")), "{lines:#?}");
}

#[test]
fn what_is_cut_off_is_shown_at_the_end() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    socket.service.handle_bytes(site.now(), "POST /mcp HT".into());
    socket.turn();
    assert_eq!(log.take(), [""; 0]);
    socket.service.handle_eof(site.now());
    assert_eq!(log.take(), ["1> POST /mcp HT", "! eof 1"]);
}

fn slow() -> Site {
    Site::new(registry(|_: Value, context: Context| async move {
        context.sleep(Duration::from_millis(1500)).await;
        "slept"
    }))
}

fn shown(site: &Site, log: &Log) -> Socket {
    let (mut socket, notes) = (site.connect(), log.clone());
    socket.service.show_wire(site.now(), move |line| notes.note(line));
    socket
}
