//! A bridge between several clients and a server that says what it likes.
//!
//! In: bytes: the settings, then steps. Out: a panic if something is not as it must be:
//!
//! - each request of a client has one response, none after its cancellation, and none of another;
//! - a tool is called once, and again only if the server has answered the call before;
//! - what is said about a request is said while it is open, and to its client alone;
//! - each request of the server has one answer, unless it was withdrawn;
//! - a deadline that was handled is over, and one that is not due changes nothing;
//! - time alone ends every request, and with the last client and the server all is forgotten;
//! - the same lines in pieces give everybody the same bytes.

mod act;
mod client;

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::bridge::{Bridge, Config, Ticket};
use mcp_proto::client::{Client, Negotiation, Restart};
use mcp_proto::server::{self, Registry, Reply, ReplyId, SessionRef};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{Binding, Bytes, Duration, Era, Instant, Limits, Machine};
use serde_json::json;

use client::CrowdClient;

use crate::bridge::{counting, forwarding, negotiation};
use crate::fuzz::client::server::{self as hostile, Hostile};
use crate::fuzz::oracle;
use crate::fuzz::script_bytes::ScriptBytes;

/// The most steps of a script.
const MAX_STEPS: usize = 96;

/// The most clients of a script, and those that are there at a time.
const MAX_CLIENTS: usize = 8;
const SLOTS: usize = 3;

pub(super) struct Crowd {
    now: Instant,
    settings: u8,
    chunk: usize,
    clients: Vec<CrowdClient>,
    /// The clients that the script means.
    slots: [usize; SLOTS],
    up: Connection<Client>,
    up_closed: bool,
    /// True if the server is to be started.
    is_unopened: bool,
    bridge: Bridge,
    hostile: Hostile,
    /// Client and reply of each request that the bridge has.
    replies: BTreeMap<ReplyId, (usize, Reply)>,
    sessions: BTreeMap<SessionRef, usize>,
    /// Requests and sessions that have just ended: what was said before may still come.
    ended: (BTreeSet<ReplyId>, BTreeSet<SessionRef>),
    asked: BTreeMap<Ticket, (usize, server::InputId)>,
    /// Number of times that each tool call was sent to the server, and the most that is allowed.
    /// Each request of its client, and each answer of the server, allows one.
    calls: BTreeMap<String, [u32; 2]>,
    /// The server's requests, and those without an answer.
    asks: u32,
    open_asks: BTreeSet<String>,
    answered_asks: BTreeSet<u32>,
    /// All bytes that the server has got.
    to_server: Vec<u8>,
}

/// Plays a script. Returns all bytes that each client has got, and that the server has got.
pub(super) fn play(data: &[u8], chunk: usize) -> Vec<Vec<u8>> {
    let mut bytes = ScriptBytes::new(data);
    let (eras, settings) = (bytes.next(), bytes.next());
    let mut crowd = Crowd::new(eras, settings, chunk);
    for _ in 0..MAX_STEPS {
        if bytes.is_empty() {
            break;
        }
        crowd.step(&mut bytes);
        crowd.settle();
        crowd.check_early_timeout();
    }
    crowd.end()
}

impl Crowd {
    fn new(eras: u8, settings: u8, chunk: usize) -> Self {
        let up_era = if eras & 2 == 0 { Era::Legacy } else { Era::Modern };
        let mut config = forwarding(negotiation(up_era));
        if eras & 8 != 0 {
            config.negotiation = Negotiation::Auto;
        }
        config.restart = match settings % 3 {
            0 => Restart::Never,
            1 => Restart::OnCall,
            _ => Restart::Always,
        };
        config.limits = limits(settings);
        let mut crowd = Self {
            now: Instant::ZERO,
            settings,
            chunk,
            clients: Vec::new(),
            slots: [0; SLOTS],
            up: Connection::client(config),
            up_closed: false,
            is_unopened: false,
            bridge: new_bridge(settings),
            hostile: Hostile::default(),
            replies: BTreeMap::new(),
            sessions: BTreeMap::new(),
            ended: (BTreeSet::new(), BTreeSet::new()),
            asked: BTreeMap::new(),
            calls: BTreeMap::new(),
            asks: 0,
            open_asks: BTreeSet::new(),
            answered_asks: BTreeSet::new(),
            to_server: Vec::new(),
        };
        crowd.up.handle_opened(crowd.now);
        crowd.settle();
        for slot in 0..SLOTS {
            let is_legacy = eras & (16 << slot) == 0;
            crowd.connect(slot, if is_legacy { Era::Legacy } else { Era::Modern });
        }
        crowd
    }

    /// A client connects, and opens its session if it is legacy.
    fn connect(&mut self, slot: usize, era: Era) {
        let mut registry = Registry::new(Implementation::new("bridge", "1.0.0"));
        registry.forward(());
        let mut config = server::Config::default();
        config.limits = limits(self.settings);
        let server = Connection::server(registry.declaration(), config);
        let at = self.clients.len();
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = at;
        }
        self.clients.push(CrowdClient::new(at, era, server));
        if era == Era::Legacy {
            let line = self.clients.get_mut(at).map(CrowdClient::initialize);
            self.client_says(at, &line.unwrap_or_default());
        }
    }

    fn step(&mut self, bytes: &mut ScriptBytes<'_>) {
        let (kind, number) = (bytes.next(), bytes.next());
        let slot = usize::from(number) % SLOTS;
        let at = self.slots.get(slot).copied().unwrap_or_default();
        let Some(client) = self.clients.get_mut(at) else { return };
        match kind % 24 {
            0..=6 => {
                let line = client.request(number / 4, bytes.next());
                self.client_says(at, &line);
            }
            7 => {
                let line = client.initialized();
                self.client_says(at, &line);
            }
            8 => {
                let Some(line) = client.cancel(bytes.next()) else { return };
                self.client_says(at, &line);
            }
            9 | 10 => {
                let Some(line) = client.answer(bytes.next()) else { return };
                self.client_says(at, &line);
            }
            11 => {
                let Some(line) = client.retry(bytes.next()) else { return };
                self.client_says(at, &line);
            }
            12 => self.leave(slot, at, number),
            13..=16 => {
                let (line, read) = self.hostile.answer(number, bytes.next());
                if let Some(tag) = read.and_then(|read| tag(&read.params)) {
                    let [_, allowed] = self.calls.entry(tag).or_default();
                    *allowed += 1;
                }
                self.server_says(&line);
            }
            17 => {
                let line = self.hostile.tell(number);
                self.server_says(&line);
            }
            18 | 19 => self.ask(number),
            20 if self.is_unopened => self.start(),
            20 => self.end_of_server(),
            21 => {
                self.now = self.now + Duration::from_millis(1 << (number % 20));
                self.timeout();
            }
            22 => self.deadline(),
            _ => self.replace(number),
        }
    }

    /// The server asks for something, or withdraws what it has asked for.
    fn ask(&mut self, number: u8) {
        if self.is_unopened || self.up_closed {
            return;
        }
        if number > 192
            && let Some(id) = self.open_asks.pop_first()
        {
            let params = json!({"requestId": id});
            let line =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            return self.server_says(&line.to_string());
        }
        self.asks += 1;
        let id = format!("ask {}", self.asks);
        let line = hostile::ask(number % 8).replacen("\"s0\"", &format!("\"{id}\""), 1);
        if self.up.machine().era() == Some(Era::Legacy) {
            self.open_asks.insert(id);
        }
        self.server_says(&line);
    }

    fn start(&mut self) {
        self.is_unopened = false;
        self.hostile.start();
        self.up.handle_opened(self.now);
    }

    fn end_of_server(&mut self) {
        self.open_asks.clear();
        if !self.up_closed {
            self.up.handle_eof(self.now);
        }
    }

    /// Another connection takes the place of one that has closed.
    fn replace(&mut self, number: u8) {
        if !self.up_closed {
            return;
        }
        let mut earlier = std::mem::replace(&mut self.bridge, new_bridge(self.settings));
        let sessions: Vec<SessionRef> = self.sessions.keys().copied().collect();
        self.bridge.take_over(&mut earlier, &sessions);
        let era = if number & 1 == 0 { Era::Legacy } else { Era::Modern };
        let mut config = forwarding(negotiation(era));
        config.limits = limits(self.settings);
        self.up = Connection::client(config);
        (self.up_closed, self.is_unopened) = (false, false);
        self.hostile.start();
        self.up.handle_opened(self.now);
    }

    /// A client writes nothing more, and another one comes in its place.
    fn leave(&mut self, slot: usize, at: usize, number: u8) {
        if self.clients.len() >= MAX_CLIENTS {
            return;
        }
        if let Some(client) = self.clients.get_mut(at) {
            client.leaves();
            client.server.handle_eof(self.now);
        }
        self.settle();
        let era = if number < 128 { Era::Legacy } else { Era::Modern };
        self.connect(slot, era);
    }

    fn client_says(&mut self, at: usize, line: &str) {
        let params = oracle::Object::read(line).and_then(|it| it.get("params").map(str::to_owned));
        if let Some(tag) = params.and_then(|params| tag(&params)) {
            let [_, allowed] = self.calls.entry(tag).or_default();
            *allowed += 1;
        }
        for chunk in format!("{line}\n").as_bytes().chunks(self.chunk) {
            if let Some(client) = self.clients.get_mut(at) {
                client.server.handle_bytes(self.now, Bytes::copy_from_slice(chunk));
            }
            self.settle();
        }
    }

    fn server_says(&mut self, line: &str) {
        if self.is_unopened {
            return;
        }
        for chunk in format!("{line}\n").as_bytes().chunks(self.chunk) {
            self.up.handle_bytes(self.now, Bytes::copy_from_slice(chunk));
            self.settle();
        }
    }

    fn deadlines(&self) -> impl Iterator<Item = Instant> {
        let clients = self.clients.iter().filter_map(|client| client.server.poll_timeout());
        clients.chain(self.up.poll_timeout()).chain(self.bridge.poll_timeout())
    }

    fn deadline(&mut self) {
        if let Some(next) = self.deadlines().min() {
            self.now = self.now.max(next);
        }
        self.timeout();
    }

    fn timeout(&mut self) {
        let now = self.now;
        for client in &mut self.clients {
            client.server.handle_timeout(now);
        }
        self.up.handle_timeout(now);
        let Self { bridge, up, .. } = self;
        up.with(now, |client| bridge.handle_timeout(now, client));
        self.settle();
        let late = self.deadlines().find(|at| *at <= now);
        assert!(late.is_none(), "a deadline stays: {late:?} at {now:?}");
    }

    /// A deadline that is not due is handled: nothing happens.
    fn check_early_timeout(&mut self) {
        let before: Vec<Instant> = self.deadlines().collect();
        if before.iter().any(|at| *at <= self.now) {
            return;
        }
        let now = self.now;
        let Self { bridge, up, .. } = self;
        up.with(now, |client| bridge.handle_timeout(now, client));
        self.up.handle_timeout(now);
        for client in &mut self.clients {
            client.server.handle_timeout(now);
        }
        assert!(!self.settle(), "something happens before its time");
        assert!(self.deadlines().eq(before), "a deadline changes before its time");
    }

    /// Does all that is to be done. Returns false if there is nothing.
    fn settle(&mut self) -> bool {
        let mut acts = false;
        loop {
            let mut is_idle = true;
            for at in 0..self.clients.len() {
                is_idle &= !self.take_down(at);
            }
            is_idle &= !self.take_up();
            if is_idle && !self.take_bridge() {
                self.ended = (BTreeSet::new(), BTreeSet::new());
                return acts;
            }
            acts = true;
        }
    }

    /// Time brings an end to all but subscriptions; then the server ends, and the clients.
    fn end(mut self) -> Vec<Vec<u8>> {
        for _ in 0..200 {
            if self.deadlines().next().is_none() {
                break;
            }
            self.deadline();
        }
        for client in &self.clients {
            client.check_answered(false);
        }
        let asks = (!self.up_closed && !self.is_unopened).then_some(&self.open_asks);
        assert!(asks.is_none_or(BTreeSet::is_empty), "not answered: {asks:?}");
        self.up.with(self.now, |client| client.close(self.now));
        self.settle();
        self.end_of_server();
        self.settle();
        assert!(self.up_closed, "it does not close");
        for client in &self.clients {
            client.check_answered(true);
        }
        assert!(self.replies.is_empty(), "requests without a response");
        for client in &mut self.clients {
            client.server.handle_eof(self.now);
        }
        self.settle();
        let mut steps = 0;
        while self.deadlines().next().is_some() {
            self.deadline();
            steps += 1;
            assert!(steps < 100, "it never ends: {:?}", self.bridge);
        }
        assert!(self.clients.iter().all(|client| client.is_closed), "a client is not let go");
        assert!(self.sessions.is_empty() && self.asked.is_empty(), "sessions without an end");
        self.check_forgotten();
        let clients = self.clients.into_iter().map(|client| client.got);
        clients.chain([self.to_server]).collect()
    }

    /// Nothing of a client or of a call is left in the bridge.
    fn check_forgotten(&self) {
        let left = format!("{:?}", self.bridge);
        let is_left = |name: &&&str| left.contains(**name);
        let found = ["ReplyId(", "CallId(", "InputId(", "Ticket("].iter().find(is_left);
        assert_eq!(found, None, "the bridge does not forget: {left}");
        assert!(left.contains("wanted: Multiset({})"), "resources are left: {left}");
    }
}

/// Small bounds and short times, so that scripts reach them.
fn limits(settings: u8) -> Limits {
    let mut limits = Limits::default();
    let is_small = settings / 3 % 2 == 1;
    limits.max_in_flight = if is_small { 4 } else { 64 };
    limits.max_subscriptions = if is_small { 2 } else { 64 };
    limits.max_subscription_bytes = if settings / 6 % 2 == 1 { 4 } else { 4096 };
    limits.max_in_flight_bytes = if settings / 12 % 2 == 1 { 512 } else { 64 * 1024 };
    limits.max_endpoint_bytes = if settings / 24 % 2 == 1 { 800 } else { 256 * 1024 };
    limits.max_input_rounds = 2;
    limits.input_timeout = Duration::from_secs(if settings / 48 % 2 == 1 { 1 } else { 100 });
    limits.handler_timeout = Duration::from_secs(if settings / 96 % 2 == 1 { 3 } else { 1000 });
    limits
}

fn new_bridge(settings: u8) -> Bridge {
    let mut config = Config::new(counting());
    config.limits = limits(settings);
    Bridge::new(config)
}

/// The tag of a tool call.
fn tag(params: &str) -> Option<String> {
    oracle::Object::read(params)?.get("tag").and_then(oracle::string)
}
