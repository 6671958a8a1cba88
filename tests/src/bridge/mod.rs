//! A bridge between a client and a server that are scripts: the client on a byte stream, the server
//! on a byte stream or over HTTP.
//!
//! In: lines of the client and of the server. Out: the lines that each of them gets. What the
//! bridge wants done is done at once, as a driver does it.

mod http;
pub mod script;
pub mod site;
mod up;
pub mod wire;
pub mod world;

use std::collections::BTreeMap;

use mcp_proto::bridge::{Bridge, BridgeAction, ClientRequest, Config, Ticket};
use mcp_proto::client::{self, Negotiation, Restart};
use mcp_proto::server::{
    self, CancelCause, InputFailure, Registry, Reply, ReplyId, Server, ServerEvent, SessionRef,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{ClientCapabilities, Implementation};
use mcp_proto::{
    Action, Binding, Bytes, Duration, Era, EraPolicy, Instant, Json, Machine, ProtocolVersion,
};
use serde_json::Value;

pub use http::HttpRequest;
use up::{Up, UpAction};

/// The policy of a server that serves only this era.
pub fn policy(era: Era) -> EraPolicy {
    match era {
        Era::Legacy => EraPolicy::LegacyOnly,
        Era::Modern => EraPolicy::ModernOnly,
    }
}

/// The settings of a server with this policy.
pub fn server_config(policy: EraPolicy) -> server::Config {
    let mut config = server::Config::default();
    config.era_policy = policy;
    config
}

/// The negotiation of a client with a server of this era.
pub fn negotiation(era: Era) -> Negotiation {
    match era {
        Era::Legacy => Negotiation::Legacy,
        Era::Modern => Negotiation::Pinned(ProtocolVersion::LATEST_MODERN),
    }
}

/// A bridge between two scripts.
#[derive(Debug)]
pub struct Bridged {
    now: Instant,
    down: Connection<Server>,
    up: Up,
    bridge: Bridge,
    replies: BTreeMap<ReplyId, Reply>,
    asked: BTreeMap<server::InputId, Ticket>,
    /// The session of the client that has sent a request.
    session: Option<SessionRef>,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    /// The most bytes that a connection is given at once.
    chunk: usize,
    /// All bytes that the client has got, and all that the server has got.
    sent: [Vec<u8>; 2],
    /// The number of responses of the bridge.
    pub responses: usize,
    /// The number of requests that the bridge was given.
    pub requests: usize,
}

impl Bridged {
    /// One whose downstream serves the eras of `serves`, and whose upstream is found out by
    /// `negotiation`.
    pub fn new(serves: EraPolicy, negotiation: Negotiation) -> Self {
        Self::with_restart(serves, negotiation, Restart::Never)
    }

    /// One whose server is started again by this policy.
    pub fn with_restart(serves: EraPolicy, negotiation: Negotiation, restart: Restart) -> Self {
        let config = forwarding(negotiation).restart(restart);
        Self::with_upstream(serves, Up::stream(config))
    }

    fn with_upstream(serves: EraPolicy, up: Up) -> Self {
        let mut registry = Registry::new(Implementation::new("bridge", "1.0.0"));
        registry.forward(());
        let down = Connection::server(registry.declaration(), server_config(serves));
        let mut bridged = Self {
            now: Instant::ZERO,
            down,
            up,
            bridge: new_bridge(),
            replies: BTreeMap::new(),
            asked: BTreeMap::new(),
            session: None,
            to_client: Vec::new(),
            to_server: Vec::new(),
            chunk: usize::MAX,
            sent: [Vec::new(), Vec::new()],
            responses: 0,
            requests: 0,
        };
        bridged.up.handle_opened(bridged.now);
        bridged.run();
        bridged
    }

    /// The bridge has these settings. Its server is not connected yet.
    pub fn set_config(&mut self, config: Config) {
        self.bridge = Bridge::new(config);
    }

    /// Lines arrive in pieces of at most `chunk` bytes from now on, each of which is handled before
    /// the next one comes.
    pub fn in_chunks_of(&mut self, chunk: usize) {
        self.chunk = chunk;
    }

    /// All bytes that the client has got, and all that the server has got.
    pub fn into_sent(self) -> [Vec<u8>; 2] {
        self.sent
    }

    /// The client sends a line.
    pub fn client(&mut self, line: &str) {
        for chunk in format!("{line}\n").as_bytes().chunks(self.chunk) {
            self.down.handle_bytes(self.now, Bytes::copy_from_slice(chunk));
            self.run();
        }
    }

    /// The server sends a line.
    pub fn server(&mut self, line: &str) {
        for chunk in format!("{line}\n").as_bytes().chunks(self.chunk) {
            self.up.handle_bytes(self.now, chunk);
            self.run();
        }
    }

    /// The server is gone.
    pub fn server_ends(&mut self) {
        self.up.handle_eof(self.now);
        self.run();
    }

    /// Another bridge takes over the client, and connects to another server.
    pub fn replace_server(&mut self, negotiation: Negotiation) {
        let mut earlier = std::mem::replace(&mut self.bridge, new_bridge());
        self.bridge.take_over(&mut earlier, self.session.as_slice());
        self.up = Up::stream(forwarding(negotiation));
        self.up.handle_opened(self.now);
        self.run();
    }

    /// Returns whether the server has tasks that have not expired.
    pub fn has_tasks(&self) -> bool {
        self.bridge.has_tasks()
    }

    /// The client sends nothing more.
    pub fn client_ends(&mut self) {
        self.down.handle_eof(self.now);
        self.run();
    }

    /// Time passes.
    pub fn pass(&mut self, duration: Duration) {
        self.now = self.now + duration;
        let now = self.now;
        self.down.handle_timeout(now);
        self.up.handle_timeout(now);
        let Self { bridge, up, .. } = self;
        up.with(now, |client| bridge.handle_timeout(now, client));
        self.run();
    }

    /// The lines that the client has got since the last look.
    pub fn to_client(&mut self) -> Vec<Value> {
        lines(&mut self.to_client)
    }

    /// The lines that the server has got since the last look.
    pub fn to_server(&mut self) -> Vec<Value> {
        lines(&mut self.to_server)
    }

    fn run(&mut self) {
        loop {
            let is_idle = !self.take_down() & !self.take_up();
            if is_idle && !self.take_bridge() {
                return;
            }
        }
    }

    fn take_down(&mut self) -> bool {
        let now = self.now;
        let Some(action) = self.down.poll_action() else { return false };
        let Self { bridge, up, .. } = self;
        match action {
            Action::Transmit(bytes) => {
                self.to_client.extend_from_slice(&bytes);
                self.sent[0].extend_from_slice(&bytes);
            }
            Action::Event(ServerEvent::Request(request)) => {
                self.requests += 1;
                let read = ClientRequest::of(&request);
                self.session = Some(read.about.session());
                self.replies.insert(read.about, request.reply);
                up.with(now, |client| bridge.handle_request(now, read, client));
            }
            Action::Event(ServerEvent::Cancelled { about, cause }) => {
                self.replies.remove(&about);
                let reason = if let CancelCause::Client(reason) = cause { reason } else { None };
                up.with(now, |client| {
                    bridge.handle_cancelled(now, (about, reason.as_deref()), client);
                });
            }
            Action::Event(ServerEvent::Notification { session, method, params, .. }) => {
                let era = self.down.machine().era().unwrap_or(Era::Modern);
                up.with(now, |client| {
                    bridge.handle_notification(now, (session, era), &method, params, client);
                });
            }
            Action::Event(ServerEvent::InputAnswered { input, answer }) => {
                if let Some(ticket) = self.asked.remove(&input) {
                    up.with(now, |client| {
                        bridge.handle_input_answered(now, ticket, answer, client);
                    });
                }
            }
            Action::Event(ServerEvent::SessionEnded { session, .. }) => {
                up.with(now, |client| bridge.handle_session_ended(now, session, client));
            }
            Action::Event(_) | Action::Close => {}
        }
        true
    }

    fn take_up(&mut self) -> bool {
        let now = self.now;
        let Some(action) = self.up.poll_action(now) else { return false };
        let Self { bridge, up, .. } = self;
        match action {
            UpAction::Send(bytes) => {
                self.to_server.extend_from_slice(&bytes);
                self.sent[1].extend_from_slice(&bytes);
            }
            UpAction::Event(event) => {
                up.with(now, |client| bridge.handle_client_event(now, *event, client));
            }
            UpAction::Done => {}
        }
        true
    }

    fn take_bridge(&mut self) -> bool {
        let now = self.now;
        let Some(action) = self.bridge.poll_action() else { return false };
        let Self { bridge, up, down, .. } = self;
        match action {
            BridgeAction::Respond { about, outcome } => {
                self.responses += 1;
                if let Some(reply) = self.replies.remove(&about) {
                    down.with(now, |server| server.respond(now, reply, outcome));
                }
            }
            BridgeAction::Notify { about, notification } => {
                let _ = down.with(now, |server| server.notify(now, about, notification));
            }
            BridgeAction::NotifySession { notification, .. } => {
                let _ = down.with(now, |server| server.notify_session(now, notification));
            }
            BridgeAction::RequestInput { about, request, ticket, .. } => {
                let timeout = Duration::from_secs(60);
                let asked = down.with(now, |server| match about {
                    Some(about) => server.request_input_about(now, about, request, timeout),
                    None => server.request_input(now, request, timeout),
                });
                match asked {
                    Ok(input) => {
                        self.asked.insert(input, ticket);
                    }
                    Err(_) => up.with(now, |client| {
                        let answer: Result<Json, _> = Err(InputFailure::Closed);
                        bridge.handle_input_answered(now, ticket, answer, client);
                    }),
                }
            }
            BridgeAction::CancelInput { ticket } => {
                let found = self.asked.iter().find(|(_, it)| **it == ticket);
                if let Some(input) = found.map(|(input, _)| *input) {
                    self.asked.remove(&input);
                    let _ = down.with(now, |server| server.cancel_input(now, input));
                }
            }
            _ => {}
        }
        true
    }
}

/// A bridge whose server is not known yet.
fn new_bridge() -> Bridge {
    Bridge::new(Config::new(counting()))
}

/// A source of bits that counts.
pub fn counting() -> Box<dyn FnMut() -> [u8; 16] + Send> {
    let mut bits = 0_u128;
    Box::new(move || {
        bits += 1;
        bits.to_be_bytes()
    })
}

/// The configuration of the bridge's client.
pub(crate) fn forwarding(negotiation: Negotiation) -> client::Config {
    let mut config = client::Config::new(Implementation::new("bridge", "1.0.0"))
        .negotiation(negotiation)
        .forwarding();
    let all = r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},
        "elicitation":{"form":{},"url":{}}}"#;
    config.capabilities = serde_json::from_str::<ClientCapabilities>(all).unwrap_or_default();
    config
}

fn lines(bytes: &mut Vec<u8>) -> Vec<Value> {
    let text = std::mem::take(bytes);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap_or(Value::Null)).collect()
}

impl Bridged {
    /// The server sends a line; returns the text that the client gets for it.
    pub fn server_raw(&mut self, line: &str) -> String {
        self.server(line);
        String::from_utf8(std::mem::take(&mut self.to_client)).unwrap_or_default()
    }
}
