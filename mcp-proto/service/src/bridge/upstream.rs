//! One connection to the server of a bridge, and its pending requests.
//!
//! In: requests and notifications from handlers, which are queued for the client's driver; events
//! of the client. Out: outcomes to the pending futures; notifications and requests to clients.
//!
//! | a request is pending until | then |
//! |---|---|
//! | the bridge responds | its future is ready |
//! | its future is dropped | the bridge cancels it |
//! | the driver of the client ends | -32603 |
//!
//! The lock is held while the machine runs, never while user code is polled, woken or dropped.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{self, Poll};
use std::io;

use super::failures::Attempt;
use super::queue::{Queued, Verb};
use super::sink::EventSink;
use super::state::{UpstreamState, WaitingRequest};
use crate::lock::Lock;
use crate::mailbox::Mailbox;
use crate::{Client, Context, Session, SessionError, Spawned};
use mcp_proto::bridge::{Bridge, BridgeAction, ClientRequest, Config, Ticket};
use mcp_proto::client::{self, ClientEvent};
use mcp_proto::message::Method;
use mcp_proto::server::{InputFailure, Outcome, ReplyId, SessionRef};
use mcp_proto::types::InputRequest;
use mcp_proto::{Era, Instant, Json};

/// Runs a future to its end in another task.
pub(super) type Spawn = Arc<dyn Fn(Spawned) + Send + Sync>;

/// One connection. Clones share it.
#[derive(Clone)]
pub(super) struct Upstream {
    pub(super) client: Client,
    shared: Arc<UpstreamShared>,
}

struct UpstreamShared {
    state: Lock<UpstreamState>,
    spawn: Spawn,
    /// The client, until the end. A cycle, since the client owns this as its sink.
    client: Lock<Option<Client>>,
    attempt: Attempt,
    /// True after the end of the connection; for the task that closes an idle one.
    ended: Arc<Mailbox<bool>>,
}

/// Weak reference to a connection.
pub(super) struct WeakUpstream(Weak<UpstreamShared>);

impl WeakUpstream {
    /// The connection; `None` once it has ended.
    pub(super) fn upgrade(&self) -> Option<Upstream> {
        let shared = self.0.upgrade()?;
        let client = shared.client.lock().clone()?;
        Some(Upstream { client, shared })
    }
}

impl Upstream {
    /// A connection that is not driven yet.
    pub(super) fn new(
        config: client::Config,
        machine: Config,
        spawn: Spawn,
        attempt: Attempt,
    ) -> Self {
        let state = UpstreamState::new(machine, &config.limits);
        let shared = Arc::new(UpstreamShared {
            state: Lock::new(state),
            spawn,
            client: Lock::new(None),
            attempt,
            ended: Arc::default(),
        });
        let client = Client::with_sink(config.forwarding(), shared.clone());
        *shared.client.lock() = Some(client.clone());
        Self { client, shared }
    }

    /// Forwards a request; the future returns its outcome.
    pub(super) fn request(&self, method: Method, params: Json, context: Context) -> Forwarding {
        let about = context.about();
        let request = ClientRequest {
            about,
            method,
            params,
            peer: context.shared_peer(),
            wants_progress: context.wants_progress(),
            log_level: context.log_level(),
        };
        let answer = Arc::new(Mailbox::new(None));
        let waiting = WaitingRequest { answer: answer.clone(), context };
        let mut state = self.shared.state.lock();
        state.arriving = state.arriving.saturating_sub(1);
        let sent = if state.has_ended() {
            Err(Outcome::Error(state.gone()))
        } else {
            let sent = state.queue.push(Queued::Request(Box::new(request)));
            sent.ok_or_else(|| Outcome::Error(state.queue.full()))
        };
        if sent.is_ok() {
            state.waiting.insert(about, waiting);
        }
        drop(state);
        match sent {
            Ok(is_due) => self.schedule(is_due),
            Err(refusal) => answer.update(|answer| *answer = Some(refusal)),
        }
        Forwarding { upstream: self.clone(), about, answer }
    }

    /// Handles the drop of a forwarded request: cancels the request, if it is not answered.
    pub(super) fn cancel(&self, about: ReplyId) {
        let (waiting, unsent) = {
            let mut state = self.shared.state.lock();
            let waiting = state.waiting.remove(&about);
            let unsent = waiting.as_ref().and_then(|_| state.queue.withdraw(about));
            (waiting, unsent)
        };
        // The machine does not know a request that was not sent.
        if let Some(waiting) = waiting.filter(|_| unsent.is_none()) {
            let reason = waiting.context.cancel_reason();
            self.apply(move |bridge, now, client| {
                bridge.handle_cancelled(now, (about, reason.as_deref()), client);
            });
        }
    }

    /// Records a request that is about to be forwarded: its number, and the session of its legacy
    /// client.
    pub(super) fn begin_request(&self, number: u64, session: Option<Session>) {
        self.shared.state.lock().begin_request(number, session);
    }

    /// Forwards a notification.
    pub(super) fn notification(&self, method: Method, params: Json, session: SessionRef) {
        let era = if self.has_session(session) { Era::Legacy } else { Era::Modern };
        let bytes = params.as_bytes().len();
        let verb: Box<Verb> = Box::new(move |bridge, now, client| {
            bridge.handle_notification(now, (session, era), &method, params, client);
        });
        // Without room the notification is dropped.
        let sent = self.shared.state.lock().queue.push(Queued::Notification(bytes, verb));
        self.schedule(sent == Some(true));
    }

    /// Returns whether the session of a legacy client has sent a request here.
    pub(super) fn has_session(&self, session: SessionRef) -> bool {
        self.shared.state.lock().sessions.contains_key(&session)
    }

    /// The session of a legacy client that has sent a request here.
    pub(super) fn session(&self, session: SessionRef) -> Option<Session> {
        self.shared.state.lock().sessions.get(&session).cloned()
    }

    /// Returns whether the connection has legacy clients with sessions.
    pub(super) fn has_sessions(&self) -> bool {
        !self.shared.state.lock().sessions.is_empty()
    }

    /// Takes over the sessions of legacy clients from a connection that has ended.
    pub(super) fn take_over(&self, earlier: &Self) {
        let earlier = &mut *earlier.shared.state.lock();
        let state = &mut *self.shared.state.lock();
        let mut sessions = core::mem::take(&mut earlier.sessions);
        sessions.append(&mut state.sessions);
        state.sessions = sessions;
        let sessions: Vec<SessionRef> = state.sessions.keys().copied().collect();
        state.bridge.take_over(&mut earlier.bridge, &sessions);
    }

    /// Ends the session of a legacy client.
    pub(super) fn end_session(&self, session: SessionRef) {
        let _ended = self.shared.state.lock().sessions.remove(&session);
        self.apply(move |bridge, now, client| bridge.handle_session_ended(now, session, client));
    }

    /// The last use of an idle connection; see [`UpstreamState::last_use`].
    pub(super) fn last_use(&self) -> Option<(bool, u64)> {
        self.shared.state.lock().last_use()
    }

    /// Returns a weak reference.
    pub(super) fn downgrade(&self) -> WeakUpstream {
        WeakUpstream(Arc::downgrade(&self.shared))
    }

    /// The flag that is set at the end of the connection.
    pub(super) fn end_flag(&self) -> Arc<Mailbox<bool>> {
        self.shared.ended.clone()
    }

    /// Returns whether both are the same connection.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Begins to drive the client. Returns false if the connection has ended or is being closed.
    pub(super) fn begin(&self) -> bool {
        self.shared.state.lock().begin()
    }

    /// Closes the connection. The future is ready once it has ended.
    pub(super) fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        let has_begun = self.shared.state.lock().close();
        if !has_begun {
            self.end();
        }
        self.client.close()
    }

    /// Ends the connection after its driver, or without one.
    pub(super) fn end(&self) {
        self.shared.handle_end();
    }

    /// The failure to report at the end of the driver, which has returned this error.
    pub(super) fn failure(&self, error: io::Error) -> Option<io::Error> {
        self.shared.state.lock().failure(error)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.state.lock().has_ended()
    }

    fn apply(&self, verb: impl FnOnce(&mut Bridge, Instant, &mut client::Client) + Send + 'static) {
        let sent = self.shared.state.lock().queue.push(Queued::Event(Box::new(verb)));
        self.schedule(sent == Some(true));
    }

    /// Schedules the queue, if that `is_due`.
    fn schedule(&self, is_due: bool) {
        if is_due {
            let shared = self.shared.clone();
            self.client.apply(move |client, now| shared.state.lock().run_queue(now, client));
        }
    }
}

impl UpstreamShared {
    /// Marks the connection as ended, and counts a failure.
    fn end(&self, state: &mut UpstreamState) {
        if state.end() {
            self.attempt.fail();
        }
    }

    fn act_on(self: &Arc<Self>, action: BridgeAction) {
        match action {
            BridgeAction::Respond { about, outcome } => {
                let waiting = self.state.lock().waiting.remove(&about);
                if let Some(waiting) = waiting {
                    waiting.answer.update(|answer| *answer = Some(outcome));
                }
            }
            BridgeAction::Notify { about, notification } => {
                if let Some(context) = self.context(about) {
                    context.notify(notification);
                }
            }
            BridgeAction::NotifySession { session, notification } => {
                let session = self.state.lock().sessions.get(&session).cloned();
                if let Some(session) = session {
                    drop(session.notify(notification));
                }
            }
            BridgeAction::RequestInput { session, about, request, ticket } => {
                let context = about.and_then(|about| self.context(about));
                self.ask(session, context, request, ticket);
            }
            BridgeAction::CancelInput { ticket } => {
                let asked = self.state.lock().asked.remove(&ticket);
                if let Some(asked) = asked {
                    asked.update(|is_withdrawn| *is_withdrawn = true);
                }
            }
            _ => {}
        }
    }

    fn context(&self, about: ReplyId) -> Option<Context> {
        self.state.lock().waiting.get(&about).map(|waiting| waiting.context.clone())
    }

    /// Sends a request to a legacy client, in a spawned task.
    fn ask(
        self: &Arc<Self>,
        session: SessionRef,
        context: Option<Context>,
        request: InputRequest,
        ticket: Ticket,
    ) {
        let withdrawn = Arc::new(Mailbox::new(false));
        let session = {
            let mut state = self.state.lock();
            state.asked.insert(ticket, withdrawn.clone());
            state.sessions.get(&session).cloned()
        };
        let asked = AskedClient { shared: self.clone(), ticket };
        (self.spawn)(Box::pin(async move {
            let answer = match session {
                None => Some(Err(InputFailure::Closed)),
                Some(session) => {
                    let mut asking = session.request(request);
                    if let Some(context) = &context {
                        asking = asking.about(context);
                    }
                    unless_set(&withdrawn, asking).await.map(|answer| {
                        answer
                            .map(|response| response.json().clone())
                            .map_err(SessionError::into_failure)
                    })
                }
            };
            if let Some(answer) = answer {
                asked.answer(answer);
            }
        }));
    }

    fn answered(self: &Arc<Self>, ticket: Ticket, answer: Result<Json, InputFailure>) {
        let client = self.client.lock().clone();
        if let Some(client) = client {
            let shared = self.clone();
            client.apply(move |client, now| {
                let bridge = &mut shared.state.lock().bridge;
                bridge.handle_input_answered(now, ticket, answer, client);
            });
        }
    }
}

/// A request to a legacy client. It fails if its task ends without an answer, or is not spawned.
struct AskedClient {
    shared: Arc<UpstreamShared>,
    ticket: Ticket,
}

impl AskedClient {
    /// Answers the request, unless it has an answer or was withdrawn.
    fn answer(&self, answer: Result<Json, InputFailure>) {
        let is_open = self.shared.state.lock().asked.remove(&self.ticket).is_some();
        if is_open {
            self.shared.answered(self.ticket, answer);
        }
    }
}

impl Drop for AskedClient {
    fn drop(&mut self) {
        self.answer(Err(InputFailure::Closed));
    }
}

impl EventSink for UpstreamShared {
    fn handle_event(&self, now: Instant, event: ClientEvent, client: &mut client::Client) {
        let mut state = self.state.lock();
        if let ClientEvent::Connected(_) = event {
            state.connect();
            self.attempt.succeed(client);
        } else if let ClientEvent::Closed(_) = event {
            self.end(&mut state);
        }
        state.bridge.handle_client_event(now, event, client);
    }

    fn flush(self: Arc<Self>) {
        loop {
            let action = self.state.lock().bridge.poll_action();
            let Some(action) = action else { return };
            self.act_on(action);
        }
    }

    fn handle_timeout(&self, now: Instant, client: &mut client::Client) {
        self.state.lock().bridge.handle_timeout(now, client);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.state.lock().bridge.poll_timeout()
    }

    fn handle_end(&self) {
        let (waiting, asked, _unsent, gone) = {
            let mut state = self.state.lock();
            self.end(&mut state);
            let unsent: Vec<Queued> = core::iter::from_fn(|| state.queue.pop()).collect();
            let waiting = core::mem::take(&mut state.waiting);
            (waiting, core::mem::take(&mut state.asked), unsent, state.gone())
        };
        for WaitingRequest { answer, .. } in waiting.into_values() {
            answer.update(|answer| {
                answer.get_or_insert_with(|| Outcome::Error(gone.clone()));
            });
        }
        for asked in asked.into_values() {
            asked.update(|is_withdrawn| *is_withdrawn = true);
        }
        self.ended.update(|ended| *ended = true);
        // Breaks the cycle between the client and this.
        let client = self.client.lock().take();
        drop(client);
    }
}

/// A forwarded request. Dropping it cancels the request.
pub(super) struct Forwarding {
    upstream: Upstream,
    about: ReplyId,
    answer: Arc<Mailbox<Option<Outcome>>>,
}

impl Future for Forwarding {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Outcome> {
        self.answer.poll(context.waker(), Option::take)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.upstream.cancel(self.about);
    }
}

/// Returns the output of a future; `None` if the flag is set before.
pub(super) async fn unless_set<T>(
    flag: &Mailbox<bool>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        flag.poll(context.waker(), |is_set| is_set.then_some(None))
    })
    .await
}
