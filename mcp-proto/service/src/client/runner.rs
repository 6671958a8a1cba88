//! Calls, subscriptions and inputs of a client, for any transport.
//!
//! In: commands of handles, events of the machine, and wakes of input handlers. Out: commands to
//! the machine; responses and changes to the futures that wait for them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
#[cfg(feature = "auth")]
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;

use super::super::bridge::EventSink;
use super::super::trace::fault;
#[cfg(feature = "auth")]
use super::auth_slot::AuthSlot;
use super::binding::ClientBinding;
use super::callback_set::Callback;
use super::client_mailbox::{CallHooks, ClientCommand, ClientMailbox, ClientWork, Stage};
use super::closed::{CloseCause, Ending};
use super::feed::Feed;
use super::inputs::Inputs;
use super::response_cache::GuardedCache;
use super::response_slot::ResponseSlot;
use crate::panics::{CaughtDrop, call_back, catch_panic};
use mcp_proto::Instant;
use mcp_proto::UsageError;
#[cfg(feature = "auth")]
use mcp_proto::auth::{AuthError, AuthState, Authorizer, SignInId};
use mcp_proto::client::{CallError, ClientEvent, Config, SubscriptionId};
use mcp_proto::internals::SeqMap;

/// The calls, subscriptions and inputs of a client that is driven.
pub(super) struct ClientRunner {
    mailbox: Arc<ClientMailbox>,
    /// Calls in flight, by the numbers of their ids.
    calls: SeqMap<PendingCall>,
    feeds: BTreeMap<SubscriptionId, Arc<Feed>>,
    /// Futures that wait for the end of a sign-in, with its number.
    #[cfg(feature = "auth")]
    sign_ins: Vec<(SignInId, Arc<AuthSlot>)>,
    inputs: Inputs,
    /// Known facts about the end of the connection.
    pub(super) ending: Ending,
    /// Number of decisions that are stored in the mailbox.
    decided: usize,
    /// Empty between turns; kept for its capacity.
    work: ClientWork,
    sink: Option<Arc<dyn EventSink>>,
}

/// A call in flight.
struct PendingCall {
    slot: Arc<ResponseSlot>,
    hooks: Option<Box<CallHooks>>,
}

impl ClientRunner {
    /// The runner of a client, and the configuration of its machine.
    ///
    /// Fails with [`UsageError::AlreadyConnected`] if the client has had a runner before.
    pub(super) fn new(mailbox: &Arc<ClientMailbox>) -> Result<(Self, Config), UsageError> {
        let mut config = mailbox.connect()?;
        config.cache = config.cache.map(GuardedCache::guard);
        let runner = Self {
            mailbox: mailbox.clone(),
            calls: SeqMap::default(),
            feeds: BTreeMap::new(),
            #[cfg(feature = "auth")]
            sign_ins: Vec::new(),
            inputs: Inputs::default(),
            ending: Ending::default(),
            decided: 0,
            work: ClientWork::default(),
            sink: mailbox.sink(),
        };
        Ok((runner, config))
    }

    /// Callback of the application for lines of the conversation, if any.
    pub(super) fn watcher(&self) -> Option<Callback<str>> {
        // A callback that is replaced is dropped with the connection.
        let f = CaughtDrop::new(self.mailbox.callback(|it| it.wire.clone())?);
        Some(Arc::new(move |line: &str| call_back(f.get(), |f| f(line))))
    }

    /// Begins a turn; `waker` is woken when there is more work after it.
    pub(super) fn begin_turn(&self, waker: &Waker) {
        self.mailbox.begin_turn(waker);
    }

    /// A turn ends.
    pub(super) fn end_turn(&mut self, binding: &impl ClientBinding) {
        if self.decided != binding.machine().decisions().len() {
            self.store_decisions(binding);
        }
        self.mailbox.end_turn();
    }

    /// Stores the decisions of the negotiation, for the handles.
    fn store_decisions(&mut self, binding: &impl ClientBinding) {
        let machine = binding.machine();
        self.decided = machine.decisions().len();
        self.mailbox.set_decisions(machine.decisions(), machine.decision_errors());
    }

    /// Applies queued commands and polls woken handlers; returns false if there was no work.
    pub(super) fn work(&mut self, now: Instant, binding: &mut impl ClientBinding) -> bool {
        if !self.mailbox.take_work(&mut self.work) {
            self.flush();
            return false;
        }
        let mut work = mem::take(&mut self.work);
        for command in work.commands.drain(..) {
            self.apply_command(now, binding, command);
        }
        for input in work.ready.drain(..) {
            self.inputs.poll(now, binding, input);
        }
        self.work = work;
        self.flush();
        true
    }

    /// Flushes the sink.
    pub(super) fn flush(&self) {
        if let Some(sink) = &self.sink {
            sink.clone().flush();
        }
    }

    /// Time by which [`ClientRunner::handle_timeout`] must be called.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sink.as_ref().and_then(|sink| sink.poll_timeout())
    }

    /// Applies the deadlines that are due at `now`.
    pub(super) fn handle_timeout(&self, now: Instant, binding: &mut impl ClientBinding) {
        if let Some(sink) = self.sink.as_ref().filter(|sink| is_due(sink.poll_timeout(), now)) {
            binding.with(now, |client| sink.handle_timeout(now, client));
        }
    }

    /// Handles an event of the machine.
    pub(super) fn handle_event(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        event: ClientEvent,
    ) {
        // A large event is moved as seldom as possible.
        let Some(sink) = &self.sink else { return self.handle_own_event(now, binding, event) };
        let own = match &event {
            ClientEvent::Connected(server) => Some(ClientEvent::Connected(server.clone())),
            ClientEvent::Closed(error) => Some(ClientEvent::Closed(error.clone())),
            ClientEvent::Disconnected(error) => Some(ClientEvent::Disconnected(error.clone())),
            ClientEvent::PeerFault(error) => Some(ClientEvent::PeerFault(error.clone())),
            _ => None,
        };
        binding.with(now, |client| sink.handle_event(now, event, client));
        if let Some(own) = own {
            self.handle_own_event(now, binding, own);
        }
    }

    fn handle_own_event(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        event: ClientEvent,
    ) {
        match event {
            ClientEvent::Connected(server) => {
                self.store_decisions(binding);
                if let Some(verdict) = binding.machine().verdict() {
                    self.mailbox.set_stage(Stage::Connected(Box::new((*server, verdict))));
                }
            }
            ClientEvent::Disconnected(error) => {
                self.store_decisions(binding);
                self.notify(ClientEvent::Disconnected(error));
            }
            // The driver of the stream handles this event.
            ClientEvent::Reopen => {}
            ClientEvent::Response { .. }
            | ClientEvent::Progress { .. }
            | ClientEvent::Task { .. } => self.handle_call_event(event),
            ClientEvent::Input(input) => self.inputs.start(now, binding, &self.mailbox, *input),
            ClientEvent::InputCancelled { input } => self.inputs.cancel(input),
            ClientEvent::Subscribed { subscription, honoured } => {
                if let Some(feed) = self.feeds.get(&subscription) {
                    feed.honour(honoured);
                }
            }
            ClientEvent::SubscriptionEnded { subscription, cause } => {
                if let Some(feed) = self.feeds.remove(&subscription) {
                    feed.end(cause);
                }
            }
            ClientEvent::Changed { subscription, change } => {
                if let Some(feed) = subscription.and_then(|open| self.feeds.get(&open)) {
                    feed.push(&change);
                }
                call_back(self.mailbox.callback(|it| it.change.clone()), |f| f(&change));
            }
            ClientEvent::Closed(error) => {
                self.store_decisions(binding);
                self.ending.begin(error.clone().map_or(CloseCause::Ended, CloseCause::Connect));
                self.mailbox.set_stage(Stage::Closed(error));
            }
            event => self.notify(event),
        }
    }

    /// Handles a response, progress, or a task of a call.
    fn handle_call_event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response { call, result } => {
                if let Some(PendingCall { slot, hooks }) = self.calls.remove(call.number()) {
                    slot.finish(result);
                    catch_panic(|| drop(hooks));
                }
            }
            ClientEvent::Progress { call, progress } => {
                let pending = self.calls.get_mut(call.number());
                let hooks = pending.and_then(|pending| pending.hooks.as_mut());
                let on_progress = hooks.and_then(|hooks| hooks.progress.as_mut());
                call_back(on_progress, |f| f(progress));
            }
            ClientEvent::Task { call, task } => {
                if let Some(pending) = self.calls.get_mut(call.number()) {
                    pending.slot.follow(&task.task_id);
                    let on_task = pending.hooks.as_mut().and_then(|hooks| hooks.task.as_mut());
                    call_back(on_task, |f| f(*task));
                }
            }
            // Other events concern no call.
            _ => {}
        }
    }

    /// Calls the application's callback for an event.
    fn notify(&self, event: ClientEvent) {
        let mailbox = &self.mailbox;
        match event {
            ClientEvent::Log(message) => {
                call_back(mailbox.callback(|it| it.log.clone()), |f| f(&message));
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                call_back(mailbox.callback(|it| it.elicitation_complete.clone()), |f| {
                    f(&elicitation_id);
                });
            }
            ClientEvent::Notification { method, params } => {
                call_back(mailbox.callback(|it| it.notification.clone()), |f| f(&method, &params));
            }
            ClientEvent::ToolRejected { tool, reason } => {
                call_back(mailbox.callback(|it| it.tool_rejected.clone()), |f| f(&tool, &reason));
            }
            ClientEvent::Unauthorized { unauthorized, .. } => {
                call_back(mailbox.callback(|it| it.unauthorized.clone()), |f| f(&unauthorized));
            }
            ClientEvent::NoStream { error } => {
                call_back(mailbox.callback(|it| it.no_stream.clone()), |f| f(&error));
            }
            ClientEvent::Undelivered { message, error } => {
                call_back(mailbox.callback(|it| it.undelivered.clone()), |f| f(&message, &error));
            }
            ClientEvent::PeerFault(error) => {
                fault(&error);
                call_back(mailbox.callback(|it| it.fault.clone()), |f| f(&error));
            }
            ClientEvent::Disconnected(error) => {
                call_back(mailbox.callback(|it| it.disconnected.clone()), |f| f(&error));
            }
            // Other events have no callback.
            _ => {}
        }
    }

    /// Reports a change of the authorizer's state.
    #[cfg(feature = "auth")]
    pub(super) fn authorization_changed(&self, state: &AuthState) {
        call_back(self.mailbox.callback(|it| it.authorization.clone()), |f| f(state));
    }

    /// Ends the futures that wait for the sign-in with this number.
    #[cfg(feature = "auth")]
    pub(super) fn authorized(&mut self, ended: SignInId, result: &Result<(), AuthError>) {
        for (_, slot) in self.sign_ins.extract_if(.., |(id, _)| *id == ended) {
            slot.finish(result.clone());
        }
    }

    fn apply_command(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        command: ClientCommand,
    ) {
        match command {
            ClientCommand::Start { slot, unsent, options, hooks } => {
                match binding.with(now, |client| unsent.start(client, now, options)) {
                    Ok(call) => {
                        slot.begin(call);
                        self.calls.insert(call.number(), PendingCall { slot, hooks });
                    }
                    Err(error) => {
                        slot.finish(Err(if error == UsageError::Closed {
                            self.mailbox.cause()
                        } else {
                            CallError::Usage(error)
                        }));
                        catch_panic(|| drop(hooks));
                    }
                }
            }
            ClientCommand::Subscribe { feed, filter } => {
                match binding.with(now, |client| client.subscribe(now, filter)) {
                    Ok(subscription) => {
                        feed.begin(subscription);
                        self.feeds.insert(subscription, feed);
                    }
                    Err(UsageError::Closed) => feed.end(Err(self.mailbox.cause())),
                    Err(error) => feed.end(Err(CallError::Usage(error))),
                }
            }
            // Errors of the method are ignored.
            ClientCommand::MachineCall(verb) => binding.with(now, |client| verb(client, now)),
            ClientCommand::Field { name, value } => binding.set_field(now, &name, &value),
            #[cfg(feature = "auth")]
            ClientCommand::Authorize { slot, scopes } => {
                match binding.with_authorizer(now, |it| it.authorize(now, &scopes)) {
                    Some(id) => self.sign_ins.push((id, slot)),
                    None => slot.refuse("the client has no sign-in"),
                }
            }
            #[cfg(feature = "auth")]
            ClientCommand::ForgetAuthorization => {
                // Without an authorizer there is nothing to forget.
                let _ = binding.with_authorizer(now, Authorizer::forget);
            }
            ClientCommand::Close => {
                self.ending.begin(CloseCause::Requested);
                binding.with(now, |client| client.close(now));
            }
        }
    }
}

impl Drop for ClientRunner {
    /// Fails the calls and subscriptions in flight; the calls may have been executed.
    fn drop(&mut self) {
        for pending in self.calls.values_mut() {
            pending.slot.finish(Err(CallError::Interrupted));
            let hooks = pending.hooks.take();
            catch_panic(|| drop(hooks));
        }
        #[cfg(feature = "auth")]
        for (_, slot) in &self.sign_ins {
            slot.refuse("the client was closed");
        }
        for feed in mem::take(&mut self.feeds).into_values() {
            feed.end(Err(CallError::Closed));
        }
        if !matches!(self.mailbox.stage(), Stage::Closed(_)) {
            self.mailbox.set_stage(Stage::Closed(None));
        }
        self.mailbox.end(self.ending.finish());
        mem::take(&mut self.inputs).end();
        self.flush();
        if let Some(sink) = &self.sink {
            sink.handle_end();
        }
    }
}

fn is_due(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}
