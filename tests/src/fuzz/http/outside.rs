//! Notifications and requests of the application outside of requests, over HTTP. Each request for
//! input ends once, and a notification goes to one session.

use std::collections::BTreeSet;

use mcp_proto::server::{InputId, Notification, SessionRef};
use mcp_proto::types::InputRequest;
use mcp_proto::{Duration, Json, UsageError};

use super::Play;

/// The sessions that the application knows, and its requests for input.
#[derive(Default)]
pub(super) struct Outside {
    sessions: Vec<(SessionRef, Option<String>)>,
    /// All requests for input, and those that have not ended.
    inputs: Vec<InputId>,
    open: BTreeSet<InputId>,
}

impl Outside {
    /// A handler has a request of a session.
    pub(super) fn met(&mut self, session: SessionRef, name: Option<String>) {
        if self.sessions.iter().all(|(known, _)| *known != session) {
            self.sessions.push((session, name));
        }
    }

    pub(super) fn sessions(&self) -> Vec<SessionRef> {
        self.sessions.iter().map(|(session, _)| *session).collect()
    }

    pub(super) fn answered(&mut self, input: InputId) {
        assert!(self.open.remove(&input), "{input:?} ends twice");
    }

    pub(super) fn check_ended(&self) {
        assert!(self.open.is_empty(), "input is waited for for ever: {:?}", self.open);
    }
}

impl Play {
    /// Says or asks something in a session, perhaps one that has ended.
    pub(super) fn outside(&mut self, at: usize, n: u8) {
        let count = self.outside.sessions.len();
        let session = at.checked_rem(count).and_then(|at| self.outside.sessions.get(at));
        let Some((session, name)) = session.cloned() else { return };
        let (now, timeout) = (self.now, Duration::from_millis(20 * u64::from(n / 8)));
        match n % 8 {
            0..=2 => {
                let text = format!("outside {}", self.steps);
                let params = Json::parse(format!("{{\"text\":\"{text}\"}}"));
                let params = params.unwrap_or(Json::EMPTY_OBJECT);
                let method = "notifications/outside".into();
                let notification = Notification::Other { method, params };
                let result = self.endpoint.notify_session(now, session, notification);
                if result.is_ok() {
                    self.model.says_outside(text, name);
                }
                self.log.push(format!("{result:?}"));
            }
            3 | 4 => {
                let roots = InputRequest::list_roots();
                let result = self.endpoint.request_input(now, session, roots, timeout);
                self.asked(&result);
            }
            5 | 6 => {
                let held = at.checked_rem(self.held.len()).and_then(|at| self.held.get(at));
                let Some(about) = held.map(|held| held.reply.id()) else { return };
                let roots = InputRequest::list_roots();
                let result = self.endpoint.request_input_about(now, about, roots, timeout);
                self.asked(&result);
            }
            _ => {
                let inputs = &self.outside.inputs;
                let input = at.checked_rem(inputs.len()).and_then(|at| inputs.get(at)).copied();
                let Some(input) = input else { return };
                let result = self.endpoint.cancel_input(now, input);
                let was_open = self.outside.open.contains(&input);
                if result.is_ok() {
                    assert!(self.outside.open.remove(&input), "{input:?} was over");
                } else {
                    let has_ended = result == Err(UsageError::Closed);
                    assert!(!was_open || has_ended, "{input:?} is open: {result:?}");
                }
                self.log.push(format!("{result:?}"));
            }
        }
        self.settle_all();
    }

    fn asked(&mut self, result: &Result<InputId, UsageError>) {
        self.log.push(format!("{result:?}"));
        if let Ok(input) = result {
            assert!(self.outside.open.insert(*input), "{input:?} is used twice");
            self.outside.inputs.push(*input);
        }
    }
}
