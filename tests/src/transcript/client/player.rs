//! The server's side of a transcript, and the application behind the client.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::client::{
    CallId, CallOptions, Client, ClientEvent, InputId, InputReply, SubscriptionId,
};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Instant, Json, Machine, UsageError};

use super::super::chunks::Chunks;
use super::super::play::{Output, Play};
use super::super::value::Input;
use super::act::Act;
use super::settings::Settings;
use super::show;

pub(in super::super) struct Player {
    connection: Connection<Client>,
    way: Chunks,
    now: Instant,
    life: Life,
    /// Calls that have had no response, by name.
    calls: BTreeMap<CallId, String>,
    /// All calls that there were.
    known: BTreeMap<String, CallId>,
    /// Inputs that nobody has given, with the calls that need them.
    inputs: BTreeMap<InputId, (String, InputReply, Option<CallId>)>,
    /// How many inputs there were.
    asked: usize,
    /// Subscriptions that have not ended, by name.
    subscriptions: BTreeMap<SubscriptionId, String>,
    /// All subscriptions that there were.
    known_subscriptions: BTreeMap<String, SubscriptionId>,
    out: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Unopened,
    Open,
    Reported,
    Closed,
}

impl Play for Player {
    fn step(&mut self, input: &Input) -> Vec<String> {
        match input {
            Input::Bytes(bytes) => self.bytes(bytes.clone().into()),
            Input::Elapse(time) => self.elapse(*time),
            Input::Eof => self.connection.handle_eof(self.now),
            Input::Client(act) => self.act(act.clone()),
            Input::Server(_) | Input::Http(_) => self.out.broken("a client does not do this"),
        }
        self.drain();
        if self.connection.poll_timeout().is_some_and(|due| due <= self.now) {
            self.time(self.now);
        }
        self.check();
        self.out.take()
    }
}

impl Player {
    pub(in super::super) fn new(settings: &Settings, way: Chunks) -> Self {
        Self {
            connection: Connection::client(settings.config.clone()),
            way,
            now: Instant::ZERO,
            life: Life::Unopened,
            calls: BTreeMap::new(),
            known: BTreeMap::new(),
            inputs: BTreeMap::new(),
            asked: 0,
            subscriptions: BTreeMap::new(),
            known_subscriptions: BTreeMap::new(),
            out: Output::new("C"),
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
                return self.out.broken("a deadline is not kept");
            }
        }
        self.time(end);
    }

    fn time(&mut self, now: Instant) {
        self.now = now.max(self.now);
        self.connection.handle_timeout(self.now);
        self.drain();
    }

    fn act(&mut self, act: Act) {
        let (now, connection) = (self.now, &mut self.connection);
        match act {
            Act::Open => {
                connection.handle_opened(now);
                if self.life == Life::Unopened {
                    self.life = Life::Open;
                }
            }
            Act::Call { name, method, params, options } => {
                let call = connection.call(now, method, params, options);
                self.called(name, call);
            }
            Act::List { name, listing, options } => {
                let call = connection.list(now, listing, options);
                self.called(name, call);
            }
            Act::Ping { name, options } => {
                let call = connection.ping(now, options);
                self.called(name, call);
            }
            Act::Level { name, level } => {
                let call = connection.set_log_level(now, level, CallOptions::default());
                self.called(name, call);
            }
            Act::Cancel(name) => match self.known.get(&name) {
                Some(call) => {
                    let cancelled = connection.cancel(now, *call);
                    self.refused(&name, cancelled.err());
                }
                None => self.out.broken(&format!("there was no call `{name}`")),
            },
            Act::Answer { input, answer } => {
                let id = self.inputs.iter().find(|(_, (name, ..))| *name == input);
                match id.map(|(id, _)| *id).and_then(|id| self.inputs.remove(&id)) {
                    Some((_, reply, _)) => connection.answer(now, reply, answer),
                    None => self.out.broken(&format!("no input `{input}` is asked for")),
                }
            }
            Act::Subscribe { name, filter } => match connection.subscribe(now, filter) {
                Ok(subscription) => {
                    self.known_subscriptions.insert(name.clone(), subscription);
                    self.subscriptions.insert(subscription, name);
                }
                Err(error) => self.refused(&name, Some(error)),
            },
            Act::Unsubscribe(name) => match self.known_subscriptions.get(&name) {
                Some(id) => {
                    let ended = connection.unsubscribe(now, *id);
                    self.refused(&name, ended.err());
                }
                None => self.out.broken(&format!("there was no subscription `{name}`")),
            },
            Act::Roots(roots) => {
                let set = connection.set_roots(now, roots);
                self.refused("roots", set.err());
            }
            Act::Capabilities(capabilities) => connection.set_capabilities(capabilities),
            Act::Notify { method, params } => {
                let sent = connection.notify(now, method.clone(), params);
                self.refused(&method, sent.err());
            }
            Act::Store => match connection.verdict().map(|verdict| Json::encode(&verdict)) {
                Some(Ok(verdict)) => self.out.push(format!("! stored {verdict}")),
                _ => self.out.push("! stored nothing".into()),
            },
            Act::Close => connection.close(now),
        }
    }

    fn called(&mut self, name: String, call: Result<CallId, UsageError>) {
        match call {
            Ok(call) => {
                self.known.insert(name.clone(), call);
                self.calls.insert(call, name);
            }
            Err(error) => self.refused(&name, Some(error)),
        }
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
                self.out.broken("an action after the end");
            }
            match action {
                Action::Transmit(bytes) => self.out.transmit(&bytes),
                Action::Event(event) => {
                    let line = self.event(event);
                    self.out.push(line);
                }
                Action::Close if self.life == Life::Reported => self.life = Life::Closed,
                Action::Close => self.out.broken("`Close` came before `Closed`"),
            }
        }
        if self.connection.poll_timeout().is_some_and(|due| due < self.now) {
            self.out.broken("a deadline lies in the past");
        }
    }

    fn event(&mut self, event: ClientEvent) -> String {
        match event {
            ClientEvent::Connected(server) => show::connected(&server),
            ClientEvent::Reopen => {
                self.life = Life::Unopened;
                "! reopen".into()
            }
            ClientEvent::Response { call, result } => {
                if self.inputs.values().any(|(_, _, needed_by)| *needed_by == Some(call)) {
                    self.out.broken("a call ended whose input is asked for");
                }
                match (self.calls.remove(&call), result) {
                    (Some(name), Ok(result)) => format!("! responded {name} {result}"),
                    (Some(name), Err(error)) => format!("! failed {name}: {error}"),
                    (None, _) => "! broken: a call has two responses".into(),
                }
            }
            ClientEvent::Progress { call, progress } => {
                show::progressed(self.call_name(call), &progress)
            }
            ClientEvent::Input(input) => {
                self.asked += 1;
                let name = format!("i{}", self.asked);
                let line = show::asked(&name, input.call.map(|call| self.call_name(call)), &input);
                self.inputs.insert(input.reply.id(), (name, input.reply, input.call));
                line
            }
            ClientEvent::InputCancelled { input } => match self.inputs.remove(&input) {
                Some((name, ..)) => format!("! ask-cancelled {name}"),
                None => "! broken: an unknown input is cancelled".into(),
            },
            ClientEvent::Log(message) => show::logged(&message),
            ClientEvent::Subscribed { subscription, honoured } => {
                let honoured = Json::encode(&honoured).unwrap_or(Json::EMPTY_OBJECT);
                format!("! subscribed {} {honoured}", self.subscription_name(subscription))
            }
            ClientEvent::Changed { subscription, change } => {
                let name = subscription.map(|subscription| self.subscription_name(subscription));
                show::changed(name, &change)
            }
            ClientEvent::SubscriptionEnded { subscription, cause } => {
                match (self.subscriptions.remove(&subscription), cause) {
                    (Some(name), Ok(())) => format!("! ended {name}"),
                    (Some(name), Err(error)) => format!("! ended {name}: {error}"),
                    (None, _) => "! broken: a subscription ended twice".into(),
                }
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                format!("! completed {elicitation_id}")
            }
            ClientEvent::Notification { method, params } => {
                format!("! notified {method} {params}")
            }
            ClientEvent::PeerFault(error) => format!("! peer-fault {error}"),
            ClientEvent::Closed(error) => {
                self.life = Life::Reported;
                let why = error.map(|error| format!(": {error}"));
                format!("! closed{}", why.unwrap_or_default())
            }
            other => format!("! broken: {other:?}"),
        }
    }

    fn call_name(&self, call: CallId) -> &str {
        self.calls.get(&call).map_or("an unknown call", String::as_str)
    }

    fn subscription_name(&self, subscription: SubscriptionId) -> &str {
        self.subscriptions.get(&subscription).map_or("an unknown subscription", String::as_str)
    }

    /// What must hold between inputs.
    fn check(&mut self) {
        if self.life == Life::Reported {
            self.out.broken("`Closed` came without `Close`");
        }
        if self.connection.wants_read() != (self.life == Life::Open) {
            self.out.broken("`wants_read` is wrong");
        }
        let due = self.connection.poll_timeout();
        if due.is_some_and(|due| due <= self.now || self.life == Life::Closed) {
            self.out.broken("a deadline is not kept");
        }
        let open: [(&dyn Display, usize); 3] = [
            (&"a call has no response", self.calls.len()),
            (&"an input is asked for", self.inputs.len()),
            (&"a subscription is open", self.subscriptions.len()),
        ];
        for (what, count) in open {
            if self.life == Life::Closed && count > 0 {
                self.out.broken(&format!("{what} after the end"));
            }
        }
    }
}
