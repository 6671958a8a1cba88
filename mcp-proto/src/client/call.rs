//! Call without a response so far.
//!
//! | state | leaves by |
//! |---|---|
//! | `Waiting` for the era to be known, or held by the `Outbox` | being sent; cancellation, its time |
//! | `Sent` | a response, a refusal, the loss of the session or the stream; cancellation, its time |
//! | `AwaitingInput` for input | the last input, which sends it again; cancellation, its time |
//! | `BetweenPolls` of the task that it follows | the time of the next poll, the last input; cancellation |
//! | `Parked`: refused, and may be repeated once the server is known | the end of the negotiation; cancellation, its time |
//!
//! A call that the server may have dispatched to a handler is parked only if its method is
//! idempotent; see `recovery`.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;

use super::cache::CacheTicket;
use super::cache::access::CacheableRequest;
use super::call_error::CallError;
use super::compose::{self, Envelope, Extras};
use super::config::Config;
use super::event::{CallId, CallOptions, SubscriptionId};
use super::pages::Pages;
use super::task::FollowedTask;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::limits::Limits;
use crate::message::{Outgoing, is_idempotent};
use crate::time::Instant;
use crate::types::{InputResponse, InputResponses, LoggingLevel};
use crate::version::Era;

/// A call without a response so far.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) method: Cow<'static, str>,
    /// The parameters, as the application has given them.
    pub(super) params: Json,
    pub(super) options: CallOptions,
    pub(super) goal: Goal,
    pub(super) state: State,
    /// Time of the next timeout; progress postpones it.
    pub(super) due: Instant,
    /// Time of the last timeout; nothing postpones it.
    pub(super) ends: Instant,
    /// Number of times that the server has refused the call before it was repeated.
    pub(super) refusals: u8,
    /// Number of rounds of input so far.
    pub(super) rounds: usize,
    /// The last progress.
    pub(super) progress: Option<f64>,
    /// The ticket for the result of the request in flight, if the result may be cached.
    pub(super) ticket: Option<Box<CacheTicket>>,
}

/// Recipient of the response.
#[derive(Debug)]
pub(super) enum Goal {
    /// The application. With `takes_task` a task counts as the response; otherwise the task is
    /// followed.
    Answer { takes_task: bool },
    /// The application, for all pages at once.
    Pages(Pages),
    /// The application, after the end of the task.
    Task(Box<FollowedTask>),
    /// A subscription of a modern server, which the response ends.
    Listen { subscription: SubscriptionId },
    /// A subscription to one resource of a legacy server; `None` for its end.
    Subscribe { subscription: Option<SubscriptionId>, uri: String },
    /// No recipient: the result of this request needs no event.
    Nobody,
    /// No recipient: this is a notification.
    Notification,
}

#[derive(Debug)]
pub(super) enum State {
    Waiting,
    Sent {
        /// The era in which the call was sent.
        era: Era,
        /// True while the request waits in the binding, and no server has received it.
        is_queued: bool,
        /// True while the binding pauses the timeout.
        is_paused: bool,
    },
    AwaitingInput(AwaitingInput),
    BetweenPolls,
    Parked {
        error: CallError,
        /// The era in which the call was sent.
        refused_as: Era,
    },
}

/// Outcome of an attempt to send a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sending {
    /// The call is in flight.
    Sent,
    /// The call needs no request, or waits for room.
    Settled,
    /// The call waits for a connection.
    Unconnected,
    /// The call must not be sent twice, so it waits until the server has shown its era.
    Unproven,
}

/// Input that a modern server requires before it answers.
#[derive(Debug)]
pub(super) struct AwaitingInput {
    /// Keys of the requests that the application has not answered yet.
    pub(super) missing: BTreeSet<String>,
    pub(super) responses: InputResponses,
    /// `requestState` of the server, which is returned unchanged.
    pub(super) request_state: Option<Json>,
}

/// Handling of a waiting call once the era is known.
#[derive(Debug)]
pub(super) enum Resumption {
    /// Send the call.
    Send,
    /// Send the call under another number.
    SendWithNewId,
    /// Send the call under another number, and ignore the response to the first request.
    ReplaceInFlight,
    /// Leave the call unchanged.
    Keep,
    Fail(CallError),
}

/// Handling of a call whose response is complete.
#[derive(Debug)]
pub(super) enum Completed {
    /// Request the next page.
    NextPage,
    /// The call is over, with this result.
    Over(Result<Json, CallError>),
}

impl Call {
    /// A call with an unused number.
    pub(super) fn new(
        now: Instant,
        number: u64,
        method: Cow<'static, str>,
        params: Json,
        options: CallOptions,
        goal: Goal,
    ) -> Self {
        let ends = now + options.max_total;
        Self {
            id: CallId(number),
            method,
            params,
            options,
            goal,
            state: State::Waiting,
            due: ends,
            ends,
            refusals: 0,
            rounds: 0,
            progress: None,
            ticket: None,
        }
    }

    /// The request, if its result may be cached: it is for the application, without any input.
    pub(super) fn cacheable(&self) -> Option<CacheableRequest<'_>> {
        let listing = match &self.goal {
            Goal::Answer { .. } => None,
            Goal::Pages(pages) => Some(pages.listing()),
            Goal::Task(_)
            | Goal::Listen { .. }
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => return None,
        };
        let request = CacheableRequest { method: &self.method, params: &self.params, listing };
        (self.rounds == 0).then_some(request)
    }

    /// Returns whether the cache may supply the result: no refresh is requested, and no page has
    /// arrived yet.
    pub(super) fn may_be_found(&self) -> bool {
        let is_first = !matches!(&self.goal, Goal::Pages(pages) if pages.has_some());
        is_first && !self.options.refresh
    }

    /// The request, in this era, under this number.
    pub(super) fn request(
        &self,
        number: u64,
        era: Era,
        envelope: Option<&Envelope>,
        config: &Config,
        log_level: Option<LoggingLevel>,
    ) -> Outgoing {
        let forwarded = envelope
            .zip(self.options.forward_input.as_deref())
            .map(|(envelope, caller)| envelope.forwarding(config, caller));
        let envelope = forwarded.as_ref().or(envelope);
        let (method, params) = match era {
            Era::Modern if self.method == "ping" => ("server/discover".into(), Json::EMPTY_OBJECT),
            Era::Modern | Era::Legacy => (self.method.clone(), self.params.clone()),
        };
        // A server that has become legacy has not asked for the input.
        let params = if era == Era::Modern
            && let State::AwaitingInput(asking) = &self.state
        {
            compose::with_input(&params, &asking.responses, asking.request_state.as_ref())
        } else {
            params
        };
        let log_level = self.options.log_level.or(log_level).filter(|_| era == Era::Modern);
        let trace = self.options.trace.as_deref();
        let extras = Extras { token: self.options.progress.then_some(number), log_level, trace };
        let (stamp, params) = compose::compose(envelope, extras, &params);
        Outgoing::Request { id: compose::id(number), method, stamp, params }
    }

    /// Decides how the call continues with a server of this era. `begun` is true if the server
    /// serves without a handshake, and so may already execute the requests that it has received.
    pub(super) fn resumption(&self, era: Era, begun: bool) -> Resumption {
        match &self.state {
            State::Waiting => Resumption::Send,
            State::AwaitingInput(asking) if asking.missing.is_empty() && era == Era::Modern => {
                Resumption::Send
            }
            // The call has reached a handler at the earlier server, so it may have been executed.
            State::AwaitingInput(_) if era == Era::Legacy && !self.is_idempotent() => {
                Resumption::Fail(CallError::Interrupted)
            }
            State::AwaitingInput(asking) if asking.missing.is_empty() => Resumption::SendWithNewId,
            // The same server would refuse the call again.
            State::Parked { error, refused_as: Era::Modern }
                if era == Era::Modern && !error.is_of_version() =>
            {
                Resumption::Fail(error.clone())
            }
            State::Parked { .. } => Resumption::SendWithNewId,
            State::Sent { .. } if era == Era::Legacy && !begun && self.is_idempotent() => {
                Resumption::ReplaceInFlight
            }
            State::Sent { .. } | State::AwaitingInput(_) | State::BetweenPolls => Resumption::Keep,
        }
    }

    /// Handles a result. If another page follows, sets its cursor in the parameters.
    pub(super) fn complete(&mut self, result: Json, limits: &Limits) -> Completed {
        let is_modern = matches!(self.state, State::Sent { era: Era::Modern, .. });
        let Goal::Pages(pages) = &mut self.goal else { return Completed::Over(Ok(result)) };
        let fail = |error| Completed::Over(Err(CallError::Protocol(error)));
        let cursor = match pages.push(&result, &self.params, is_modern) {
            Ok(Some(cursor)) => cursor,
            Ok(None) => return Completed::Over(Ok(pages.whole())),
            Err(error) => return fail(error),
        };
        if pages.is_full(limits) {
            let Limits { max_pages, max_list_bytes, .. } = *limits;
            return fail(ProtocolError::ListTooLong { max_pages, max_list_bytes });
        }
        self.params = compose::with_cursor(&self.params, cursor);
        Completed::NextPage
    }

    /// Begins a list again with its first page.
    pub(super) fn restart_pages(&mut self) {
        if let Goal::Pages(pages) = &mut self.goal {
            *pages = Pages::new(pages.listing());
            self.params = Json::EMPTY_OBJECT;
        }
    }

    /// Restarts the timeout.
    pub(super) fn restart(&mut self, now: Instant) {
        self.due = (now + self.options.timeout).min(self.ends);
    }

    /// Records that the request is sent. Starts the timeout, or pauses it while a legacy server
    /// waits for input.
    pub(super) fn sent(&mut self, now: Instant, era: Era, is_paused: bool) {
        self.state = State::Sent { era, is_queued: false, is_paused: false };
        self.progress = None;
        if is_paused {
            self.pause_timeout();
        } else {
            self.restart(now);
        }
    }

    /// Pauses the timeout.
    pub(super) fn pause_timeout(&mut self) {
        self.due = self.ends;
    }

    /// Sets the default timeout of a call for a subscription that begins again.
    pub(super) fn begin_anew(&mut self) {
        if let Goal::Listen { .. } = self.goal {
            self.options.timeout = CallOptions::default().timeout;
        }
    }

    /// Queues the call until there are a connection and room; pauses the timeout.
    pub(super) fn wait(&mut self) {
        self.state = State::Waiting;
        self.pause_timeout();
    }

    /// Parks a call that the server, of this era, has refused or lost; the call may be repeated.
    pub(super) fn park(&mut self, error: CallError, refused_as: Era) {
        self.state = State::Parked { error, refused_as };
        self.pause_timeout();
    }

    /// Records the input that the server needs first; returns whether it is already complete.
    /// Pauses the timeout.
    pub(super) fn ask(&mut self, asking: AwaitingInput) -> bool {
        let is_complete = asking.missing.is_empty();
        self.rounds += 1;
        self.state = State::AwaitingInput(asking);
        if !is_complete {
            self.pause_timeout();
        }
        is_complete
    }

    /// Records an input; returns whether it was the last missing one.
    pub(super) fn give(&mut self, key: String, answer: Json) -> bool {
        let State::AwaitingInput(asking) = &mut self.state else { return false };
        asking.missing.remove(&key);
        asking.responses.insert(key, InputResponse::from(answer));
        asking.missing.is_empty()
    }

    /// Begins to follow the task that the server has made of the call.
    pub(super) fn follow(&mut self, following: FollowedTask) {
        // Requests about tasks support neither progress nor log levels.
        (self.options.progress, self.options.log_level) = (false, None);
        self.goal = Goal::Task(Box::new(following));
        self.ask_about_task(false);
    }

    /// Turns the call into a request for its task, or with `updates` into one that sends input.
    pub(super) fn ask_about_task(&mut self, updates: bool) {
        let Goal::Task(following) = &self.goal else { return };
        (self.method, self.params) = if updates {
            ("tasks/update".into(), following.update_params())
        } else {
            ("tasks/get".into(), following.params())
        };
        (self.state, self.refusals) = (State::Waiting, 0);
    }

    /// Pauses until the next poll of the task.
    pub(super) fn wait_for_poll(&mut self, next: Instant) {
        self.state = State::BetweenPolls;
        self.due = next.min(self.ends);
    }

    /// The task that the call follows.
    pub(super) fn following(&self) -> Option<&FollowedTask> {
        if let Goal::Task(following) = &self.goal { Some(following) } else { None }
    }

    pub(super) fn following_mut(&mut self) -> Option<&mut FollowedTask> {
        if let Goal::Task(following) = &mut self.goal { Some(following) } else { None }
    }

    pub(super) fn is_between_polls(&self) -> bool {
        matches!(self.state, State::BetweenPolls)
    }

    /// Returns whether the server may receive the call twice.
    pub(super) fn is_idempotent(&self) -> bool {
        is_idempotent(&self.method)
    }

    /// Returns whether the call will be sent once there is a connection.
    pub(super) fn waits(&self) -> bool {
        matches!(self.state, State::Waiting | State::Parked { .. })
    }

    /// Returns whether the call times out before `then`, so that it cannot wait until then.
    pub(super) fn is_late(&self, now: Instant, then: Instant) -> bool {
        (now + self.options.timeout).min(self.ends) < then
    }

    /// The error of the call when the connection ends with this cause.
    pub(super) fn interruption(&self, cause: CallError) -> CallError {
        if let Some(following) = self.following() {
            return CallError::TaskLeft { task_id: following.task_id().into() };
        }
        let is_begun = self.is_sent() && !self.is_queued() || self.has_been_handled();
        if is_begun && !self.is_idempotent() { CallError::Interrupted } else { cause }
    }

    /// The outcome of the call if it fails with this error. The last request may not have reached a
    /// handler that has asked for input, but an earlier request has.
    pub(super) fn failure(&self, error: CallError) -> CallError {
        if let Some(following) = self.following() {
            return if following.is_own() { error.of_task(following.task_id()) } else { error };
        }
        let is_executed = self.has_been_handled() && !self.is_idempotent();
        if is_executed { error.of_accepted_call() } else { error }
    }

    /// Returns whether a handler has seen the call: the handler has asked for input.
    pub(super) fn has_been_handled(&self) -> bool {
        self.rounds > 0
    }

    /// Returns whether the call waits to be sent, or to be sent again with its input.
    pub(super) fn is_held(&self) -> bool {
        match &self.state {
            State::Waiting => true,
            State::AwaitingInput(asking) => asking.missing.is_empty(),
            State::Sent { .. } | State::BetweenPolls | State::Parked { .. } => false,
        }
    }

    /// The subscription, if this call is its request to a legacy server for one resource.
    pub(super) fn subscribes(&self) -> Option<SubscriptionId> {
        if let Goal::Subscribe { subscription, .. } = self.goal { subscription } else { None }
    }

    /// Returns whether the call requests a subscription, for the client itself or for a forwarder.
    pub(super) fn is_subscription(&self) -> bool {
        self.listens().is_some() || self.method == "subscriptions/listen"
    }

    /// The subscription that the call requests.
    pub(super) fn listens(&self) -> Option<SubscriptionId> {
        if let Goal::Listen { subscription } = self.goal { Some(subscription) } else { None }
    }

    pub(super) fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent { .. })
    }

    /// Returns whether the request waits in the binding.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self.state, State::Sent { is_queued: true, .. })
    }
}
