//! A server over HTTP without sockets: connections that share an endpoint, and an application that
//! answers `echo` at once and owes all other answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{
    Change, Declaration, Notification, Outcome, Progress, Registry, Reply, ServerEvent,
};
use mcp_proto::types::Tool;
use mcp_proto::{Action, Bytes, Duration, Instant, Json, Limits, Machine};
use mcp_tests::fuzz::{self, Answers};

/// Number of a connection.
pub(crate) type Number = usize;

pub(crate) struct Site {
    pub(crate) now: Instant,
    registry: Registry<Answers>,
    declaration: Arc<Declaration>,
    config: Arc<Config>,
    pub(crate) endpoint: Endpoint<Number>,
    pub(crate) connections: BTreeMap<Number, Client>,
    count: Number,
    pub(crate) owed: Vec<Reply>,
    /// Number of messages that were reported as lost.
    pub(crate) lost: u64,
}

/// The other end of a connection.
pub(crate) struct Client {
    connection: Connection,
    /// Bytes that it has read and no test has taken.
    pub(crate) read: Vec<u8>,
    /// True if it reads: the driver of one that does not takes no actions and visits nobody.
    pub(crate) reads: bool,
    pub(crate) closed: bool,
    /// Number of bytes that it has read.
    pub(crate) count: usize,
}

impl Site {
    pub(crate) fn new(limits: Limits) -> Self {
        let mut config = Config::default();
        config.server.limits = limits;
        Self::with(Arc::new(config), fuzz::registry())
    }

    /// A server whose handlers see the heads of their requests.
    pub(crate) fn keeping_heads(limits: Limits) -> Self {
        let mut config = Config::default();
        config.server.limits = limits;
        config.keep_head = true;
        Self::with(Arc::new(config), fuzz::registry())
    }

    /// A server with one more tool, which answers at once.
    pub(crate) fn with_tool(tool: Tool) -> Self {
        let mut registry = fuzz::registry();
        registry.add_tool(tool, Answers::AtOnce).expect("a tool");
        Self::with(Arc::default(), registry)
    }

    /// A server that forwards requests to a handler which answers later.
    pub(crate) fn forwarding(limits: Limits) -> Self {
        let mut config = Config::default();
        config.server.limits = limits;
        let mut registry = fuzz::registry();
        registry.forward(Answers::Later);
        Self::with(Arc::new(config), registry)
    }

    /// Another server with the same configuration.
    pub(crate) fn sibling(&self) -> Self {
        Self::with(self.config.clone(), fuzz::registry())
    }

    fn with(config: Arc<Config>, registry: Registry<Answers>) -> Self {
        let mut ids = 0_u128;
        let ids = Box::new(move || {
            ids += 1;
            // Spread over all numbers, as random ones are.
            (ids.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)).to_be_bytes()
        });
        let declaration = registry.declaration();
        Self {
            now: Instant::ZERO,
            endpoint: Endpoint::new(declaration.clone(), config.clone(), ids),
            declaration,
            registry,
            config,
            connections: BTreeMap::new(),
            count: 0,
            owed: Vec::new(),
            lost: 0,
        }
    }

    pub(crate) fn connect(&mut self) -> Number {
        self.count += 1;
        let connection = Connection::new(self.now, self.declaration.clone(), self.config.clone());
        let client = Client { connection, read: Vec::new(), reads: true, closed: false, count: 0 };
        self.connections.insert(self.count, client);
        self.count
    }

    /// A client writes, as far as the server wants to read. Returns how much was read of it.
    pub(crate) fn write(&mut self, number: Number, bytes: &[u8]) -> usize {
        let mut written = 0;
        for chunk in bytes.chunks(64 * 1024) {
            let Some(client) = self.connections.get_mut(&number) else { break };
            if !client.connection.wants_read() {
                break;
            }
            client.connection.handle_bytes(self.now, Bytes::copy_from_slice(chunk));
            written += chunk.len();
            self.settle([number]);
        }
        written
    }

    /// A client sends a request and takes what is said at once.
    pub(crate) fn ask(&mut self, number: Number, bytes: &[u8]) -> String {
        let written = self.write(number, bytes);
        assert_eq!(written, bytes.len(), "the server does not read");
        self.take(number)
    }

    /// Takes what a client has read since the last take.
    pub(crate) fn take(&mut self, number: Number) -> String {
        let client = self.connections.get_mut(&number).expect("a client");
        String::from_utf8(std::mem::take(&mut client.read)).expect("text")
    }

    /// A client is gone without a word.
    pub(crate) fn reset(&mut self, number: Number) {
        if let Some(client) = self.connections.get_mut(&number) {
            client.connection.handle_disconnect(self.now);
            client.reads = true;
            self.settle([number]);
        }
        self.connections.remove(&number);
    }

    /// Visits once for a client that does not read otherwise. Returns the bytes that it is sent,
    /// and whether another visit is due.
    pub(crate) fn visit_once(&mut self, number: Number) -> (usize, bool) {
        let client = self.connections.get_mut(&number).expect("a client");
        client.connection.visit(self.now, &mut self.endpoint, &number);
        let mut sent = 0;
        while let Some(action) = client.connection.poll_action() {
            if let Action::Transmit(bytes) = action {
                sent += bytes.len();
            }
        }
        (sent, client.connection.needs_endpoint())
    }

    /// A client reads again.
    pub(crate) fn wake(&mut self, number: Number) {
        self.connections.get_mut(&number).expect("a client").reads = true;
        // It was woken while it did not look.
        self.turn(number, true);
        self.settle([]);
    }

    /// Answers the oldest request.
    pub(crate) fn answer(&mut self, number: Number, outcome: Outcome) {
        let reply = self.owed.remove(0);
        self.respond(number, reply, outcome);
    }

    fn respond(&mut self, number: Number, reply: Reply, outcome: Outcome) {
        if reply.is_shared() {
            self.endpoint.respond(self.now, reply, outcome);
        } else if let Some(client) = self.connections.get_mut(&number) {
            client.connection.respond(self.now, reply, outcome);
        }
        self.settle([number]);
    }

    /// A request of a session makes progress.
    pub(crate) fn progress(&mut self, at: usize, step: u32, message: &str) {
        let about = self.owed[at].id();
        let progress = Progress::new(step).message(message);
        let notification = Notification::Progress(progress);
        self.endpoint.notify(self.now, about, notification).expect("it is in flight");
        self.settle([]);
    }

    pub(crate) fn publish(&mut self, change: &Change) {
        self.endpoint.publish(self.now, change).expect("it is declared");
        self.settle([]);
    }

    /// Time passes, and all that is due is done.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due =
                self.connections.values().filter_map(|client| client.connection.poll_timeout());
            let due = due.chain(self.endpoint.poll_timeout()).min();
            let Some(at) = due.filter(|at| *at <= end) else { break };
            assert!(at >= self.now || at == Instant::ZERO, "a deadline stays in the past");
            self.now = self.now.max(at);
            let now = self.now;
            let mut all = Vec::new();
            for (number, client) in &mut self.connections {
                if client.connection.poll_timeout().is_some_and(|at| at <= now) {
                    client.connection.handle_timeout(now);
                    all.push(*number);
                }
            }
            self.endpoint.handle_timeout(now);
            self.settle(all);
        }
        self.now = end;
    }

    /// Does what is to be done about these connections, and all that are woken by that.
    fn settle(&mut self, numbers: impl IntoIterator<Item = Number>) {
        let mut due: BTreeSet<(Number, bool)> =
            numbers.into_iter().map(|number| (number, false)).collect();
        loop {
            while let Some(action) = self.endpoint.poll_action() {
                match action {
                    EndpointAction::Wake(number) => {
                        due.insert((number, true));
                    }
                    EndpointAction::Event(event) => self.event(0, event),
                    other => unreachable!("{other:?}"),
                }
            }
            let Some((number, woken)) = due.pop_last() else { return };
            self.turn(number, woken);
        }
    }

    fn turn(&mut self, number: Number, woken: bool) {
        let Some(client) = self.connections.get_mut(&number) else { return };
        if !client.reads {
            return;
        }
        let mut visits = woken;
        loop {
            let Some(client) = self.connections.get_mut(&number) else { return };
            match client.connection.poll_action() {
                Some(Action::Transmit(bytes)) => {
                    client.read.extend_from_slice(&bytes);
                    client.count += bytes.len();
                }
                Some(Action::Event(event)) => self.event(number, event),
                Some(Action::Close) => client.closed = true,
                None if visits || client.connection.needs_endpoint() => {
                    client.connection.visit(self.now, &mut self.endpoint, &number);
                    visits = false;
                    while let Some(action) = self.endpoint.poll_action() {
                        match action {
                            EndpointAction::Wake(other) if other == number => visits = true,
                            EndpointAction::Wake(other) => self.turn(other, true),
                            EndpointAction::Event(event) => self.event(number, event),
                            other => unreachable!("{other:?}"),
                        }
                    }
                }
                None => return,
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event is to be seen here")]
    fn event(&mut self, number: Number, event: ServerEvent) {
        match event {
            ServerEvent::Request(request) => {
                let at_once = self.registry.handler(request.handler) == Some(&Answers::AtOnce);
                if at_once {
                    let outcome = Outcome::Complete(Json::EMPTY_OBJECT);
                    if request.reply.is_shared() {
                        self.endpoint.respond(self.now, request.reply, outcome);
                    } else if let Some(client) = self.connections.get_mut(&number) {
                        client.connection.respond(self.now, request.reply, outcome);
                    }
                } else {
                    self.owed.push(request.reply);
                }
            }
            ServerEvent::Cancelled { about, .. } => {
                self.owed.retain(|reply| reply.id() != about);
            }
            ServerEvent::MessagesLost { count } => self.lost += count,
            ServerEvent::PeerFault(_) | ServerEvent::LimitReached { .. } => {}
            other => unreachable!("{other:?}"),
        }
    }
}

/// Opens a session; returns its id.
pub(crate) fn opened(site: &mut Site) -> String {
    let number = site.connect();
    let session = session_id(&site.ask(number, &post("", &initialize("2025-11-25", "c"))));
    site.ask(number, &of_session(&session, INITIALIZED));
    site.reset(number);
    session
}

/// The id of the session that an answer to `initialize` gives out.
pub(crate) fn session_id(answer: &str) -> String {
    let (_, rest) = answer.split_once("Mcp-Session-Id: ").expect(answer);
    rest.split_once("\r\n").expect(answer).0.to_owned()
}

/// A POST with more fields, each with its line end.
pub(crate) fn post(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A POST of a session.
pub(crate) fn of_session(session: &str, body: &str) -> Vec<u8> {
    post(&format!("Mcp-Session-Id: {session}\r\n"), body)
}

pub(crate) fn get(session: &str, fields: &str) -> Vec<u8> {
    let fields = format!("Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n{fields}");
    format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").into_bytes()
}

pub(crate) fn delete(session: &str) -> Vec<u8> {
    let fields = format!("Mcp-Session-Id: {session}\r\n");
    format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").into_bytes()
}

pub(crate) const INITIALIZED: &str =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

pub(crate) fn initialize(version: &str, name: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\
         \"protocolVersion\":\"{version}\",\"capabilities\":{{\"roots\":{{}}}},\
         \"clientInfo\":{{\"name\":\"{name}\",\"version\":\"1.0.0\"}}}}}}"
    )
}

pub(crate) fn call(id: impl std::fmt::Display, tool: &str) -> String {
    let params = format!("\"name\":\"{tool}\",\"_meta\":{{\"progressToken\":{id}}}");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{{params}}}}}")
}

/// A POST of a modern client's.
pub(crate) fn modern(id: impl std::fmt::Display, method: &str, params: &str) -> Vec<u8> {
    let name = params.split_once("\"name\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let name = name.map_or(String::new(), |(name, _)| format!("Mcp-Name: {name}\r\n"));
    let fields = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
    let comma = if params.is_empty() { "" } else { "," };
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{comma}\
         \"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}"
    );
    post(&fields, &body)
}
