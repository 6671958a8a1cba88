//! Delivery of messages that have no response: answers to requests of a legacy server, and
//! notifications.
//!
//! In: messages, and the outcomes of their POSTs. Out: POSTs, repeated after a delay if
//! [`resume::TABLE`] says so, and reports of undelivered messages.
//!
//! An answer names its request, so a server drops a second copy. The client therefore sends the
//! answer again until the request ends: with the session, with `notifications/cancelled`, or after
//! [`MAX_TRIES`](resume::MAX_TRIES). `notifications/initialized` is also sent again, since a
//! session begins only once. Messages that wait for this notification are sent when it is accepted,
//! or when it fails and is not repeated after a delay. These messages are also sent when an attempt
//! fails 5 s after the first one, since some servers fail at each notification, but serve calls.
//! Other notifications are sent once, since a repetition may have another meaning.
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
use super::resume::{self, Break, Kind, Resumption};
use crate::client::{InputId, Undelivered};
use crate::message::{MethodRow, Outgoing, RequestId};
use crate::time::{Duration, Instant};

/// Time that a server has to accept a message without a response.
pub(super) const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);

/// Time after which messages no longer wait for a `notifications/initialized` that fails. The time
/// of a call, 60 s by default, goes on while the call waits.
const HOLD_TIMEOUT: Duration = Duration::from_secs(5);

/// A message that the server has not accepted yet.
#[derive(Debug)]
pub(super) struct Delivery {
    kind: DeliveryKind,
    body: Bytes,
    /// Serial number of the session that the message belongs to.
    pub(super) serial: u64,
    /// Time at which the message was first sent.
    since: Instant,
    backoff: Backoff,
}

/// Reaction to a message that the server has not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextDelivery {
    /// Send the message again after this delay.
    Again(Duration),
    /// Send the message again with other credentials, or after this delay.
    Unauthorized(Duration),
    /// Do not send the message again.
    Undelivered,
}

#[derive(Debug)]
enum DeliveryKind {
    /// `notifications/initialized`, which other messages wait for.
    Initialized,
    Notification(Box<str>),
    /// The answers to these requests; a batch has several.
    Answer(Vec<RequestId>, Option<InputId>),
}

impl Delivery {
    /// A message that is first sent at `now`. `answered` has the requests that the application has
    /// just answered, and the inputs that it has given.
    pub(super) fn new(
        now: Instant,
        message: Outgoing,
        body: Bytes,
        answered: &[(RequestId, InputId)],
        serial: u64,
    ) -> Self {
        let kind = delivery_kind(message, answered);
        Self { kind, body, serial, since: now, backoff: Backoff::default() }
    }

    /// The body of the POST.
    pub(super) fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// Records that the server has not accepted the message; returns the next step.
    pub(super) fn fail(&mut self, now: Instant, broke: Break, random: u8) -> NextDelivery {
        let row = resume::TABLE.find((self.kind(), broke, self.backoff.may_try()));
        match row.map(|row| row.then) {
            Some(Resumption::Resend) => NextDelivery::Again(self.backoff.fail(now, random)),
            Some(Resumption::Authorize) => {
                NextDelivery::Unauthorized(self.backoff.fail_with_longest_delay(random))
            }
            _ => NextDelivery::Undelivered,
        }
    }

    /// Returns whether other messages have waited long enough for the delivery of this one.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        now >= self.since + HOLD_TIMEOUT
    }

    /// Returns whether other messages wait for the delivery of this one.
    pub(super) fn is_initialized(&self) -> bool {
        matches!(self.kind, DeliveryKind::Initialized)
    }

    /// Returns whether the message answers only the request with this id.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        matches!(&self.kind, DeliveryKind::Answer(ids, _) if ids.len() == 1 && ids.contains(id))
    }

    fn kind(&self) -> Kind {
        match self.kind {
            DeliveryKind::Answer(..) => Kind::Answer,
            DeliveryKind::Initialized => Kind::Beginning,
            DeliveryKind::Notification(_) => Kind::Notification,
        }
    }

    pub(super) fn into_undelivered(self) -> Undelivered {
        self.kind.into_undelivered()
    }
}

impl DeliveryKind {
    fn into_undelivered(self) -> Undelivered {
        match self {
            Self::Initialized => {
                Undelivered::Notification { method: "notifications/initialized".into() }
            }
            Self::Notification(method) => Undelivered::Notification { method: method.into() },
            Self::Answer(_, input) => Undelivered::Answer { input },
        }
    }
}

/// The report about a message that was never sent. `answered` is as in [`Delivery::new`].
pub(super) fn undelivered(message: Outgoing, answered: &[(RequestId, InputId)]) -> Undelivered {
    delivery_kind(message, answered).into_undelivered()
}

/// Returns whether the application has sent a message. The client itself sends the other ones, such
/// as the answer to a ping.
pub(super) fn is_of_application(message: &Undelivered) -> bool {
    match message {
        Undelivered::Notification { method } => {
            !MethodRow::named(method).is_some_and(MethodRow::is_reserved_to_clients)
        }
        Undelivered::Answer { input } => input.is_some(),
    }
}

/// Kind of a message, as far as its delivery is concerned.
fn delivery_kind(message: Outgoing, answered: &[(RequestId, InputId)]) -> DeliveryKind {
    match message {
        Outgoing::Notification { method, .. } if method == "notifications/initialized" => {
            DeliveryKind::Initialized
        }
        Outgoing::Notification { method, .. } | Outgoing::Request { method, .. } => {
            DeliveryKind::Notification(method.into())
        }
        answer @ (Outgoing::Result { .. } | Outgoing::Error { .. } | Outgoing::Batch(_)) => {
            let mut ids = Vec::new();
            collect_ids(&answer, &mut ids);
            let input = answered.iter().find(|(id, _)| ids.contains(id)).map(|(_, input)| *input);
            DeliveryKind::Answer(ids, input)
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
