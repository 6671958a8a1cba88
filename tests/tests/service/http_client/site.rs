//! A client, its sockets and its clock.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::client::{CallError, Config, ConnectError, Negotiation};
use mcp_proto::http::Url;
use mcp_proto::types::{Implementation, ListToolsResult};
use mcp_proto::{Instant, UsageError};
use mcp_service::{
    Client, Clock, Connecting, Connector, HttpClientConfig, HttpClientService, Reader, Socket,
    Writer,
};
use serde_json::json;

use super::Called;
use crate::bench::Log;

/// A result of `tools/list`, and of `server/discover`.
pub(super) const TOOLS: &str = r#"{"tools":[],"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;

const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;

/// An answer with a result; the id is JSON.
pub(super) fn answer(id: impl std::fmt::Display, result: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Result of connecting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Connects,
    Hangs,
    Refuses,
}

pub(super) struct Site {
    pub(super) client: Client,
    driving: Option<Driving>,
    ended: Option<Result<(), ConnectError>>,
    now: Arc<Mutex<Instant>>,
    sockets: Sockets,
}

type Driving = Pin<Box<dyn Future<Output = Result<(), ConnectError>>>>;

/// Call of a client. Dropping it drops the call.
pub(super) struct Pending<T>(RefCell<Pin<Box<dyn Future<Output = T>>>>);

impl Site {
    /// A client that knows its server to be a modern one which keeps connections. The number of its
    /// next request is 3.
    pub(super) fn connected() -> Self {
        let mut site = Self::fresh();
        let listed = site.list();
        site.turn();
        site.socket(0).answer(&answer(2, TOOLS));
        site.turn();
        assert!(listed.take().unwrap().is_ok());
        site.requests();
        site
    }

    /// A client that knows its server to be a modern one, and keeps the connection. The number of
    /// its next request is 2.
    pub(super) fn fresh() -> Self {
        Self::of_modern_server(Config::new(Implementation::new("bench", "1")))
    }

    /// The same with settings of its own.
    pub(super) fn of_modern_server(config: Config) -> Self {
        let mut site = Self::new(config, Network::Connects, None);
        site.turn();
        site.socket(0).answer(&answer(r#""discover-1""#, TOOLS));
        site.turn();
        assert!(site.client.server().is_some(), "{:?}", site.ended);
        site.requests();
        site
    }

    /// A client in a legacy session that hears nothing unasked.
    pub(super) fn legacy() -> Self {
        let mut config = Config::new(Implementation::new("bench", "1"));
        config.negotiation = Negotiation::Legacy;
        let mut site = Self::new(config, Network::Connects, None);
        site.turn();
        let initialized = answer(1, INITIALIZED);
        let initialized = initialized.replacen("\r\n", "\r\nMcp-Session-Id: s\r\n", 1);
        site.socket(0).answer(&initialized);
        site.turn();
        site.socket(0).answer("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        site.turn();
        assert!(site.client.server().is_some(), "{:?}", site.ended);
        site.requests();
        site
    }

    /// One that is yet to be connected.
    pub(super) fn unconnected(network: Network) -> Self {
        Self::new(Config::new(Implementation::new("bench", "1")), network, None)
    }

    /// The same, whose conversation is shown.
    pub(super) fn shown(log: &Log) -> Self {
        Self::new(Config::new(Implementation::new("bench", "1")), Network::Connects, Some(log))
    }

    fn new(config: Config, network: Network, log: Option<&Log>) -> Self {
        let client = Client::new(config);
        let mut service = service(&client).unwrap();
        if let Some(log) = log.cloned() {
            service.show_wire(Instant::ZERO, move |line| log.note(line));
        }
        let (now, sockets) = (Arc::new(Mutex::new(Instant::ZERO)), Sockets::default());
        let (mut clock, mut dial) = (Time(now.clone()), Dial { network, sockets: sockets.clone() });
        let driving = Box::pin(async move { service.drive(&mut clock, &mut dial).await });
        Self { client, driving: Some(driving), ended: None, now, sockets }
    }

    /// Has the service do all that there is to do.
    pub(super) fn turn(&mut self) {
        for _ in 0..4 {
            let Some(driving) = &mut self.driving else { return };
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(ended) = driving.as_mut().poll(&mut context) {
                (self.ended, self.driving) = (Some(ended), None);
            }
        }
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, time: Duration) {
        let mut now = self.now.lock().unwrap();
        *now = *now + time;
        drop(now);
        self.turn();
    }

    /// Begins to call a tool.
    pub(super) fn call(&self, text: &str) -> Pending<Called> {
        let call = self.client.call_tool("t", &json!({ "text": text }));
        Pending::begin(call.timeout(Duration::from_secs(60)))
    }

    /// Begins to list the tools.
    pub(super) fn list(&self) -> Pending<Result<ListToolsResult, CallError>> {
        Pending::begin(self.client.list_tools())
    }

    pub(super) fn close(&self) {
        drop(Pending::begin(self.client.close()));
    }

    /// Result of the service, once it has ended.
    pub(super) fn ended(&self) -> Option<&Result<(), ConnectError>> {
        self.ended.as_ref()
    }

    pub(super) fn drop_service(&mut self) {
        self.driving = None;
    }

    /// Another service for the same client.
    pub(super) fn service_again(&self) -> Result<HttpClientService, UsageError> {
        service(&self.client)
    }

    /// Number of connections so far.
    pub(super) fn sockets(&self) -> usize {
        self.sockets.lock().unwrap().len()
    }

    /// The server's end of a connection.
    pub(super) fn socket(&self, n: usize) -> End {
        End { n, sockets: self.sockets.clone() }
    }

    /// Text that was sent since the last look, by connection.
    pub(super) fn requests(&self) -> Vec<String> {
        let mut sockets = self.sockets.lock().unwrap();
        let sent = sockets.iter_mut().map(|pipe| std::mem::take(&mut pipe.output));
        sent.filter(|sent| !sent.is_empty()).map(|sent| String::from_utf8(sent).unwrap()).collect()
    }
}

impl<T> Pending<T> {
    fn begin(call: impl Future<Output = T> + 'static) -> Self {
        let pending = Self(RefCell::new(Box::pin(call)));
        assert!(pending.take().is_none(), "it is over before it began");
        pending
    }

    /// Takes the result of the call, once it is there.
    pub(super) fn take(&self) -> Option<T> {
        let polled = self.0.borrow_mut().as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

fn service(client: &Client) -> Result<HttpClientService, UsageError> {
    let mut config = HttpClientConfig::parse("http://localhost:8000/mcp?key=secret").unwrap();
    config.listens = false;
    config.connect_timeout = Duration::from_secs(4);
    HttpClientService::new(client, config, || [0; 16])
}

struct Time(Arc<Mutex<Instant>>);

impl Clock for Time {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn poll_timer(&mut self, _context: &mut Context<'_>, at: Instant) -> Poll<()> {
        if at <= self.now() { Poll::Ready(()) } else { Poll::Pending }
    }
}

struct Dial {
    network: Network,
    sockets: Sockets,
}

impl Connector for Dial {
    fn connect(&mut self, url: &Url) -> Connecting {
        assert_eq!((url.host(), url.port()), ("localhost", 8000));
        match self.network {
            Network::Hangs => Box::pin(std::future::pending()),
            Network::Refuses => Box::pin(async { Err(io::Error::other("nobody is there")) }),
            Network::Connects => {
                let sockets = self.sockets.clone();
                Box::pin(async move {
                    let n = sockets.lock().unwrap().len();
                    sockets.lock().unwrap().push(Pipe::default());
                    Ok(Box::new(Ours(End { n, sockets })) as Box<dyn Socket>)
                })
            }
        }
    }
}

type Sockets = Arc<Mutex<Vec<Pipe>>>;

/// Bytes on their way on a connection.
#[derive(Default)]
struct Pipe {
    input: VecDeque<Bytes>,
    output: Vec<u8>,
    /// Number of bytes that are still taken; `None` for no bound.
    room: Option<usize>,
    life: Life,
    /// Writing fails.
    is_broken: bool,
    is_dropped: bool,
    reads: usize,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Life {
    #[default]
    Open,
    Ended,
    /// It has ended, and nobody but the system knows.
    EndedUnseen,
}

/// The client's end of a connection.
struct Ours(End);

/// The server's end of a connection.
pub(super) struct End {
    n: usize,
    sockets: Sockets,
}

impl End {
    pub(super) fn answer(&self, text: &str) {
        self.change(|pipe| pipe.input.push_back(Bytes::copy_from_slice(text.as_bytes())));
    }

    pub(super) fn end(&self) {
        self.change(|pipe| pipe.life = Life::Ended);
    }

    pub(super) fn end_unseen(&self) {
        self.change(|pipe| pipe.life = Life::EndedUnseen);
    }

    /// From here on, so many bytes are taken.
    pub(super) fn takes(&self, count: usize) {
        self.change(|pipe| pipe.room = Some(count));
    }

    pub(super) fn break_writing(&self) {
        self.change(|pipe| pipe.is_broken = true);
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.sockets.lock().unwrap()[self.n].is_dropped
    }

    /// Number of times that the client has looked for something to read.
    pub(super) fn reads(&self) -> usize {
        self.sockets.lock().unwrap()[self.n].reads
    }

    fn change(&self, change: impl FnOnce(&mut Pipe)) {
        let mut sockets = self.sockets.lock().unwrap();
        let pipe = &mut sockets[self.n];
        change(pipe);
        let waker = pipe.waker.take();
        drop(sockets);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Ours {
    fn poll<T>(
        &self,
        context: &Context<'_>,
        look: impl FnOnce(&mut Pipe) -> Option<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut sockets = self.0.sockets.lock().unwrap();
        let pipe = &mut sockets[self.0.n];
        let seen = look(pipe);
        if seen.is_none() {
            pipe.waker = Some(context.waker().clone());
        }
        seen.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Reader for Ours {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.poll(context, |pipe| {
            pipe.reads += 1;
            let ended = (pipe.life == Life::Ended).then(Bytes::new);
            pipe.input.pop_front().or(ended).map(Ok)
        })
    }
}

impl Writer for Ours {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |pipe| {
            if pipe.is_broken {
                return Some(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let count = data.len().min(pipe.room.unwrap_or(usize::MAX));
            if count == 0 {
                return None;
            }
            pipe.output.extend_from_slice(&data[..count]);
            pipe.room = pipe.room.map(|room| room - count);
            Some(Ok(count))
        })
    }

    fn poll_flush(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Socket for Ours {
    fn is_quiet(&self) -> bool {
        self.0.sockets.lock().unwrap()[self.0.n].life != Life::EndedUnseen
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.0.sockets.lock().unwrap()[self.0.n].is_dropped = true;
    }
}
