//! The examples of `mcp-proto`, which need no runtime, do what they say.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use mcp_proto::Limits;
use mcp_proto::client::{self, Negotiation};
use mcp_proto::types::Implementation;
use mcp_tests::examples;
use mcp_tests::http::{self, Response};
use mcp_tokio::{HttpClientConfig, connect_http};
use serde_json::json;

/// Nothing takes as long as this.
const TOO_LONG: Duration = Duration::from_secs(20);

const ECHO: &str = "echo: Echoes its message";

#[test]
fn sync_serves_clients_of_both_eras() {
    let modern = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let legacy = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;
    let content = r#""content":[{"type":"text","text":"hello"}]}}"#;

    let mut server = Example::start("sync", &["stdio"]);
    server.send(modern);
    let answer = server.line();
    assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete""#));
    assert!(answer.ends_with(content), "{answer}");
    assert_eq!(server.end(), [""; 0]);

    let mut server = Example::start("sync", &["stdio"]);
    server.send(legacy);
    let start = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18""#;
    assert!(server.line().starts_with(start));
    // What is in flight at the end is answered.
    server.send(call);
    assert_eq!(server.end(), [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{content}"#)]);
}

#[test]
fn client_lists_the_tools_of_sync() {
    let server = examples::path("mcp-proto", "sync").unwrap();
    let client = Example::start("client", &[&server.to_string_lossy(), "stdio"]);
    assert_eq!(client.end(), ["a server of 2026-07-28", ECHO]);
}

#[test]
fn host_answers_each_request_at_once() {
    let lines = Example::start("host", &[]).end();
    let shown: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
    let by = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1.0.0"}"#;
    let subscription = r#""io.modelcontextprotocol/subscriptionId":2"#;
    let called = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete",{by}}},"content":[{{"type":"text","text":"hello"}}]}}}}"#
    );
    let acknowledged = format!(
        r#"data: {{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{{subscription}}},"notifications":{{}}}}}}"#
    );
    let ended = format!(
        r#"data: {{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete",{by},{subscription}}}}}}}"#
    );
    let opened = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1.0.0"}}}"#;
    let expected = [
        "200",
        "Content-Type: application/json",
        &called,
        "200",
        "Content-Type: text/event-stream",
        "Cache-Control: no-store",
        "X-Accel-Buffering: no",
        "event: message",
        &acknowledged,
        "event: message",
        &ended,
        "200",
        "Content-Type: application/json",
        opened,
        "405",
        "Allow: POST",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn threads_tells_listeners_on_some_sockets_of_changes_on_others() {
    let (server, address) = threads();
    let connect = || http::Client::connect(address.parse().unwrap()).unwrap();
    let updated = r#""method":"notifications/resources/updated","params":{"#;

    let mut session = connect();
    session.initialize().unwrap();
    session.request("resources/subscribe", None, &json!({"uri": "notes://all"})).unwrap();
    session.response().unwrap().expect(200).unwrap();
    let mut legacy = session.again().unwrap();
    legacy.send("GET", &[], "").unwrap();
    legacy.response().unwrap().expect(200).unwrap();

    let mut modern = connect();
    let filter = json!({"notifications": {"resourceSubscriptions": ["notes://all"]}});
    modern.request("subscriptions/listen", None, &filter).unwrap();
    modern.response().unwrap().expect(200).unwrap();
    let acknowledged = modern.event().unwrap().unwrap();
    assert!(acknowledged.contains("notifications/subscriptions/acknowledged"), "{acknowledged}");

    // One note of a client of each era; each is heard of in both, and before anybody looks by
    // himself.
    let (mut other, start) = (connect(), Instant::now());
    for (client, text) in [(&mut other, "one"), (&mut session, "two")] {
        client.call("note", &json!({"text": text})).unwrap();
        assert_eq!(answered(client).text().unwrap(), "noted");
        for listener in [&mut legacy, &mut modern] {
            let event = next(listener).expect("a change");
            assert!(event.contains(updated) && event.contains("notes://all"), "{event}");
        }
    }
    assert!(start.elapsed() < Limits::default().keep_alive, "{:?}", start.elapsed());
    other.request("resources/read", Some("notes://all"), &json!({"uri": "notes://all"})).unwrap();
    let read = answered(&mut other);
    assert!(read.body.contains(r#""text":"one\ntwo""#), "{read:?}");

    // The end of the server ends what listens: a subscription with its result.
    assert_eq!(server.end(), [""; 0]);
    assert!(next(&mut modern).expect("a result").contains(r#""result":{"#));
    assert_eq!((next(&mut modern), next(&mut legacy)), (None, None));
    assert!(other.is_closed().unwrap());
}

#[test]
fn threads_does_not_mind_clients_that_are_gone() {
    let (server, address) = threads();
    let connect = || http::Client::connect(address.parse().unwrap()).unwrap();
    connect().raw("POST /mcp HTTP/1.1\r\nContent-Le").unwrap();
    let mut listener = connect();
    let filter = json!({"notifications": {"resourceSubscriptions": ["notes://all"]}});
    listener.request("subscriptions/listen", None, &filter).unwrap();
    listener.response().unwrap().expect(200).unwrap();
    drop(listener);
    let mut other = connect();
    other.call("note", &json!({"text": "one"})).unwrap();
    assert_eq!(answered(&mut other).text().unwrap(), "noted");
    assert_eq!(server.end(), [""; 0]);
}

#[test]
fn threads_serves_our_clients_of_both_eras() {
    let (server, address) = threads();
    let url = format!("http://{address}/mcp");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (negotiation, version) in
        [(Negotiation::Auto, "2026-07-28"), (Negotiation::Legacy, "2025-11-25")]
    {
        let mut config = client::Config::new(Implementation::new("test", "1"));
        config.negotiation = negotiation;
        let client = mcp_tokio::Client::new(config);
        runtime.block_on(async {
            let place = HttpClientConfig::parse(&url).unwrap();
            let found = connect_http(&client, place).await.unwrap();
            assert_eq!(found.version.to_string(), version);
            let answer = client.call_tool("note", &json!({"text": version})).await.unwrap();
            assert_eq!(answer.content[0].as_text(), Some("noted"));
            client.close().await;
        });
    }
    assert_eq!(server.end(), [""; 0]);
}

/// The example, and where it listens.
fn threads() -> (Example, String) {
    let mut server = Example::start("threads", &[]);
    let url = server.line();
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    (server, address.expect(&url).to_owned())
}

fn answered(client: &mut http::Client) -> Response {
    client.response().unwrap()
}

/// The next event with something in it.
fn next(client: &mut http::Client) -> Option<String> {
    loop {
        match client.event().unwrap() {
            Some(data) if data.is_empty() => {}
            event => return event,
        }
    }
}

/// An example that runs. Dropped, it is killed.
struct Example {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Example {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(examples::path("mcp-proto", name).unwrap());
        let piped = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().try_for_each(|line| sender.send(line.unwrap()))
        });
        Self { child, stdin, lines }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn line(&mut self) -> String {
        self.lines.recv_timeout(TOO_LONG).expect("a line")
    }

    /// Ends its input, and lets it end; returns the lines that were left.
    fn end(mut self) -> Vec<String> {
        drop(self.stdin.take());
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(TOO_LONG) {
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {lines:?}"),
            }
        }
        assert!(self.child.wait().unwrap().success());
        lines
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
