//! `serve` by the clock of the runtime, which stands still here, on a stream in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_tests::everything;
use mcp_tokio::{
    Client as McpClient, ClientConfig, Config, Handler, HandlerKind, Implementation, Negotiation,
    Registry, limit_rate, run, serve,
};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadBuf, ReadHalf,
    WriteHalf,
};
use tokio::task::{JoinHandle, consume_budget};
use tokio::time;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

#[tokio::test(start_paused = true)]
async fn handlers_sleep_by_the_clock_of_the_runtime() {
    let mut client = Client::new(1024).await;
    let start = time::Instant::now();
    // The deadline moves earlier, and later again.
    for (id, seconds) in [(1, 500), (2, 100), (3, 300)] {
        client.wait(id, seconds).await;
    }
    for (id, seconds) in [(2, 100), (3, 300), (1, 500)] {
        assert_eq!(client.line().await, text(id, "waited"));
        let passed = start.elapsed().as_millis();
        assert!((seconds * 1000..seconds * 1000 + 10).contains(&passed), "{passed}");
    }
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_lets_handlers_finish_and_cuts_off_the_rest() {
    let mut client = Client::new(1024).await;
    let start = time::Instant::now();
    client.wait(1, 1).await;
    client.wait(2, 100).await;
    let mut lines = client.close().await;
    assert_eq!(lines.next_line().await.unwrap(), Some(text(1, "waited")));
    assert_eq!(lines.next_line().await.unwrap(), None);
    let passed = start.elapsed().as_millis();
    assert!((2000..2010).contains(&passed), "{passed}");
}

#[tokio::test]
async fn the_last_answer_passes_through_a_narrow_pipe() {
    let mut client = Client::new(1).await;
    client.send(PING).await;
    let mut lines = client.close().await;
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(PONG));
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn servers_that_begin_at_different_times_share_a_rate() {
    let mut registry = everything::registry().unwrap();
    registry.around(HandlerKind::Tool, limit_rate(1, Duration::from_secs(10)));
    let mut first = Client::of(registry.clone(), 1024).await;
    time::advance(Duration::from_secs(3600)).await;
    first.wait(1, 0).await;
    assert_eq!(first.line().await, text(1, "waited"));
    time::advance(Duration::from_secs(11)).await;
    let mut second = Client::of(registry, 1024).await;
    second.wait(1, 0).await;
    assert_eq!(second.line().await, text(1, "waited"));
    first.wait(2, 0).await;
    let refused = first.line().await;
    assert!(refused.contains("Too many calls; try again in "), "{refused}");
    first.end().await.unwrap();
    second.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn deadlines_wake_a_task_that_was_given_the_conversation_and_has_spent_its_budget() {
    let (ours, theirs) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(theirs);
    let reader = Spending { reader, task: None };
    let registry = everything::registry().unwrap();
    let mut served = Box::pin(serve(registry, Config::default(), reader, writer));
    let (reader, writer) = tokio::io::split(ours);
    let mut client = Client { writer, lines: BufReader::new(reader).lines(), served: None };
    client.send(INITIALIZE).await;
    client.wait(1, 100).await;
    tokio::select! {
        _ = &mut served => panic!("it has ended"),
        _ = client.line() => {}
    }
    client.served = Some(tokio::spawn(served));
    assert_eq!(client.line().await, text(1, "waited"));
    client.end().await.unwrap();
}

/// A process that continues after SIGSTOP sees its timers before the events of its streams.
#[tokio::test(start_paused = true)]
async fn answer_that_has_come_counts_although_the_timeout_is_seen_first() {
    let (ours, theirs) = tokio::io::duplex(1024);
    let mut config = ClientConfig::new(Implementation::new("c", "1"));
    config.negotiation = Negotiation::Legacy;
    let client = McpClient::new(config);
    let (reader, writer) = tokio::io::split(ours);
    let shared = client.clone();
    let driven = tokio::spawn(async move { run(&shared, reader, writer).await });
    let (reader, mut server) = tokio::io::split(theirs);
    let mut lines = BufReader::new(reader).lines();
    lines.next_line().await.unwrap();
    server.write_all(format!("{INITIALIZED}\n").as_bytes()).await.unwrap();
    client.connected().await.unwrap();
    let called = tokio::spawn(client.call("ping", &serde_json::json!({})));
    for method in ["notifications/initialized", "ping"] {
        assert!(lines.next_line().await.unwrap().unwrap().contains(method));
    }
    time::advance(Duration::from_secs(3600)).await;
    server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n").await.unwrap();
    let _: serde_json::Value = called.await.unwrap().unwrap();
    client.close().await;
    driven.await.unwrap().unwrap();
}

/// A reader that spends the budget of each task, when it first has nothing for it.
struct Spending<R> {
    reader: R,
    task: Option<Waker>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Spending<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.reader).poll_read(context, buffer);
        let is_known = self.task.as_ref().is_some_and(|task| task.will_wake(context.waker()));
        if read.is_pending() && !is_known {
            self.task = Some(context.waker().clone());
            while pin!(consume_budget()).poll(context).is_ready() {}
        }
        read
    }
}

struct Client {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    /// None while the test itself serves.
    served: Option<JoinHandle<io::Result<()>>>,
}

impl Client {
    /// A client in a legacy session, on a stream that holds so many bytes.
    async fn new(room: usize) -> Self {
        Self::of(everything::registry().unwrap(), room).await
    }

    /// The same, of a server with this registry.
    async fn of(registry: Registry<Handler>, room: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(room);
        let (reader, writer) = tokio::io::split(theirs);
        let served = Some(tokio::spawn(serve(registry, Config::default(), reader, writer)));
        let (reader, writer) = tokio::io::split(ours);
        let mut client = Self { writer, lines: BufReader::new(reader).lines(), served };
        client.send(INITIALIZE).await;
        client.line().await;
        client
    }

    async fn wait(&mut self, id: u32, seconds: u32) {
        self.call(id, "wait", &format!(r#"{{"seconds":{seconds}}}"#)).await;
    }

    async fn call(&mut self, id: u32, tool: &str, arguments: &str) {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let method = "tools/call";
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))
        .await;
    }

    async fn send(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        self.lines.next_line().await.unwrap().unwrap()
    }

    /// Closes the writing end.
    async fn close(self) -> Lines<BufReader<ReadHalf<DuplexStream>>> {
        let Self { mut writer, lines, .. } = self;
        writer.shutdown().await.unwrap();
        lines
    }

    /// Nothing more comes, and the server ends well.
    async fn end(self) -> io::Result<()> {
        let Self { mut writer, mut lines, served } = self;
        writer.shutdown().await?;
        assert_eq!(lines.next_line().await?, None);
        served.unwrap().await.unwrap()
    }
}

fn text(id: u32, text: &str) -> String {
    let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{content}]}}}}"#)
}
