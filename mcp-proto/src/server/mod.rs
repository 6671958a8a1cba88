//! The server: messages in, messages out, for both eras at once.
//!
//! A [`Server`] is the protocol state of one peer scope; on a byte stream that is the stream, and
//! [`stdio::Connection`](crate::stdio::Connection) is its binding. What it offers comes from a
//! [`Registry`], registered once; [`negotiate`](crate::negotiate) decides which era a
//! message belongs to.
//!
//! | input | output |
//! |---|---|
//! | a message | a response, or a [`Request`] event for a handler, or nothing (`negotiate::TABLE`) |
//! | `respond` with a result or an error | the response, stamped for the era; nothing if the request was cancelled |
//! | `respond` with input that is required | modern: a response that says so; legacy: requests to the client, and the [`Request`] again once they are answered |
//! | `notify` | progress and log messages, if the client asked for them |
//! | `publish`, `declare` | notifications to clients that subscribed, the legacy ones to list changes always |
//! | `ping`, `notify_session`, `request_input` | to a legacy client, about no request; then a `Pong`, or `InputAnswered` |
//! | `cancel_input` | withdraws such a request for input |
//! | `notifications/cancelled` | a `Cancelled` event, and never a response |
//! | end of input | subscriptions end; requests in flight get `Limits::drain`, then `Cancelled`; then `Closed` |
//! | `Limits::handler_timeout` | `Cancelled`, and -32603 |
//! | `Limits::input_timeout` | -32603 |
//!
//! What the machine answers by itself: `initialize`, `server/discover`, `ping`, the lists,
//! `logging/setLevel`, `resources/subscribe`, `resources/unsubscribe`, `subscriptions/listen`, and
//! `completion/complete` of what nothing completes.
//!
//! States: a connection is opened as undecided, modern or legacy (with its session); apart from
//! that it is open, draining (no more input, requests in flight) or closed. A request in flight is
//! in its handler, waits for input (legacy), or is a subscription (modern).
//!
//! [Specification: Server Features](https://modelcontextprotocol.io/specification/2026-07-28/server)

mod binding;
mod cacheable;
mod call;
mod calls;
mod config;
mod context;
mod declaration;
mod dispatch;
mod entries;
mod event;
mod handler_id;
mod input;
mod inputs;
mod legacy;
mod modern;
mod names;
mod notification;
mod outbox;
mod outcome;
mod pages;
mod reason;
mod registry;
mod serve;
mod stamp;
mod subscriptions;
mod template;

use alloc::sync::Arc;
use alloc::vec::Vec;

pub use crate::budget::Account;
pub use crate::change::{Change, List};
use crate::deadlines::Deadlines;
use crate::error::{ProtocolError, UsageError};
use crate::machine::Action;
use crate::message::{ErrorData, Incoming, Malformed, Outgoing, RequestId};
use crate::negotiate::{Claim, Kind, Route};
pub use crate::progress::Progress;
use crate::time::Instant;
use crate::version::Era;
pub use cacheable::Cacheable;
use call::{Call, ReplyPath};
use calls::Calls;
pub use config::Config;
use context::{Binding, Context};
pub use declaration::Declaration;
pub(crate) use dispatch::{MessageSource, facts, refusal, request_id};
pub use event::{
    CancelCause, InputFailure, InputId, Peer, PingId, Reply, ReplyId, Request, ServerAction,
    ServerEvent, SessionRef, StreamId,
};
pub use handler_id::HandlerId;
pub use notification::Notification;
pub use outcome::{Input, InputRequired, Outcome};
use reason::Reason;
pub use registry::Registry;
pub(crate) use subscriptions::Filter;
use subscriptions::Subscriptions;
pub use template::template_variables;

/// The server's side of one peer scope.
#[derive(Debug)]
pub struct Server {
    context: Context,
    opening: Opening,
    life: Life,
    calls: Calls,
    subscriptions: Subscriptions,
    deadlines: Deadlines<Reason>,
    dropped_replies: u64,
}

#[derive(Debug)]
enum Opening {
    Undecided,
    Modern,
    Legacy(legacy::Session),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Open,
    Draining,
    Closed,
}

impl Server {
    /// A server for a peer that has not said anything yet.
    pub fn new(declaration: Arc<Declaration>, config: Config) -> Self {
        Self::with(Context::new(declaration, Arc::new(config), Binding::Stream, None))
    }

    fn with(context: Context) -> Self {
        Self {
            context,
            opening: Opening::Undecided,
            life: Life::Open,
            calls: Calls::default(),
            subscriptions: Subscriptions::default(),
            deadlines: Deadlines::new(),
            dropped_replies: 0,
        }
    }

    /// The peer sent a message.
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_from(now, incoming, MessageSource::default());
    }

    /// The same with what is known of where the message came from.
    pub(crate) fn handle_message_from(
        &mut self,
        now: Instant,
        incoming: Incoming,
        source: MessageSource<'_, '_>,
    ) {
        if self.life != Life::Open {
            return;
        }
        match incoming {
            Incoming::Message(message) => self.message(now, message, source),
            Incoming::Batch(batch) => match self.classify(Kind::Batch, Claim::Absent) {
                Route::Legacy => self.batch(now, &batch, source.path),
                Route::Modern | Route::Drop | Route::Reject(_) => {
                    self.refuse(source.path, None, &ProtocolError::UnexpectedBatch);
                }
            },
        }
    }

    /// The peer sent something that is no message.
    pub fn handle_malformed(&mut self, _now: Instant, malformed: Malformed) {
        if self.life == Life::Open {
            self.malformed(malformed, ReplyPath::default());
        }
    }

    /// The peer sends nothing more, or is not listened to any more: requests in flight get
    /// `Limits::drain` to be answered.
    pub fn handle_eof(&mut self, now: Instant) {
        if self.life != Life::Open {
            return;
        }
        self.life = Life::Draining;
        self.deadlines.set(Reason::Drain, now + self.context.limits().drain);
        self.end_subscriptions();
        self.end_waiting();
        self.close_if_drained();
    }

    /// It is `now`; due deadlines take effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(reason) = self.expire(now) {
            match reason {
                Reason::Drain => self.calls.cancel_all(&mut self.context, &CancelCause::Closed),
                Reason::Handler => self.calls.handle_timeout(now, &mut self.context),
                Reason::Input(serial) => self.input_timed_out(serial),
                Reason::Ping(ping) => self.ping_timed_out(ping),
                Reason::SessionInput(input) => self.session_input_timed_out(input),
            }
            self.close_if_drained();
        }
    }

    /// Answers a request. An answer to what is cancelled, closed or another machine's is dropped
    /// and counted.
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        let Some(mut call) = self.set_aside(reply.id) else {
            self.dropped_replies = self.dropped_replies.saturating_add(1);
            return;
        };
        let result = match outcome {
            Outcome::InputRequired(required) => {
                call.charge = reply.charge;
                self.input_required(now, call, required);
                return self.close_if_drained();
            }
            Outcome::Complete(result) => Ok(result),
            Outcome::Error(error) => Err(error),
        };
        // It goes before the answer is made.
        self.calls.drop_input(&mut call);
        call.again = None;
        self.calls.settle(&call);
        let path = call.path;
        let answer =
            stamp::outgoing(call, self.context.declaration(), result, || self.session_version());
        self.context.deliver(path, None, answer);
        self.close_if_drained();
    }

    /// Takes another declaration in place of the one that it has, and tells the client which lists
    /// have changed by that, as far as [`Registry::list_changed`] declares it. The registry should
    /// be the same one: handlers are known by what it calls them.
    pub fn declare(&mut self, now: Instant, declaration: Arc<Declaration>) {
        let before = self.context.declare(declaration);
        let changed: Vec<List> = self.context.declaration().differences(&before).collect();
        for list in changed {
            // A list that is not declared to change changes silently.
            let _ = self.publish(now, &Change::ListChanged(list));
        }
    }

    /// Tells the client of a change, if it wants to know. Changes that come faster than actions
    /// are taken are told once.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::Undeclared`] without
    /// [`Registry::list_changed`] or [`Registry::subscribe`].
    pub fn publish(&mut self, _now: Instant, change: &Change) -> Result<(), UsageError> {
        if self.life != Life::Open {
            return Err(UsageError::Closed);
        }
        self.context.declaration().check(change)?;
        self.subscriptions.publish(change);
        Ok(())
    }

    /// The requests that a handler has not answered yet, oldest first.
    pub fn owed(&self) -> impl Iterator<Item = ReplyId> + '_ {
        self.calls.serials().map(|serial| self.context.reply_id(serial))
    }

    /// How many answers were dropped because nobody waited for them.
    pub fn dropped_replies(&self) -> u64 {
        self.dropped_replies
    }

    /// The era that the connection was opened in, `None` before that.
    pub fn era(&self) -> Option<Era> {
        match self.opening {
            Opening::Undecided => None,
            Opening::Modern => Some(Era::Modern),
            Opening::Legacy(_) => Some(Era::Legacy),
        }
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ServerAction> {
        match self.context.outbox.pop() {
            None if self.subscriptions.has_news() => {
                let message = self.next_change()?;
                Some(ServerAction::Send { message, stream: None, rung: None })
            }
            action => action,
        }
    }

    /// The request that a handler has to answer, if there is one, and no batch waits for it.
    pub(crate) fn only_call(&self) -> Option<&RequestId> {
        self.calls.only()
    }

    /// The next action if it is to send a message.
    pub(crate) fn poll_send(&mut self) -> Option<Outgoing> {
        if self.context.outbox.is_empty() && self.subscriptions.has_news() {
            return self.next_change();
        }
        self.context.outbox.pop_message()
    }

    /// The next action if it is not to send a message.
    pub(crate) fn poll_event(&mut self) -> Option<Action<ServerEvent>> {
        self.context.outbox.pop_event()
    }

    /// When [`Server::handle_timeout`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next().into_iter().chain(self.calls.next_deadline()).min()
    }

    /// Whether more messages are wanted: not before all actions are taken, nor after the end.
    pub fn wants_read(&self) -> bool {
        self.life == Life::Open && self.context.outbox.is_empty()
    }

    /// Takes a request out of its handler's hands; it is still in flight.
    fn set_aside(&mut self, id: ReplyId) -> Option<Call> {
        self.calls.set_aside(self.context.serial(id)?)
    }

    /// The next reason for which something is to be done.
    fn expire(&mut self, now: Instant) -> Option<Reason> {
        let handler = self.calls.next_deadline().map(|at| (at, Reason::Handler));
        match (handler, self.deadlines.first()) {
            (Some(handler), other) if other.is_none_or(|other| handler < other) => {
                (handler.0 <= now).then_some(handler.1)
            }
            _ => self.deadlines.expire(now),
        }
    }

    fn refuse(&mut self, path: ReplyPath, id: Option<RequestId>, error: &ProtocolError) {
        let version = self.spoken_version();
        let rung = error.rung();
        let error = stamp::permitted(version.era(), ErrorData::in_revision(error, version));
        self.context.answer(path, Some(rung), Outgoing::Error { id, error });
    }

    fn fault(&mut self, error: ProtocolError) {
        self.context.event(ServerEvent::PeerFault(error));
    }

    fn close_if_drained(&mut self) {
        if self.life == Life::Draining && self.calls.is_idle() {
            self.life = Life::Closed;
            self.deadlines.clear(Reason::Drain);
            self.context.close();
        }
    }
}
