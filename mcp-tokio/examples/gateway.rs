//! A gateway that routes by headers only, and compares each body with its headers while it forwards
//! the body. `cargo build -p mcp-tokio --example gateway` builds it into `target/debug/examples`:
//!
//! ```text
//! gateway --listen 127.0.0.1:8000 --tools heavy_=http://127.0.0.1:8001/mcp \
//!         --else http://127.0.0.1:8002/mcp --else http://127.0.0.1:8003/mcp
//! ```
//!
//! All servers offer the same tools. Calls of tools whose names begin with `heavy_` go to a large
//! machine, and all other requests to the other servers in turn. The head of a modern request
//! repeats the method and the name in its body (`Mcp-Method`, `Mcp-Name`), so the gateway parses
//! and buffers nothing before it forwards. If the body differs from its head, the server never gets
//! the end of the body, and the client gets 400 with -32020:
//!
//! ```text
//! $ curl 127.0.0.1:8000/mcp -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \
//!        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
//! {"error":{"code":-32020,"message":"Mcp-Method says \"tools/list\", and the body \"tools/call\" …
//! ```
//!
//! The head of a legacy request does not describe its body, so the gateway cannot route legacy
//! requests by tool, or limit the tools of a client. It can only return the requests of a session
//! to the server of the session: it puts the number of the server before the session id in a
//! response, and removes the number from later requests. If that server is gone, the client gets
//! 404 and opens another session.
//!
//! The gateway forwards `Host` and `Origin` unchanged: the servers check them, and the name of the
//! gateway must be in their `allowed_hosts`.
//!
//! The servers must share keys for request states, since the next round of a modern request may
//! reach another server. They also share changes, as the example `broker` shows.
//!
//! [Specification: Request Metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata)

use std::error::Error;
use std::iter::successors;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, Version};
use axum::response::IntoResponse;
use axum::routing::any;
use futures_util::StreamExt;
use hyper_util::client;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_tokio::mcp_proto::headers::{
    BodyCheck, BodyError, HeaderError, METHOD, MirroredHeaders, NAME,
};
use serde_json::json;
use tokio::net::TcpListener;

/// The id of a legacy session.
const SESSION: &str = "mcp-session-id";

const USAGE: &str = "usage: gateway --listen ADDRESS [--tools PREFIX=URL]... --else URL...";

struct Gateway {
    client: Client<HttpConnector, Body>,
    /// Prefixes of names of tools, and the servers of these tools.
    tools: Vec<(String, Uri)>,
    /// At least one.
    others: Vec<Uri>,
    /// Number of requests that went to the others.
    turn: AtomicUsize,
}

/// Route of a request.
enum Route {
    /// The server that its head names; the body is checked against the head.
    Modern(Uri, Box<BodyCheck>),
    /// To the other that has this number.
    Legacy(Uri, usize),
}

/// Why a request is not answered by a server.
enum Refusal {
    /// Its head does not say what its body does.
    Differs(BodyError),
    /// There is no server with the number of its session, or that server is gone.
    NoSuchServer,
    /// The server cannot be reached, or ends before it answers.
    BadGateway(client::legacy::Error),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut listen, mut tools, mut others) = (None, Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match (&*option, value.split_once('=')) {
            ("--listen", _) => listen = Some(value),
            ("--tools", Some((prefix, url))) => tools.push((prefix.to_owned(), url.parse()?)),
            ("--else", _) => others.push(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    let (Some(listen), false) = (listen, others.is_empty()) else { return Err(USAGE.into()) };

    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let gateway = Gateway { client, tools, others, turn: AtomicUsize::new(0) };
    let app = Router::new().route("/mcp", any(forward)).with_state(Arc::new(gateway));
    let listener = TcpListener::bind(listen).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

async fn forward(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let (mut head, body) = request.into_parts();
    end_to_end(&mut head.headers);
    // Over HTTP/2 the host is a part of the URI.
    if let Some(Ok(host)) = head.uri.authority().map(|host| host.as_str().parse()) {
        head.headers.insert(HOST, host);
    }
    let (uri, body, number) = match gateway.route(&mut head.headers)? {
        Route::Modern(uri, check) => (uri, checked(body, *check), None),
        Route::Legacy(uri, number) => (uri, body, Some(number)),
    };
    (head.uri, head.version) = (uri, Version::HTTP_11);
    let has_session = head.headers.contains_key(SESSION);
    // Both bodies are forwarded as they arrive. If one side disconnects, the other one is
    // disconnected.
    let answer = gateway.client.request(Request::from_parts(head, body)).await;
    // A server that is gone has lost its sessions.
    let is_lost =
        |error: &client::legacy::Error| has_session && number.is_some() && error.is_connect();
    let answer =
        answer.map_err(|error| if is_lost(&error) { Refusal::NoSuchServer } else { error.into() });
    let (mut head, body) = answer?.into_parts();
    end_to_end(&mut head.headers);
    if let Some(number) = number {
        add_number(&mut head.headers, number);
    }
    Ok(Response::from_parts(head, Body::new(body)))
}

/// A body that breaks off at the piece that shows that the head said something else.
fn checked(body: Body, mut check: BodyCheck) -> Body {
    Body::from_stream(body.into_data_stream().map(move |piece| {
        let piece = piece?;
        check.pass(&piece)?;
        Ok::<_, Box<dyn Error + Send + Sync>>(piece)
    }))
}

impl Gateway {
    fn route(&self, head: &mut HeaderMap) -> Result<Route, Refusal> {
        match self.modern(head) {
            Ok(route) => Ok(route),
            // The headers are incomplete or contradict each other, so none of them counts.
            Err(error) if head.contains_key(METHOD) || head.contains_key(NAME) => {
                Err(Refusal::Differs(error.into()))
            }
            Err(_) => self.legacy(head),
        }
    }

    fn modern(&self, head: &HeaderMap) -> Result<Route, HeaderError> {
        let fields = head.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let mirrored = MirroredHeaders::of(fields);
        let claim = mirrored.claim()?;
        let tool = claim.name.as_deref().filter(|_| claim.method == "tools/call");
        let special = tool.and_then(|tool| {
            self.tools.iter().find(|(prefix, _)| tool.starts_with(prefix.as_str()))
        });
        let uri = special.map_or_else(|| self.next().1, |(_, uri)| uri.clone());
        Ok(Route::Modern(uri, BodyCheck::of(&claim).into()))
    }

    fn legacy(&self, head: &mut HeaderMap) -> Result<Route, Refusal> {
        let Some(session) = head.get(SESSION) else {
            let (number, uri) = self.next();
            return Ok(Route::Legacy(uri, number));
        };
        let text = session.to_str().unwrap_or_default();
        let (number, id) = text.split_once('-').ok_or(Refusal::NoSuchServer)?;
        let number: usize = number.parse().map_err(|_| Refusal::NoSuchServer)?;
        let id = HeaderValue::from_str(id).map_err(|_| Refusal::NoSuchServer)?;
        let uri = self.others.get(number).ok_or(Refusal::NoSuchServer)?.clone();
        head.insert(SESSION, id);
        Ok(Route::Legacy(uri, number))
    }

    /// The next of the other servers, in turn, and its number.
    fn next(&self) -> (usize, Uri) {
        let number = self.turn.fetch_add(1, Ordering::Relaxed) % self.others.len().max(1);
        (number, self.others.get(number).cloned().unwrap_or_default())
    }
}

/// Puts the number of its server before the id of a session that is answered with.
fn add_number(head: &mut HeaderMap, number: usize) {
    if let Some(id) = head.get(SESSION).and_then(|id| id.to_str().ok())
        && let Ok(id) = HeaderValue::from_str(&format!("{number}-{id}"))
    {
        head.insert(SESSION, id);
    }
}

/// Takes out what concerns one connection and not the next.
fn end_to_end(head: &mut HeaderMap) {
    let named = head.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> =
        named.flat_map(|value| value.split(',')).map(|n| n.trim().to_owned()).collect();
    let fixed =
        ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];
    for name in named.iter().map(String::as_str).chain(fixed) {
        head.remove(name);
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        match self {
            Self::Differs(error) => {
                // The id is in a body that nobody has read to its end.
                let error = json!({"code": error.code().0, "message": error.to_string()});
                let answer = json!({"jsonrpc": "2.0", "error": error}).to_string();
                (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], answer)
                    .into_response()
            }
            Self::NoSuchServer => StatusCode::NOT_FOUND.into_response(),
            Self::BadGateway(error) => {
                let causes = successors(Some(&error as &dyn Error), |&error| error.source());
                let causes: Vec<_> = causes.map(ToString::to_string).collect();
                (StatusCode::BAD_GATEWAY, causes.join(": ")).into_response()
            }
        }
    }
}

/// Finds the error that broke off the body of a request among the causes of the failure.
impl From<client::legacy::Error> for Refusal {
    fn from(error: client::legacy::Error) -> Self {
        let mut causes = successors(Some(&error as &dyn Error), |&error| error.source());
        match causes.find_map(|cause| cause.downcast_ref::<BodyError>()).cloned() {
            Some(differs) => Self::Differs(differs),
            None => Self::BadGateway(error),
        }
    }
}
