//! The clients of a transcript, at the sockets of a server, and its handlers.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{
    CancelCause, InputId, Notification, Outcome, Registry, Reply, ReplyId, Request, ServerEvent,
    SessionRef,
};
use mcp_proto::{Action, Instant, Json, Machine, UsageError};

use super::super::chunks::Chunks;
use super::super::fixture::{self, Handler, Reaction};
use super::super::play::{Output, Play};
use super::super::value::{self, Input};
use super::line::{Act, Part};
use super::request::{self, Session};
use super::response::Reader;
use super::settings::Settings;

pub(in super::super) struct Player {
    settings: Settings,
    config: Arc<Config>,
    registry: Registry<Handler>,
    endpoint: Endpoint<usize>,
    /// By the numbers that the transcript gives them.
    sockets: BTreeMap<usize, Socket>,
    /// All sessions that there were, the newest last.
    sessions: Vec<Session>,
    way: Chunks,
    now: Instant,
    /// Calls that have not reached their handlers, with the connections that they came on.
    calls: VecDeque<(usize, Request)>,
    /// Calls that a handler holds, by name; their answers may come too late.
    held: BTreeMap<String, (usize, Reply)>,
    /// The session that was seen last.
    session: Option<SessionRef>,
    inputs: BTreeMap<InputId, String>,
    /// Calls that a handler held last, by name.
    known: BTreeMap<String, (usize, ReplyId)>,
    out: Output,
}

struct Socket {
    connection: Connection,
    reader: Reader,
    /// The session that was opened on it.
    session: Option<Session>,
    closed: bool,
}

/// Number in place of a connection's, for output that belongs to none.
const SHARED: usize = usize::MAX;

impl Play for Player {
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn step(&mut self, input: &Input) -> Vec<String> {
        match input {
            Input::Http(act) => self.http(act),
            Input::Server(act) => self.act(act),
            Input::Elapse(time) => self.elapse(*time),
            Input::Bytes(_)
            | Input::Eof
            | Input::Client(_)
            | Input::Answer(_)
            | Input::Field(..) => {
                self.broken("this does not happen over HTTP");
            }
        }
        self.drain();
        while let Some((from, request)) = self.calls.pop_front() {
            self.call(from, request);
            self.drain();
        }
        if self.due().is_some_and(|due| due <= self.now) {
            self.time(self.now);
        }
        self.check();
        self.out.take()
    }
}

impl Player {
    pub(in super::super) fn new(settings: &Settings, way: Chunks) -> Result<Self, String> {
        let registry = fixture::registry(&settings.server).map_err(|error| error.to_string())?;
        let config = Arc::new(settings.config());
        let mut count = 0_u128;
        let ids = move || {
            count += 1;
            count.to_be_bytes()
        };
        let declaration = registry.declaration();
        Ok(Self {
            settings: settings.clone(),
            endpoint: Endpoint::new(declaration, config.clone(), Box::new(ids)),
            config,
            registry,
            sockets: BTreeMap::new(),
            sessions: Vec::new(),
            way,
            now: Instant::ZERO,
            calls: VecDeque::new(),
            held: BTreeMap::new(),
            session: None,
            inputs: BTreeMap::new(),
            known: BTreeMap::new(),
            out: Output::new(""),
        })
    }

    fn http(&mut self, act: &Act) {
        let now = self.now;
        match act {
            Act::Send { connection, parts } => self.send(*connection, parts),
            Act::Eof(number) => self.socket(*number).connection.handle_eof(now),
            Act::Disconnect(number) => self.socket(*number).connection.handle_disconnect(now),
            Act::Shutdown => {
                self.endpoint.shutdown(now);
                for socket in self.sockets.values_mut() {
                    socket.connection.shutdown(now);
                }
            }
            Act::CloseStream(call) => match self.known.get(call) {
                Some((_, about)) => {
                    let closed = self.endpoint.close_stream(now, *about);
                    self.refused(call, closed.err());
                }
                None => self.broken(&format!("no call `{call}` was held")),
            },
            Act::Count => {
                let (sessions, listeners) = (self.endpoint.sessions(), self.endpoint.listeners());
                self.out.push(format!("! counted {sessions} sessions, {listeners} listeners"));
            }
        }
    }

    fn act(&mut self, act: &value::Act) {
        match act {
            value::Act::Answer { call, answer } => match self.held.remove(call) {
                Some((from, reply)) => self.respond(call, from, reply, fixture::answer(answer)),
                None => self.broken(&format!("no call `{call}` is held")),
            },
            value::Act::Notify { call, notification } => self.notify(call, notification.clone()),
            value::Act::Publish(changes) => {
                for change in changes {
                    let published = self.endpoint.publish(self.now, change);
                    self.refused("publish", published.err());
                }
            }
            value::Act::Declare(setting) => self.declare(setting),
            value::Act::Ping { .. } => self.broken("no client is pinged over HTTP"),
            value::Act::NotifySession(notification) => {
                let Some(session) = self.session else {
                    return self.broken("no session is known");
                };
                let notified =
                    self.endpoint.notify_session(self.now, session, notification.clone());
                self.refused("session", notified.err());
            }
            value::Act::RequestInput { name, timeout, request } => {
                let Some(session) = self.session else {
                    return self.broken("no session is known");
                };
                let (now, request) = (self.now, request.clone());
                match self.endpoint.request_input(now, session, request, *timeout) {
                    Ok(input) => drop(self.inputs.insert(input, name.clone())),
                    Err(error) => self.refused(name, Some(error)),
                }
            }
        }
    }

    /// The connection with this number, which is opened if it was not.
    fn socket(&mut self, number: usize) -> &mut Socket {
        let Self { now, registry, config, settings, .. } = self;
        self.sockets.entry(number).or_insert_with(|| {
            let mut connection = Connection::new(*now, registry.declaration(), config.clone());
            if let Some(peer) = settings.peer(number) {
                connection.set_peer(peer);
            }
            Socket { connection, reader: Reader::default(), session: None, closed: false }
        })
    }

    fn send(&mut self, number: usize, parts: &[Part]) {
        let own = self.socket(number).session.clone();
        let session = own.as_ref().or(self.sessions.last());
        let sent = match request::compose(parts, session, &self.sessions) {
            Ok(sent) => sent,
            Err(error) => return self.broken(&format!("no request: {error}")),
        };
        let mut all = Vec::new();
        let socket = self.socket(number);
        for sent in sent {
            all.extend(sent.bytes);
            if sent.is_request {
                socket.reader.expect(sent.is_head);
            }
        }
        let mut bytes = Bytes::from(all);
        while !bytes.is_empty() {
            let length = self.way.next().min(bytes.len());
            let chunk = bytes.split_to(length);
            let now = self.now;
            self.socket(number).connection.handle_bytes(now, chunk);
            self.drain();
            self.harmless();
        }
    }

    /// Does what a driver may do at any time.
    fn harmless(&mut self) {
        self.endpoint.handle_timeout(self.now);
        for (number, socket) in &mut self.sockets {
            socket.connection.handle_timeout(self.now);
            socket.connection.visit(self.now, &mut self.endpoint, number);
        }
        self.drain();
    }

    fn elapse(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.due().filter(|due| *due < end) {
            self.time(due);
            if self.due().is_some_and(|due| due <= self.now) {
                return self.broken("a deadline is not kept");
            }
        }
        self.time(end);
    }

    fn due(&self) -> Option<Instant> {
        let sockets = self.sockets.values().filter_map(|socket| socket.connection.poll_timeout());
        sockets.chain(self.endpoint.poll_timeout()).min()
    }

    fn time(&mut self, now: Instant) {
        self.now = now.max(self.now);
        self.endpoint.handle_timeout(self.now);
        for socket in self.sockets.values_mut() {
            socket.connection.handle_timeout(self.now);
        }
        self.drain();
    }

    fn call(&mut self, from: usize, request: Request) {
        if request.reply.is_shared() != (from == SHARED) {
            self.broken("a request came from where its answer does not go");
        }
        let Some(handler) = self.registry.handler(request.handler) else {
            return self.broken("the handler of a call is unknown");
        };
        match handler.call(&request) {
            Reaction::Answers(outcome) => {
                let name = handler.name().to_owned();
                self.respond(&name, from, request.reply, outcome);
            }
            Reaction::Waits(name) => {
                let mut line = format!("! held {name}");
                if let Some(input) = &request.input {
                    let responses = Json::encode(&input.responses).unwrap_or(Json::EMPTY_OBJECT);
                    let _ = write!(line, " with {responses}");
                    if let Some(state) = &input.state {
                        let _ = write!(line, " {}", serde_json::Value::from(state.as_str()));
                    }
                }
                self.out.push(line);
                self.known.insert(name.clone(), (from, request.reply.id()));
                if self.held.insert(name, (from, request.reply)).is_some() {
                    self.broken("no two calls are held by one name");
                }
            }
        }
    }

    fn declare(&mut self, setting: &str) {
        let set = self.settings.server.set(setting);
        let offered = fixture::offer(&mut self.registry, &self.settings.server);
        if set.is_err() || offered.is_err() {
            return self.broken("this cannot be declared");
        }
        self.endpoint.declare(self.now, self.registry.declaration());
        for socket in self.sockets.values_mut() {
            socket.connection.declare(self.registry.declaration());
        }
    }

    fn respond(&mut self, call: &str, from: usize, reply: Reply, outcome: Outcome) {
        if let Some(socket) = self.sockets.get_mut(&from) {
            return socket.connection.respond(self.now, reply, outcome);
        }
        let before = self.endpoint.dropped_replies();
        self.endpoint.respond(self.now, reply, outcome);
        if self.endpoint.dropped_replies() > before {
            self.out.push(format!("! dropped {call}"));
        }
    }

    /// Tells of a call, perhaps after its answer.
    fn notify(&mut self, call: &str, notification: Notification) {
        let Some((from, about)) = self.known.get(call).copied() else {
            return self.broken(&format!("no call `{call}` was held"));
        };
        let notified = match self.sockets.get_mut(&from) {
            Some(socket) => socket.connection.notify(self.now, about, notification),
            None => self.endpoint.notify(self.now, about, notification),
        };
        self.refused(call, notified.err());
    }

    fn refused(&mut self, what: &str, error: Option<UsageError>) {
        if let Some(error) = error {
            self.out.push(format!("! refused {what}: {error}"));
        }
    }

    /// Takes all actions, and has the visits that are due.
    fn drain(&mut self) {
        loop {
            let mut idle = true;
            let numbers: Vec<usize> = self.sockets.keys().copied().collect();
            for number in numbers {
                idle &= !self.drain_socket(number);
            }
            while let Some(action) = self.endpoint.poll_action() {
                idle = false;
                match action {
                    EndpointAction::Wake(number) => match self.sockets.get_mut(&number) {
                        Some(socket) => {
                            socket.connection.visit(self.now, &mut self.endpoint, &number);
                        }
                        None => self.broken("nobody has this number"),
                    },
                    EndpointAction::Event(event) => self.event(SHARED, event),
                    other => self.broken(&format!("{other:?}")),
                }
            }
            if idle {
                break;
            }
        }
        if self.due().is_some_and(|due| due < self.now) {
            self.broken("a deadline lies in the past");
        }
    }

    /// The same of one connection. Returns whether there was anything.
    fn drain_socket(&mut self, number: usize) -> bool {
        let mut any = false;
        while let Some(socket) = self.sockets.get_mut(&number) {
            if socket.connection.needs_endpoint() {
                any = true;
                socket.connection.visit(self.now, &mut self.endpoint, &number);
                if socket.connection.needs_endpoint() {
                    // It takes as much as it can, and has the rest later.
                    self.take(number);
                }
                continue;
            }
            if !self.take(number) {
                break;
            }
            any = true;
        }
        any
    }

    /// Takes one action of a connection.
    fn take(&mut self, number: usize) -> bool {
        let Some(socket) = self.sockets.get_mut(&number) else { return false };
        let Some(action) = socket.connection.poll_action() else { return false };
        if socket.closed {
            self.out.broken("an action after the end");
        }
        match action {
            Action::Transmit(bytes) => {
                for line in socket.reader.read(&bytes) {
                    self.out.push(format!("{number}< {line}"));
                }
                if let Some((id, version)) = socket.reader.opened.take() {
                    socket.session = Some(Session { id, version });
                    self.sessions.extend(socket.session.clone());
                }
            }
            Action::Event(event) => self.event(number, event),
            Action::Close => {
                socket.closed = true;
                for line in socket.reader.end() {
                    self.out.push(format!("{number}< {line}"));
                }
                self.out.push(format!("{number}< closed"));
            }
        }
        true
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "what has no verb yet must not pass")]
    fn event(&mut self, from: usize, event: ServerEvent) {
        let line = match event {
            ServerEvent::Request(request) => {
                self.session = Some(request.reply.id().session());
                return self.calls.push_back((from, request));
            }
            ServerEvent::Cancelled { about, cause } => {
                let call = self.name(about);
                match cause {
                    CancelCause::Client(None) => format!("! cancelled {call}"),
                    CancelCause::Client(Some(reason)) => format!("! cancelled {call} \"{reason}\""),
                    CancelCause::TimedOut => format!("! timed-out {call}"),
                    CancelCause::Closed => format!("! cut-off {call}"),
                    CancelCause::Disconnected => format!("! disconnected {call}"),
                    other => format!("! broken: {other:?}"),
                }
            }
            ServerEvent::InputAnswered { input, answer } => {
                let name = self.inputs.get(&input).map_or("an unknown input", String::as_str);
                match answer {
                    Ok(answer) => format!("! input {name} {answer}"),
                    Err(failure) => format!("! no-input {name}: {failure}"),
                }
            }
            ServerEvent::Notification { session, method, params, .. } => {
                self.session = Some(session);
                format!("! notified {} {params}", method.name())
            }
            ServerEvent::MessagesLost { count } => format!("! lost {count}"),
            ServerEvent::LimitReached { limit, count } => {
                format!("! limit-reached {limit} {count}")
            }
            ServerEvent::PeerFault(error) => format!("! peer-fault {error}"),
            other => format!("! broken: {other:?}"),
        };
        self.out.push(line);
    }

    /// Name of a call: its own if it is held, its handler's if it did not get there.
    fn name(&self, about: ReplyId) -> String {
        let held = self.held.iter().find(|(_, (_, reply))| reply.id() == about);
        let waits = self.calls.iter().find(|(_, request)| request.reply.id() == about);
        let handler = waits.and_then(|(_, request)| self.registry.handler(request.handler));
        let name = held.map(|(name, _)| name.as_str()).or(handler.map(Handler::name));
        name.unwrap_or("an unknown call").into()
    }

    /// Checks the invariants between inputs.
    fn check(&mut self) {
        let mut broken = Vec::new();
        if self.due().is_some_and(|due| due <= self.now) {
            broken.push("a deadline is not kept");
        }
        for socket in self.sockets.values() {
            if !socket.reader.is_whole() {
                broken.push("half a response was sent");
            }
            let Socket { connection, closed, .. } = socket;
            if *closed && (connection.poll_timeout().is_some() || connection.wants_read()) {
                broken.push("something is expected after the end");
            }
        }
        for law in broken {
            self.broken(law);
        }
    }

    fn broken(&mut self, law: &str) {
        self.out.broken(law);
    }
}
