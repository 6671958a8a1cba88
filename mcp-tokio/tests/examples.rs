//! The examples for embedders, run as they are: what their first lines promise holds.
//!
//! With `BROKER_URL` the processes of `broker` meet there in place of its own hub.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on ends"
)]

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Method, Request, StatusCode, Version};
use hyper_util::rt::TokioExecutor;
use mcp_tests::examples;
use mcp_tokio::types::SubscriptionFilter;
use mcp_tokio::{
    Change, Client, ClientConfig, Context, HttpClientConfig, HttpConfig, Implementation, List,
    Negotiation, Progress, Registry, connect_http, serve_http_until,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::Notify;

const SESSION: &str = "mcp-session-id";

#[cfg(feature = "tower")]
mod axum {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn second_hour_26_a_slow_head_is_ended() {
        let arguments = ["--listen", "127.0.0.1:0", "--head-timeout", "200"];
        let server = start("axum", &arguments).await;
        let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
        for begun in ["", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"] {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(begun.as_bytes()).await.unwrap();
            let mut said = Vec::new();
            let ended = socket.read_to_end(&mut said);
            let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
            assert!(ended.is_ok(), "{begun:?} is waited for");
        }
        let client = connect(&server.url, Negotiation::Auto).await;
        assert_eq!(said(&client, "echo", json!({"message": "x"})).await, "x");
    }
}

#[cfg(feature = "tower")]
mod axum_auth {
    use mcp_tokio::mcp_proto::http::Unauthorized;
    use mcp_tokio::{CallError, ConnectError, ConnectFailure};

    use super::*;

    #[tokio::test]
    async fn a_client_learns_where_tokens_are_and_which_it_needs() {
        let server = start("axum_auth", &["--listen", "127.0.0.1:0"]).await;
        let refused = refusal(&server.url, None).await;
        assert_eq!(refused.status, 401);
        let challenge = refused.bearer().unwrap();
        assert_eq!((challenge.scope(), challenge.error()), (Some("notes:read"), None));

        let (status, _, metadata) =
            send(Method::GET, challenge.resource_metadata().unwrap(), &[], "").await;
        assert_eq!(status, StatusCode::OK);
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        assert_eq!(metadata["resource"], *server.url);
        assert_eq!(metadata["authorization_servers"], json!(["https://auth.example.com"]));

        let refused = refusal(&server.url, Some("Bearer stolen")).await;
        assert_eq!(
            (refused.status, refused.bearer().unwrap().error()),
            (401, Some("invalid_token"))
        );

        let alice = authorized(&server.url, "Bearer alice-reads").await;
        assert_eq!(said(&alice, "list_notes", json!({})).await, "https://auth.example.com alice: ");
        let note = json!({"text": "buy milk"});
        let error = alice.call_tool("add_note", &note).await.unwrap_err();
        let CallError::Unauthorized(refused) = error else { panic!("{error}") };
        let challenge = refused.bearer().unwrap();
        assert_eq!((refused.status, challenge.error()), (403, Some("insufficient_scope")));
        assert_eq!(challenge.scope(), Some("notes:read notes:write"));

        alice.set_field("Authorization", "Bearer alice-writes").unwrap();
        assert_eq!(
            said(&alice, "add_note", note).await,
            "noted for https://auth.example.com alice"
        );
        assert_eq!(
            said(&alice, "list_notes", json!({})).await,
            "https://auth.example.com alice: buy milk"
        );
        let bob = authorized(&server.url, "Bearer bob-writes").await;
        assert_eq!(said(&bob, "list_notes", json!({})).await, "https://auth.example.com bob: ");
    }

    #[tokio::test]
    async fn a_session_is_there_for_its_principal_alone() {
        let server = start("axum_auth", &["--listen", "127.0.0.1:0"]).await;
        let alice = [("authorization", "Bearer alice-writes")];
        let (status, head, _) = send(Method::POST, &server.url, &alice, INITIALIZE).await;
        assert_eq!(status, StatusCode::OK);
        let session = (SESSION, head[SESSION].to_str().unwrap());
        let version = ("mcp-protocol-version", "2025-11-25");
        for (token, expected) in [
            ("alice-writes", StatusCode::OK),
            ("bob-writes", StatusCode::NOT_FOUND),
            // A token of the same user that is good for reading only.
            ("alice-reads", StatusCode::FORBIDDEN),
            ("nobody", StatusCode::UNAUTHORIZED),
        ] {
            let bearer = format!("Bearer {token}");
            let fields = [("authorization", &*bearer), session, version];
            let (status, ..) = send(Method::POST, &server.url, &fields, CALL).await;
            assert_eq!(status, expected, "{token}");
        }
        // Nor does it help to say it in headers that a legacy request does not have.
        let fields = [
            ("authorization", "Bearer alice-reads"),
            session,
            version,
            ("mcp-method", "tools/list"),
        ];
        let (status, ..) = send(Method::POST, &server.url, &fields, CALL).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        let alice = authorized(&server.url, "Bearer alice-writes").await;
        assert_eq!(
            said(&alice, "list_notes", json!({})).await,
            "https://auth.example.com alice: kept"
        );
    }

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_note","arguments":{"text":"kept"}}}"#;

    async fn refusal(url: &str, token: Option<&str>) -> Unauthorized {
        let client = Client::new(Implementation::new("test", "1.0.0"));
        let mut config = HttpClientConfig::parse(url).unwrap();
        if let Some(token) = token {
            config = config.field("Authorization", token).unwrap();
        }
        let error = connect_http(&client, config).await.unwrap_err();
        let error = error.into_inner().unwrap().downcast::<ConnectFailure>().unwrap();
        let ConnectError::Unauthorized(refused) = error.error else { panic!("{error}") };
        refused
    }

    async fn authorized(url: &str, token: &str) -> Client {
        let client = Client::new(Implementation::new("test", "1.0.0"));
        let config = HttpClientConfig::parse(url).unwrap().field("Authorization", token).unwrap();
        connect_http(&client, config).await.unwrap();
        client
    }
}

/// Three servers behind a gateway: one for heavy work, and two others.
struct Behind {
    gateway: Example,
    /// Number of calls at all of them.
    calls: Arc<AtomicUsize>,
    /// Lets `heavy_wait` go on.
    go_on: Arc<Notify>,
}

impl Behind {
    async fn start() -> Self {
        let (calls, go_on) = (Arc::default(), Arc::default());
        let large = serve("large", &calls, &go_on).await;
        let (one, two) = (serve("one", &calls, &go_on).await, serve("two", &calls, &go_on).await);
        let large = format!("heavy_={large}");
        let servers = ["--tools", &large, "--else", &one, "--else", &two];
        let arguments = [&["--listen", "127.0.0.1:0"], &servers[..]].concat();
        Self { gateway: start("gateway", &arguments).await, calls, go_on }
    }
}

#[tokio::test]
async fn gateway_routes_by_the_name_of_the_tool_and_streams_back() {
    let behind = Behind::start().await;
    let client = connect(&behind.gateway.url, Negotiation::Auto).await;
    assert_eq!(said(&client, "heavy_where", json!({})).await, "large");
    assert!(["one", "two"].contains(&&*said(&client, "where", json!({})).await));
    // It goes on when its progress has come through, and not before.
    let go_on = behind.go_on.clone();
    let waits = client.call_tool("heavy_wait", &json!({}));
    let answer = waits.on_progress(move |_| go_on.notify_one()).await.unwrap();
    assert_eq!(answer.content[0].as_text(), Some("large"));
}

#[tokio::test]
async fn gateway_brings_legacy_sessions_back_to_their_servers() {
    let behind = Behind::start().await;
    let mut servers = Vec::new();
    for _ in 0..2 {
        let client = connect(&behind.gateway.url, Negotiation::Legacy).await;
        let server = said(&client, "where", json!({})).await;
        for _ in 0..3 {
            assert_eq!(said(&client, "where", json!({})).await, server);
        }
        // Its tools are where its session is.
        assert_eq!(said(&client, "heavy_where", json!({})).await, server);
        servers.push(server);
    }
    servers.sort();
    assert_eq!(servers, ["one", "two"]);
    // Nothing listens at the socket, which keeps its port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let target = format!("http://{}/", socket.local_addr().unwrap());
    let gone = start("gateway", &["--listen", "127.0.0.1:0", "--else", &target]).await;
    let url = &*behind.gateway.url;
    for (url, session) in [(url, "7-x"), (url, "x"), (url, ""), (url, "-"), (&*gone.url, "0-x")] {
        let (status, ..) = send(Method::POST, url, &[(SESSION, session)], INITIALIZE).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{session:?}");
    }
}

#[tokio::test]
async fn gateway_refuses_a_body_that_its_head_does_not_say() {
    let behind = Behind::start().await;
    let call = |name: &str| modern_call(name).to_string();
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "tools/call");
    let name = |name| ("mcp-name", name);
    let legacy = ("mcp-protocol-version", "2025-11-25");
    for (fields, body, refuses) in [
        (vec![version, method, name("where")], call("heavy_where"), "gateway"),
        (vec![version, method, name("heavy_where")], call("where"), "gateway"),
        (vec![version, ("mcp-method", "tools/list")], call("where"), "gateway"),
        (vec![version, method], call("where"), "gateway"),
        (vec![legacy, method, name("where")], call("where"), "gateway"),
        (vec![method, name("where")], call("where"), "gateway"),
        (vec![version], call("where"), "server"),
    ] {
        let (status, _, answer) = send(Method::POST, &behind.gateway.url, &fields, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{fields:?}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], -32020, "{fields:?} {answer}");
        // Who has read the whole body knows the id.
        assert_eq!(answer.get("id").is_some(), refuses == "server", "{fields:?} {answer}");
    }
    assert_eq!(behind.calls.load(Ordering::Relaxed), 0);
    let fields = [version, method, ("mcp-name", "where")];
    let (status, ..) = send(Method::POST, &behind.gateway.url, &fields, &call("where")).await;
    assert_eq!((status, behind.calls.load(Ordering::Relaxed)), (StatusCode::OK, 1));
}

#[tokio::test]
async fn gateway_takes_http_2_and_forwards_http_1() {
    let behind = Behind::start().await;
    let mut client = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    let client = client.http2_only(true).build_http();
    let fields = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "where"),
    ];
    let call = modern_call("where").to_string();
    let request = request(Method::POST, &behind.gateway.url, &fields, &call);
    let answer = client.request(request).await.unwrap();
    assert_eq!((answer.version(), answer.status()), (Version::HTTP_2, StatusCode::OK));
}

/// The server has the beginning of a body while its end is yet to come, and never has the end of
/// one that differs.
#[tokio::test]
async fn gateway_breaks_off_what_it_has_begun_to_forward() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", server.local_addr().unwrap());
    let gateway = start("gateway", &["--listen", "127.0.0.1:0", "--else", &url]).await;
    let body = modern_call("drop").to_string();
    let (beginning, end) = body.split_at(body.find("\"drop\"").unwrap());

    let address = gateway.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST http://mcp.example.com/mcp HTTP/1.1\r\nHost: elsewhere.example\r\n\
         Content-Length: {}\r\nMcp-Name: where\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\r\n",
        body.len()
    );
    client.write_all(format!("{head}{beginning}").as_bytes()).await.unwrap();
    let (mut forwarded, _) = server.accept().await.unwrap();
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).ends_with(beginning) {
        assert_ne!(forwarded.read_buf(&mut received).await.unwrap(), 0);
    }
    // Whom it is for is said by the URI, if that says it.
    let head = String::from_utf8_lossy(&received).to_lowercase();
    assert!(head.contains("host: mcp.example.com\r\n"), "{head}");
    assert!(!head.contains("elsewhere"), "{head}");
    client.write_all(end.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("-32020") {
        assert_ne!(soon(client.read_buf(&mut answer)).await.unwrap(), 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 400 "));
    // Ended or reset: nothing more has come.
    let before = received.len();
    let _ = forwarded.read_to_end(&mut received).await;
    assert_eq!(received.len(), before);
}

#[tokio::test]
async fn broker_tells_the_listeners_of_one_process_what_another_was_asked_for() {
    let hub = match std::env::var("BROKER_URL") {
        Ok(url) => Err(url),
        Err(_) => Ok(start("broker", &["hub", "--listen", "127.0.0.1:0"]).await),
    };
    let url = hub.as_ref().map_or_else(Clone::clone, |hub| hub.url.clone());
    let serve = ["serve", "--listen", "127.0.0.1:0", "--broker", &url];
    let (one, two) = (start("broker", &serve).await, start("broker", &serve).await);

    let asker = connect(&one.url, Negotiation::Auto).await;
    let modern = connect(&two.url, Negotiation::Auto).await;
    let legacy = connect(&two.url, Negotiation::Legacy).await;
    assert_ne!(modern.server().unwrap().version, legacy.server().unwrap().version);
    let (list, note) = (Change::ListChanged(List::Resources), "note://milk");
    let updated = Change::ResourceUpdated(note.into());
    let filters = [
        (SubscriptionFilter::new().resources_list_changed(), list, "buy"),
        (SubscriptionFilter::new().resource(note), updated, "bought"),
    ];
    for (filter, change, text) in filters {
        let mut told_modern = modern.subscribe(filter.clone()).await.unwrap();
        let mut told_legacy = legacy.subscribe(filter).await.unwrap();
        said(&asker, "set_note", json!({"name": "milk", "text": text})).await;
        for (client, told) in [(&modern, &mut told_modern), (&legacy, &mut told_legacy)] {
            assert_eq!(soon(told.changed()).await.unwrap(), change);
            let read = client.read_resource(note).await.unwrap();
            let read = serde_json::to_value(&read.contents[0]).unwrap();
            assert_eq!(read["text"], text);
        }
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1.0.0"}}}"#;

fn modern_call(tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        "name": tool,
    }})
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A server with tools that say where they are; its URL.
async fn serve(name: &'static str, calls: &Arc<AtomicUsize>, go_on: &Arc<Notify>) -> String {
    let mut registry = Registry::new(Implementation::new(name, "1.0.0"));
    for tool in ["where", "heavy_where"] {
        let calls = calls.clone();
        let says_where = move |_: Nothing, _: Context| {
            calls.fetch_add(1, Ordering::Relaxed);
            async move { name }
        };
        registry.tool(tool, "Where it is", says_where).unwrap();
    }
    let go_on = go_on.clone();
    let waits = move |_: Nothing, context: Context| {
        let go_on = go_on.clone();
        async move {
            context.progress(Progress::new(1.0));
            go_on.notified().await;
            name
        }
    };
    registry.tool("heavy_wait", "Tells that it has begun, and waits", waits).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let config = HttpConfig::default();
    tokio::spawn(serve_http_until(listener, registry, config, std::future::pending()));
    url
}

async fn connect(url: &str, negotiation: Negotiation) -> Client {
    let mut config = ClientConfig::new(Implementation::new("test", "1.0.0"));
    config.negotiation = negotiation;
    let client = Client::new(config);
    connect_http(&client, HttpClientConfig::parse(url).unwrap()).await.unwrap();
    client
}

/// Result of a future that completes at once, or else never.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.unwrap()
}

/// Text of a tool's result.
async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, &arguments).await.unwrap();
    result.content[0].as_text().unwrap().to_owned()
}

/// One request by other means than our client.
async fn send(
    method: Method,
    url: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> (StatusCode, HeaderMap, String) {
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
    let answer = client.request(request(method, url, fields, body)).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

fn request(method: Method, url: &str, fields: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned().into()).unwrap()
}

/// A running example, which ends with its test.
struct Example {
    /// URL at which it listens.
    url: String,
    _child: Child,
    _stderr: Lines<BufReader<ChildStderr>>,
}

async fn start(name: &str, arguments: &[&str]) -> Example {
    let mut command = Command::new(examples::path("mcp-tokio", name).unwrap());
    command.args(arguments).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = stderr.next_line().await.unwrap().unwrap_or_default();
    let Some(url) = line.strip_prefix("listening on ") else { panic!("{name}: {line}") };
    Example { url: url.to_owned(), _child: child, _stderr: stderr }
}
