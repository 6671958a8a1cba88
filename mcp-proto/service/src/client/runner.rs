//! What a client does for its application, whatever it travels on.
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
use super::answers::{Callback, unharmed};
#[cfg(feature = "auth")]
use super::auth_slot::AuthSlot;
use super::binding::ClientBinding;
use super::client_mailbox::{ClientMailbox, ClientWork, Command, OnProgress, Stage};
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
pub(super) struct Runner {
    port: Arc<ClientMailbox>,
    /// By the numbers of their ids.
    calls: SeqMap<Pending>,
    feeds: BTreeMap<SubscriptionId, Arc<Feed>>,
    /// The calls that wait for the end of a sign-in.
    #[cfg(feature = "auth")]
    sign_ins: Vec<Arc<AuthSlot>>,
    inputs: Inputs,
    /// What is known of the end of the connection.
    pub(super) ending: Ending,
    /// How many decisions handles can see.
    decided: usize,
    /// Nothing, with room for what the next turn brings.
    work: ClientWork,
    sink: Option<Arc<dyn EventSink>>,
}

/// A call that has had no response yet.
struct Pending {
    slot: Arc<Slot>,
    on_progress: Option<OnProgress>,
}

impl Runner {
    /// The runner of a client that has had none, and the settings of its machine.
    pub(super) fn new(port: &Arc<ClientMailbox>) -> Result<(Self, Config), UsageError> {
        let config = port.connect()?;
        let runner = Self {
            port: port.clone(),
            calls: SeqMap::default(),
            feeds: BTreeMap::new(),
            #[cfg(feature = "auth")]
            sign_ins: Vec::new(),
            inputs: Inputs::default(),
            ending: Ending::default(),
            decided: 0,
            work: ClientWork::default(),
            sink: port.sink(),
        };
        Ok((runner, config))
    }

    /// Who wants to see the conversation.
    pub(super) fn watcher(&self) -> Option<Callback<str>> {
        let f = self.port.answers().wire?;
        Some(Arc::new(move |line: &str| unharmed(|| f(line))))
    }

    /// A turn begins; `waker` is woken when there is more to do after it.
    pub(super) fn begin_turn(&self, waker: &Waker) {
        self.port.begin_turn(waker);
    }

    /// A turn ends.
    pub(super) fn end_turn(&mut self, binding: &impl ClientBinding) {
        if self.decided != binding.machine().decisions().len() {
            self.show_decisions(binding);
        }
        self.port.end_turn();
    }

    /// Handles can see how the negotiation has gone.
    fn show_decisions(&mut self, binding: &impl ClientBinding) {
        let decisions = binding.machine().decisions();
        self.decided = decisions.len();
        self.port.set_decisions(decisions);
    }

    /// Does what was asked for, and has woken handlers go on; false if there was nothing to do.
    pub(super) fn work(&mut self, now: Instant, binding: &mut impl ClientBinding) -> bool {
        let mut work = core::mem::take(&mut self.work);
        let has_work = self.port.take_work(&mut work);
        for command in work.commands.drain(..) {
            self.apply_command(now, binding, command);
        }
        for input in work.ready.drain(..) {
            self.inputs.go_on(now, binding, input);
        }
        self.work = work;
        if let Some(sink) = &self.sink {
            sink.clone().flush();
        }
        has_work
    }

    /// The latest time for the next call of [`Runner::handle_timeout`].
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
                    self.port.set_stage(Stage::Connected(Box::new((server, verdict))));
                }
            }
            ClientEvent::Disconnected(error) => {
                self.show_decisions(binding);
                self.tell(ClientEvent::Disconnected(error));
            }
            // That is for whoever has the stream.
            ClientEvent::Reopen => {}
            ClientEvent::Response { call, result } => {
                if let Some(Pending { slot, on_progress }) = self.calls.remove(call.number()) {
                    slot.finish(result);
                    unharmed(|| drop(on_progress));
                }
            }
            ClientEvent::Progress { call, progress } => {
                let pending = self.calls.get_mut(call.number());
                if let Some(on_progress) = pending.and_then(|pending| pending.on_progress.as_mut())
                {
                    unharmed(|| on_progress(progress));
                }
            }
            ClientEvent::Input(input) => self.inputs.give(now, binding, &self.port, input),
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
                if let Some(f) = self.port.answers().change {
                    unharmed(|| f(&change));
                }
            }
            ClientEvent::Closed(error) => {
                self.show_decisions(binding);
                self.ending.begin(error.clone().map_or(CloseCause::Ended, CloseCause::Connect));
                self.port.set_stage(Stage::Closed(error));
            }
            event => self.tell(event),
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
        let answers = self.port.answers();
        match event {
            ClientEvent::Log(message) => {
                if let Some(f) = answers.log {
                    unharmed(|| f(&message));
                }
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                if let Some(f) = answers.elicitation_complete {
                    unharmed(|| f(&elicitation_id));
                }
            }
            ClientEvent::Notification { method, params } => {
                if let Some(f) = answers.notification {
                    unharmed(|| f(&method, &params));
                }
            }
            ClientEvent::ToolRejected { tool, reason } => {
                if let Some(f) = answers.tool_rejected {
                    unharmed(|| f(&tool, &reason));
                }
            }
            ClientEvent::Unauthorized { unauthorized, .. } => {
                if let Some(f) = answers.unauthorized {
                    unharmed(|| f(&unauthorized));
                }
            }
            ClientEvent::NoStream { error } => {
                if let Some(f) = answers.no_stream {
                    unharmed(|| f(&error));
                }
            }
            ClientEvent::Undelivered { message, error } => {
                if let Some(f) = answers.undelivered {
                    unharmed(|| f(&message, &error));
                }
            }
            ClientEvent::PeerFault(error) => {
                fault(&error);
                if let Some(f) = answers.fault {
                    unharmed(|| f(&error));
                }
            }
            ClientEvent::Disconnected(error) => {
                if let Some(f) = answers.disconnected {
                    unharmed(|| f(&error));
                }
            }
            // The others have no function of the application.
            _ => {}
        }
    }

    /// The state of the authorizer has changed.
    #[cfg(feature = "auth")]
    pub(super) fn authorization_changed(&mut self, state: &AuthState) {
        if let Some(f) = self.port.answers().authorization {
            unharmed(|| f(state));
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

    fn apply_command(&mut self, now: Instant, binding: &mut impl ClientBinding, command: Command) {
        match command {
            Command::Start { slot, ask, options, on_progress } => {
                match binding.with(now, |client| ask.start(client, now, options)) {
                    Ok(call) => {
                        slot.begin(call);
                        self.calls.insert(call.number(), Pending { slot, on_progress });
                    }
                    Err(UsageError::Closed) => slot.finish(Err(self.port.cause())),
                    Err(error) => slot.finish(Err(CallError::Usage(error))),
                }
            }
            Command::Subscribe { feed, filter } => {
                match binding.with(now, |client| client.subscribe(now, filter)) {
                    Ok(subscription) => {
                        feed.begin(subscription);
                        self.feeds.insert(subscription, feed);
                    }
                    Err(UsageError::Closed) => feed.end(Err(self.port.cause())),
                    Err(error) => feed.end(Err(CallError::Usage(error))),
                }
            }
            // What may not be sent, or not any more, goes nowhere.
            Command::Verb(verb) => binding.with(now, |client| verb(client, now)),
            Command::Field { name, value } => binding.set_field(now, &name, &value),
            #[cfg(feature = "auth")]
            Command::Authorizer { slot, verb } => match binding.with_authorizer(now, verb) {
                Some(()) => self.sign_ins.push(slot),
                None => slot.refuse("the client has no sign-in"),
            },
            Command::Close => {
                self.ending.begin(CloseCause::Requested);
                binding.with(now, |client| client.close(now));
            }
        }
    }
}

impl Drop for Runner {
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
        if !matches!(self.port.stage(), Stage::Closed(_)) {
            self.port.set_stage(Stage::Closed(None));
        }
        self.port.end(self.ending.finish());
        if let Some(sink) = &self.sink {
            sink.handle_end();
        }
    }
}

fn is_due(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}
