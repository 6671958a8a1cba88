//! A connection with its async handlers.
//!
//! In: bytes, the end of input, time, and reports of handlers. Out: bytes to write. Called by
//! [`drive`](crate::drive), or by a loop of an adapter.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::Waker;

use bytes::Bytes;

use mcp_proto::Action;
use mcp_proto::ProtocolError;
use mcp_proto::server::{Config, Declaration, Server, ServerEvent};
use mcp_proto::stdio::Connection;
use mcp_proto::{Duration, Instant};

use crate::Clock;
use crate::Spawned;
use crate::catalog::Catalog;
use crate::drive::{Drive, TURN_ROUNDS};
use crate::http::EndpointWaker;
use crate::link::{EndpointVisitor, Link};
use crate::output::Output;
use crate::panics::catch_panic;
use crate::read_ahead::{Piece, ReadAhead};
use crate::runner::Runner;
use crate::service_mailbox::ServiceMailbox;
use crate::wire::Wire;

/// A connection of a server with its handlers; see the [crate](crate).
pub struct Service<L: Link = Connection<Server>> {
    link: L,
    runner: Runner,
    visitor: EndpointWaker,
    wire: Option<Box<Wire>>,
    on_fault: Option<Box<OnFault>>,
    input: ReadAhead,
    output: Output,
    /// True if output was written since the last turn.
    written: bool,
    /// True if unwritten output held back actions or input in the last turn. Memory that another
    /// connection frees may lift the reason, but only a turn after the write goes on.
    held_back: bool,
    /// Time at which a peer that reads nothing is treated as disconnected. Over HTTP it is set
    /// while too much output is unread, on a stream only after the end of input.
    write_deadline: Option<Instant>,
    drain: Duration,
    phase: ServicePhase,
    /// True if the endpoint has requested a visit.
    visit_requested: bool,
    /// Time of the last input.
    now: Instant,
    /// The earliest end of a handler's sleep. A sleep that begins between two turns wakes the
    /// driver.
    next_sleep: Option<Instant>,
}

type OnFault = dyn FnMut(&ProtocolError) + Send;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServicePhase {
    Open,
    /// The input has ended.
    Ending,
    /// The server is to stop.
    Stopping,
    /// The conversation has ended; output that is unwritten at `until` is dropped. If `extends`,
    /// each write of the peer's output extends `until`.
    Closed {
        until: Instant,
        extends: bool,
    },
    /// The peer has not read the output in time.
    Aborted,
}

impl Service {
    /// A service for a peer on a byte stream, before the first byte is read.
    pub fn new(catalog: impl Into<Catalog>, config: Config) -> Self {
        let settings = config.clone();
        let connect = |declaration, _: &_| Connection::server(declaration, config);
        Self::with(&catalog.into(), &settings, connect)
    }
}

impl<L: Link> Service<L> {
    /// A service of the machine that `connect` creates.
    pub(crate) fn with(
        catalog: &Catalog,
        config: &Config,
        connect: impl FnOnce(Arc<Declaration>, &Arc<ServiceMailbox>) -> L,
    ) -> Self {
        let runner =
            if L::USES_ENDPOINT { Runner::without_updates(catalog) } else { Runner::new(catalog) };
        Self {
            link: connect(runner.snapshot.declaration.clone(), &runner.mailbox),
            visitor: EndpointWaker::new(runner.mailbox.clone()),
            runner,
            wire: None,
            on_fault: None,
            input: ReadAhead::new(),
            output: Output::counted(config.account()),
            written: false,
            held_back: false,
            write_deadline: None,
            drain: config.limits.drain,
            phase: ServicePhase::Open,
            visit_requested: false,
            now: Instant::ZERO,
            next_sleep: None,
        }
    }

    /// Passes handlers that are pending after their first poll to `spawn`, so that they run
    /// concurrently, possibly on several threads. Without it they run in the adapter's task.
    pub fn spawn_with(&mut self, spawn: impl FnMut(Spawned) + Send + 'static) {
        self.runner.spawn = Some(Box::new(spawn));
    }

    /// Cancels the spawned handlers that still run, and waits up to 500 ms for their end. Adapters
    /// call it before their runtime ends, because a cancelled handler is polled once more.
    pub async fn finish(&mut self, clock: &mut impl Clock) {
        self.runner.finish(clock).await;
    }

    /// Shows the conversation to `sink`, line by line, in the transcript format. `C> ` marks lines
    /// of the client, `S> ` lines of the server, `@ ` the elapsed time, `! ` an event. Over HTTP,
    /// `1> ` and `1< ` mark lines of the client and of the server on the first connection. Strings
    /// under keys that look secret are masked, as are values of such headers. A panic is ignored.
    pub fn show_wire(&mut self, now: Instant, sink: impl FnMut(&str) + Send + 'static) {
        let sink = Box::new(sink);
        self.wire = Some(Box::new(match self.link.number() {
            None => Wire::of_server(now, sink),
            Some((number, last_shown)) => Wire::of_connection(number, last_shown, sink),
        }));
    }

    /// Calls `f` with each fault of the peer that gets no response, such as a response to no
    /// request. `f` must not block. A panic of `f` is ignored.
    pub fn on_fault(&mut self, f: impl FnMut(&ProtocolError) + Send + 'static) {
        self.on_fault = Some(Box::new(f));
    }

    /// Ends the connection of a peer that has read nothing until the deadline.
    fn check_write_timeout(&mut self, now: Instant) {
        if !self.written
            && self.write_deadline.is_some_and(|until| until <= now)
            && !self.handle_write_closed()
        {
            self.phase = ServicePhase::Aborted;
        }
    }

    /// Updates the deadlines of a peer that does not read, and drops its output after them.
    fn update_deadlines(&mut self, now: Instant) {
        let written = core::mem::take(&mut self.written);
        let flush_deadline = if self.input.has_ended() {
            Some(self.drain)
        } else {
            self.link.max_unread().filter(|_| self.is_blocked())
        };
        let since = self.write_deadline.filter(|_| !written);
        self.write_deadline =
            flush_deadline.map(|flush_deadline| since.unwrap_or(now + flush_deadline));
        if let ServicePhase::Closed { until, extends } = &mut self.phase {
            if *extends && written {
                *until = now + self.drain;
            }
            if *until <= now {
                self.output.clear();
                self.phase = ServicePhase::Aborted;
            }
        }
    }

    fn act_on_all(&mut self, now: Instant) {
        while !self.holds_back()
            && let Some(action) = self.link.poll_action()
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
            Action::Event(ServerEvent::Request(request)) => {
                let is_full = self.is_full();
                self.runner.start(now, &mut self.link, request, is_full);
            }
            Action::Event(event) => {
                if let Some(wire) = &mut self.wire {
                    wire.event(now, &event);
                }
                self.handle_event(event);
            }
            Action::Close => {
                let extends = self.phase != ServicePhase::Stopping;
                self.phase = ServicePhase::Closed { until: now + self.drain, extends };
            }
        }
    }

    fn handle_event(&mut self, event: ServerEvent) {
        if let (ServerEvent::PeerFault(error), Some(on_fault)) = (&event, &mut self.on_fault) {
            catch_panic(|| on_fault(error));
        }
        self.runner.handle_event(event);
    }

    /// Returns whether the machine accepts input.
    fn takes_input(&self) -> bool {
        self.link.wants_read() && !self.is_full()
    }

    /// Returns whether input is passed to the machine at once.
    fn passes_input(&self) -> bool {
        L::USES_ENDPOINT
            || self.phase != ServicePhase::Open
            || self.input.is_empty() && self.takes_input()
    }

    /// Passes the next piece of the input that was read ahead to the machine; returns false if
    /// there is none.
    fn handle_input(&mut self, now: Instant) -> bool {
        if self.input.is_empty() {
            return false;
        }
        if !self.takes_input() {
            self.held_back |= self.is_full();
            return false;
        }
        match self.input.next() {
            Some(Piece::Data(data)) => self.link.handle_bytes(now, data),
            Some(Piece::End) => self.handle_end(now),
            None => return false,
        }
        true
    }

    fn handle_end(&mut self, now: Instant) {
        self.link.handle_eof(now);
        if self.phase == ServicePhase::Open {
            self.phase = ServicePhase::Ending;
        }
    }

    /// Returns whether so much output is unwritten that only responses are sent.
    fn is_full(&self) -> bool {
        self.output.is_full()
    }

    /// Returns whether unwritten output holds back actions.
    fn is_blocked(&self) -> bool {
        let may_wait = match self.phase {
            ServicePhase::Open => true,
            // Over HTTP a client may still read after the end of its input.
            ServicePhase::Ending => L::USES_ENDPOINT,
            ServicePhase::Stopping | ServicePhase::Closed { .. } | ServicePhase::Aborted => false,
        };
        may_wait && self.is_full()
    }

    /// Does the same as [`Self::is_blocked`], and records it for [`Drive::is_write_blocked`].
    fn holds_back(&mut self) -> bool {
        let is_blocked = self.is_blocked();
        self.held_back |= is_blocked;
        is_blocked
    }
}

impl<L: Link> Drive for Service<L> {
    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        if let Some(wire) = &mut self.wire {
            wire.received(now, data.clone());
        }
        if L::USES_ENDPOINT {
            self.runner.refresh(now, &mut self.link);
        }
        if self.passes_input() {
            self.link.handle_bytes(now, data);
        } else {
            self.input.push(data);
        }
    }

    fn handle_eof(&mut self, now: Instant) {
        if let Some(wire) = &mut self.wire {
            wire.ended(now);
        }
        if self.passes_input() {
            self.handle_end(now);
        } else {
            self.input.end();
        }
    }

    fn handle_stop(&mut self, now: Instant) {
        self.link.shutdown(now);
        self.phase = match self.phase {
            ServicePhase::Open | ServicePhase::Ending | ServicePhase::Stopping => {
                ServicePhase::Stopping
            }
            ServicePhase::Closed { until, .. } => ServicePhase::Closed { until, extends: false },
            ServicePhase::Aborted => ServicePhase::Aborted,
        };
    }

    fn turn(&mut self, now: Instant, waker: &Waker) {
        self.now = now;
        self.held_back = false;
        self.runner.mailbox.begin_turn(now, waker);
        self.check_write_timeout(now);
        if L::USES_ENDPOINT {
            self.runner.refresh(now, &mut self.link);
        }
        if self.is_aborted() {
            self.next_sleep = self.runner.mailbox.end_turn();
            return;
        }
        if self.link.poll_timeout().is_some_and(|at| at <= now) {
            self.link.handle_timeout(now);
        }
        let mut rounds = 0;
        self.next_sleep = loop {
            self.act_on_all(now);
            if self.handle_input(now) {
                continue;
            }
            let visits_endpoint = L::USES_ENDPOINT && !self.holds_back();
            if visits_endpoint
                && self.link.sync_endpoint(
                    now,
                    core::mem::take(&mut self.visit_requested),
                    EndpointVisitor { waker: &self.visitor, snapshot: &self.runner.snapshot },
                )
            {
                continue;
            }
            // If work is left after these rounds, the driver is woken again.
            if rounds == TURN_ROUNDS {
                break self.runner.mailbox.end_turn();
            }
            let work = match self.runner.mailbox.take_work_or_end_turn() {
                Ok(work) => work,
                Err(next_sleep) => break next_sleep,
            };
            rounds += 1;
            self.visit_requested |= work.visit;
            let Some(queued) = work.queued else { continue };
            if !queued.update.is_empty() {
                self.runner.apply_update(now, &mut self.link, queued.update);
            }
            let is_full = self.is_full();
            for command in queued.commands {
                self.runner.apply_command(now, &mut self.link, command, is_full);
            }
            for slot in queued.ready {
                self.runner.poll(now, &mut self.link, slot, is_full);
            }
        };
        self.update_deadlines(now);
        self.link.handle_pause(now, self.output.waiting() > 0);
    }

    fn needs_turn(&self, waker: &Waker) -> bool {
        self.runner.mailbox.needs_turn(waker)
    }

    fn output(&self) -> &[u8] {
        self.output.front()
    }

    fn handle_written(&mut self, count: usize) {
        self.output.advance(count);
        self.written = true;
        if self.output.waiting() == 0 {
            self.link.handle_pause(self.now, false);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let until = self.flush_deadline().filter(|_| self.output.waiting() > 0);
        let times = [self.link.poll_timeout(), self.next_sleep, until, self.write_deadline];
        times.into_iter().flatten().min()
    }

    fn wants_read(&self) -> bool {
        if self.input.is_empty() && self.takes_input() {
            return true;
        }
        !L::USES_ENDPOINT && self.phase == ServicePhase::Open && self.input.has_room()
    }

    fn is_closed(&self) -> bool {
        matches!(self.phase, ServicePhase::Closed { .. } | ServicePhase::Aborted)
    }

    fn handle_write_closed(&mut self) -> bool {
        self.output.clear();
        self.link.handle_disconnect(self.now)
    }

    fn is_write_blocked(&self) -> bool {
        self.held_back
    }

    fn flush_deadline(&self) -> Option<Instant> {
        match self.phase {
            ServicePhase::Closed { until, .. } => Some(until),
            ServicePhase::Open
            | ServicePhase::Ending
            | ServicePhase::Stopping
            | ServicePhase::Aborted => None,
        }
    }

    fn is_aborted(&self) -> bool {
        self.phase == ServicePhase::Aborted
    }
}

impl<L: Link> Drop for Service<L> {
    /// Reports the disconnection to the machine and the endpoint.
    fn drop(&mut self) {
        if self.link.handle_disconnect(self.now) {
            let visitor = EndpointVisitor { waker: &self.visitor, snapshot: &self.runner.snapshot };
            self.link.sync_endpoint(self.now, true, visitor);
            return;
        }
        // A stream may end without an end of input: its session ends here.
        while let Some(action) = self.link.poll_action() {
            if let Action::Event(event @ ServerEvent::SessionEnded { .. }) = action {
                self.runner.handle_event(event);
            }
        }
    }
}

impl<L: Link> core::fmt::Debug for Service<L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Service").field("phase", &self.phase).finish_non_exhaustive()
    }
}
