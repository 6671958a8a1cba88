//! State of one connection to the server of a bridge, behind the lock of the connection.
//!
//! In: messages of clients, in the queue. Out: the same, to the machine. The connection itself, in
//! `upstream`, changes the rest.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::io;

use super::failures::lost;
use super::queue::{MessageQueue, Queued};
use crate::mailbox::Mailbox;
use crate::{Context, Session};
use mcp_proto::bridge::{Bridge, ClientRequest, Config, Ticket};
use mcp_proto::server::{Outcome, ReplyId, SessionRef};
use mcp_proto::{Era, ErrorData, Instant, Limits, client};

const GONE: &str = "the connection to the server has ended";

const UNREACHED: &str = "the connection to the server has ended before the server was known; \
                         whoever runs the bridge can see the reason";

pub(super) struct UpstreamState {
    pub(super) bridge: Bridge,
    pub(super) queue: MessageQueue,
    pub(super) waiting: BTreeMap<ReplyId, WaitingRequest>,
    pub(super) sessions: BTreeMap<SessionRef, Session>,
    pub(super) asked: BTreeMap<Ticket, Arc<Mailbox<bool>>>,
    stage: DriverStage,
    /// The client has closed, or its driver has ended.
    has_ended: bool,
    /// The bridge closes the connection.
    is_closing: bool,
    /// The number of the last request.
    pub(super) last_request: u64,
    /// The number of requests for which the connection was chosen, and which have not come yet.
    pub(super) arriving: usize,
}

impl UpstreamState {
    /// The state of a connection that is not driven yet.
    pub(super) fn new(machine: Config, limits: &Limits) -> Self {
        Self {
            bridge: Bridge::new(machine),
            queue: MessageQueue::new(limits),
            waiting: BTreeMap::new(),
            sessions: BTreeMap::new(),
            asked: BTreeMap::new(),
            stage: DriverStage::New,
            has_ended: false,
            is_closing: false,
            last_request: 0,
            arriving: 0,
        }
    }

    /// Records a request that is about to be forwarded: its number, and the session of its legacy
    /// client.
    pub(super) fn begin_request(&mut self, number: u64, session: Option<Session>) {
        self.arriving += 1;
        self.last_request = number;
        self.sessions.extend(session.map(|session| (session.id(), session)));
    }

    /// The last use of an idle connection: whether the server has tasks, and the number of the
    /// request. `None` if a request is pending, or a client is expected to return with input.
    pub(super) fn last_use(&self) -> Option<(bool, u64)> {
        let is_unused = self.arriving == 0 && self.waiting.is_empty();
        let is_idle = is_unused && !self.bridge.is_waiting();
        is_idle.then(|| (self.bridge.has_tasks(), self.last_request))
    }

    /// Begins to drive the client. Returns false if the connection has ended or is being closed.
    pub(super) fn begin(&mut self) -> bool {
        let begins = !self.has_ended && !self.is_closing;
        if begins {
            self.stage = DriverStage::Begun;
        }
        begins
    }

    /// Records that the server is known.
    pub(super) fn connect(&mut self) {
        self.stage = DriverStage::Connected;
    }

    /// Records that the bridge closes the connection. Returns whether its driver has begun.
    pub(super) fn close(&mut self) -> bool {
        // The end of a connection that has ended already has another reason.
        self.is_closing |= !self.has_ended;
        self.stage != DriverStage::New
    }

    /// Records the end of the connection. Returns true if it ends before its server was known, and
    /// not because the bridge closes it.
    pub(super) fn end(&mut self) -> bool {
        let ends = !core::mem::replace(&mut self.has_ended, true);
        ends && self.stage == DriverStage::Begun && !self.is_closing
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn was_connected(&self) -> bool {
        self.stage == DriverStage::Connected
    }

    /// The failure to report at the end of the driver, which has returned this error; `None` if the
    /// bridge closes the connection.
    pub(super) fn failure(&self, error: io::Error) -> Option<io::Error> {
        let failure = if self.was_connected() { lost(error) } else { error };
        Some(failure).filter(|_| !self.is_closing)
    }

    /// The error of a pending request when the connection ends. Clients are not told of programs.
    pub(super) fn gone(&self) -> ErrorData {
        let is_expected = self.was_connected() || self.is_closing;
        ErrorData::internal(if is_expected { GONE } else { UNREACHED })
    }

    /// Passes the queued messages to the machine.
    pub(super) fn run_queue(&mut self, now: Instant, client: &mut client::Client) {
        while let Some(message) = self.queue.pop() {
            match message {
                // A request of a session that has ended meanwhile is cancelled.
                Queued::Request(request) if !self.has_client(&request) => {}
                Queued::Request(request) => self.bridge.handle_request(now, *request, client),
                Queued::Notification(_, verb) | Queued::Event(verb) => {
                    verb(&mut self.bridge, now, client);
                }
            }
        }
    }

    /// Returns whether the client of a request may still be sent messages later, if it ever may.
    fn has_client(&self, ClientRequest { about, peer, .. }: &ClientRequest) -> bool {
        let is_of_session = peer.version.era() == Era::Legacy && !about.is_lone();
        !is_of_session || self.sessions.contains_key(&about.session())
    }
}

/// Stage of the driver of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DriverStage {
    New,
    Begun,
    /// The server was known, at least once.
    Connected,
}

/// A pending request.
pub(super) struct WaitingRequest {
    pub(super) answer: Arc<Mailbox<Option<Outcome>>>,
    pub(super) context: Context,
}
