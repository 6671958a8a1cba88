//! The tower service: where it is mounted, HTTP/2, and what becomes of its bodies.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on ends")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_tokio::{Context, HttpBody, HttpConfig, HttpFuture, HttpService, Implementation, Registry};
use serde_json::json;
use tokio::sync::mpsc;
use tower_service::Service;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn an_answer_of_known_length_is_one_frame() {
    let mut body =
        call(&mut service().0, request("http://localhost/mcp", "quick")).await.into_body();
    let length = body.size_hint().exact().unwrap();
    assert!(!body.is_end_stream());
    let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(data.len() as u64, length);
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn whoever_mounts_it_chooses_the_path() {
    let mut config = HttpConfig::default();
    config.path = "/elsewhere".into();
    let mcp = HttpService::new(registry().0, config);
    let mut app: Router = Router::new()
        .route("/", get(async || "beside it"))
        .route_service("/mcp", mcp.clone())
        .nest_service("/nested", mcp);
    for (path, status) in [
        ("/mcp", StatusCode::OK),
        ("/mcp?query", StatusCode::OK),
        ("/nested", StatusCode::OK),
        ("/nested/mcp", StatusCode::OK),
        ("/mcp/below", StatusCode::NOT_FOUND),
        ("/elsewhere", StatusCode::NOT_FOUND),
    ] {
        let asked = request(&format!("http://localhost{path}"), "quick");
        assert_eq!(Service::call(&mut app, asked).await.unwrap().status(), status, "{path}");
    }
    let asked = Request::get("/").body(Full::default()).unwrap();
    let answer = Service::call(&mut app, asked).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "beside it");
}

/// What HTTP/2 calls `:authority` says whom a request is for.
#[tokio::test]
async fn t047_the_authority_is_the_host() {
    let (mut mcp, _) = service();
    for (uri, host, status) in [
        ("http://localhost:8000/mcp", None, 200),
        ("http://evil.example/mcp", None, 403),
        ("http://evil.example/mcp", Some("localhost"), 403),
        ("http://localhost/mcp", Some("evil.example"), 200),
        ("/mcp", Some("localhost"), 200),
        ("/mcp", Some("evil.example"), 403),
        ("/mcp", None, 403),
    ] {
        let mut asked = request(uri, "quick");
        if let Some(host) = host {
            asked.headers_mut().insert("host", host.parse().unwrap());
        }
        assert_eq!(call(&mut mcp, asked).await.status(), status, "{uri} {host:?}");
    }
}

#[tokio::test]
async fn extension_of_a_layer_in_front_reaches_the_handler() {
    #[derive(Clone)]
    struct User(&'static str);

    let mut registry = Registry::new(Implementation::new("tower", "1"));
    let who = |_: Nothing, context: Context| async move {
        context.peer().get::<User>().map_or("nobody", |user| user.0)
    };
    registry.tool("who", "Says who asks", who).unwrap();
    let mut mcp = HttpService::new(registry, HttpConfig::default()).extension::<User>();
    for (user, told) in [(Some(User("alice")), "alice"), (None, "nobody")] {
        let mut asked = request("http://localhost/mcp", "who");
        if let Some(user) = user {
            asked.extensions_mut().insert(user);
        }
        let body = call(&mut mcp, asked).await.into_body().collect().await.unwrap().to_bytes();
        assert!(text(&body).contains(told), "{}", text(&body));
    }
}

#[tokio::test]
async fn over_http_2_many_requests_share_a_connection() {
    let (mcp, _) = service();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let mounted = hyper_util::service::TowerToHyperService::new(mcp.clone());
    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let server = tokio::spawn(builder.serve_connection(TokioIo::new(theirs), mounted));
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(ours))
            .await
            .unwrap();
    tokio::spawn(connection);

    let listen = modern(
        "http://localhost/mcp",
        "subscriptions/listen",
        None,
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let mut stream = client.send_request(listen).await.unwrap().into_body();
    let acknowledged = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(text(&acknowledged).contains("acknowledged"));
    for _ in 0..3 {
        let answer = client.send_request(request("http://localhost/mcp", "quick")).await.unwrap();
        let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), length);
    }
    mcp.shutdown();
    let result = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(text(&result).contains(r#""id":1,"result":{"#));
    drop((client, stream));
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_response_that_is_dropped_cancels_its_request() {
    let (mut mcp, mut reports) = service();
    // Before there is a head.
    let waiting = tokio::spawn(Service::call(&mut mcp, request("http://localhost/mcp", "wait")));
    assert_eq!(reports.recv().await, Some("started"));
    waiting.abort();
    assert_eq!(reports.recv().await, Some("cancelled"));
    // In the middle of a stream.
    let answer = call(&mut mcp, request("http://localhost/mcp", "report")).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(reports.recv().await, Some("started"));
    drop(answer);
    assert_eq!(reports.recv().await, Some("cancelled"));
}

#[tokio::test]
async fn a_body_may_come_in_pieces() {
    let (mut mcp, _) = service();
    let (parts, body) = request("http://localhost/mcp", "quick").into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let pieces = body.chunks(70).map(Bytes::copy_from_slice).collect();
    let asked = Request::from_parts(parts, Pieces(pieces, Then::End));
    let answer = call(&mut mcp, asked).await.into_body().collect().await.unwrap().to_bytes();
    assert!(text(&answer).contains("done"), "{answer:?}");
}

/// The process was suspended: the time of the body is seen to be over before its rest is read.
#[tokio::test(start_paused = true)]
async fn body_that_has_come_counts_although_it_has_had_its_time() {
    let (mut mcp, _) = service();
    let (parts, body) = request("http://localhost/mcp", "quick").into_parts();
    let mut body = body.collect().await.unwrap().to_bytes();
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(body.split_to(10)).unwrap();
    let asked = Request::from_parts(parts, Arriving(receiver));
    let answered = tokio::spawn(async move { call(&mut mcp, asked).await.status() });
    tokio::task::yield_now().await;
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    sender.send(body).unwrap();
    drop(sender);
    assert_eq!(answered.await.unwrap(), StatusCode::OK);
}

/// Whoever may read answers may read this too.
#[tokio::test(start_paused = true)]
async fn a_page_reads_why_a_body_is_not_taken() {
    let origin = "https://app.example.com";
    let mut config = HttpConfig::default();
    config.allowed_origins.push(origin.into());
    config.server.limits.max_body_bytes = 1000;
    let mut mcp = HttpService::new(registry().0, config);
    let piece = || Bytes::from("x".repeat(600));
    for (body, status) in [
        (Pieces(vec![].into(), Then::Fail), 400),
        (Pieces(vec![piece()].into(), Then::Fail), 400),
        (Pieces(vec![piece()].into(), Then::Silence), 408),
        (Pieces(vec![piece(), piece()].into(), Then::End), 413),
    ] {
        let mut asked = request("http://localhost/mcp", "quick").map(|_| body);
        asked.headers_mut().insert("origin", origin.parse().unwrap());
        let answer = call(&mut mcp, asked).await;
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["access-control-allow-origin"], origin, "{status}");
        assert_eq!(answer.headers()["vary"], "Origin", "{status}");
    }
    let announced = Full::new(Bytes::from("x".repeat(1001)));
    let mut asked = request("http://localhost/mcp", "quick").map(|_| announced);
    asked.headers_mut().insert("origin", origin.parse().unwrap());
    let answer = call(&mut mcp, asked).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.headers()["access-control-allow-origin"], origin);
}

#[tokio::test(start_paused = true)]
async fn a_silent_answer_becomes_a_stream_that_shows_signs_of_life() {
    let (mut mcp, mut reports) = service();
    let mut body = call(&mut mcp, request("http://localhost/mcp", "wait")).await.into_body();
    assert_eq!(reports.recv().await, Some("started"));
    for _ in 0..2 {
        let sign = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(sign.starts_with(b":"), "{sign:?}");
    }
}

#[tokio::test]
async fn its_tasks_end_with_the_service() {
    let (mut mcp, _) = service();
    call(&mut mcp, request("http://localhost/mcp", "quick")).await;
    let runtime = tokio::runtime::Handle::current();
    assert_eq!(runtime.metrics().num_alive_tasks(), 1);
    drop(mcp);
    tokio::task::yield_now().await;
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

/// A body whose length nobody knows, and what comes behind it.
struct Pieces(VecDeque<Bytes>, Then);

/// A body whose pieces arrive one by one.
struct Arriving(mpsc::UnboundedReceiver<Bytes>);

impl Body for Arriving {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| Some(Ok(http_body::Frame::data(piece?))))
    }
}

#[derive(Clone, Copy)]
enum Then {
    End,
    Fail,
    Silence,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        match (self.0.pop_front(), self.1) {
            (Some(piece), _) => Poll::Ready(Some(Ok(http_body::Frame::data(piece)))),
            (None, Then::End) => Poll::Ready(None),
            (None, Then::Fail) => Poll::Ready(Some(Err(std::io::ErrorKind::UnexpectedEof.into()))),
            (None, Then::Silence) => Poll::Pending,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn on_one_thread_requests_are_read_before_the_answers_are_written() {
    assert_eq!(pending_at_first(), [false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_several_threads_answers_are_written_at_once() {
    assert_eq!(pending_at_first(), [false; 3]);
}

/// Polls three calls, and again those that are pending. Returns which were.
fn pending_at_first() -> [bool; 3] {
    let mut mcp = service().0;
    let mut calls = [(); 3].map(|()| Box::pin(mcp.call(request("http://localhost/mcp", "quick"))));
    let mut context = std::task::Context::from_waker(Waker::noop());
    let mut poll = |call: &mut Pin<Box<HttpFuture<_>>>| match call.as_mut().poll(&mut context) {
        Poll::Ready(answer) => answer.unwrap().status() == StatusCode::OK,
        Poll::Pending => false,
    };
    let were_ready = calls.each_mut().map(&mut poll);
    for (call, _) in calls.iter_mut().zip(were_ready).filter(|(_, was_ready)| !was_ready) {
        assert!(poll(call));
    }
    were_ready.map(|was_ready| !was_ready)
}

fn service() -> (HttpService, mpsc::UnboundedReceiver<&'static str>) {
    let (registry, reports) = registry();
    (HttpService::new(registry, HttpConfig::default()), reports)
}

/// A tool that is quick, and two that wait until they are cancelled.
fn registry() -> (Registry<mcp_tokio::Handler>, mpsc::UnboundedReceiver<&'static str>) {
    let (told, reports) = mpsc::unbounded_channel();
    let mut registry = Registry::new(Implementation::new("tower", "1"));
    registry.list_changed(mcp_tokio::List::Tools);
    registry.tool("quick", "Is quick", |_: Nothing, _| async { "done" }).unwrap();
    let told = Arc::new(Mutex::new(told));
    for (name, reports) in [("wait", false), ("report", true)] {
        let told = told.clone();
        let wait = move |_: Nothing, context: Context| {
            let told = told.lock().unwrap().clone();
            async move {
                if reports {
                    context.progress(mcp_tokio::Progress::new(1.0));
                }
                told.send("started").unwrap();
                context.cancelled().await;
                told.send("cancelled").unwrap();
                "never told"
            }
        };
        registry.tool(name, "Waits", wait).unwrap();
    }
    (registry, reports)
}

async fn call<B>(mcp: &mut HttpService, asked: Request<B>) -> Response<HttpBody>
where
    B: Body,
{
    let answer: Result<_, Infallible> = mcp.call(asked).await;
    answer.unwrap()
}

/// A call of a tool.
fn request(uri: &str, tool: &str) -> Request<Full<Bytes>> {
    modern(uri, "tools/call", Some(tool), json!({"name": tool, "arguments": {}}))
}

fn modern(
    uri: &str,
    method: &str,
    name: Option<&str>,
    mut params: serde_json::Value,
) -> Request<Full<Bytes>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut asked = Request::post(uri)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = name {
        asked = asked.header("mcp-name", name);
    }
    asked.body(Full::new(message.to_string().into())).unwrap()
}

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap()
}
