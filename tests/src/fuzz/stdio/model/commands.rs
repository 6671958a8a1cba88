//! Commands of the application, and their required results.

use mcp_proto::server::{Change, List, Outcome, Progress, ReplyId};
use mcp_proto::types::LoggingLevel;
use mcp_proto::{Era, Instant, Json, UsageError};

use super::super::seen::Seen;
use super::{Call, Life, Model};
use crate::fuzz::oracle::Object;

impl Model {
    pub(in super::super) fn respond(
        &mut self,
        now: Instant,
        about: ReplyId,
        outcome: &Outcome,
        seen: &mut Seen,
    ) {
        let Some(call) = self.calls.remove(&about) else {
            self.dropped += 1;
            return;
        };
        if let Outcome::InputRequired(required) = outcome {
            self.ask(now, call, required, seen);
            return self.close_if_drained(seen);
        }
        let completes = matches!(outcome, Outcome::Text(_))
            || matches!(outcome, Outcome::Complete(json) if json.as_str().starts_with('{'));
        self.answered(&call, seen, |response| {
            assert_eq!(response.result.is_some(), completes);
            if let Some(result) = response.result.as_deref().and_then(Object::read) {
                let stamped = result.get("resultType").is_some();
                assert_eq!(stamped, call.era == Era::Modern, "the stamp of the other era");
            }
        });
        self.leave(call.batch, seen);
        self.close_if_drained(seen);
    }

    /// A request whose client can be told something: it is in its handler, or waits for input.
    fn told(&mut self, about: ReplyId) -> Option<&mut Call> {
        self.calls.get_mut(&about).or_else(|| self.questions.waiting(about))
    }

    pub(in super::super) fn progress(
        &mut self,
        about: ReplyId,
        progress: &Progress,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let closed = matches!(self.life, Life::Closed);
        let expected = match (closed, self.told(about)) {
            (true, _) => Err(UsageError::Closed),
            (_, None) => Err(UsageError::NotInFlight),
            (_, Some(call)) => {
                let value = progress.progress;
                if value.is_finite() && call.progress.is_none_or(|before| value > before) {
                    call.progress = Some(value);
                    if call.wants_progress {
                        let message = seen.response();
                        assert_eq!(message.method.as_deref(), Some("\"notifications/progress\""));
                        let params = message.params.as_deref().and_then(Object::read);
                        let token = params.as_ref().and_then(|p| p.get("progressToken"));
                        assert!(token.is_some());
                        assert!(call.token.is_none() || token == call.token.as_deref());
                    }
                    Ok(())
                } else {
                    Err(UsageError::ProgressNotIncreasing)
                }
            }
        };
        assert_eq!(result, &expected);
    }

    pub(in super::super) fn log(
        &mut self,
        about: ReplyId,
        level: LoggingLevel,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let expected = self.in_flight(about);
        assert_eq!(result, &expected);
        let session_level = self.session.as_ref().and_then(|session| session.level);
        let Some(call) = self.told(about).filter(|_| expected.is_ok()) else { return };
        let wanted = match call.era {
            Era::Modern => call.log_level.is_some_and(|least| level >= least),
            Era::Legacy => session_level.map_or(!seen.lines.is_empty(), |least| level >= least),
        };
        if wanted {
            let message = seen.response();
            assert!(message.is("notifications/message") && message.param("data").is_some());
        }
    }

    pub(in super::super) fn notify(
        &mut self,
        about: ReplyId,
        method: &str,
        params: &Json,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let era = self.told(about).map(|call| call.era);
        let completes = method == "notifications/elicitation/complete";
        let expected = self.in_flight(about).and_then(|()| {
            let name = || method.to_owned();
            if method == "notifications/message" {
                Err(UsageError::ReservedMethod { method: name() })
            } else if !params.as_str().starts_with('{') {
                Err(UsageError::NotAnObject { name: name() })
            } else if completes && (era == Some(Era::Modern) || seen.lines.is_empty()) {
                // Of the legacy revisions one has it.
                Ok(())
            } else {
                let message = seen.response();
                assert!(message.is(method) && message.id.is_none());
                Ok(())
            }
        });
        assert_eq!(result, &expected);
    }

    pub(in super::super) fn publish(&mut self, change: &Change, result: &Result<(), UsageError>) {
        let capability = "prompts.listChanged";
        let expected = match (&self.life, change) {
            (Life::Draining(_) | Life::Closed, _) => Err(UsageError::Closed),
            (_, Change::ListChanged(List::Prompts)) => Err(UsageError::Undeclared { capability }),
            _ => Ok(()),
        };
        assert_eq!(result, &expected);
        if expected.is_ok() {
            self.listeners.publish(change);
        }
    }

    /// Another declaration took effect, in which the tools and the prompts are others.
    pub(in super::super) fn declare(&mut self) {
        if let Life::Open = self.life {
            self.listeners.publish(&Change::ListChanged(List::Tools));
        }
    }

    fn in_flight(&mut self, about: ReplyId) -> Result<(), UsageError> {
        let told = self.told(about).is_some();
        match self.life {
            Life::Closed => Err(UsageError::Closed),
            Life::Open | Life::Draining(_) if told => Ok(()),
            Life::Open | Life::Draining(_) => Err(UsageError::NotInFlight),
        }
    }
}
