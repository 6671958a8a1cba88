//! Actions of a bridge, its clients and its server, carried out at once, as a driver does it.

use mcp_proto::bridge::{BridgeAction, ClientRequest, Ticket};
use mcp_proto::client::ClientEvent;
use mcp_proto::server::{CancelCause, InputFailure, ReplyId, ServerEvent, SessionRef};
use mcp_proto::types::InputRequest;
use mcp_proto::{Action, Binding, Duration, Era, Machine};
use serde_json::Value;

use super::Crowd;

/// The time that a client has for input.
const INPUT_TIMEOUT: Duration = Duration::from_secs(60);

impl Crowd {
    /// Does the next thing that a client's server wants done. Returns false if there is none.
    pub(super) fn take_down(&mut self, at: usize) -> bool {
        let Some(found) = self.clients.get_mut(at) else { return false };
        let Some(action) = found.server.poll_action() else { return false };
        match action {
            Action::Transmit(bytes) => {
                // A modern server names the subscription, so its resource is not looked at.
                let names = self.up.machine().era() != Some(Era::Legacy);
                found.hears_all = names || self.sessions.len() <= 1;
                found.reads(&bytes);
            }
            Action::Event(event) => self.take_event(at, event),
            Action::Close => found.closes(),
        }
        true
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the bridge hears of no other event")]
    fn take_event(&mut self, at: usize, event: ServerEvent) {
        let now = self.now;
        let era = self.clients.get(at).map_or(Era::Modern, |found| found.era);
        let Self { bridge, up, .. } = self;
        match event {
            ServerEvent::Request(request) => {
                let read = ClientRequest::of(&request);
                if era == Era::Legacy {
                    self.sessions.insert(read.about.session(), at);
                }
                let twice = self.replies.insert(read.about, (at, request.reply));
                assert!(twice.is_none(), "a name is used twice");
                up.with(now, |client| bridge.handle_request(now, read, client));
            }
            ServerEvent::Cancelled { about, cause } => {
                self.replies.remove(&about);
                self.ended.0.insert(about);
                let reason = if let CancelCause::Client(reason) = cause { reason } else { None };
                up.with(now, |client| {
                    bridge.handle_cancelled(now, (about, reason.as_deref()), client);
                });
            }
            ServerEvent::Notification { session, method, params, .. } => {
                up.with(now, |client| {
                    bridge.handle_notification(now, (session, era), &method, params, client);
                });
            }
            ServerEvent::InputAnswered { input, answer } => {
                let mut asked = self.asked.iter();
                let ticket = asked.find(|(_, it)| **it == (at, input)).map(|(ticket, _)| *ticket);
                if let Some(ticket) = ticket {
                    self.asked.remove(&ticket);
                    up.with(now, |client| {
                        bridge.handle_input_answered(now, ticket, answer, client);
                    });
                }
            }
            ServerEvent::SessionEnded { session, .. } => {
                self.sessions.remove(&session);
                self.ended.1.insert(session);
                up.with(now, |client| bridge.handle_session_ended(now, session, client));
            }
            _ => {}
        }
    }

    /// The same for the client of the server.
    pub(super) fn take_up(&mut self) -> bool {
        let now = self.now;
        let Some(action) = self.up.poll_action() else { return false };
        match action {
            Action::Transmit(bytes) => {
                assert!(!self.is_unopened, "bytes to no server");
                self.to_server.extend_from_slice(&bytes);
                for line in String::from_utf8_lossy(&bytes).lines() {
                    self.hostile.read(line);
                    self.server_reads(line);
                }
            }
            Action::Event(ClientEvent::Reopen) => {
                self.is_unopened = true;
                self.open_asks.clear();
            }
            Action::Event(event) => {
                if matches!(event, ClientEvent::Closed(_)) {
                    self.open_asks.clear();
                }
                let Self { bridge, up, .. } = self;
                up.with(now, |client| bridge.handle_client_event(now, event, client));
            }
            Action::Close => self.up_closed = true,
        }
        true
    }

    /// The server reads a line, or the element of one.
    fn server_reads(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        if let Value::Array(elements) = &value {
            for element in elements {
                self.server_reads(&element.to_string());
            }
            return;
        }
        let id = value.get("id").and_then(Value::as_str);
        match (value.get("method").and_then(Value::as_str), id) {
            (Some("tools/call"), _) => {
                let Some(tag) = value.pointer("/params/tag").and_then(Value::as_str) else {
                    return;
                };
                let [sent, allowed] = self.calls.entry(tag.to_owned()).or_default();
                *sent += 1;
                assert!(*sent <= *allowed, "a tool is called twice: {line}");
            }
            (None, Some(id)) if id.starts_with("ask ") => {
                let asked: u32 = id.trim_start_matches("ask ").parse().unwrap_or(u32::MAX);
                assert!(asked <= self.asks, "an answer to nothing: {line}");
                assert!(self.answered_asks.insert(asked), "two answers: {line}");
                self.open_asks.remove(id);
            }
            _ => {}
        }
    }

    /// The same for the bridge.
    pub(super) fn take_bridge(&mut self) -> bool {
        let now = self.now;
        let Some(action) = self.bridge.poll_action() else { return false };
        match action {
            BridgeAction::Respond { about, outcome } => {
                let found = self.replies.remove(&about);
                let is_known = found.is_some() || self.ended.0.contains(&about);
                assert!(is_known, "a response to no request: {outcome:?}");
                if let Some((at, reply)) = found
                    && let Some(client) = self.clients.get_mut(at)
                {
                    client.server.with(now, |server| server.respond(now, reply, outcome));
                }
            }
            BridgeAction::Notify { about, notification } => {
                let found = self.replies.get(&about);
                let is_known = found.is_some() || self.ended.0.contains(&about);
                assert!(is_known, "a notification about no request: {notification:?}");
                if let Some(client) = found.and_then(|(at, _)| self.clients.get_mut(*at)) {
                    let _ =
                        client.server.with(now, |server| server.notify(now, about, notification));
                }
            }
            BridgeAction::NotifySession { session, notification } => {
                let found = self.sessions.get(&session);
                let is_known = found.is_some() || self.ended.1.contains(&session);
                assert!(is_known, "a notification to no session: {notification:?}");
                if let Some(client) = found.and_then(|at| self.clients.get_mut(*at)) {
                    let _ =
                        client.server.with(now, |server| server.notify_session(now, notification));
                }
            }
            BridgeAction::RequestInput { session, about, request, ticket } => {
                self.request_input((session, about), request, ticket);
            }
            BridgeAction::CancelInput { ticket } => {
                if let Some((at, input)) = self.asked.remove(&ticket)
                    && let Some(client) = self.clients.get_mut(at)
                {
                    let _ = client.server.with(now, |server| server.cancel_input(now, input));
                }
            }
            other => assert_eq!(format!("{other:?}"), "", "an action of another kind"),
        }
        true
    }

    /// Asks a client for input.
    fn request_input(
        &mut self,
        (session, about): (SessionRef, Option<ReplyId>),
        request: InputRequest,
        ticket: Ticket,
    ) {
        assert!(!self.asked.contains_key(&ticket), "a ticket is used twice");
        let now = self.now;
        let at = self.sessions.get(&session).copied();
        let asked = at.and_then(|at| self.clients.get_mut(at)).and_then(|client| {
            let asked = client.server.with(now, |server| match about {
                Some(about) => server.request_input_about(now, about, request, INPUT_TIMEOUT),
                None => server.request_input(now, request, INPUT_TIMEOUT),
            });
            asked.ok()
        });
        if let (Some(at), Some(input)) = (at, asked) {
            self.asked.insert(ticket, (at, input));
        } else {
            let Self { bridge, up, .. } = self;
            up.with(now, |client| {
                let answer = Err(InputFailure::Closed);
                bridge.handle_input_answered(now, ticket, answer, client);
            });
        }
    }
}
