//! `Service::show_wire` over HTTP: whole lines of numbered connections, without secrets.

use std::time::Duration;

use mcp_service::{Context, Drive};
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
fn body_with_line_ends_is_shown_on_one_line() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    let body = format!("{}\r\n", BODY.replace(',', ",\r\n\t"));
    socket.send("POST", &[], &body);
    let expected = BODY.replace(r#":"x""#, r#":"***""#).replace(',', ",  \t");
    let lines = log.take();
    assert!(lines.contains(&format!("1> {expected}")), "{lines:#?}");
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

#[test]
fn queries_are_masked() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    let head = "Host: localhost\r\nReferer: http://localhost/?code=hunter2&b\r\n\r\n";
    socket
        .service
        .handle_bytes(site.now(), format!("GET /mcp?token=hunter2&b HTTP/1.1\r\n{head}").into());
    socket.turn();
    let lines = log.take();
    assert_eq!(lines[0], "1> GET /mcp?*** HTTP/1.1");
    assert_eq!(lines[2], "1> Referer: http://localhost/?***");
    socket.service.handle_bytes(site.now(), "GET /mcp?token=hunter2".into());
    socket.service.handle_eof(site.now());
    assert_eq!(log.take(), ["1> GET /mcp?***", "! eof 1"]);
}

#[test]
fn a_secret_in_two_chunks_is_masked() {
    let site = Site::new(registry(|_: Value, _| async { "done" }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = [r#"{"password":"hun"#, "ter2", r#""}"#];
    let chunks = chunks.map(|chunk| format!("{:x};a=b\r\n{chunk}\r\n", chunk.len()));
    let mut text = [head, &chunks.concat()].concat();
    text += "0\r\nX-Token: hunter2\r\n\r\n";
    for byte in text.as_bytes() {
        socket.service.handle_bytes(site.now(), vec![*byte].into());
        socket.turn();
    }
    let lines = log.take();
    assert_eq!(lines[3..5], [r#"1> {"password":"***"}"#, "1> X-Token: ***"], "{lines:#?}");
    assert!(lines[5].starts_with("1< HTTP/1.1 "), "{lines:#?}");
    // The next one begins behind it.
    socket.service.handle_bytes(site.now(), head.into());
    assert_eq!(log.take()[0], "1> POST /mcp HTTP/1.1");
}

#[test]
fn no_second_half_of_a_secret_is_shown() {
    let mut site = Site::new(registry(|_: Value, _| async { "done" }));
    let (first, second) = (r#"{"a":"b","password":"hunt"#, r#"er2"}"#);
    let length = first.len() + second.len();
    for (framing, rest) in [
        (format!("Content-Length: {length}\r\n\r\n{first}"), second),
        (format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{first}"), second),
        (format!("X: {first}"), second),
        ("Authoriz".into(), "ation: Bearer er2"),
    ] {
        let log = Log::default();
        let mut socket = shown(&site, &log);
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}"
        );
        socket.service.handle_bytes(site.now(), text.into());
        socket.turn();
        site.pass(Duration::from_secs(30));
        socket.turn();
        let timed_out = log.take();
        assert!(timed_out.iter().any(|line| line.contains("408")), "{timed_out:#?}");
        socket.service.handle_bytes(site.now(), format!("{rest}\r\n").into());
        socket.service.handle_eof(site.now());
        let all = [timed_out, log.take()].concat();
        assert!(!all.iter().any(|line| line.contains("er2")), "{all:#?}");
    }
}

#[test]
fn events_are_shown_line_by_line() {
    let site = Site::new(registry(|_: Value, context: Context| async move {
        context.progress(mcp_proto::server::Progress::new(1.0));
        context.sleep(Duration::from_secs(1)).await;
        "done"
    }));
    let log = Log::default();
    let mut socket = shown(&site, &log);
    let mut message: Value = serde_json::from_str(BODY).unwrap();
    message["params"]["_meta"] = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "hunter2",
    });
    let fields = [("Mcp-Method", "tools/call"), ("Mcp-Name", "t")];
    let version = ("MCP-Protocol-Version", "2026-07-28");
    socket.send("POST", &[&fields[..], &[version]].concat(), &message.to_string());
    let lines = log.take();
    let head = lines.iter().position(|line| line == "1< Transfer-Encoding: chunked").unwrap();
    assert_eq!(lines[head + 1], "1< event: message");
    assert!(lines[head + 2].starts_with("1< data: {"), "{lines:#?}");
    assert_eq!(lines.len(), head + 3, "{lines:#?}");
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
