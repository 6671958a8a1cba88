//! SIGTERM to the examples behind axum: calls in flight are answered, then the process exits. The
//! stop of a listener, whose queue has a connection.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::ready;
use std::process::Stdio;
use std::time::Duration;

use mcp_tests::examples;
use mcp_tokio::{
    Client, ClientConfig, HttpClientConfig, HttpConfig, Implementation, Negotiation, Registry,
    connect_http, serve_http_until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::process::{Child, ChildStderr, Command};

#[tokio::test]
async fn sigterm_lets_calls_in_flight_complete() {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let server = Example::start("axum").await;
        let mut config = ClientConfig::new(Implementation::new("test", "1.0.0"));
        config.negotiation = negotiation;
        let client = Client::new(config);
        connect_http(&client, HttpClientConfig::parse(&server.url).unwrap()).await.unwrap();
        let pid = server.pid();
        let mut signal = Some(Signal::TERM);
        let call = client.call_tool("test_tool_with_progress", &json!({}));
        let call = call.on_progress(move |_| {
            if let Some(signal) = signal.take() {
                kill_process(pid, signal).unwrap();
            }
        });
        let result = call.await.unwrap();
        assert_eq!(result.content.first().and_then(|block| block.as_text()), Some("done"));
        server.ends().await;
    }
}

#[tokio::test]
async fn connection_that_waits_to_be_accepted_at_the_stop_is_served() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    client.write_all(b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let registry = Registry::new(Implementation::new("stopped", "1.0.0"));
    serve_http_until(listener, registry, HttpConfig::default(), ready(())).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn sigterm_and_sigint_end_the_examples_behind_axum() {
    for example in ["axum", "axum_auth"] {
        for signal in [Signal::TERM, Signal::INT] {
            let server = Example::start(example).await;
            kill_process(server.pid(), signal).unwrap();
            server.ends().await;
        }
    }
}

#[tokio::test]
async fn sigterm_ends_the_example_although_a_client_does_not_read_its_answer() {
    let server = Example::start("axum").await;
    let address = server.url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address.unwrap().parse().unwrap()).await.unwrap();
    // Two answers of this length are more than the buffers of the sockets hold.
    let request = echo(&"x".repeat(4_000_000));
    let writing = tokio::spawn(async move {
        stream.write_all(&request).await.unwrap();
        stream.write_all(&request).await.unwrap();
        stream
    });
    // The first bytes of an answer show that it is being sent.
    let stream = tokio::time::timeout(Duration::from_secs(5), writing).await;
    if let Ok(stream) = &stream {
        stream.as_ref().unwrap().readable().await.unwrap();
    }
    kill_process(server.pid(), Signal::TERM).unwrap();
    server.ends().await;
}

/// A call of the tool `echo`.
fn echo(message: &str) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "echo", "arguments": { "message": message }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// A running example.
struct Example {
    url: String,
    child: Child,
    _stderr: Lines<BufReader<ChildStderr>>,
}

impl Example {
    async fn start(name: &str) -> Self {
        let mut command = Command::new(examples::path("mcp-tokio", name).unwrap());
        command.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = stderr.next_line().await.unwrap().unwrap();
        let url = line.strip_prefix("listening on ").unwrap().to_owned();
        Self { url, child, _stderr: stderr }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap()
    }

    /// The process exits by itself, with success.
    async fn ends(mut self) {
        let status = tokio::time::timeout(Duration::from_secs(30), self.child.wait()).await;
        assert!(status.unwrap().unwrap().success());
    }
}
