//! The server's side of a transcript over HTTP, and the application behind the client.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::client::{ClientEvent, Decision};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::Client;
use mcp_proto::http::client::{Action, ExchangeId};
use mcp_proto::{Binding, Instant};

use super::super::chunks::Chunks;
use super::super::client::{Act, Application, refused};
use super::super::play::{Output, Play};
use super::super::value::Input;
use super::line::{Answer, Part};
use super::request;
use super::settings::Settings;

pub(in super::super) struct Player {
    client: Option<Client>,
    way: Chunks,
    now: Instant,
    life: Life,
    /// All requests that there were, by the numbers that the transcript gives them.
    exchanges: BTreeMap<usize, Exchange>,
    application: Application,
    out: Output,
}

struct Exchange {
    id: ExchangeId,
    /// True if its answer ends by itself.
    is_whole: bool,
    /// True if the client still waits for something.
    open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
    Reported,
    Closed,
}

impl Play for Player {
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn decisions(&self) -> &[Decision] {
        self.client.as_ref().map(|client| client.machine().decisions()).unwrap_or_default()
    }

    fn step(&mut self, input: &Input) -> Vec<String> {
        match input {
            Input::Answer(answer) => self.answer(answer),
            Input::Elapse(time) => self.elapse(*time),
            Input::Client(act) => match (&mut self.client, act) {
                (Some(client), Act::Open) => client.handle_opened(self.now),
                (Some(client), act) => {
                    self.application.act(self.now, client, act.clone(), &mut self.out);
                }
                (None, _) => {}
            },
            Input::Field(name, value) => {
                let set =
                    self.client.as_mut().map(|client| client.set_field(self.now, name, value));
                refused(name, set.and_then(Result::err), &mut self.out);
            }
            Input::Bytes(_) | Input::Eof | Input::Server(_) | Input::Http(_) => {
                self.out.broken("a client over HTTP does not do this");
            }
        }
        self.drain();
        if self.due().is_some_and(|due| due <= self.now) {
            self.time(self.now);
        }
        self.check();
        self.out.take()
    }
}

impl Player {
    pub(in super::super) fn new(settings: &Settings, way: Chunks) -> Self {
        let mut random = [0; 16];
        random[0] = settings.random;
        let client = settings.config().map(|config| Client::new(config, Box::new(move || random)));
        let mut out = Output::new("");
        if client.is_none() {
            out.broken("the client cannot be set up so");
        }
        Self {
            client,
            way,
            now: Instant::ZERO,
            life: Life::Open,
            exchanges: BTreeMap::new(),
            application: Application::default(),
            out,
        }
    }

    /// Gives an answer, or some more of one.
    fn answer(&mut self, answer: &Answer) {
        let Some(exchange) = self.exchanges.get_mut(&answer.exchange) else {
            return self.out.broken(&format!("there was no request {}", answer.exchange));
        };
        let id = exchange.id;
        let mut head = None;
        let mut goes_on = false;
        for part in &answer.parts {
            match part {
                Part::Status(status, media) => {
                    goes_on = false;
                    let is_events =
                        media.as_deref().is_some_and(|it| it.starts_with("text/event-stream"));
                    if let Some(exchange) = self.exchanges.get_mut(&answer.exchange) {
                        exchange.is_whole = !is_events;
                    }
                    self.head(id, head.take());
                    let mut next = StatusHead::new(*status);
                    if let Some(media) = media {
                        next.push("Content-Type", media.as_bytes());
                    }
                    head = Some(next);
                }
                Part::Field(name, value) => match &mut head {
                    Some(head) => head.push(name, value.as_bytes()),
                    None => self.out.broken("no field stands behind the head"),
                },
                Part::Body(bytes) => {
                    self.head(id, head.take());
                    self.body(id, bytes.clone().into());
                }
                Part::More => goes_on = true,
                Part::End | Part::CutOff => {
                    self.head(id, head.take());
                    goes_on = true;
                    self.ended(answer.exchange);
                    let Some(client) = &mut self.client else { return };
                    if *part == Part::End {
                        client.handle_end(self.now, id);
                    } else {
                        client.handle_failure(self.now, id, "cut off");
                    }
                }
            }
        }
        self.head(id, head);
        let is_whole = self.exchanges.get(&answer.exchange).is_some_and(|it| it.is_whole);
        if is_whole && !goes_on {
            self.ended(answer.exchange);
            if let Some(client) = &mut self.client {
                client.handle_end(self.now, id);
            }
        }
    }

    fn head(&mut self, id: ExchangeId, head: Option<StatusHead>) {
        if let (Some(client), Some(head)) = (&mut self.client, head) {
            client.handle_head(self.now, id, &head);
            self.drain();
        }
    }

    fn body(&mut self, id: ExchangeId, mut bytes: Bytes) {
        while !bytes.is_empty() {
            let length = self.way.next().min(bytes.len());
            let chunk = bytes.split_to(length);
            if let Some(client) = &mut self.client {
                client.handle_body(self.now, id, chunk);
                self.drain();
            }
            if let Some(client) = &mut self.client {
                // A driver may do so at any time.
                client.handle_timeout(self.now);
                self.drain();
            }
        }
    }

    /// Nothing more comes on this request.
    fn ended(&mut self, number: usize) {
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.open = false;
        }
    }

    fn due(&self) -> Option<Instant> {
        self.client.as_ref().and_then(Client::poll_timeout)
    }

    fn elapse(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.due().filter(|due| *due < end) {
            self.time(due);
            if self.due().is_some_and(|due| due <= self.now) {
                return self.out.broken("a deadline is not kept");
            }
        }
        self.time(end);
    }

    fn time(&mut self, now: Instant) {
        self.now = now.max(self.now);
        if let Some(client) = &mut self.client {
            client.handle_timeout(self.now);
        }
        self.drain();
    }

    /// Takes all actions.
    fn drain(&mut self) {
        while let Some(action) = self.client.as_mut().and_then(Client::poll_action) {
            if self.life == Life::Closed {
                self.out.broken("an action after the end");
            }
            match action {
                Action::Open { exchange, request } => {
                    let number = self.exchanges.len() + 1;
                    for line in request::lines(&request) {
                        self.out.push(format!("{number}> {line}"));
                    }
                    let is_own = self.exchanges.values().any(|other| other.id == exchange);
                    if is_own {
                        self.out.broken("a request has the id of another one");
                    }
                    let exchange = Exchange { id: exchange, is_whole: true, open: true };
                    self.exchanges.insert(number, exchange);
                }
                Action::Abort { exchange } => {
                    let found = self.exchanges.iter_mut().find(|(_, it)| it.id == exchange);
                    match found {
                        Some((number, exchange)) => {
                            self.out.push(format!("{number}> closed"));
                            if !std::mem::take(&mut exchange.open) {
                                self.out.broken("this is over already");
                            }
                        }
                        None => self.out.broken("an unknown request is closed"),
                    }
                }
                Action::Event(event) => {
                    if self.life == Life::Reported {
                        self.out.broken("an event after `Closed`");
                    }
                    if matches!(event, ClientEvent::Closed(_)) {
                        self.life = Life::Reported;
                    }
                    let line = self.application.event(event, &mut self.out);
                    self.out.push(line);
                }
                Action::Close => {
                    if self.life != Life::Reported {
                        self.out.broken("`Close` came before `Closed`");
                    }
                    self.life = Life::Closed;
                    self.out.push("! finished".into());
                }
                Action::Fetch { .. } | Action::Authorize(_) => {
                    self.out.broken("an action of an authorizer");
                }
                other => self.out.broken(&format!("{other:?}")),
            }
        }
        if self.due().is_some_and(|due| due < self.now) {
            self.out.broken("a deadline lies in the past");
        }
    }

    /// Checks the invariants between inputs.
    fn check(&mut self) {
        if self.due().is_some_and(|due| due <= self.now || self.life == Life::Closed) {
            self.out.broken("a deadline is not kept");
        }
        if self.life != Life::Open {
            self.application.check_end(&mut self.out);
        }
        let open = self.exchanges.values().filter(|exchange| exchange.open).count();
        if self.life == Life::Closed && open > 0 {
            self.out.broken("a request is open after the end");
        }
    }
}
