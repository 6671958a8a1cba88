//! Answers that are over, with what they were for or without: what `resume::TABLE` says.
//!
//! In: an exchange that is out no more, and why. Out: nothing, if nobody waits for it; else a stream
//! that sleeps, or a request that no response will come to.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Client;
use super::answer::Class;
use super::delivery::{Broken, Delivery};
use super::exchange::{Answer, Asked, Exchange, Purpose, Reading, Sleeper, Waking};
use super::resume::{self, Break, Kind, Then};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, SubscriptionId};
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
            | Purpose::Message(_)
            | Purpose::Listen
            | Purpose::Rest
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
        let broke = match &reading {
            Reading::Events(_) => Break::Ended,
            Reading::Text(_) | Reading::TooLong | Reading::Nothing => Break::of(status),
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
            Purpose::Call(asked) => self.call_broke(now, asked, broke, refusal, error),
            Purpose::Refresh(refresh) => self.refreshed(now, *refresh),
            Purpose::Listen => self.listener_broke(now, broke, error),
            Purpose::Message(delivery) => self.delivery_broke(now, delivery, broke, error),
            Purpose::Rest => {}
            Purpose::Delete => self.closed(),
        }
    }

    /// The exchange of a call is over without the response.
    fn call_broke(
        &mut self,
        now: Instant,
        mut asked: Box<Asked>,
        broke: Break,
        refusal: Refusal,
        error: CallError,
    ) {
        // What was refused is the resumption; the request itself has been accepted.
        let refusal = if asked.is_resumed() { Refusal::Unavailable } else { refusal };
        let is_resumable = asked.era == Era::Legacy && asked.stream.last_id().is_some();
        let kind = match &*asked.method {
            "subscriptions/listen" if asked.stream.was_open => Kind::Subscription,
            "subscriptions/listen" => Kind::Subscribing,
            "resources/subscribe" if self.side.subscribes(&asked.id) => Kind::Subscribing,
            _ if is_resumable => Kind::Resumable,
            _ => Kind::Call,
        };
        match resume::TABLE.find((kind, broke, true)).map(|row| row.then) {
            Some(Then::Resume | Then::Reopen) => {
                let at = now + asked.stream.backoff.fail(now, self.jitter());
                if kind != Kind::Resumable {
                    self.side.rest_request(&asked.id);
                }
                let waking = Waking::Call(asked);
                self.exchanges.sleep(at, Sleeper { waking, is_unauthorized: false });
            }
            Some(Then::Authorize) => {
                let at = now + asked.stream.backoff.fail_for_long(self.jitter());
                let subscription = self.side.subscription_of(&asked.id);
                self.report_unauthorized(subscription, error);
                let waking = Waking::Call(asked);
                self.exchanges.sleep(at, Sleeper { waking, is_unauthorized: true });
            }
            Some(
                Then::Fail | Then::Stop | Then::Restart | Then::Check | Then::Resend | Then::Lose,
            )
            | None => self.side.handle_lost(now, &asked.id, refusal, error),
        }
    }

    /// The server has not accepted a message.
    pub(super) fn delivery_broke(
        &mut self,
        now: Instant,
        mut delivery: Box<Delivery>,
        broke: Break,
        error: CallError,
    ) {
        let random = self.jitter();
        let broken = delivery.fail(now, broke, random);
        // What waits for it finds out whether the session is of use.
        let is_again = matches!(broken, Broken::Again(_));
        let releases = delivery.begins() && (!is_again || delivery.is_late(now));
        match broken {
            Broken::Again(delay) => {
                let waking = Waking::Message(delivery);
                self.exchanges.sleep(now + delay, Sleeper { waking, is_unauthorized: false });
            }
            Broken::Unauthorized(delay) => {
                self.report_unauthorized(None, error);
                let waking = Waking::Message(delivery);
                self.exchanges.sleep(now + delay, Sleeper { waking, is_unauthorized: true });
            }
            Broken::Undelivered => self.report_undelivered(*delivery, error),
        }
        if releases {
            self.release(now);
        }
    }

    /// Messages that belong to a lost session, and cannot be delivered any more. The next session
    /// has a beginning of its own.
    pub(super) fn lose_deliveries(&mut self, lost: Vec<Delivery>) {
        for delivery in lost.into_iter().filter(|delivery| !delivery.begins()) {
            self.report_undelivered(delivery, CallError::Http { status: 404 });
        }
    }

    fn report_undelivered(&mut self, delivery: Delivery, error: CallError) {
        let message = delivery.into_undelivered();
        self.side.event(ClientEvent::Undelivered { message, error });
    }

    /// The server wants to know who asks, and not for a call that could fail with that.
    pub(super) fn report_unauthorized(
        &mut self,
        subscription: Option<SubscriptionId>,
        error: CallError,
    ) {
        if let CallError::Unauthorized(unauthorized) = error {
            self.side.event(ClientEvent::Unauthorized { subscription, unauthorized });
        }
    }
}
