//! Calls, subscriptions and inputs of a client, for any transport.
//!
//! In: what handles ask for, what a machine tells of, and the wakes of handlers of inputs. Out:
//! commands to the machine; responses, changes and answers to those that wait for them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
#[cfg(feature = "auth")]
use alloc::vec::Vec;
use core::task::Waker;

use super::super::bridge::EventSink;
use super::super::trace::fault;
use super::answers::{Callback, catch_panic};
#[cfg(feature = "auth")]
use super::auth_slot::AuthSlot;
use super::binding::ClientBinding;
use super::client_mailbox::{CallHooks, ClientCommand, ClientMailbox, ClientWork, Stage};
use super::closed::{CloseCause, Ending};
use super::feed::Feed;
use super::inputs::Inputs;
use super::slot::Slot;
use mcp_proto::Instant;
use mcp_proto::UsageError;
#[cfg(feature = "auth")]
use mcp_proto::auth::AuthState;
use mcp_proto::client::{CallError, ClientEvent, Config, SubscriptionId};
use mcp_proto::internals::SeqMap;

/// The calls, subscriptions and inputs of a client that is driven.
pub(super) struct ClientRunner {
    mailbox: Arc<ClientMailbox>,
    /// By the numbers of their ids.
    calls: SeqMap<Pending>,
    feeds: BTreeMap<SubscriptionId, Arc<Feed>>,
    /// The calls that wait for the end of a sign-in.
    #[cfg(feature = "auth")]
    sign_ins: Vec<Arc<AuthSlot>>,
    inputs: Inputs,
    /// Facts about the end of the connection so far.
    pub(super) ending: Ending,
    /// Number of decisions that handles can see.
    decided: usize,
    /// Nothing, with room for what the next turn brings.
    work: ClientWork,
    sink: Option<Arc<dyn EventSink>>,
}

/// A call that has had no response yet.
struct Pending {
    slot: Arc<Slot>,
    hooks: Option<Box<CallHooks>>,
}

impl ClientRunner {
    /// The runner of a client that has had none, and the settings of its machine.
    pub(super) fn new(mailbox: &Arc<ClientMailbox>) -> Result<(Self, Config), UsageError> {
        let config = mailbox.connect()?;
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

    /// Function of the application that is shown the conversation, if any.
    pub(super) fn watcher(&self) -> Option<Callback<str>> {
        let f = self.mailbox.answers().wire?;
        Some(Arc::new(move |line: &str| catch_panic(|| f(line))))
    }

    /// A turn begins; `waker` is woken when there is more to do after it.
    pub(super) fn begin_turn(&self, waker: &Waker) {
        self.mailbox.begin_turn(waker);
    }

    /// A turn ends.
    pub(super) fn end_turn(&mut self, binding: &impl ClientBinding) {
        if self.decided != binding.machine().decisions().len() {
            self.show_decisions(binding);
        }
        self.mailbox.end_turn();
    }

    /// Handles can see how the negotiation has gone.
    fn show_decisions(&mut self, binding: &impl ClientBinding) {
        let decisions = binding.machine().decisions();
        self.decided = decisions.len();
        self.mailbox.set_decisions(decisions);
    }

    /// Does what was asked for, and has woken handlers go on; false if there was nothing to do.
    pub(super) fn work(&mut self, now: Instant, binding: &mut impl ClientBinding) -> bool {
        let mut work = core::mem::take(&mut self.work);
        let has_work = self.mailbox.take_work(&mut work);
        for command in work.commands.drain(..) {
            self.apply_command(now, binding, command);
        }
        for input in work.ready.drain(..) {
            self.inputs.go_on(now, binding, input);
        }
        self.work = work;
        self.flush();
        has_work
    }

    /// Hands on what events of the machine have led to.
    pub(super) fn flush(&self) {
        if let Some(sink) = &self.sink {
            sink.clone().flush();
        }
    }

    /// The latest time for the next call of [`ClientRunner::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sink.as_ref().and_then(|sink| sink.poll_timeout())
    }

    /// It is `now`; due deadlines take effect.
    pub(super) fn handle_timeout(&self, now: Instant, binding: &mut impl ClientBinding) {
        if let Some(sink) = self.sink.as_ref().filter(|sink| is_due(sink.poll_timeout(), now)) {
            binding.with(now, |client| sink.handle_timeout(now, client));
        }
    }

    /// Something happened that concerns the application.
    pub(super) fn handle_event(
        &mut self,
        now: Instant,
        binding: &mut impl ClientBinding,
        event: ClientEvent,
    ) {
        if let Some(event) = self.pass_on(now, binding, event) {
            self.handle_own_event(now, binding, event);
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
                self.show_decisions(binding);
                if let Some(verdict) = binding.machine().verdict() {
                    self.mailbox.set_stage(Stage::Connected(Box::new((server, verdict))));
                }
            }
            ClientEvent::Disconnected(error) => {
                self.show_decisions(binding);
                self.tell(ClientEvent::Disconnected(error));
            }
            // That is for whoever has the stream.
            ClientEvent::Reopen => {}
            ClientEvent::Response { .. }
            | ClientEvent::Progress { .. }
            | ClientEvent::Task { .. } => self.handle_call_event(event),
            ClientEvent::Input(input) => self.inputs.give(now, binding, &self.mailbox, input),
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
                if let Some(f) = self.mailbox.answers().change {
                    catch_panic(|| f(&change));
                }
            }
            ClientEvent::Closed(error) => {
                self.show_decisions(binding);
                self.ending.begin(error.clone().map_or(CloseCause::Ended, CloseCause::Connect));
                self.mailbox.set_stage(Stage::Closed(error));
            }
            event => self.tell(event),
        }
    }

    /// A call has its response, or has got further.
    fn handle_call_event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Response { call, result } => {
                if let Some(Pending { slot, hooks }) = self.calls.remove(call.number()) {
                    slot.finish(result);
                    catch_panic(|| drop(hooks));
                }
            }
            ClientEvent::Progress { call, progress } => {
                let pending = self.calls.get_mut(call.number());
                let hooks = pending.and_then(|pending| pending.hooks.as_mut());
                if let Some(on_progress) = hooks.and_then(|hooks| hooks.progress.as_mut()) {
                    catch_panic(|| on_progress(progress));
                }
            }
            ClientEvent::Task { call, task } => {
                if let Some(pending) = self.calls.get_mut(call.number()) {
                    pending.slot.follow(&task.task_id);
                    let hooks = pending.hooks.as_mut();
                    if let Some(on_task) = hooks.and_then(|hooks| hooks.task.as_mut()) {
                        catch_panic(|| on_task(task));
                    }
                }
            }
            // The others are about no call.
            _ => {}
        }
    }

    /// Passes an event on to whoever takes all of them. Returns what is of interest here as well.
    fn pass_on(
        &self,
        now: Instant,
        binding: &mut impl ClientBinding,
        event: ClientEvent,
    ) -> Option<ClientEvent> {
        let Some(sink) = &self.sink else { return Some(event) };
        let here = match &event {
            ClientEvent::Connected(server) => Some(ClientEvent::Connected(server.clone())),
            ClientEvent::Closed(error) => Some(ClientEvent::Closed(error.clone())),
            _ => None,
        };
        binding.with(now, |client| sink.handle_event(now, event, client));
        here
    }

    /// Tells the application's functions.
    fn tell(&self, event: ClientEvent) {
        let answers = self.mailbox.answers();
        match event {
            ClientEvent::Log(message) => {
                if let Some(f) = answers.log {
                    catch_panic(|| f(&message));
                }
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                if let Some(f) = answers.elicitation_complete {
                    catch_panic(|| f(&elicitation_id));
                }
            }
            ClientEvent::Notification { method, params } => {
                if let Some(f) = answers.notification {
                    catch_panic(|| f(&method, &params));
                }
            }
            ClientEvent::ToolRejected { tool, reason } => {
                if let Some(f) = answers.tool_rejected {
                    catch_panic(|| f(&tool, &reason));
                }
            }
            ClientEvent::Unauthorized { unauthorized, .. } => {
                if let Some(f) = answers.unauthorized {
                    catch_panic(|| f(&unauthorized));
                }
            }
            ClientEvent::NoStream { error } => {
                if let Some(f) = answers.no_stream {
                    catch_panic(|| f(&error));
                }
            }
            ClientEvent::Undelivered { message, error } => {
                if let Some(f) = answers.undelivered {
                    catch_panic(|| f(&message, &error));
                }
            }
            ClientEvent::PeerFault(error) => {
                fault(&error);
                if let Some(f) = answers.fault {
                    catch_panic(|| f(&error));
                }
            }
            ClientEvent::Disconnected(error) => {
                if let Some(f) = answers.disconnected {
                    catch_panic(|| f(&error));
                }
            }
            // The others have no function of the application.
            _ => {}
        }
    }

    /// The state of the authorizer has changed.
    #[cfg(feature = "auth")]
    pub(super) fn authorization_changed(&mut self, state: &AuthState) {
        if let Some(f) = self.mailbox.answers().authorization {
            catch_panic(|| f(state));
        }
        let result = match state {
            AuthState::Ready { .. } => Ok(()),
            AuthState::Failed(error) => Err(error.clone()),
            _ => return,
        };
        for slot in self.sign_ins.drain(..) {
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
            ClientCommand::Start { slot, ask, options, hooks } => {
                match binding.with(now, |client| ask.start(client, now, options)) {
                    Ok(call) => {
                        slot.begin(call);
                        self.calls.insert(call.number(), Pending { slot, hooks });
                    }
                    Err(UsageError::Closed) => slot.finish(Err(self.mailbox.cause())),
                    Err(error) => slot.finish(Err(CallError::Usage(error))),
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
            // What may not be sent, or not any more, goes nowhere.
            ClientCommand::Verb(verb) => binding.with(now, |client| verb(client, now)),
            ClientCommand::Field { name, value } => binding.set_field(now, &name, &value),
            #[cfg(feature = "auth")]
            ClientCommand::Authorizer { slot, verb } => match binding.with_authorizer(now, verb) {
                Some(()) => self.sign_ins.push(slot),
                None => slot.refuse("the client has no sign-in"),
            },
            ClientCommand::Close => {
                self.ending.begin(CloseCause::Requested);
                binding.with(now, |client| client.close(now));
            }
        }
    }
}

impl Drop for ClientRunner {
    /// Tells those that wait that nobody will answer; their calls may have been sent.
    fn drop(&mut self) {
        for pending in self.calls.values_mut() {
            pending.slot.finish(Err(CallError::Interrupted));
        }
        #[cfg(feature = "auth")]
        for slot in &self.sign_ins {
            slot.refuse("the client was closed");
        }
        for feed in core::mem::take(&mut self.feeds).into_values() {
            feed.end(Err(CallError::Closed));
        }
        if !matches!(self.mailbox.stage(), Stage::Closed(_)) {
            self.mailbox.set_stage(Stage::Closed(None));
        }
        self.mailbox.end(self.ending.finish());
        self.flush();
        if let Some(sink) = &self.sink {
            sink.handle_end();
        }
    }
}

fn is_due(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}
