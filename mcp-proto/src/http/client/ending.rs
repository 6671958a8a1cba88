//! Answers that are over, with what they were for or without: what `resume::TABLE` says.
//!
//! In: an exchange that is out no more, and why. Out: nothing, if nobody waits for it; else a stream
//! that sleeps, or a request that no response will come to.

use super::Client;
use super::answer::Class;
use super::exchange::{Answer, Exchange, Purpose, Reading};
use super::resume::{self, Break, MAX_TRIES, Stream, Then};
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::error::ProtocolError;
use crate::time::Instant;
use crate::version::Era;

impl Client {
    /// An answer has ended.
    pub(super) fn ended(&mut self, now: Instant, exchange: Exchange, text: &[u8]) {
        let Some(Answer { status, unauthorized, reading, .. }) = exchange.answer else {
            let error = CallError::Connection("the answer has no head".into());
            return self.broken(now, exchange, Break::Cut, Refusal::Unavailable, error);
        };
        let fault = match &exchange.purpose {
            Purpose::Call(asked) => asked.fault.clone(),
            Purpose::Refresh(_)
            | Purpose::Message { .. }
            | Purpose::Listen { .. }
            | Purpose::Delete => None,
        };
        let (refusal, error) = match (&reading, unauthorized, fault) {
            (Reading::TooLong, ..) => {
                let max_line_bytes = self.limits().max_line_bytes;
                let error = ProtocolError::LineTooLong { max_line_bytes };
                (Refusal::Unavailable, CallError::Protocol(error))
            }
            (_, Some(unauthorized), _) => {
                (Refusal::Unavailable, CallError::Unauthorized(unauthorized))
            }
            (_, None, Some(fault)) if Class::of(status) == Class::Success => {
                (Refusal::Unavailable, CallError::Protocol(fault))
            }
            (_, None, _) => (Refusal::of_status(status, text), CallError::Http { status }),
        };
        let broke = match (&reading, Class::of(status)) {
            (Reading::Events(_), _) => Break::Ended,
            (_, Class::Success) => Break::NoEvents,
            (_, Class::ServerError) => Break::Unavailable,
            (_, Class::Redirection | Class::Unauthorized | Class::ClientError) => Break::Refused,
        };
        let exchange = Exchange { answer: None, ..exchange };
        self.broken(now, exchange, broke, refusal, error);
    }

    /// An exchange is over; if it owes a response, something must come of that.
    pub(super) fn broken(
        &mut self,
        now: Instant,
        exchange: Exchange,
        broke: Break,
        refusal: Refusal,
        error: CallError,
    ) {
        match exchange.purpose {
            Purpose::Call(asked) if !self.side.awaits(&asked.id) => {}
            Purpose::Call(asked) => {
                // What was refused is the resumption; the request itself has been accepted.
                let refusal = if asked.is_resumed() { Refusal::Unavailable } else { refusal };
                let is_resumable = asked.era == Era::Legacy && asked.stream.last_id().is_some();
                let stream = match &*asked.method {
                    "subscriptions/listen" => Stream::Subscription,
                    _ if is_resumable => Stream::Resumable,
                    _ => Stream::Call,
                };
                let then = resume::judge(stream, broke, asked.stream.tries < MAX_TRIES);
                match then.map(|row| row.then) {
                    Some(Then::Resume | Then::Reopen) => {
                        let at = now + asked.stream.delay(self.jitter());
                        self.sleep(at, Purpose::Call(asked));
                    }
                    Some(Then::Fail | Then::Stop) | None => {
                        self.side.handle_lost(now, &asked.id, refusal, error);
                    }
                }
            }
            Purpose::Refresh(refresh) => self.refreshed(now, *refresh),
            Purpose::Listen { stream, serial } => {
                let is = if stream.was_open { Stream::Listening } else { Stream::Opening };
                let then = resume::judge(is, broke, stream.tries < MAX_TRIES);
                if then.is_some_and(|row| row.then == Then::Resume) {
                    let at = now + stream.delay(self.jitter());
                    self.sleep(at, Purpose::Listen { stream, serial });
                }
            }
            Purpose::Message { begins: true, .. } => self.release(now),
            Purpose::Message { begins: false, .. } => {}
            Purpose::Delete => self.closed(),
        }
    }
}
