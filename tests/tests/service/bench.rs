//! A service on a bench, and the tools to take its handlers apart.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::server::Config;
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Instant, Json};
use mcp_service::{Catalog, Context, Drive, Handler, IntoToolResult, Registry, Service, Spawned};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A service that is in a legacy session.
pub(crate) struct Bench {
    pub(crate) service: Service,
    pub(crate) now: Instant,
    wakes: Arc<Wakes>,
    waker: Waker,
}

impl Bench {
    /// A server whose one tool, `t`, is `f`.
    pub(crate) fn new<A, F, Fut, R>(f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self::with(Config::default(), f)
    }

    /// The same, with other settings.
    pub(crate) fn with<A, F, Fut, R>(config: Config, f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let mut bench = Self::unopened(config, f);
        bench.line(INITIALIZE);
        bench.out();
        bench
    }

    /// The same, before the first message.
    pub(crate) fn unopened<A, F, Fut, R>(config: Config, f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self::serving(registry(f), config)
    }

    /// A server of what the catalog offers, before the first message.
    pub(crate) fn serving(catalog: impl Into<Catalog>, config: Config) -> Self {
        let counter = Arc::new(Wakes::default());
        let waker = Waker::from(counter.clone());
        let service = Service::new(catalog, config);
        Self { service, now: Instant::ZERO, wakes: counter, waker }
    }

    /// Puts what would be spawned where the test can poll it.
    pub(crate) fn spawn_by_hand(&mut self) -> Hands {
        let hands = Hands::default();
        let spawned = hands.clone();
        self.service.spawn_with(move |future| spawned.take(future));
        hands
    }

    /// The client calls the tool without arguments.
    pub(crate) fn call(&mut self, id: u32) {
        self.call_with(id, &json!({}));
    }

    /// The client calls the tool.
    pub(crate) fn call_with(&mut self, id: u32, arguments: &Value) {
        self.line(&call(id, arguments));
    }

    /// The client calls the tool and wants to know how far it gets.
    pub(crate) fn call_with_token(&mut self, id: u32) {
        let params = json!({"name": "t", "_meta": {"progressToken": "p"}});
        let method = "tools/call";
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&call.to_string());
    }

    /// The client cancels a call.
    pub(crate) fn cancel(&mut self, id: u32) {
        let method = "notifications/cancelled";
        let params = json!({"requestId": id});
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// The client sends a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n"));
    }

    /// The client sends bytes.
    pub(crate) fn bytes(&mut self, bytes: impl Into<Bytes>) {
        self.service.handle_bytes(self.now, bytes.into());
        self.turn();
    }

    /// The client sends nothing more.
    pub(crate) fn eof(&mut self) {
        self.service.handle_eof(self.now);
        self.turn();
    }

    pub(crate) fn turn(&mut self) {
        self.service.turn(self.now, &self.waker);
    }

    /// Time passes, with a turn at its end.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.turn();
    }

    /// Time until the next deadline.
    pub(crate) fn flush_deadline(&self) -> Option<Duration> {
        self.service.poll_timeout().map(|at| at.duration_since(self.now))
    }

    /// Number of wakes of the service since the last look.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.swap(0, Ordering::SeqCst)
    }

    /// The lines that the service sends.
    pub(crate) fn out(&mut self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// What is written, which may end within a line.
    pub(crate) fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        while !self.service.output().is_empty() {
            bytes.extend_from_slice(self.service.output());
            self.service.handle_written(self.service.output().len());
        }
        String::from_utf8(bytes).unwrap()
    }

    /// The connection is as good as ever.
    pub(crate) fn assert_alive(&mut self) {
        self.line(r#"{"jsonrpc":"2.0","id":"alive?","method":"ping"}"#);
        assert_eq!(self.out(), [r#"{"jsonrpc":"2.0","id":"alive?","result":{}}"#]);
    }
}

/// Request that opens a legacy session.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// A registry whose one tool, `t`, is `f`.
pub(crate) fn registry<A, F, Fut, R>(f: F) -> Registry<Handler>
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    let mut registry = Registry::new(Implementation::new("bench", "1"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema), f).unwrap();
    registry
}

/// The line that calls the tool.
pub(crate) fn call(id: u32, arguments: &Value) -> String {
    let params = json!({"name": "t", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// The line that answers a call with a text.
pub(crate) fn answer(id: u32, text: &str) -> String {
    let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{content}]}}}}"#)
}

/// The line that answers a call with an internal error.
pub(crate) fn failure(id: u32, message: &str) -> String {
    let error = format!(r#"{{"code":-32603,"message":"{message}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    /// Number of wakes since the last look.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Gate at which a handler waits.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<GateState>>);

#[derive(Default)]
struct GateState {
    open: bool,
    polls: usize,
    waker: Option<Waker>,
}

impl Gate {
    /// Lets the handler pass.
    pub(crate) fn open(&self) {
        self.0.lock().unwrap().open = true;
        self.wake();
    }

    /// Wakes the handler, for nothing if the gate is closed.
    pub(crate) fn wake(&self) {
        let waker = self.0.lock().unwrap().waker.clone();
        waker.unwrap().wake();
    }

    /// Number of polls of the handler at the gate.
    pub(crate) fn polls(&self) -> usize {
        self.0.lock().unwrap().polls
    }

    pub(crate) async fn passed(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            state.polls += 1;
            state.waker = Some(context.waker().clone());
            if state.open { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Notes of handlers.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Notes `dropped` when it is.
    pub(crate) fn note_drop(&self) -> NoteDrop {
        NoteDrop(self.clone())
    }
}

pub(crate) struct NoteDrop(Log);

impl Drop for NoteDrop {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

/// Panics without a word on stderr.
pub(crate) fn panic_quietly() {
    std::panic::resume_unwind(Box::new("quiet"));
}

/// Futures that were spawned, and the waker they are polled with.
#[derive(Clone, Default)]
pub(crate) struct Hands(Arc<Mutex<Vec<Spawned>>>, Arc<Wakes>);

impl Hands {
    /// Takes a future.
    pub(crate) fn take(&self, future: Spawned) {
        self.0.lock().unwrap().push(future);
    }

    /// Polls each once; those that are done go.
    pub(crate) fn poll(&self) {
        let waker = Waker::from(self.1.clone());
        let mut spawned = self.0.lock().unwrap();
        spawned.retain_mut(|future| {
            future.as_mut().poll(&mut task::Context::from_waker(&waker)).is_pending()
        });
    }

    /// Number of futures that are not done.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Number of wakes since the last look.
    pub(crate) fn wakes(&self) -> usize {
        self.1.0.swap(0, Ordering::SeqCst)
    }

    /// Drops them all.
    pub(crate) fn drop_all(&self) {
        let spawned = std::mem::take(&mut *self.0.lock().unwrap());
        drop(spawned);
    }
}
