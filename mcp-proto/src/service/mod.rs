//! Async handlers without a runtime: what every adapter shares.
//!
//! A [`Service`] is a [`stdio::Connection`](crate::stdio::Connection) with handlers that are
//! futures. It uses `core::future` alone; an adapter supplies an [`Io`] (read, write, sleep) for
//! [`drive`] and, if it has one, a way to spawn. A handler is polled once where its request
//! arrives; if it is not done then, it goes on in the adapter's task, woken by itself, or where
//! the adapter spawns it.
//! A handler that panics, or whose future is dropped, is answered with -32603.
//!
//! What [`drive`] does, for whoever has a loop of their own:
//!
//! | verb | when |
//! |---|---|
//! | [`Driven::handle_bytes`], [`Driven::handle_eof`] | something was read; the input has ended |
//! | [`Driven::handle_stop`] | a signal asks to stop |
//! | [`Driven::turn`] | after each of these and after writing, when its waker was woken, and at [`Driven::poll_timeout`] |
//! | [`Driven::output`], [`Driven::handle_written`] | until it is empty: bytes to write |
//! | [`Driven::is_closed`] | all is said: flush and return |

mod catalog;
mod client;
mod command;
mod context;
mod drive;
mod handler;
mod input;
mod output;
mod port;
mod result;
mod stderr;
mod tasks;
mod wire;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::task::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::error::ProtocolError;
use crate::machine::{Action, Machine};
use crate::message::ErrorData;
use crate::server::{Config, Outcome, Request, Server, ServerEvent};
use crate::stdio::Connection;
use crate::time::{Duration, Instant};

pub use catalog::Catalog;
use catalog::Offer;
pub use client::{Call, Client, ClientService, IntoAnswer, Subscription};
pub use command::Command;
use context::Asked;
pub use context::{Cancelled, Context, Sleep};
pub use drive::{Driven, Io, drive};
use handler::Given;
pub use handler::Handler;
use output::Output;
use port::{Cancel, News, Port};
#[cfg(feature = "schemars")]
pub use result::Structured;
pub use result::{Interrupt, IntoInterrupt, IntoResult, IntoToolError, IntoToolResult};
pub use stderr::Stderr;
use tasks::{Progressed, Tasks};
use wire::Wire;

/// A future of an adapter's own, to be driven to its end somewhere.
pub type Spawned = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection and its handlers; see the [module](self).
pub struct Service {
    connection: Connection<Server>,
    offer: Offer,
    tasks: Tasks,
    port: Arc<Port>,
    spawn: Option<Box<dyn FnMut(Spawned) + Send>>,
    wire: Option<Wire>,
    on_fault: Option<Box<OnFault>>,
    output: Output,
    /// Some of it was written since the last turn.
    written: bool,
    drain: Duration,
    life: Life,
}

type OnFault = dyn FnMut(&ProtocolError) + Send;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
    /// The input has ended.
    Ending,
    /// Somebody wants the end.
    Stopping,
    /// All is said; what is not written by then is not waited for. Patience gives a peer that
    /// reads more time.
    Closed {
        until: Instant,
        patient: bool,
    },
    /// The peer has not read all in time.
    GivenUp,
}

/// With more output than this waiting to be written, nothing is read, no further action is taken
/// from the machine, and progress goes nowhere.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// How often a turn looks for more work before others get theirs.
const ROUNDS: usize = 16;

impl Service {
    /// A service for the peer at the other end of a stream that is yet to be read.
    pub fn new(catalog: impl Into<Catalog>, config: Config) -> Self {
        let catalog = catalog.into();
        let port = Arc::new(Port::new(catalog.clone()));
        let offer = catalog.join(&port);
        let drain = config.limits.drain;
        Self {
            connection: Connection::server(offer.declaration.clone(), config),
            offer,
            tasks: Tasks::new(port.clone()),
            port,
            spawn: None,
            wire: None,
            on_fault: None,
            output: Output::default(),
            written: false,
            drain,
            life: Life::Open,
        }
    }

    /// Hands handlers that do not end at once to `spawn`, so that they may run beside each other
    /// on several threads. Without it they take turns in the adapter's task.
    pub fn spawn_with(&mut self, spawn: impl FnMut(Spawned) + Send + 'static) {
        self.spawn = Some(Box::new(spawn));
    }

    /// Shows the conversation to `sink`, line by line, in the transcript format: `C> ` what the
    /// client sends, `S> ` what the server sends, `@ ` the time that has passed, `! ` what
    /// happens. Strings under keys that look secret are masked.
    pub fn show_wire(&mut self, now: Instant, sink: impl FnMut(&str) + Send + 'static) {
        self.wire = Some(Wire::of_server(now, Box::new(sink)));
    }

    /// Tells `f` what the peer did wrong that is not answered, such as a response to nothing.
    pub fn on_fault(&mut self, f: impl FnMut(&ProtocolError) + Send + 'static) {
        self.on_fault = Some(Box::new(f));
    }

    /// Drops what a peer has not read in time.
    fn give_up(&mut self, now: Instant) {
        let written = core::mem::take(&mut self.written);
        if let Life::Closed { until, patient } = &mut self.life {
            if *patient && written {
                *until = now + self.drain;
            }
            if *until <= now {
                self.output.clear();
                self.life = Life::GivenUp;
            }
        }
    }

    fn act_on_all(&mut self, now: Instant) {
        while !self.is_clogged()
            && let Some(action) = self.connection.poll_action()
        {
            self.act(now, action);
        }
    }

    fn act(&mut self, now: Instant, action: Action<ServerEvent>) {
        match action {
            Action::Transmit(bytes) => {
                if let Some(wire) = &mut self.wire {
                    wire.sent(now, bytes.clone());
                }
                self.output.push(bytes);
            }
            Action::Event(ServerEvent::Request(request)) => self.start(now, request),
            Action::Event(event) => {
                if let Some(wire) = &mut self.wire {
                    wire.event(now, &event);
                }
                self.react(event);
            }
            Action::Close => {
                let patient = self.life != Life::Stopping;
                self.life = Life::Closed { until: now + self.drain, patient };
            }
        }
    }

    fn react(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Cancelled { about, .. } => self.tasks.cancel(about),
            ServerEvent::Notification { handler, params, .. } => {
                if let Some(handler) = self.offer.registry.handler(handler) {
                    // There is nobody to tell of a panic.
                    let _ = catch_unwind(AssertUnwindSafe(|| handler.notify(&params)));
                }
            }
            ServerEvent::PeerFault(error) => {
                if let Some(on_fault) = &mut self.on_fault {
                    on_fault(&error);
                }
            }
            ServerEvent::Request(_)
            | ServerEvent::Pong { .. }
            | ServerEvent::MessagesLost { .. }
            | ServerEvent::Closed => {}
        }
    }

    /// The catalog has changed.
    fn learn(&mut self, now: Instant, news: News) {
        if let Some(offer) = news.offer
            && offer.generation > self.offer.generation
        {
            self.connection.declare(now, offer.declaration.clone());
            self.offer = offer;
        }
        for change in &news.changes {
            // It was declared when it was published; if it is not any more, nobody is told.
            let _ = self.connection.publish(now, change);
        }
    }

    fn obey(&mut self, now: Instant, command: port::Command) {
        match command {
            port::Command::Notify(..) if self.output.waiting() > MAX_OUTPUT_BYTES => {}
            // A handler that reports after its end, or backwards, is not worth an error.
            port::Command::Notify(about, notification) => {
                let _ = self.connection.notify(now, about, notification);
            }
            port::Command::Respond(reply, outcome) => {
                self.tasks.forget(reply.id());
                self.connection.respond(now, reply, outcome);
            }
        }
    }

    fn start(&mut self, now: Instant, request: Request) {
        let Request { reply, params, arguments, peer, .. } = request;
        let Some(handler) = self.offer.registry.handler(request.handler) else {
            let error = ErrorData::internal("what was asked for has been removed");
            return self.connection.respond(now, reply, Outcome::Error(error));
        };
        let asked = Asked {
            peer: peer.detach(),
            wants_progress: request.wants_progress,
            log_level: request.log_level,
            input: request.input.map(Arc::from),
            #[cfg(feature = "request-state")]
            request: request.handler.asks().then(|| (request.method, params.detach())),
        };
        let cancel = Arc::new(Cancel::new());
        let context = Context::new(self.port.clone(), cancel.clone(), reply.id(), asked);
        let call = move || handler.call(Given { params, arguments }, context);
        let progressed = self.tasks.start(reply, cancel, call, self.spawn.as_deref_mut());
        self.settle(now, progressed);
    }

    /// Answers after what the handler has reported.
    fn settle(&mut self, now: Instant, progressed: Progressed) {
        let Progressed::Done(reply, outcome) = progressed else { return };
        let (commands, news) = self.port.take_commands();
        if !news.is_empty() {
            self.learn(now, news);
        }
        for command in commands {
            self.obey(now, command);
        }
        self.connection.respond(now, reply, outcome);
    }
}

impl Driven for Service {
    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        if let Some(wire) = &mut self.wire {
            wire.received(now, data.clone());
        }
        self.connection.handle_bytes(now, data);
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(wire) = &mut self.wire {
            wire.ended(now);
        }
        self.connection.handle_eof(now);
        if self.life == Life::Open {
            self.life = Life::Ending;
        }
    }

    fn handle_stop(&mut self, now: Instant) {
        self.connection.shutdown(now);
        self.life = match self.life {
            Life::Open | Life::Ending | Life::Stopping => Life::Stopping,
            Life::Closed { until, .. } => Life::Closed { until, patient: false },
            Life::GivenUp => Life::GivenUp,
        };
    }

    fn turn(&mut self, now: Instant, waker: &Waker) {
        self.port.begin_turn(now, waker);
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        let mut rounds = 0;
        loop {
            self.act_on_all(now);
            // What is left after that many rounds has the driver woken again.
            let work = if rounds < ROUNDS { self.port.take_work() } else { None };
            let Some(work) = work else { break };
            rounds += 1;
            if !work.news.is_empty() {
                self.learn(now, work.news);
            }
            for command in work.commands {
                self.obey(now, command);
            }
            for slot in work.ready {
                let progressed = self.tasks.poll(slot);
                self.settle(now, progressed);
            }
        }
        self.port.end_turn();
        self.give_up(now);
    }

    fn output(&self) -> &[u8] {
        self.output.front()
    }

    fn handle_written(&mut self, count: usize) {
        self.output.advance(count);
        self.written = true;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sleep = self.port.next_sleep();
        let until = match self.life {
            Life::Closed { until, .. } if self.output.waiting() > 0 => Some(until),
            Life::Open | Life::Ending | Life::Stopping | Life::Closed { .. } | Life::GivenUp => {
                None
            }
        };
        self.connection.poll_timeout().into_iter().chain(sleep).chain(until).min()
    }

    fn wants_read(&self) -> bool {
        self.connection.wants_read() && self.output.waiting() <= MAX_OUTPUT_BYTES
    }

    fn is_closed(&self) -> bool {
        matches!(self.life, Life::Closed { .. } | Life::GivenUp)
    }

    /// There is nobody to serve.
    fn handle_deaf(&mut self) -> bool {
        false
    }

    fn is_clogged(&self) -> bool {
        self.life == Life::Open && self.output.waiting() > MAX_OUTPUT_BYTES
    }

    fn patience(&self) -> Option<Instant> {
        match self.life {
            Life::Closed { until, .. } => Some(until),
            Life::Open | Life::Ending | Life::Stopping | Life::GivenUp => None,
        }
    }

    fn has_given_up(&self) -> bool {
        self.life == Life::GivenUp
    }
}

impl Drop for Service {
    /// Tells the catalog, and handlers that were spawned, that nobody waits for them.
    fn drop(&mut self) {
        self.port.catalog().leave(&self.port);
        self.port.close();
        self.tasks.cancel_all();
    }
}

impl core::fmt::Debug for Service {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Service").field("connection", &self.connection).finish_non_exhaustive()
    }
}
