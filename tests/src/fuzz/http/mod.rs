//! A server over HTTP, played through a script three times: connections that share one endpoint.
//!
//! First with what clients write whole, then byte by byte, and at last seven bytes at a time with
//! visits that bring the answers of handlers. Each time a [`Model`] reads what clients read, and
//! knows what may be said to whom; and the three must look the same from outside.

mod model;
mod outside;
mod requests;
mod script;
mod unmarked;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{
    Change, Declaration, InputRequired, List, Notification, Outcome, Progress, Registry, Reply,
    ReplyId, Request, ServerEvent,
};
use mcp_proto::types::{
    InputRequest, LoggingLevel, LoggingMessageNotificationParams, RequestParams, Tool,
};
use mcp_proto::{Action, Bytes, Duration, ErrorCode, ErrorData, Instant, Json, Machine};

use super::stdio::{Answers, registry};
use model::Model;
use outside::Outside;
use requests::Sent;
use script::{CONNECTIONS, Op, Script};

/// Any bytes as clients of one server; see the table of the script.
///
/// # Panics
///
/// If a property does not hold.
pub fn server_http(data: &[u8]) {
    let script = Script::decode(data);
    let whole = Play::new(&script, usize::MAX, false).play(&script);
    for (size, brings) in [(1, false), (7, true)] {
        let pieces = Play::new(&script, size, brings).play(&script);
        assert_eq!(pieces, whole, "pieces of {size} mattered, or visits with answers: {brings}");
    }
}

/// A connection, and what its client has read.
struct Link {
    connection: Connection,
    model: wire::Reader,
    /// All that it has read.
    read: Vec<u8>,
    /// True if its driver looks at it.
    driven: bool,
    woken: bool,
    closed: bool,
}

/// A request that a handler has.
struct Held {
    reply: Reply,
    link: usize,
    arguments: Json,
}

struct Play {
    now: Instant,
    size: usize,
    /// True if a visit brings the answer of a handler that ends at once.
    brings: bool,
    registry: Registry<Answers>,
    /// The one in use, and the other.
    declarations: [Arc<Declaration>; 2],
    config: Arc<Config>,
    endpoint: Endpoint<usize>,
    /// All that ever were.
    links: Vec<Link>,
    /// Those that the script means.
    slots: [usize; CONNECTIONS],
    held: Vec<Held>,
    void: Vec<Reply>,
    outside: Outside,
    model: Model,
    closing: bool,
    steps: u32,
    /// Events, by steps and in an order that chunks do not change.
    log: Vec<String>,
}

impl Play {
    fn new(script: &Script, size: usize, brings: bool) -> Self {
        let mut registry = registry();
        let declaration = registry.declaration();
        let schema = Json::parse(r#"{"type":"object"}"#).unwrap_or(Json::EMPTY_OBJECT);
        let added = registry.add_tool(Tool::new("more", schema), Answers::Later).map(|_| ());
        debug_assert_eq!(added, Ok(()));
        let mut ids = 0_u128;
        let ids = Box::new(move || {
            ids += 1;
            (ids << 100 | ids).to_be_bytes()
        });
        let config = Arc::new(script.config.clone());
        let mut play = Self {
            now: Instant::ZERO,
            size,
            brings,
            endpoint: Endpoint::new(declaration.clone(), config.clone(), ids),
            declarations: [declaration, registry.declaration()],
            registry,
            links: Vec::new(),
            slots: [0; CONNECTIONS],
            held: Vec::new(),
            void: Vec::new(),
            outside: Outside::default(),
            model: Model::new(config.sessions),
            config,
            closing: false,
            steps: 0,
            log: Vec::new(),
        };
        for slot in 0..CONNECTIONS {
            play.connect(slot);
        }
        play
    }

    fn play(mut self, script: &Script) -> (Vec<String>, Vec<Vec<u8>>) {
        for op in &script.ops {
            self.step(op);
        }
        self.end();
        (self.log, self.links.into_iter().map(|link| link.read).collect())
    }

    fn connect(&mut self, slot: usize) {
        let [declaration, _] = &self.declarations;
        let connection = Connection::new(self.now, declaration.clone(), self.config.clone());
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = self.links.len();
        }
        self.links.push(Link {
            connection,
            model: wire::Reader::default(),
            read: Vec::new(),
            driven: true,
            woken: false,
            closed: false,
        });
    }

    fn step(&mut self, op: &Op) {
        self.steps += 1;
        let begun = self.log.len();
        match *op {
            Op::Send { slot, request, argument } => {
                let link = self.link(slot);
                let sent = self.model.request(link, request, argument);
                self.send(link, &sent);
            }
            Op::Bytes { slot, ref bytes } => {
                let link = self.link(slot);
                self.model.gone_wild(link);
                self.bytes(link, bytes);
            }
            Op::Eof(slot) => {
                let link = self.link(slot);
                self.model.ended(link);
                self.with(link, |link, now| link.connection.handle_eof(now));
            }
            Op::Disconnect(slot) => {
                let link = self.link(slot);
                self.model.ended(link);
                self.with(link, |link, now| link.connection.handle_disconnect(now));
                self.connect(slot);
            }
            Op::Drive(slot) => {
                let link = self.link(slot);
                if let Some(link) = self.links.get_mut(link) {
                    link.driven = !link.driven;
                }
                self.settle(link);
            }
            Op::Tick(time) => {
                self.now = self.now + time;
                self.timeout();
            }
            Op::Deadline => {
                if let Some(at) = self.due() {
                    self.now = self.now.max(at);
                }
                self.timeout();
            }
            Op::Respond { at, manner } => {
                if let Some(held) = self.take(at) {
                    if manner % 4 == 3 {
                        self.model.asks(held.arguments.as_str());
                    }
                    let outcome = outcome(manner, &held.arguments);
                    self.respond(held.reply, held.link, outcome);
                }
            }
            Op::RespondVoid => {
                if let Some(reply) = self.void.pop() {
                    self.respond(reply, 0, Outcome::Complete(Json::EMPTY_OBJECT));
                }
            }
            Op::Notify { at, logs } => self.notify(at, logs),
            Op::CloseStream(at) => {
                if let Some(held) = self.held.get(at % self.held.len().max(1)) {
                    let result = self.endpoint.close_stream(self.now, held.reply.id());
                    self.log.push(format!("{result:?}"));
                }
                self.settle_all();
            }
            Op::Publish(n) => {
                let change = match n % 4 {
                    0 => Change::ListChanged(List::Tools),
                    1 => Change::ListChanged(List::Prompts),
                    n => Change::ResourceUpdated(format!("t:{n}")),
                };
                let result = self.endpoint.publish(self.now, &change);
                self.log.push(format!("{result:?}"));
                self.settle_all();
            }
            Op::Declare => {
                self.declarations.swap(0, 1);
                let [declaration, _] = &self.declarations;
                self.endpoint.declare(self.now, declaration.clone());
                for link in &mut self.links {
                    link.connection.declare(declaration.clone());
                }
                self.settle_all();
            }
            Op::Shutdown => self.shutdown(),
            Op::Outside { at, n } => self.outside(at, n),
            Op::EndIdle => {
                let sessions = self.outside.sessions();
                let ended = self.endpoint.end_idle_session(self.now, &sessions);
                self.log.push(format!("{ended:?}"));
                self.settle_all();
            }
            Op::PublishAll => {
                self.endpoint.publish_all(self.now);
                self.settle_all();
            }
        }
        if let Some(told) = self.log.get_mut(begun..) {
            told.sort();
        }
        self.check();
        self.check_early_timeout();
    }

    /// Deadlines that are not due are handled: nothing happens.
    fn check_early_timeout(&mut self) {
        let now = self.now;
        let next = self.endpoint.poll_timeout();
        if next.is_none_or(|at| at > now) {
            self.endpoint.handle_timeout(now);
            assert_eq!(self.endpoint.poll_timeout(), next, "a deadline of the endpoint changes");
            let action = self.endpoint.poll_action();
            assert!(action.is_none(), "before its time: {action:?}");
        }
        for link in self.links.iter_mut().filter(|link| link.driven) {
            let next = link.connection.poll_timeout();
            if next.is_none_or(|at| at > now) {
                link.connection.handle_timeout(now);
                assert_eq!(link.connection.poll_timeout(), next, "a deadline changes");
                let action = link.connection.poll_action();
                assert!(action.is_none(), "before its time: {action:?}");
            }
        }
    }

    fn link(&self, slot: usize) -> usize {
        self.slots.get(slot % CONNECTIONS).copied().unwrap_or_default()
    }

    fn take(&mut self, at: usize) -> Option<Held> {
        let at = at.checked_rem(self.held.len())?;
        Some(self.held.remove(at))
    }

    fn send(&mut self, link: usize, sent: &Sent) {
        self.bytes(link, &sent.bytes);
    }

    fn bytes(&mut self, link: usize, bytes: &[u8]) {
        for piece in bytes.chunks(self.size) {
            let piece = Bytes::copy_from_slice(piece);
            self.with(link, |link, now| {
                if !link.closed {
                    link.connection.handle_bytes(now, piece);
                }
            });
        }
    }

    /// Tells a connection something, and does what comes of it.
    fn with(&mut self, at: usize, tell: impl FnOnce(&mut Link, Instant)) {
        let now = self.now;
        if let Some(link) = self.links.get_mut(at) {
            tell(link, now);
        }
        self.settle(at);
    }

    fn respond(&mut self, reply: Reply, link: usize, outcome: Outcome) {
        let now = self.now;
        if reply.is_shared() {
            self.endpoint.respond(now, reply, outcome);
        } else if let Some(link) = self.links.get_mut(link) {
            link.connection.respond(now, reply, outcome);
        }
        self.settle(link);
    }

    fn notify(&mut self, at: usize, logs: bool) {
        let Some(held) = at.checked_rem(self.held.len()).and_then(|at| self.held.get(at)) else {
            return;
        };
        let (now, about, link) = (self.now, held.reply.id(), held.link);
        // So that no two notifications are alike.
        let tag = format!("{} step {}", held.arguments, self.steps);
        let notification = if logs {
            let data = Json::encode(&tag).unwrap_or(Json::EMPTY_OBJECT);
            Notification::Log(LoggingMessageNotificationParams::new(LoggingLevel::Error, data))
        } else {
            let progress = f64::from(self.steps);
            Notification::Progress(Progress::new(progress).message(tag))
        };
        let result = if about.is_shared() {
            self.endpoint.notify(now, about, notification)
        } else {
            let link = self.links.get_mut(link);
            link.map_or(Ok(()), |link| link.connection.notify(now, about, notification))
        };
        self.log.push(format!("{result:?}"));
        self.settle(link);
    }

    fn shutdown(&mut self) {
        self.closing = true;
        self.model.closing();
        self.endpoint.shutdown(self.now);
        for link in &mut self.links {
            link.connection.shutdown(self.now);
        }
        self.settle_all();
    }

    /// The next deadline of those that somebody looks at.
    fn due(&self) -> Option<Instant> {
        let driven = self.links.iter().filter(|link| link.driven);
        let due = driven.filter_map(|link| link.connection.poll_timeout());
        due.chain(self.endpoint.poll_timeout()).min()
    }

    fn timeout(&mut self) {
        let now = self.now;
        self.endpoint.handle_timeout(now);
        let next = self.endpoint.poll_timeout();
        assert!(
            next.is_none_or(|at| at > now),
            "the endpoint's deadline stays: {next:?} at {now:?}"
        );
        for link in self.links.iter_mut().filter(|link| link.driven) {
            link.connection.handle_timeout(now);
        }
        self.settle_all();
        for link in self.links.iter().filter(|link| link.driven) {
            let next = link.connection.poll_timeout();
            assert!(next.is_none_or(|at| at > now), "a deadline stays: {next:?} at {now:?}");
        }
    }

    fn settle_all(&mut self) {
        for at in 0..self.links.len() {
            self.settle(at);
        }
    }

    /// Does what is to be done about a connection, and about all that are woken by that.
    fn settle(&mut self, at: usize) {
        let mut due = BTreeSet::from([at]);
        loop {
            self.endpoint_actions(0, &mut due);
            let Some(at) = due.pop_first() else { return };
            self.turn(at, &mut due);
        }
    }

    fn turn(&mut self, at: usize, due: &mut BTreeSet<usize>) {
        let now = self.now;
        while let Some(link) = self.links.get_mut(at).filter(|link| link.driven) {
            match link.connection.poll_action() {
                Some(Action::Transmit(bytes)) => {
                    assert!(!link.closed, "bytes after the end");
                    link.read.extend_from_slice(&bytes);
                    if !self.model.is_wild(at) {
                        link.model.push(&bytes);
                        self.model.look(at, &mut link.model);
                    }
                }
                Some(Action::Event(event)) => self.event(at, event),
                Some(Action::Close) => {
                    assert!(!link.closed, "closed twice");
                    link.closed = true;
                    self.model.closed(at, &mut link.model);
                }
                None if link.woken || link.connection.needs_endpoint() => {
                    link.woken = false;
                    link.connection.visit(now, &mut self.endpoint, &at);
                    self.endpoint_actions(at, due);
                }
                None => return,
            }
        }
    }

    fn endpoint_actions(&mut self, at: usize, due: &mut BTreeSet<usize>) {
        while let Some(action) = self.endpoint.poll_action() {
            match action {
                EndpointAction::Wake(woken) => {
                    if let Some(link) = self.links.get_mut(woken) {
                        link.woken = true;
                        due.insert(woken);
                    }
                }
                EndpointAction::Event(event) => self.event(at, event),
                #[expect(clippy::panic, reason = "an action that this file does not know")]
                other => panic!("{other:?}"),
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other event is to be seen here")]
    fn event(&mut self, link: usize, event: ServerEvent) {
        self.log.push(match &event {
            ServerEvent::Request(request) => {
                format!("{:?} {} {}", request.reply, request.method.name(), request.params)
            }
            event => format!("{event:?}"),
        });
        match event {
            ServerEvent::Request(Request { reply, handler, arguments, .. }) => {
                self.model.asked(arguments.as_str());
                let id = reply.id();
                if id.is_shared() {
                    self.outside.met(id.session(), self.model.session_of(arguments.as_str()));
                }
                assert!(self.held.iter().all(|held| held.reply.id() != id), "a reply twice");
                if self.registry.handler(handler) == Some(&Answers::AtOnce) {
                    let outcome = Outcome::Complete(arguments);
                    let (now, endpoint) = (self.now, &mut self.endpoint);
                    match self.links.get_mut(link) {
                        Some(found) if id.is_shared() && self.brings && found.driven => {
                            found.connection.visit_with(now, endpoint, &link, reply, outcome);
                        }
                        _ if id.is_shared() => endpoint.respond(now, reply, outcome),
                        Some(found) => found.connection.respond(now, reply, outcome),
                        None => {}
                    }
                } else {
                    self.held.push(Held { reply, link, arguments });
                }
            }
            ServerEvent::Cancelled { about, .. } => {
                let at = self.held.iter().position(|held| held.reply.id() == about);
                if let Some(at) = at {
                    self.void.push(self.held.remove(at).reply);
                }
            }
            ServerEvent::InputAnswered { input, .. } => self.outside.answered(input),
            ServerEvent::Notification { .. }
            | ServerEvent::Pong { .. }
            | ServerEvent::MessagesLost { .. }
            | ServerEvent::LimitReached { .. }
            | ServerEvent::AcceptFailed { .. }
            | ServerEvent::PeerFault(_) => {}
            #[expect(clippy::panic, reason = "a kind of event that this file does not know")]
            other => panic!("{other:?}"),
        }
    }

    fn check(&self) {
        let limits = &self.config.server.limits;
        assert!(self.endpoint.sessions() <= limits.max_sessions);
        let ids: BTreeSet<ReplyId> = self.held.iter().map(|held| held.reply.id()).collect();
        assert_eq!(ids.len(), self.held.len());
    }

    /// Everybody is served to the end, then everything is shut down, and nothing is left.
    fn end(&mut self) {
        for link in &mut self.links {
            link.driven = true;
        }
        self.settle_all();
        for _ in 0..4 {
            while let Some(held) = self.take(0) {
                self.respond(held.reply, held.link, Outcome::Complete(held.arguments));
            }
            // What asked for input is not given any.
            self.step(&Op::Tick(self.config.server.limits.input_timeout));
        }
        assert!(self.held.is_empty(), "requests come from nowhere");
        for (at, link) in self.links.iter().enumerate() {
            if !link.closed && !self.closing {
                self.model.served(at, &link.model);
            }
        }
        self.shutdown();
        let mut rounds = 0;
        while let Some(at) = self.due() {
            self.now = self.now.max(at);
            self.timeout();
            rounds += 1;
            assert!(rounds < 10_000, "it never ends");
        }
        assert!(self.held.is_empty(), "answers are owed for ever");
        self.outside.check_ended();
        assert!(self.links.iter().all(|link| link.closed), "a connection stays open");
        assert_eq!(self.endpoint.listeners(), 0, "listeners are left");
        assert_eq!(self.endpoint.sessions(), 0, "sessions are left");
        while let Some(reply) = self.void.pop() {
            self.respond(reply, 0, Outcome::Complete(Json::EMPTY_OBJECT));
        }
        self.step(&Op::Tick(Duration::MAX));
    }
}

/// Outcome of a handler: it has the mark of its request, or it is input that is required.
fn outcome(manner: u8, arguments: &Json) -> Outcome {
    match manner % 4 {
        0 | 1 => Outcome::Complete(arguments.clone()),
        2 => {
            let mut error = ErrorData::new(ErrorCode(-32002), "no such thing");
            error.data = Some(arguments.clone());
            Outcome::Error(error)
        }
        _ => {
            let roots = InputRequest::ListRoots(RequestParams::default());
            Outcome::InputRequired(InputRequired::new("a", roots))
        }
    }
}
