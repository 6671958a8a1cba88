//! A server over HTTP without sockets: connections, and what tends it, are driven by hand.

#![expect(clippy::needless_pass_by_value, reason = "a test says in place what it sends")]

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::http::{Config, Head};
use mcp_service::{Answering, Catalog, Clock, Drive, HttpLink, HttpServer, Part, Service, Spawned};
use serde_json::{Value, json};

use crate::bench::{Hands, Wakes};

/// A server, its time, and what it has spawned.
pub(crate) struct Site {
    pub(crate) server: HttpServer,
    pub(crate) hands: Hands,
    time: Time,
    tending: Pin<Box<dyn Future<Output = ()>>>,
    tender: Arc<Wakes>,
}

/// One connection.
pub(crate) struct Socket {
    pub(crate) service: Service<HttpLink>,
    time: Time,
    wakes: Arc<Wakes>,
    waker: Waker,
    pub(crate) session: Option<String>,
}

/// A request that another stack has read.
pub(crate) struct Asked {
    pub(crate) answering: Answering,
    time: Time,
    pub(crate) wakes: Arc<Wakes>,
    waker: Waker,
}

#[derive(Clone)]
pub(crate) struct Time(Arc<Mutex<Instant>>);

impl Time {
    pub(crate) fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

impl Clock for Time {
    fn now(&self) -> Instant {
        Self::now(self)
    }

    /// Whoever lets time pass polls again.
    fn poll_timer(&mut self, _: &mut Context<'_>, at: Instant) -> Poll<()> {
        if Self::now(self) >= at { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Site {
    pub(crate) fn new(catalog: impl Into<Catalog>) -> Self {
        Self::with(catalog, Config::default())
    }

    pub(crate) fn with(catalog: impl Into<Catalog>, config: Config) -> Self {
        Self::spawning(catalog, config, |future, hands| hands.take(future))
    }

    /// A server that spawns handlers by this function, which may put them where the test polls.
    pub(crate) fn spawning(
        catalog: impl Into<Catalog>,
        config: Config,
        spawn: impl Fn(Spawned, &Hands) + Send + Sync + 'static,
    ) -> Self {
        let (hands, mut ids) = (Hands::default(), 0_u128);
        let spawned = hands.clone();
        let ids = move || {
            ids += 1;
            ids.to_be_bytes()
        };
        let server = HttpServer::new(catalog, config, ids, move |future| spawn(future, &spawned));
        let time = Time(Arc::new(Mutex::new(Instant::ZERO)));
        let (tended, mut clock) = (server.clone(), time.clone());
        let tending = Box::pin(async move { tended.run_background(&mut clock).await });
        let mut site = Self { server, hands, time, tending, tender: Arc::default() };
        site.run_background();
        site
    }

    /// Polls what tends the server.
    pub(crate) fn run_background(&mut self) {
        let waker = Waker::from(self.tender.clone());
        let polled = self.tending.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }

    /// Number of wakes of the server's background task since the last look.
    pub(crate) fn tender_wakes(&self) -> usize {
        self.tender.take()
    }

    /// Polls what was spawned, and what tends the server if it was woken by that.
    pub(crate) fn run(&mut self) {
        self.hands.poll();
        if self.tender_wakes() > 0 {
            self.run_background();
        }
    }

    /// The wait for the end of handlers, once no connection is open.
    pub(crate) fn finish(&self) -> Pin<Box<dyn Future<Output = ()>>> {
        let (server, mut time) = (self.server.clone(), self.time.clone());
        Box::pin(async move { server.finish(&mut time).await })
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let mut now = self.time.0.lock().unwrap();
        *now = *now + time;
        drop(now);
        self.run_background();
    }

    pub(crate) fn now(&self) -> Instant {
        self.time.now()
    }

    /// A connection.
    pub(crate) fn connect(&self) -> Socket {
        self.socket(self.server.connect(self.time.now()))
    }

    /// A connection of a client with an address.
    pub(crate) fn connect_from(&self, peer: IpAddr) -> Socket {
        self.socket(self.server.connect_from(self.time.now(), peer))
    }

    fn socket(&self, service: Service<HttpLink>) -> Socket {
        let wakes = Arc::<Wakes>::default();
        Socket {
            service,
            time: self.time.clone(),
            waker: Waker::from(wakes.clone()),
            wakes,
            session: None,
        }
    }

    /// A connection that has opened a session.
    pub(crate) fn session(&self) -> Socket {
        let mut socket = self.connect();
        let client = json!({"name": "c", "version": "1"});
        let capabilities = json!({"elicitation": {}, "roots": {}});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        let answer = socket.ask(&request(0, "initialize", params));
        let (_, session) = answer.split_once("Mcp-Session-Id: ").unwrap();
        socket.session = session.split_once("\r\n").map(|(id, _)| id.to_owned());
        let method = "notifications/initialized";
        let answer = socket.ask(&json!({"jsonrpc": "2.0", "method": method}));
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
        socket
    }

    /// A modern request that another stack has read.
    pub(crate) fn answer(&self, method: &str, name: Option<&str>, params: Value) -> Asked {
        let body = modern(1, method, params).to_string();
        let mut head = Head::new("POST", "/mcp");
        for (field, value) in fields(method, name) {
            head.push(field, value.as_bytes());
        }
        self.answer_to(head, body.into())
    }

    /// Any request that another stack has read.
    pub(crate) fn answer_to(&self, head: Head, body: Bytes) -> Asked {
        let answering = self.server.answer(self.time.now(), head, &body);
        let wakes = Arc::<Wakes>::default();
        Asked { answering, time: self.time.clone(), waker: Waker::from(wakes.clone()), wakes }
    }
}

impl Socket {
    /// Another one in the same session.
    pub(crate) fn again(&self, site: &Site) -> Self {
        Self { session: self.session.clone(), ..site.connect() }
    }

    /// Sends a message and takes what is answered at once.
    pub(crate) fn ask(&mut self, message: &Value) -> String {
        self.post(message);
        self.out()
    }

    /// Sends a message in the session.
    pub(crate) fn post(&mut self, message: &Value) {
        self.send("POST", &[], &message.to_string());
    }

    /// Calls the tool `t` as a modern client.
    pub(crate) fn call_modern(&mut self, id: u32) {
        let body = modern(id, "tools/call", json!({"name": "t"})).to_string();
        self.send("POST", &fields("tools/call", Some("t"))[3..], &body);
    }

    pub(crate) fn send(&mut self, method: &str, more: &[(&str, &str)], body: &str) {
        let mut text = format!("{method} /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in fields("", None)[..3].iter().chain(more) {
            text.extend([*name, ": ", *value, "\r\n"]);
        }
        if let Some(session) = &self.session {
            text.extend(["Mcp-Session-Id: ", session, "\r\n"]);
        }
        self.send_bytes(format!("{text}\r\n{body}").into());
    }

    pub(crate) fn send_bytes(&mut self, bytes: Bytes) {
        self.service.handle_bytes(self.time.now(), bytes);
        self.turn();
    }

    /// The stream of the session.
    pub(crate) fn listen(&mut self) {
        self.send("GET", &[], "");
        let head = self.out();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }

    pub(crate) fn turn(&mut self) {
        self.service.turn(self.time.now(), &self.waker);
    }

    /// Number of wakes of the service since the last look.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.take()
    }

    /// Has its turn if it was woken, and says what it sends then.
    pub(crate) fn woken(&mut self) -> String {
        assert!(self.wakes() > 0, "nobody woke it");
        self.turn();
        self.out()
    }

    /// Text that the service sends.
    pub(crate) fn out(&mut self) -> String {
        let mut bytes = Vec::new();
        while !self.service.output().is_empty() {
            bytes.extend_from_slice(self.service.output());
            self.service.handle_written(self.service.output().len());
            self.turn();
        }
        String::from_utf8(bytes).unwrap()
    }
}

impl Asked {
    /// The next part of the response, if there is one.
    pub(crate) fn part(&mut self) -> Option<Part> {
        self.answering.turn(self.time.now(), &self.waker)
    }

    /// The status and the data that can be taken, and whether it has ended.
    pub(crate) fn out(&mut self) -> (Option<u16>, String, bool) {
        let (mut status, mut text) = (None, String::new());
        loop {
            match self.part() {
                Some(Part::Whole(head, data)) => {
                    status = Some(head.status);
                    text.push_str(std::str::from_utf8(&data).unwrap());
                }
                Some(Part::Head(head)) => status = Some(head.status),
                Some(Part::Data(data)) => text.push_str(std::str::from_utf8(&data).unwrap()),
                Some(Part::End) => return (status, text, true),
                None => return (status, text, false),
            }
        }
    }
}

/// A request.
pub(crate) fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of the tool `t`.
pub(crate) fn call(id: u32) -> Value {
    request(id, "tools/call", json!({"name": "t", "_meta": {"progressToken": id}}))
}

/// A modern request.
pub(crate) fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "info",
        "progressToken": id,
    });
    request(id, method, params)
}

/// The fields of a request; from the fourth on those of a modern one.
pub(crate) fn fields<'a>(method: &'a str, name: Option<&'a str>) -> Vec<(&'static str, &'a str)> {
    let mut fields = vec![
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    fields.extend(name.map(|name| ("Mcp-Name", name)));
    fields
}
