//! `serve` on a stream in memory.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use mcp_proto::service::Context;
use mcp_tests::everything;
use mcp_tokio::{Config, Implementation, Registry, serve};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio::time;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

#[tokio::test(start_paused = true)]
async fn handlers_sleep_by_the_clock_of_the_runtime() {
    let mut client = Client::new(everything::registry().unwrap(), 1024).await;
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
async fn a_handler_has_its_time_and_no_more() {
    let mut client = Client::new(everything::registry().unwrap(), 1024).await;
    client.wait(1, 100_000).await;
    let line = client.line().await;
    assert!(line.contains("Limits::handler_timeout"), "{line}");
    client.end().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_lets_handlers_finish_and_cuts_off_the_rest() {
    let mut client = Client::new(everything::registry().unwrap(), 1024).await;
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
    let mut client = Client::new(everything::registry().unwrap(), 1).await;
    client.send(PING).await;
    let mut lines = client.close().await;
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(PONG));
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_client_that_is_gone_is_no_error() {
    let client = Client::new(everything::registry().unwrap(), 1024).await;
    let Client { mut writer, lines, served } = client;
    writer.write_all(format!("{PING}\n").repeat(1000).as_bytes()).await.unwrap();
    drop((writer, lines));
    served.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_call_is_answered_once_or_cancelled() {
    const CALLS: u32 = 2000;
    let mut client = Client::new(wandering(), 64 * 1024).await;
    let mut kept = BTreeSet::new();
    for id in 1..=CALLS {
        let steps = id % 7;
        client.call(id, "wander", &format!(r#"{{"steps":{steps}}}"#)).await;
        if id.is_multiple_of(3) {
            let method = "notifications/cancelled";
            let params = format!(r#"{{"requestId":{id}}}"#);
            client
                .send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#))
                .await;
        } else {
            kept.insert(id);
        }
    }
    while !kept.is_empty() {
        client.take_answer(&mut kept).await;
    }
    // What was cancelled may have been answered before.
    client.finish().await.unwrap();
}

/// A tool that goes from thread to thread.
fn wandering() -> Registry<mcp_tokio::Handler> {
    let mut registry = Registry::new(Implementation::new("wandering", "1"));
    let wander = |steps: Steps, context: Context| async move {
        for _ in 0..steps.steps {
            tokio::select! {
                () = tokio::task::yield_now() => {}
                () = context.cancelled() => {}
            }
            context.sleep(Duration::from_micros(100)).await;
        }
        "arrived"
    };
    registry.tool("wander", "Wanders", wander).unwrap();
    registry
}

struct Client {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<io::Result<()>>,
}

impl Client {
    /// A client in a legacy session, on a stream that holds so many bytes.
    async fn new(registry: Registry<mcp_tokio::Handler>, room: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(room);
        let (reader, writer) = tokio::io::split(theirs);
        let mut config = Config::default();
        config.limits.max_in_flight = 10_000;
        let served = tokio::spawn(async move { serve(registry, config, reader, writer).await });
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

    /// Takes the next answer; it must be one that is waited for, or was cancelled.
    async fn take_answer(&mut self, kept: &mut BTreeSet<u32>) {
        let line = self.line().await;
        let rest = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).expect(&line);
        let id: u32 = rest.split_once(r#","result":{"#).expect(&line).0.parse().unwrap();
        assert!(kept.remove(&id) || id.is_multiple_of(3), "nobody waits for {line}");
    }

    /// Closes the writing end.
    async fn close(self) -> Lines<BufReader<ReadHalf<DuplexStream>>> {
        let Self { mut writer, lines, .. } = self;
        writer.shutdown().await.unwrap();
        lines
    }

    /// Nothing more comes.
    async fn end(self) -> io::Result<()> {
        assert_eq!(self.finish().await?, [""; 0]);
        Ok(())
    }

    /// What more comes after the writing end is closed.
    async fn finish(self) -> io::Result<Vec<String>> {
        let Self { mut writer, mut lines, served } = self;
        writer.shutdown().await?;
        let mut rest = Vec::new();
        while let Some(line) = lines.next_line().await? {
            rest.push(line);
        }
        served.await.unwrap()?;
        Ok(rest)
    }
}

fn text(id: u32, text: &str) -> String {
    let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{content}]}}}}"#)
}
