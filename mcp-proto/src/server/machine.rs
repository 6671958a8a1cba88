//! The server machine, which coordinates the parts that own its state.
//!
//! | part | owns | deadlines |
//! |---|---|---|
//! | [`Context`] | the facts; actions, answers of batches | |
//! | [`Lifecycle`] | the era, the legacy session, the end | `Limits::drain` |
//! | [`Calls`] | the requests in flight | `Limits::handler_timeout` |
//! | [`ServerRequests`] | requests to a legacy client, and the requests that wait for them | `Limits::input_timeout`, and those of commands |
//! | [`Subscriptions`] | listeners, and the changes that they wait for | |
//!
//! In: messages, time, outcomes and commands. Out: actions. `binding` has the methods for bindings
//! only, and `legacy::machine` has the methods for legacy clients only.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::adapt;
use super::call::{CallKind, ReplyPath};
use super::calls::Calls;
use super::config::Config;
use super::context::{Context, ServerChannel};
use super::declaration::Declaration;
use super::dispatch::{MessageSource, message_facts, refused};
use super::event::{CancelCause, Reply, ReplyId, ServerAction, ServerEvent, SessionRef};
use super::forward;
use super::input;
use super::legacy::{self, ServerRequests, Session};
use super::lifecycle::Lifecycle;
use super::modern;
use super::notification::Notification;
use super::outcome::Outcome;
use super::serve::Answer;
use super::subscriptions::Subscriptions;
use crate::change::{Change, List};
use crate::error::{ProtocolError, UsageError};
use crate::json::Raw;
use crate::message::{self, Capability, ErrorData, Incoming, Malformed, Member, Message};
use crate::message::{Method, Outgoing, Params, RequestId, ResultValue};
use crate::negotiate::{Claim, Kind, Route};
use crate::time::Instant;
use crate::version::Era;

/// Protocol state of a server for one peer.
#[derive(Debug)]
pub struct Server {
    pub(super) context: Context,
    pub(super) lifecycle: Lifecycle,
    pub(super) calls: Calls,
    pub(super) sent_requests: ServerRequests,
    pub(super) subscriptions: Subscriptions,
    dropped_replies: u64,
}

/// The part of a server with the next deadline. Of parts with equal deadlines, the first is due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DuePart {
    Lifecycle,
    Calls,
    ServerRequests,
}

impl Server {
    /// A server for a peer that has not sent anything yet.
    pub fn new(declaration: Arc<Declaration>, config: Config) -> Self {
        let context = Context::new(declaration, Arc::new(config), ServerChannel::Stream, None);
        Self::from_parts(context, Lifecycle::undecided(), Calls::default())
    }

    pub(super) fn from_parts(context: Context, lifecycle: Lifecycle, calls: Calls) -> Self {
        Self {
            context,
            lifecycle,
            calls,
            sent_requests: ServerRequests::default(),
            subscriptions: Subscriptions::default(),
            dropped_replies: 0,
        }
    }

    /// Handles a message of the peer.
    #[expect(clippy::needless_pass_by_value, reason = "a client consumes its messages")]
    pub fn handle_message(&mut self, now: Instant, incoming: Incoming) {
        self.handle_message_from(now, &incoming, MessageSource::default());
    }

    /// Handles a message of the peer that came from this source.
    pub(crate) fn handle_message_from(
        &mut self,
        now: Instant,
        incoming: &Incoming,
        source: MessageSource<'_, '_>,
    ) {
        if !self.lifecycle.is_open() {
            return;
        }
        match incoming {
            Incoming::Message(message) => self.message(now, message, source),
            Incoming::Batch(batch) => match self.classify(Kind::Batch, Claim::Absent) {
                Route::Legacy => self.batch(now, batch, source.path),
                Route::Modern | Route::Drop | Route::Reject(_) => {
                    self.refuse(source.path, None, &ProtocolError::UnexpectedBatch);
                }
            },
        }
    }

    /// Handles input of the peer that is not a message.
    pub fn handle_malformed(&mut self, _now: Instant, malformed: Malformed) {
        if self.lifecycle.is_open() {
            self.malformed(malformed, ReplyPath::default());
        }
    }

    /// Handles the end of the peer's input, or stops reading: requests in flight get
    /// `Limits::drain` to be answered.
    pub fn handle_eof(&mut self, now: Instant) {
        if !self.lifecycle.is_open() {
            return;
        }
        self.lifecycle.drain(now + self.context.limits().drain);
        self.subscriptions.handle_eof(&mut self.context, &mut self.calls);
        self.calls.end_forwarded(&mut self.context);
        self.sent_requests.handle_eof(&mut self.context, &mut self.calls);
        self.handle_ended_calls();
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, due)) = self.next_deadline()
            && at <= now
        {
            let Self { context, calls, sent_requests, subscriptions, .. } = self;
            match due {
                DuePart::Lifecycle => calls.cancel_all(context, &CancelCause::Closed),
                DuePart::Calls => calls.handle_timeout(now, context),
                DuePart::ServerRequests => sent_requests.handle_timeout(now, context, calls),
            }
            subscriptions.forget_unanswered(calls);
            self.handle_ended_calls();
        }
    }

    /// Answers a request. The answer is dropped and counted if the request was cancelled, belongs
    /// to another machine, or its connection is closed.
    pub fn respond(&mut self, now: Instant, reply: Reply, outcome: Outcome) {
        let Self { context, lifecycle, calls, sent_requests, subscriptions, .. } = self;
        let call = context.serial(reply.id).and_then(|serial| calls.set_aside(serial));
        let Some(mut call) = call else {
            self.dropped_replies = self.dropped_replies.saturating_add(1);
            return;
        };
        if call.kind == CallKind::Subscription {
            let found = (reply.id.serial, call, &outcome);
            subscriptions.handle_tasks(context, calls, found, lifecycle.is_open());
            return self.handle_ended_calls();
        }
        let result = match outcome {
            Outcome::InputRequired(required) => {
                call.charge = reply.charge;
                if let Some((call, required)) = input::require(context, calls, call, required)
                    && let Some((call, input)) =
                        sent_requests.start_round(now, context, calls, lifecycle, call, required)
                {
                    legacy::serve_at_once(now, context, lifecycle, calls, call, input);
                }
                return self.handle_ended_calls();
            }
            Outcome::Complete(result) => Ok(ResultValue::Json(result)),
            Outcome::Text(text) => Ok(ResultValue::Text(text)),
            Outcome::Task(task) => adapt::created(*task).map(ResultValue::Json),
            Outcome::Error(error) => Err(error),
        };
        // Drop the input before the answer is made.
        calls.release_input(&mut call);
        call.retry = None;
        calls.settle(&call);
        let (path, kind) = (call.path, call.kind);
        let version = || lifecycle.session().map(Session::version);
        let answer = adapt::outgoing(call, context.declaration(), result, version);
        lifecycle.handle_answer(kind, &answer);
        forward::end(context, kind, path, answer);
        self.handle_ended_calls();
    }

    /// Sends a notification about a request in flight. A notification that the client did not ask
    /// for is dropped without an error. Notifications go out with the next actions. If a handler
    /// blocks the driver, its notifications only go out after it has ended.
    ///
    /// A request that waits for input accepts notifications too, under its last reply id.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NotInFlight`] after the answer or a
    /// cancellation, with [`UsageError::NotJson`] or [`UsageError::NotAnObject`], with
    /// [`UsageError::ProgressNotIncreasing`], with [`UsageError::Undeclared`] for a log message
    /// without [`Registry::logging`](super::Registry::logging), and with
    /// [`UsageError::ReservedMethod`].
    pub fn notify(
        &mut self,
        _now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        if self.lifecycle.is_closed() {
            return Err(UsageError::Closed);
        }
        let Self { context, lifecycle, calls, sent_requests, .. } = self;
        let serial = context.serial(about).ok_or(UsageError::NotInFlight)?;
        let call = calls.get_mut(serial).or_else(|| sent_requests.get_mut(serial));
        let call = call.ok_or(UsageError::NotInFlight)?;
        if let Notification::Lost { count } = notification {
            context.event(ServerEvent::MessagesLost { count });
        }
        let logs = context.declaration().declares(Capability::Logging);
        let stream = call.path.stream;
        if let Some(message) = notification.encode_for_request(call, lifecycle.session(), logs)? {
            context.send(stream, message);
        }
        Ok(())
    }

    /// Replaces the declaration. Notifies the client of the lists that differ, as far as
    /// [`Registry::list_changed`](super::Registry::list_changed) declares this. The declaration
    /// should come from the same registry, since handlers are identified by its ids.
    pub fn declare(&mut self, now: Instant, declaration: Arc<Declaration>) {
        let before = self.context.declare(declaration);
        let changed: Vec<List> = self.context.declaration().differences(&before).collect();
        for list in changed {
            // Without `list_changed`, a list changes without a notification.
            let _ = self.publish(now, &Change::ListChanged(list));
        }
    }

    /// Notifies the client of a change, if the client has asked for such changes. Repetitions of a
    /// pending change are merged into one notification.
    ///
    /// Fails with [`UsageError::Closed`], and with [`UsageError::Undeclared`] without
    /// [`Registry::list_changed`](super::Registry::list_changed) or
    /// [`Registry::subscribe`](super::Registry::subscribe).
    pub fn publish(&mut self, _now: Instant, change: &Change) -> Result<(), UsageError> {
        if !self.lifecycle.is_open() {
            return Err(UsageError::Closed);
        }
        self.context.declaration().check(change)?;
        self.subscriptions.publish(change, &self.context);
        Ok(())
    }

    /// Notifies the client of a change of everything to which it has subscribed, as far as changes
    /// are declared. For an application that has lost track of its changes.
    pub fn publish_all(&mut self) {
        self.subscriptions.publish_all(&self.context);
    }

    /// The requests that a handler has not answered yet, oldest first.
    pub fn owed(&self) -> impl Iterator<Item = ReplyId> + '_ {
        self.calls.serials().map(|serial| self.context.reply_id(serial))
    }

    /// Number of answers that were dropped because no request was waiting for them.
    pub fn dropped_replies(&self) -> u64 {
        self.dropped_replies
    }

    /// The era in which the connection was opened; `None` before that.
    pub fn era(&self) -> Option<Era> {
        self.lifecycle.era()
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<ServerAction> {
        match self.context.outbox.pop() {
            None if self.subscriptions.has_pending() => {
                let message = self.subscriptions.next()?;
                Some(ServerAction::Send { message, stream: None, step: None })
            }
            action => action,
        }
    }

    /// Latest time for the next call of [`Server::handle_timeout`]; `None` if there is no deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    /// Returns whether the driver should read more messages. False while actions are queued, and
    /// after the end of input.
    pub fn wants_read(&self) -> bool {
        self.lifecycle.is_open() && self.context.outbox.is_empty()
    }

    /// Handles a message of any kind.
    pub(super) fn message(
        &mut self,
        now: Instant,
        message: &Message,
        source: MessageSource<'_, '_>,
    ) {
        let route = source.route.unwrap_or_else(|| {
            let (kind, claim) = message_facts(message);
            self.classify(kind, claim)
        });
        match message {
            Message::Request(request) => self.request(now, request, route, source),
            Message::Notification(notification) => match route {
                Route::Modern | Route::Legacy => self.notification(notification),
                Route::Drop | Route::Reject(_) => {}
            },
            Message::Response(response) => match route {
                Route::Legacy => self.response(now, response),
                Route::Modern | Route::Drop | Route::Reject(_) => {
                    self.fault(ProtocolError::UnexpectedResponse);
                }
            },
        }
        self.handle_ended_calls();
    }

    fn request(
        &mut self,
        now: Instant,
        request: &message::Request,
        route: Route,
        source: MessageSource<'_, '_>,
    ) {
        let (id, path) = (&request.id, source.path);
        if self.calls.find(id).is_some() {
            let error = ProtocolError::DuplicateId { id: id.as_str().into() };
            // On a byte stream, an error with this id would look like the first request's answer.
            return self.refuse(path, path.stream.map(|_| id.clone()), &error);
        }
        let Self { context, lifecycle, calls, subscriptions, .. } = self;
        let answer = match route {
            Route::Modern => modern::serve(context, request, source),
            Route::Legacy => legacy::serve(context, lifecycle, subscriptions, request),
            Route::Reject(refusal) => {
                Err(refused(refusal, context.config().era_policy, &request.params))
            }
            Route::Drop => return,
        };
        let opens = route == Route::Modern && !matches!(request.method, Method::Discover);
        let served = match answer {
            Ok(Answer::Result { stamp, result }) => {
                let answer = Outgoing::Result { id: id.clone(), stamp, result: result.into() };
                context.send_answer(path, None, answer);
                Ok(())
            }
            Ok(Answer::Subscription(peer)) => {
                subscriptions.listen(context, calls, id.clone(), &request.params, peer)
            }
            Ok(Answer::TaskSubscription(target, requester)) => {
                let has_filters = context.declaration().has_filters();
                let peer = has_filters.then(|| requester.peer.clone());
                subscriptions
                    .look_up(context, calls, id.clone(), &request.params, peer)
                    .and_then(|()| calls.start(now, context, request, target, requester, path))
            }
            Ok(Answer::Handler(target, requester)) => {
                calls.start(now, context, request, target, requester, path)
            }
            Err(error) => Err(error),
        };
        match served {
            Ok(()) if opens => lifecycle.open_modern(),
            Ok(()) => {}
            Err(error) => {
                subscriptions.forget_unanswered(calls);
                self.refuse(path, Some(id.clone()), &error);
            }
        }
    }

    fn notification(&mut self, notification: &message::Notification) {
        let message::Notification { method, params } = notification;
        if matches!(method, Method::Cancelled) {
            return self.cancelled(params);
        }
        let Self { context, lifecycle, subscriptions, .. } = self;
        if matches!(method, Method::Initialized)
            && let Some(session) = lifecycle.session_mut()
        {
            session.initialize();
            subscriptions.start_session();
            // Send the changes now, so that the order of messages is independent of chunking.
            subscriptions.flush(context);
        }
        // All notifications except `notifications/cancelled` go to a handler, or are dropped.
        if context.declaration().has_notifications()
            && let Some(handler) = context.declaration().notification(method.name())
        {
            let session = SessionRef(context.scope());
            let (method, params) = (method.clone(), params.json().clone());
            context.event(ServerEvent::Notification { session, handler, method, params });
        }
    }

    fn cancelled(&mut self, params: &Params) {
        let id = params.raw(Member::RequestId);
        let Some(id) = id.and_then(RequestId::from_raw) else {
            return self.fault(ProtocolError::InvalidParam {
                member: Member::RequestId.name(),
                expected: "a string or an integer",
            });
        };
        let Self { context, calls, sent_requests, subscriptions, .. } = self;
        let Some(serial) = calls.find(&id) else { return };
        if calls.is_in_handler(serial) {
            let reason = params.raw(Member::Reason);
            let reason = reason.and_then(Raw::string).map(|it| message::short_reason(&it).into());
            calls.cancel(context, serial, CancelCause::Client(reason));
            subscriptions.forget_unanswered(calls);
        } else {
            sent_requests.cancel(context, calls, serial);
            subscriptions.cancel(calls, serial);
        }
    }

    pub(super) fn malformed(&mut self, malformed: Malformed, path: ReplyPath) {
        if !malformed.answerable {
            return self.fault(malformed.error);
        }
        // An error with the id of a request in flight would look like the answer to this request.
        let id = malformed.id.filter(|id| self.calls.find(id).is_none());
        self.refuse(path, id, &malformed.error);
    }

    fn classify(&self, kind: Kind, claim: Claim) -> Route {
        self.lifecycle.classify(self.context.config().era_policy, kind, claim)
    }

    pub(super) fn refuse(&mut self, path: ReplyPath, id: Option<RequestId>, error: &ProtocolError) {
        let version = self.lifecycle.error_version();
        let data = adapt::with_allowed_code(version.era(), ErrorData::in_revision(error, version));
        self.context.send_answer(path, Some(error.step()), Outgoing::Error { id, error: data });
    }

    fn fault(&mut self, error: ProtocolError) {
        self.context.event(ServerEvent::PeerFault(error));
    }

    /// The earliest deadline, and the part that it belongs to.
    fn next_deadline(&self) -> Option<(Instant, DuePart)> {
        let lifecycle = self.lifecycle.next_deadline().map(|at| (at, DuePart::Lifecycle));
        let calls = self.calls.next_deadline().map(|at| (at, DuePart::Calls));
        let requests = self.sent_requests.next_deadline().map(|at| (at, DuePart::ServerRequests));
        lifecycle.into_iter().chain(calls).chain(requests).min()
    }

    pub(super) fn handle_ended_calls(&mut self) {
        self.lifecycle.handle_ended_calls(&mut self.context, &self.calls);
    }
}
