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
use mcp_proto::bridge::{Bridge, ClientRequest, Ticket};
use mcp_proto::server::{Outcome, ReplyId, SessionRef};
use mcp_proto::{Era, ErrorData, Instant, client};

const GONE: &str = "the connection to the server has ended";

const UNREACHED: &str = "the connection to the server has ended before the server was known; \
                         whoever runs the bridge can see the reason";

#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
pub(super) struct UpstreamState {
    pub(super) bridge: Bridge,
    pub(super) queue: MessageQueue,
    pub(super) waiting: BTreeMap<ReplyId, WaitingRequest>,
    pub(super) sessions: BTreeMap<SessionRef, Session>,
    pub(super) asked: BTreeMap<Ticket, Arc<Mailbox<bool>>>,
    pub(super) has_begun: bool,
    /// The client has closed, or its driver has ended.
    pub(super) has_ended: bool,
    pub(super) was_connected: bool,
    /// The bridge closes the connection.
    pub(super) is_closing: bool,
    /// The number of the last request.
    pub(super) last_request: u64,
    /// The number of requests for which the connection was chosen, and which have not come yet.
    pub(super) arriving: usize,
}

impl UpstreamState {
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

    /// Returns whether the driver has begun, and neither the server was known nor the bridge closes
    /// the connection.
    pub(super) fn has_failed(&self) -> bool {
        self.has_begun && !self.was_connected && !self.is_closing
    }

    /// The failure to report at the end of the driver, which has returned this error; `None` if the
    /// bridge closes the connection.
    pub(super) fn failure(&self, error: io::Error) -> Option<io::Error> {
        let failure = if self.was_connected { lost(error) } else { error };
        Some(failure).filter(|_| !self.is_closing)
    }

    /// The error of a pending request when the connection ends. Clients are not told of programs.
    pub(super) fn gone(&self) -> ErrorData {
        let is_expected = self.was_connected || self.is_closing;
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

/// A pending request.
pub(super) struct WaitingRequest {
    pub(super) answer: Arc<Mailbox<Option<Outcome>>>,
    pub(super) context: Context,
}
