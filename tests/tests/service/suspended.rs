//! Processes that were suspended past a deadline: input that has arrived meanwhile counts.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::client::{CallError, Config, Negotiation};
use mcp_proto::http;
use mcp_proto::types::Implementation;
use mcp_service::{Client, ClientService, Drive, HttpServer, drive};
use serde_json::{Value, json};

use crate::bench::{answer, registry};
use crate::drive::{End, Stream};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

#[test]
fn long_answer_that_has_come_counts_although_its_call_has_had_its_time() {
    let (mut suspended, client) = Suspended::client();
    let mut called = pin!(client.call_tool("t", &json!({})).timeout(Duration::from_secs(60)));
    assert!(poll(called.as_mut()).is_pending());
    let id = suspended.call_id();
    suspended.pass(Duration::from_secs(61));
    suspended.read(&answer(id, &"x".repeat(100_000)), 1000);
    suspended.settle();
    assert!(matches!(poll(called), Poll::Ready(Ok(_))));
}

#[test]
fn server_that_sends_without_end_postpones_no_timeout() {
    let (mut suspended, client) = Suspended::client();
    let mut called = pin!(client.call_tool("t", &json!({})).timeout(Duration::from_secs(60)));
    assert!(poll(called.as_mut()).is_pending());
    suspended.call_id();
    suspended.pass(Duration::from_secs(61));
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    for _ in 0..1000 {
        suspended.read(log, usize::MAX);
    }
    let result = loop {
        suspended.poll();
        if let Poll::Ready(result) = poll(called.as_mut()) {
            break result;
        }
    };
    assert_eq!(result.err(), Some(CallError::TimedOut));
    assert!(!suspended.stream().input.is_empty());
}

#[test]
fn body_that_has_come_counts_although_it_has_had_its_time() {
    let registry = registry(async |arguments: Value, _| arguments["text"].to_string());
    let server = HttpServer::new(registry, http::Config::default(), || [7; 16], |_| ());
    let mut suspended = Suspended::new(server.connect(Instant::ZERO));
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "t",
            "arguments": {"text": "x".repeat(100_000)},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let body = body.to_string();
    let head = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: t",
        &format!("Content-Length: {}", body.len()),
    ];
    let request = format!("{}\r\n\r\n{body}", head.join("\r\n"));
    let (first, rest) = request.split_at(1000);
    suspended.push(first, usize::MAX);
    suspended.settle();
    suspended.pass(Duration::from_secs(31));
    suspended.push(rest, 1000);
    suspended.settle();
    let output = suspended.take_output();
    assert!(output.starts_with("HTTP/1.1 200 OK\r\n"), "{output}");
}

/// A service that is driven by hand, on a stream with chunks of input.
struct Suspended {
    future: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    stream: Arc<Mutex<Stream>>,
}

impl Suspended {
    fn new(mut service: impl Drive + 'static) -> Self {
        let stream = Arc::new(Mutex::new(Stream::open()));
        let mut end = End(stream.clone());
        let future = Box::pin(async move { drive(&mut service, &mut end).await });
        Self { future, stream }
    }

    /// A client that is connected to a legacy server.
    fn client() -> (Self, Client) {
        let mut config = Config::new(Implementation::new("bench", "1"));
        config.negotiation = Negotiation::Legacy;
        let client = Client::new(config);
        let mut service = ClientService::new(&client).unwrap();
        service.handle_opened(Instant::ZERO);
        let mut suspended = Self::new(service);
        suspended.settle();
        suspended.read(INITIALIZED, usize::MAX);
        suspended.settle();
        assert!(client.server().is_some());
        suspended.take_output();
        (suspended, client)
    }

    /// The id of the only call that was sent.
    fn call_id(&mut self) -> u32 {
        self.settle();
        let sent: Value = serde_json::from_str(&self.take_output()).unwrap();
        assert_eq!(sent["method"], "tools/call");
        sent["id"].as_u64().unwrap().try_into().unwrap()
    }

    /// A line arrives in chunks of this size.
    fn read(&self, line: &str, size: usize) {
        self.push(&format!("{line}\n"), size);
    }

    fn push(&self, text: &str, size: usize) {
        let chunks = text.as_bytes().chunks(size).map(Bytes::copy_from_slice);
        self.stream().input.extend(chunks);
    }

    fn pass(&self, time: Duration) {
        let mut stream = self.stream();
        stream.now = stream.now + time;
    }

    fn poll(&mut self) {
        assert!(poll(self.future.as_mut()).is_pending());
    }

    /// Polls until all input is read.
    fn settle(&mut self) {
        self.poll();
        while !self.stream().input.is_empty() {
            self.poll();
        }
    }

    fn take_output(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.stream().output)).unwrap()
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap()
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
