//! The client of a transcript, and its handlers, at the server.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::server::{
    CancelCause, InputId, Notification, Outcome, PingId, Registry, Reply, ReplyId, Request, Server,
    ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Binding, Instant, Json, Machine, UsageError};

use super::chunks::Chunks;
use super::fixture::{self, Handler, Reaction};
use super::play::{Output, Play};
use super::settings::Settings;
use super::value::{Act, Input};

pub(super) struct Player {
    settings: Settings,
    registry: Registry<Handler>,
    connection: Connection<Server>,
    way: Chunks,
    now: Instant,
    /// Calls that have not reached their handlers.
    calls: VecDeque<Request>,
    /// Calls that a handler holds, by name; their answers may come too late.
    held: BTreeMap<String, Reply>,
    /// Calls that a handler held last, by name.
    known: BTreeMap<String, ReplyId>,
    pings: BTreeMap<PingId, String>,
    inputs: BTreeMap<InputId, String>,
    life: Life,
    out: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
    Ended,
    Reported,
    Closed,
}

impl Play for Player {
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn step(&mut self, input: &Input) -> Vec<String> {
        match input {
            Input::Bytes(bytes) => self.bytes(bytes.clone().into()),
            Input::Elapse(time) => self.elapse(*time),
            Input::Eof => {
                if self.life == Life::Open {
                    self.life = Life::Ended;
                }
                self.connection.handle_eof(self.now);
            }
            Input::Server(act) => self.act(act),
            Input::Client(_) | Input::Http(_) | Input::Answer(_) | Input::Field(..) => {
                self.broken("a server does not do this");
            }
        }
        self.drain();
        while let Some(request) = self.calls.pop_front() {
            self.call(request);
            self.drain();
        }
        if self.connection.poll_timeout().is_some_and(|due| due <= self.now) {
            self.time(self.now);
        }
        self.check();
        self.out.take()
    }
}

impl Player {
    pub(super) fn new(settings: Settings, way: Chunks) -> Result<Self, String> {
        let registry = fixture::registry(&settings).map_err(|error| error.to_string())?;
        let connection = Connection::server(registry.declaration(), fixture::config(&settings));
        Ok(Self {
            settings,
            registry,
            connection,
            way,
            now: Instant::ZERO,
            calls: VecDeque::new(),
            held: BTreeMap::new(),
            known: BTreeMap::new(),
            pings: BTreeMap::new(),
            inputs: BTreeMap::new(),
            life: Life::Open,
            out: Output::new("S"),
        })
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Answer { call, answer } => match self.held.remove(call) {
                Some(reply) => self.respond(call, reply, fixture::answer(answer)),
                None => self.broken(&format!("no call `{call}` is held")),
            },
            Act::Notify { call, notification } => self.notify(call, notification.clone()),
            Act::Publish(changes) => {
                for change in changes {
                    let published =
                        self.connection.with(self.now, |server| server.publish(self.now, change));
                    self.refused("publish", published.err());
                }
            }
            Act::Declare(setting) => self.declare(setting),
            Act::Ping { name, timeout } => {
                match self.connection.with(self.now, |server| server.ping(self.now, *timeout)) {
                    Ok(ping) => drop(self.pings.insert(ping, name.clone())),
                    Err(error) => self.refused(name, Some(error)),
                }
            }
            Act::NotifySession(notification) => {
                let server = &mut self.connection;
                let refused = server
                    .with(self.now, |server| server.notify_session(self.now, notification.clone()))
                    .err();
                self.refused("session", refused);
            }
            Act::RequestInput { name, timeout, request } => {
                match self.connection.with(self.now, |server| {
                    server.request_input(self.now, request.clone(), *timeout)
                }) {
                    Ok(input) => drop(self.inputs.insert(input, name.clone())),
                    Err(error) => self.refused(name, Some(error)),
                }
            }
        }
    }

    fn bytes(&mut self, mut bytes: Bytes) {
        while !bytes.is_empty() {
            let length = self.way.next().min(bytes.len());
            let chunk = bytes.split_to(length);
            self.connection.handle_bytes(self.now, chunk);
            self.drain();
            // A driver may do so at any time.
            self.connection.handle_timeout(self.now);
            self.drain();
        }
    }

    fn elapse(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.connection.poll_timeout().filter(|due| *due < end) {
            self.time(due);
            if self.connection.poll_timeout().is_some_and(|due| due <= self.now) {
                return self.broken("a deadline is not kept");
            }
        }
        self.time(end);
    }

    fn time(&mut self, now: Instant) {
        self.now = now.max(self.now);
        self.connection.handle_timeout(self.now);
        self.drain();
    }

    fn call(&mut self, request: Request) {
        let Some(handler) = self.registry.handler(request.handler) else {
            return self.broken("the handler of a call is unknown");
        };
        match handler.call(&request) {
            Reaction::Answers(outcome) => {
                let name = handler.name().to_owned();
                self.respond(&name, request.reply, outcome);
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
                self.known.insert(name.clone(), request.reply.id());
                if self.held.insert(name, request.reply).is_some() {
                    self.broken("a call of this name is held");
                }
            }
        }
    }

    fn declare(&mut self, setting: &str) {
        let set = self.settings.set(setting);
        let offered = fixture::offer(&mut self.registry, &self.settings);
        if set.is_err() || offered.is_err() {
            return self.broken("this cannot be declared");
        }
        self.connection
            .with(self.now, |server| server.declare(self.now, self.registry.declaration()));
    }

    fn respond(&mut self, call: &str, reply: Reply, outcome: Outcome) {
        let before = self.connection.machine().dropped_replies();
        self.connection.with(self.now, |server| server.respond(self.now, reply, outcome));
        if self.connection.machine().dropped_replies() > before {
            self.out.push(format!("! dropped {call}"));
        }
    }

    /// Tells of a call, perhaps after its answer.
    fn notify(&mut self, call: &str, notification: Notification) {
        let Some(about) = self.known.get(call).copied() else {
            return self.broken(&format!("no call `{call}` was held"));
        };
        let notified =
            self.connection.with(self.now, |server| server.notify(self.now, about, notification));
        self.refused(call, notified.err());
    }

    fn refused(&mut self, what: &str, error: Option<UsageError>) {
        if let Some(error) = error {
            self.out.push(format!("! refused {what}: {error}"));
        }
    }

    /// Takes all actions.
    fn drain(&mut self) {
        while let Some(action) = self.connection.poll_action() {
            if self.life == Life::Closed {
                self.broken("an action after the end");
            }
            match action {
                Action::Transmit(bytes) => self.out.transmit(&bytes),
                Action::Event(ServerEvent::Request(request)) => self.calls.push_back(request),
                Action::Event(event) => self.event(&event),
                Action::Close if self.life == Life::Reported => self.life = Life::Closed,
                Action::Close => self.broken("`Close` came before `Closed`"),
            }
        }
        if self.connection.poll_timeout().is_some_and(|due| due < self.now) {
            self.broken("a deadline lies in the past");
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "what has no verb yet must not pass")]
    fn event(&mut self, event: &ServerEvent) {
        let line = match event {
            ServerEvent::Cancelled { about, cause } => {
                let call = self.name(*about);
                match cause {
                    CancelCause::Client(None) => format!("! cancelled {call}"),
                    CancelCause::Client(Some(reason)) => format!("! cancelled {call} \"{reason}\""),
                    CancelCause::TimedOut => format!("! timed-out {call}"),
                    CancelCause::Closed => format!("! cut-off {call}"),
                    other => format!("! broken: {other:?}"),
                }
            }
            ServerEvent::Notification { method, params, .. } => {
                format!("! notified {} {params}", method.name())
            }
            ServerEvent::Pong { ping, answered } => {
                let name = self.pings.get(ping).map_or("an unknown ping", String::as_str);
                if *answered { format!("! pong {name}") } else { format!("! no-pong {name}") }
            }
            ServerEvent::InputAnswered { input, answer } => {
                let name = self.inputs.get(input).map_or("an unknown input", String::as_str);
                match answer {
                    Ok(answer) => format!("! input {name} {answer}"),
                    Err(failure) => format!("! no-input {name}: {failure}"),
                }
            }
            ServerEvent::PeerFault(error) => format!("! peer-fault {error}"),
            ServerEvent::Closed => {
                self.life = Life::Reported;
                "! closed".into()
            }
            other => format!("! broken: {other:?}"),
        };
        self.out.push(line);
    }

    /// Name of a call: its own if it is held, its handler's if it did not get there.
    fn name(&self, about: ReplyId) -> String {
        let held = self.held.iter().find(|(_, reply)| reply.id() == about);
        let waits = self.calls.iter().find(|request| request.reply.id() == about);
        let handler = waits.and_then(|request| self.registry.handler(request.handler));
        let name = held.map(|(name, _)| name.as_str()).or(handler.map(Handler::name));
        name.unwrap_or("an unknown call").into()
    }

    /// Checks the invariants between inputs.
    fn check(&mut self) {
        if self.life == Life::Reported {
            self.broken("`Closed` came without `Close`");
        }
        if self.connection.wants_read() != (self.life == Life::Open) {
            self.broken("`wants_read` is wrong");
        }
        let due = self.connection.poll_timeout();
        if due.is_some_and(|due| due <= self.now || self.life == Life::Closed) {
            self.broken("a deadline is not kept");
        }
        let owed: Vec<ReplyId> = self.connection.machine().owed().collect();
        if owed.iter().any(|owed| !self.held.values().any(|reply| reply.id() == *owed)) {
            self.broken("an answer is owed to a call that is not held");
        }
        if self.life == Life::Closed && !owed.is_empty() {
            self.broken("an answer is owed after the end");
        }
    }

    fn broken(&mut self, law: &str) {
        self.out.broken(law);
    }
}
