//! The server's side of a transcript, and the application behind the client.

use std::time::Duration;

use bytes::Bytes;
use mcp_proto::client::{Client, ClientEvent, Decision};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Binding, Instant, Machine};

use super::super::chunks::Chunks;
use super::super::play::{Output, Play};
use super::super::value::Input;
use super::act::Act;
use super::app::Application;
use super::settings::Settings;

pub(in super::super) struct Player {
    connection: Connection<Client>,
    way: Chunks,
    now: Instant,
    life: Life,
    application: Application,
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
    fn clock(&mut self) -> &mut Instant {
        &mut self.now
    }

    fn decisions(&self) -> &[Decision] {
        self.connection.machine().decisions()
    }

    fn step(&mut self, input: &Input) -> Vec<String> {
        match input {
            Input::Bytes(bytes) => self.bytes(bytes.clone().into()),
            Input::Elapse(time) => self.elapse(*time),
            Input::Eof => self.connection.handle_eof(self.now),
            Input::Client(act) => self.act(act.clone()),
            Input::Server(_) | Input::Http(_) | Input::Answer(_) | Input::Field(..) => {
                self.out.broken("a client does not do this");
            }
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
            application: Application::default(),
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
        if act == Act::Open {
            if self.life == Life::Unopened {
                self.life = Life::Open;
            }
            return self.connection.handle_opened(self.now);
        }
        self.application.act(self.now, &mut self.connection, act, &mut self.out);
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
                    if matches!(event, ClientEvent::Reopen | ClientEvent::Disconnected(_)) {
                        self.life = Life::Unopened;
                    } else if matches!(event, ClientEvent::Closed(_)) {
                        self.life = Life::Reported;
                    }
                    let line = self.application.event(event, &mut self.out);
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

    /// Checks the invariants between inputs.
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
        if self.life == Life::Closed {
            self.application.check_end(&mut self.out);
        }
    }
}
