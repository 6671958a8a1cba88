//! Clients with HTTP/2, against `HttpService` behind hyper, within TLS.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::{pending, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use hyper::service::{Service, service_fn};
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use mcp_tests::http_client::{Certified, Gate, Proxy};
use mcp_tokio::types::SubscriptionFilter;
use mcp_tokio::{
    CallError, Catalog, Client, ClientConfig, Context, HttpClientConfig, HttpConfig, HttpService,
    Implementation, List, Negotiation, Progress, Registry, http2,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, mpsc, watch};

const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

/// Calls that wait for one another.
const CALLS: usize = 20;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn calls_and_streams_share_a_connection() {
    for negotiation in ERAS {
        let site = Site::start(&["h2", "http/1.1"]).await;
        let client = site.connect(negotiation).await;
        gather(&client).await;
        let message = "a".repeat(2_000_000);
        let echoed = client.call_tool("echo", &json!({ "message": message })).await.unwrap();
        assert_eq!(echoed.content.first().and_then(|block| block.as_text()), Some(&*message));
        client.close().await;
        assert_eq!(site.seen(), (1, vec![Version::HTTP_2]));
    }
}

#[tokio::test]
async fn calls_beyond_the_streams_of_a_connection_get_another_one() {
    for negotiation in ERAS {
        let site = Site::start_with(&["h2"], Some(6)).await;
        let client = site.connect(negotiation).await;
        gather(&client).await;
        client.close().await;
        let (connections, versions) = site.seen();
        assert!((4..=5).contains(&connections), "{connections} connections, {negotiation:?}");
        assert_eq!(versions, [Version::HTTP_2]);
    }
}

#[tokio::test]
async fn changes_arrive_on_a_stream_that_stays_open() {
    for negotiation in ERAS {
        let site = Site::start(&["h2"]).await;
        let client = site.connect(negotiation).await;
        let filter = SubscriptionFilter::new().tools_list_changed();
        let mut changes = client.subscribe(filter).await.unwrap();
        for name in ["a", "b"] {
            let tool = |_: Nothing, _| async { "" };
            site.catalog.edit(|registry| registry.tool(name, "Is new", tool)).unwrap();
            assert!(changes.changed().await.is_some());
        }
        client.close().await;
        assert_eq!(site.seen(), (1, vec![Version::HTTP_2]));
    }
}

#[tokio::test]
async fn dropped_call_is_cancelled() {
    let mut site = Site::start(&["h2"]).await;
    let client = site.connect(Negotiation::Auto).await;
    let (sender, mut progress) = mpsc::unbounded_channel();
    let mut call = Box::pin(client.call_tool("wait", &json!({})).on_progress(move |_| {
        let _ = sender.send(());
    }));
    // Progress comes before the result does.
    poll_fn(|context| {
        assert!(call.as_mut().poll(context).is_pending());
        progress.poll_recv(context)
    })
    .await;
    drop(call);
    assert_eq!(site.reports.recv().await, Some("cancelled"));
    client.call_tool("echo", &json!({ "message": "a" })).await.unwrap();
    client.close().await;
    assert_eq!(site.seen().0, 1);
}

#[tokio::test]
async fn server_may_choose_http_1_or_nothing() {
    for protocols in [&["http/1.1"][..], &[]] {
        let site = Site::start(protocols).await;
        let client = site.connect(Negotiation::Auto).await;
        client.call_tool("echo", &json!({ "message": "a" })).await.unwrap();
        client.close().await;
        assert_eq!(site.seen().1, [Version::HTTP_11], "{protocols:?}");
    }
}

#[tokio::test]
async fn net_n6_next_call_connects_again_after_goaway() {
    let site = Site::start(&["h2"]).await;
    let client = site.connect(Negotiation::Auto).await;
    // Its stream keeps the connection open.
    let filter = SubscriptionFilter::new().tools_list_changed();
    let _changes = client.subscribe(filter).await.unwrap();
    assert_eq!(site.seen().0, 1);
    site.goaway.send(true).unwrap();
    // Until the client has heard of that, the server takes calls.
    while site.seen().0 == 1 {
        client.call_tool("echo", &json!({ "message": "a" })).await.unwrap();
    }
    client.close().await;
}

#[tokio::test]
async fn net_n6_next_call_connects_again_after_a_cut() {
    let site = Site::start(&["h2"]).await;
    let proxy = Arc::new(Proxy::start(site.gate.address).unwrap());
    let client = site.connect_at(proxy.address, Negotiation::Auto).await;
    let cuts = proxy.clone();
    let call = client.call_tool("wait", &json!({})).on_progress(move |_| cuts.cut());
    let error = call.await.unwrap_err();
    assert!(matches!(&error, CallError::Connection(reason) if !reason.is_empty()), "{error}");
    client.call_tool("echo", &json!({ "message": "a" })).await.unwrap();
    client.close().await;
    assert_eq!(site.seen().0, 2);
}

#[tokio::test]
async fn request_that_was_not_processed_is_sent_again() {
    for (refusal, connections) in [(goaway as Refusal, 2), (refused_stream, 1)] {
        let site = Site::start_at(&["h2"], None, |server| refusing(server, refusal)).await;
        let client = site.connect(Negotiation::Auto).await;
        let echoed = client.call_tool("echo", &json!({ "message": "a" })).await.unwrap();
        assert_eq!(echoed.content.first().and_then(|block| block.as_text()), Some("a"));
        client.close().await;
        assert_eq!(site.seen().0, connections);
    }
}

/// Makes all the calls that wait for one another.
async fn gather(client: &Client) {
    let call = || async { client.call_tool("gather", &json!({})).await.unwrap() };
    let mut calls: Vec<_> = (0..CALLS).map(|_| Box::pin(call())).collect();
    poll_fn(|context| {
        calls.retain_mut(|call| call.as_mut().poll(context).is_pending());
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// A server behind hyper, and TLS in front of it.
struct Site {
    gate: Gate,
    catalog: Catalog,
    reports: mpsc::UnboundedReceiver<&'static str>,
    seen: Arc<Seen>,
    goaway: watch::Sender<bool>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    versions: Mutex<Vec<Version>>,
}

impl Site {
    async fn start(protocols: &[&str]) -> Self {
        Self::start_with(protocols, None).await
    }

    /// A server that allows so many streams on each connection with HTTP/2.
    async fn start_with(protocols: &[&str], max_streams: Option<u32>) -> Self {
        Self::start_at(protocols, max_streams, |server| server).await
    }

    /// A server that is reached at another address than its own.
    async fn start_at(
        protocols: &[&str],
        max_streams: Option<u32>,
        address: impl FnOnce(SocketAddr) -> SocketAddr,
    ) -> Self {
        let (registry, reports) = registry();
        let catalog = Catalog::from(registry);
        let mcp = HttpService::new(catalog.clone(), HttpConfig::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let certified = Certified::new("localhost", 2040).unwrap().speaking(protocols);
        let gate = Gate::start(address(listener.local_addr().unwrap()), &certified).unwrap();
        let (seen, (goaway, told)) = (Arc::<Seen>::default(), watch::channel(false));
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http2().max_concurrent_streams(max_streams);
        tokio::spawn(accept(listener, builder, mcp, seen.clone(), told));
        Self { gate, catalog, reports, seen, goaway }
    }

    async fn connect(&self, negotiation: Negotiation) -> Client {
        self.connect_at(self.gate.address, negotiation).await
    }

    async fn connect_at(&self, address: SocketAddr, negotiation: Negotiation) -> Client {
        let config = ClientConfig::new(Implementation::new("app", "1")).negotiation(negotiation);
        let client = Client::new(config);
        let url = format!("https://localhost:{}/mcp", address.port());
        let config = HttpClientConfig::parse(&url).unwrap().trust(self.gate.authority.clone());
        http2::connect_http(&client, config).await.unwrap();
        client
    }

    /// The number of connections, and the versions of their requests.
    fn seen(&self) -> (usize, Vec<Version>) {
        let mut versions = self.seen.versions.lock().unwrap().clone();
        versions.dedup();
        (self.seen.connections.load(Ordering::SeqCst), versions)
    }
}

async fn accept(
    listener: TcpListener,
    builder: Builder<TokioExecutor>,
    mcp: HttpService,
    seen: Arc<Seen>,
    told: watch::Receiver<bool>,
) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (builder, mcp) = (builder.clone(), mcp.clone());
        let (seen, mut told) = (seen.clone(), told.clone());
        told.mark_unchanged();
        tokio::spawn(async move {
            let mcp = TowerToHyperService::new(mcp);
            let service = service_fn(move |request: Request<_>| {
                seen.versions.lock().unwrap().push(request.version());
                mcp.call(request)
            });
            let mut serving = pin!(builder.serve_connection(TokioIo::new(socket), service));
            let mut told = pin!(told.changed());
            let mut is_told = false;
            let _ = poll_fn(|context| {
                if !is_told && told.as_mut().poll(context).is_ready() {
                    is_told = true;
                    serving.as_mut().graceful_shutdown();
                }
                serving.as_mut().poll(context)
            })
            .await;
        });
    }
}

/// The frame that refuses a stream.
type Refusal = fn(u32) -> Vec<u8>;

/// A `GOAWAY` without a second one, as nginx sends after a number of requests: the stream before
/// this one is the last one that is processed.
fn goaway(stream: u32) -> Vec<u8> {
    let head = [0, 0, 8, 7, 0, 0, 0, 0, 0];
    [&head[..], &(stream - 2).to_be_bytes(), &[0; 4]].concat()
}

/// A `RST_STREAM` with `REFUSED_STREAM`.
fn refused_stream(stream: u32) -> Vec<u8> {
    [&[0, 0, 4, 3, 0][..], &stream.to_be_bytes(), &7_u32.to_be_bytes()].concat()
}

/// The address of a proxy that refuses the second request of its first connection.
fn refusing(server: SocketAddr, refusal: Refusal) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut refusal = Some(refusal);
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(forward(client, server, refusal.take()));
        }
    });
    address
}

/// Forwards the frames of a connection. The body of a refused request is not forwarded, so that the
/// server cannot process it.
async fn forward(client: TcpStream, server: TcpStream, refusal: Option<Refusal>) -> Option<()> {
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let to_client = Arc::new(tokio::sync::Mutex::new(to_client));
    let answers = to_client.clone();
    tokio::spawn(async move {
        while let Some(frame) = read_frame(&mut from_server).await {
            answers.lock().await.write_all(&frame.bytes).await.ok()?;
        }
        Some(())
    });
    let mut preface = [0; 24];
    from_client.read_exact(&mut preface).await.ok()?;
    to_server.write_all(&preface).await.ok()?;
    let (mut requests, mut refused) = (0, None);
    while let Some(Frame { kind, stream, bytes }) = read_frame(&mut from_client).await {
        requests += i32::from(kind == 1);
        if let Some(refusal) = refusal.filter(|_| kind == 1 && requests == 2) {
            refused = Some(stream);
            to_client.lock().await.write_all(&refusal(stream)).await.ok()?;
        }
        if kind != 0 || refused != Some(stream) {
            to_server.write_all(&bytes).await.ok()?;
        }
    }
    Some(())
}

/// A frame: 0 is the kind of bodies, and 1 the kind of heads.
struct Frame {
    kind: u8,
    stream: u32,
    bytes: Vec<u8>,
}

async fn read_frame(reader: &mut OwnedReadHalf) -> Option<Frame> {
    let mut head = [0; 9];
    reader.read_exact(&mut head).await.ok()?;
    let [a, b, c, kind, _, stream @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    reader.read_exact(&mut payload).await.ok()?;
    let bytes = [&head[..], &payload].concat();
    Some(Frame { kind, stream: u32::from_be_bytes(stream), bytes })
}

/// A tool that waits until all calls are there, one that waits until it is cancelled, one that is
/// quick.
fn registry() -> (Registry<mcp_tokio::Handler>, mpsc::UnboundedReceiver<&'static str>) {
    let (told, reports) = mpsc::unbounded_channel();
    let (told, barrier) = (Arc::new(Mutex::new(told)), Arc::new(Barrier::new(CALLS)));
    let mut registry = Registry::new(Implementation::new("http2", "1"));
    registry.list_changed(List::Tools);
    let gather = move |_: Nothing, _| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            "all are there"
        }
    };
    let wait = move |_: Nothing, context: Context| {
        let told = told.lock().unwrap().clone();
        async move {
            context.progress(Progress::new(1));
            context.cancelled().await;
            told.send("cancelled").unwrap();
            pending::<String>().await
        }
    };
    registry.tool("echo", "Echoes", |echo: Echo, _| async { echo.message }).unwrap();
    registry.tool("gather", "Waits for others", gather).unwrap();
    registry.tool("wait", "Waits", wait).unwrap();
    (registry, reports)
}
