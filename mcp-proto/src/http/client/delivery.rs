//! Delivery of messages that have no response: answers to requests of a legacy server, and
//! notifications.
//!
//! In: messages, and what becomes of their POSTs. Out: POSTs, again after a delay if
//! [`resume::TABLE`] says so, and the report that a message was not delivered.
//!
//! An answer names its request, so that a server that gets it twice drops the second one: it is sent
//! again for as long as its request lives, which ends with the session, with
//! `notifications/cancelled`, and after [`MAX_TRIES`](resume::MAX_TRIES). A session begins once, so that
//! `notifications/initialized` is sent again as well; what waits for it goes out when it is accepted,
//! or when it fails 60 s after it was sent first. Another notification may mean something else the
//! second time.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | out | the POST | 2xx; anything else, as the table says; 60 s without a head |
//! | sleeping | the message | the delay; a field that the application sets, after 401 or 403 |
//!
//! [Specification: Sending Messages to the
//! Server](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server)

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use super::backoff::Backoff;
use super::exchange::{Purpose, Sleeper, Waking};
use super::resume::{self, Break, Kind, Then};
use super::send::ACCEPT_TIMEOUT;
use super::{Client, Reason, Request};
use crate::client::{CallError, ClientEvent, InputId, Undelivered};
use crate::message::{Outgoing, RequestId};
use crate::time::Instant;

/// A message on its way.
#[derive(Debug)]
pub(super) struct Delivery {
    kind: Delivered,
    body: Bytes,
    /// The session that it belongs to.
    pub(super) serial: u64,
    /// When it was sent first.
    since: Instant,
    backoff: Backoff,
}

#[derive(Debug)]
enum Delivered {
    /// `notifications/initialized`, which others wait for.
    Beginning,
    Notification(Box<str>),
    /// The answers to these requests; a batch has several.
    Answer(Vec<RequestId>, Option<InputId>),
}

impl Delivery {
    /// Whether others wait until it is delivered.
    pub(super) fn begins(&self) -> bool {
        matches!(self.kind, Delivered::Beginning)
    }

    /// Whether it answers the request with this id and no other.
    fn answers(&self, id: &RequestId) -> bool {
        matches!(&self.kind, Delivered::Answer(ids, _) if ids.len() == 1 && ids.contains(id))
    }

    fn kind(&self) -> Kind {
        match self.kind {
            Delivered::Answer(..) => Kind::Answer,
            Delivered::Beginning => Kind::Beginning,
            Delivered::Notification(_) => Kind::Notification,
        }
    }

    fn into_undelivered(self) -> Undelivered {
        match self.kind {
            Delivered::Beginning => {
                Undelivered::Notification { method: "notifications/initialized".into() }
            }
            Delivered::Notification(method) => Undelivered::Notification { method: method.into() },
            Delivered::Answer(_, input) => Undelivered::Answer { input },
        }
    }
}

/// What a message is, as far as its delivery is concerned.
fn delivered(message: Outgoing, answering: Option<&(RequestId, InputId)>) -> Delivered {
    match message {
        Outgoing::Notification { method, .. } if method == "notifications/initialized" => {
            Delivered::Beginning
        }
        Outgoing::Notification { method, .. } | Outgoing::Request { method, .. } => {
            Delivered::Notification(method.into())
        }
        answer @ (Outgoing::Result { .. } | Outgoing::Error { .. } | Outgoing::Batch(_)) => {
            let mut ids = Vec::new();
            collect_ids(&answer, &mut ids);
            let input = answering.filter(|(id, _)| ids.contains(id)).map(|(_, input)| *input);
            Delivered::Answer(ids, input)
        }
    }
}

/// The requests that a message answers.
fn collect_ids(message: &Outgoing, ids: &mut Vec<RequestId>) {
    match message {
        Outgoing::Result { id, .. } => ids.push(id.clone()),
        Outgoing::Error { id, .. } => ids.extend(id.clone()),
        Outgoing::Batch(messages) => messages.iter().for_each(|it| collect_ids(it, ids)),
        Outgoing::Notification { .. } | Outgoing::Request { .. } => {}
    }
}

impl Client {
    /// Sends a message that has no response.
    pub(super) fn deliver(&mut self, now: Instant, message: Outgoing) {
        let request = self.post(&message);
        let delivery = Delivery {
            kind: delivered(message, self.answering.as_ref()),
            body: request.body.clone(),
            serial: self.session.serial,
            since: now,
            backoff: Backoff::default(),
        };
        self.send_delivery(now, request, Box::new(delivery));
    }

    /// It is time to send a message again.
    pub(super) fn deliver_again(&mut self, now: Instant, delivery: Box<Delivery>) {
        let request = self.post_body(delivery.body.clone());
        self.send_delivery(now, request, delivery);
    }

    fn send_delivery(&mut self, now: Instant, request: Request, delivery: Box<Delivery>) {
        let exchange = self.open(request, Purpose::Message(delivery));
        // Otherwise its time begins when it has a connection.
        if self.connections.is_open(exchange) {
            self.deadlines.set(Reason::Exchange(exchange), now + ACCEPT_TIMEOUT);
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
        let row = resume::TABLE.find((delivery.kind(), broke, delivery.backoff.may_try()));
        let then = row.map(|row| row.then);
        let begins = delivery.begins();
        let holds = then == Some(Then::Resend) && now < delivery.since + ACCEPT_TIMEOUT;
        let random = self.jitter();
        let sleep = match then {
            Some(Then::Resend) => Some((delivery.backoff.fail(now, random), false)),
            Some(Then::Authorize) => {
                self.report_unauthorized(None, error.clone());
                Some((delivery.backoff.fail_for_long(random), true))
            }
            _ => None,
        };
        if let Some((delay, is_unauthorized)) = sleep {
            let waking = Waking::Message(delivery);
            self.sleep(now + delay, Sleeper { waking, is_unauthorized });
        } else {
            self.report_undelivered(*delivery, error);
        }
        if begins && !holds {
            // What waits finds out whether the session is of use.
            self.release(now);
        }
    }

    /// The server does not want the answer to a request any more.
    pub(super) fn cancel_delivery(&mut self, id: &RequestId) {
        let answers = |purpose: &Purpose| match purpose {
            Purpose::Message(delivery) => delivery.answers(id),
            Purpose::Call(_)
            | Purpose::Refresh(_)
            | Purpose::Listen
            | Purpose::Rest
            | Purpose::Delete => false,
        };
        let mut out = self.exchanges.iter().filter(|(_, open)| answers(&open.purpose));
        if let Some(exchange) = out.next().map(|(exchange, _)| *exchange) {
            self.abort(exchange);
        }
        let answers = |sleeper: &Sleeper| match &sleeper.waking {
            Waking::Message(delivery) => delivery.answers(id),
            Waking::Call(_) => false,
        };
        let mut all = self.sleeping.iter().filter(|(_, sleeper)| answers(sleeper));
        if let Some(key) = all.next().map(|(key, _)| *key) {
            self.sleeping.remove(&key);
            self.deadlines.clear(Reason::Sleeping(key));
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
}
