//! State that the handles of a client and its service share, behind a lock.
//!
//! Handles queue commands. The service takes them in its turn, and stores the state of the
//! connection. The lock is held only to push or take, never while a future is polled.

use alloc::boxed::Box;
use alloc::string::String;
#[cfg(feature = "auth")]
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::mem;
use core::task::{Poll, Waker};
use std::sync::OnceLock;

use super::super::bridge::EventSink;
use super::super::cancel::Watchers;
use super::super::lock::Lock;
use super::super::mailbox::Mailbox;
#[cfg(feature = "auth")]
use super::auth_slot::AuthSlot;
use super::callback_set::Callbacks;
use super::closed::{CloseCause, Closed};
use super::feed::Feed;
use super::response_slot::ResponseSlot;
use super::unsent_call::UnsentCall;
use crate::panics::catch_panic;
use mcp_proto::Instant;
use mcp_proto::ProtocolVersion;
use mcp_proto::TraceContext;
use mcp_proto::UsageError;
#[cfg(feature = "auth")]
use mcp_proto::auth::Scopes;
use mcp_proto::client::{
    CallError, CallOptions, Client, Config, ConnectError, Decision, InputId, Progress, ServerInfo,
    Verdict,
};
use mcp_proto::types::{ClientCapabilities, SubscriptionFilter, Task};

/// Command from a handle to the service.
pub(super) enum ClientCommand {
    Start {
        slot: Arc<ResponseSlot>,
        unsent: UnsentCall,
        options: CallOptions,
        hooks: Option<Box<CallHooks>>,
    },
    Subscribe {
        feed: Arc<Feed>,
        filter: SubscriptionFilter,
    },
    /// Another method of the machine, whose result is ignored.
    MachineCall(Box<MachineCall>),
    /// Over HTTP only.
    Field {
        name: String,
        value: String,
    },
    /// Over HTTP only.
    #[cfg(feature = "auth")]
    Authorize {
        slot: Arc<AuthSlot>,
        scopes: Scopes,
    },
    /// Over HTTP only.
    #[cfg(feature = "auth")]
    ForgetAuthorization,
    Close,
}

/// A call of a method of the machine.
pub(super) type MachineCall = dyn FnOnce(&mut Client, Instant) + Send;

/// Callbacks of the application for one call.
#[derive(Default)]
pub(super) struct CallHooks {
    pub(super) progress: Option<Box<dyn FnMut(Progress) + Send>>,
    pub(super) task: Option<Box<dyn FnMut(Task) + Send>>,
}

/// Commands and wakes since the last turn.
#[derive(Default)]
pub(super) struct ClientWork {
    pub(super) commands: Vec<ClientCommand>,
    /// The inputs whose handlers were woken.
    pub(super) ready: Vec<InputId>,
}

impl ClientWork {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.ready.is_empty()
    }
}

/// Stage of the connection.
#[derive(Clone)]
pub(super) enum Stage {
    /// Nothing drives the client.
    Idle(Box<Config>),
    Connecting,
    Connected(Box<(ServerInfo, Verdict)>),
    /// The connection is over, with an error if there was never one.
    Closed(Option<ConnectError>),
}

pub(super) struct ClientMailbox {
    state: Mailbox<ClientMailboxState>,
    /// Held while the declared capabilities are changed.
    changing: Lock<()>,
    trace: OnceLock<Box<Trace>>,
    /// Receiver of all events, in place of the application.
    sink: Option<Arc<dyn EventSink>>,
}

/// The trace that calls belong to.
pub(super) type Trace = dyn Fn() -> TraceContext + Send + Sync;

struct ClientMailboxState {
    stage: Stage,
    /// Decisions of the negotiation so far.
    decisions: Vec<Decision>,
    /// As many as there are decisions.
    decision_errors: Vec<Option<CallError>>,
    /// End of the connection; set once the service is dropped, which takes the commands.
    closed: Option<Closed>,
    work: ClientWork,
    callbacks: Callbacks,
    capabilities: ClientCapabilities,
    /// Wakers of the futures that wait for a change of the stage, or for the end; see [`Watcher`].
    watchers: Watchers,
}

/// A future's place among those that wait for a change. Dropping it gives up the place.
struct Watcher {
    mailbox: Arc<ClientMailbox>,
    number: Option<u64>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let waker = self.mailbox.state.with(|state| state.watchers.unwatch(number));
        drop(waker);
    }
}

impl ClientMailbox {
    pub(super) fn new(config: Config, sink: Option<Arc<dyn EventSink>>) -> Self {
        let capabilities = config.capabilities.clone();
        let state = Mailbox::new(ClientMailboxState {
            stage: Stage::Idle(Box::new(config)),
            decisions: Vec::new(),
            decision_errors: Vec::new(),
            closed: None,
            work: ClientWork::default(),
            callbacks: Callbacks::default(),
            capabilities,
            watchers: Watchers::default(),
        });
        Self { state, changing: Lock::default(), trace: OnceLock::new(), sink }
    }

    /// Receiver of all events, in place of the application.
    pub(super) fn sink(&self) -> Option<Arc<dyn EventSink>> {
        self.sink.clone()
    }

    /// Fails with [`UsageError::AlreadyConnected`] unless a service may be connected.
    pub(super) fn check_idle(&self) -> Result<(), UsageError> {
        let is_idle = self.state.with(|state| matches!(state.stage, Stage::Idle(_)));
        is_idle.then_some(()).ok_or(UsageError::AlreadyConnected)
    }

    /// Connects a service, once.
    ///
    /// Fails with [`UsageError::AlreadyConnected`].
    pub(super) fn connect(&self) -> Result<Config, UsageError> {
        self.state.with(|state| {
            let Stage::Idle(config) = &state.stage else {
                return Err(UsageError::AlreadyConnected);
            };
            let config = (**config).clone();
            state.stage = Stage::Connecting;
            Ok(config)
        })
    }

    pub(super) fn begin_turn(&self, waker: &Waker) {
        self.state.begin_turn(waker, |_| ());
    }

    /// Swaps the queued work with `work`, which must be empty; returns false if nothing is queued.
    pub(super) fn take_work(&self, work: &mut ClientWork) -> bool {
        self.state.with(|state| {
            if state.work.is_empty() {
                return false;
            }
            mem::swap(&mut state.work, work);
            true
        })
    }

    /// Ends the turn; the driver is woken again if more work was queued meanwhile.
    pub(super) fn end_turn(&self) {
        self.state.end_turn(|state| !state.work.is_empty());
    }

    /// Queues a command. After the end it is refused, and a call fails at once.
    pub(super) fn command(&self, command: ClientCommand) {
        // Refused, and dropped, without the lock.
        let mut command = Some(command);
        self.state.put(|state| {
            let command = if state.closed.is_some() { None } else { command.take() }?;
            state.work.commands.push(command);
            Some(())
        });
        if let Some(command) = command {
            refuse(command, &self.cause());
        }
    }

    /// Queues a call of a method of the machine, whose result is ignored.
    pub(super) fn apply(&self, verb: impl FnOnce(&mut Client, Instant) + Send + 'static) {
        self.command(ClientCommand::MachineCall(Box::new(verb)));
    }

    pub(super) fn ready(&self, input: InputId) {
        self.state.update(|state| {
            if state.closed.is_none() && !state.work.ready.contains(&input) {
                state.work.ready.push(input);
            }
        });
    }

    /// The error for calls that can no longer be sent.
    pub(super) fn cause(&self) -> CallError {
        self.state.with(|state| state.stage.cause())
    }

    /// Sets the stage of the connection and wakes the tasks that watch it.
    pub(super) fn set_stage(&self, stage: Stage) {
        let watchers = self.state.with(|state| {
            state.stage = stage;
            state.watchers.take()
        });
        watchers.for_each(Waker::wake);
    }

    /// Stores the decisions of the negotiation, and the errors that they are about.
    pub(super) fn set_decisions(&self, decisions: &[Decision], errors: &[Option<CallError>]) {
        self.state.with(|state| {
            state.decisions.clear();
            state.decisions.extend_from_slice(decisions);
            state.decision_errors.clear();
            state.decision_errors.extend_from_slice(errors);
        });
    }

    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.state.with(|state| state.decisions.clone())
    }

    pub(super) fn decision_errors(&self) -> Vec<Option<CallError>> {
        self.state.with(|state| state.decision_errors.clone())
    }

    pub(super) fn stage(&self) -> Stage {
        self.state.with(|state| state.stage.clone())
    }

    /// Version that the client and the server use, while they are connected.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.state.with(|state| match &state.stage {
            Stage::Connected(known) => Some(known.0.version),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        })
    }

    /// Waits until `check` has a result. It is asked at once, at each change of the stage, and at
    /// the end of the connection.
    pub(super) fn watch<T, F>(
        self: &Arc<Self>,
        check: F,
    ) -> impl Future<Output = T> + Send + use<T, F>
    where
        F: Fn(&Stage, Option<&Closed>) -> Option<T> + Send,
    {
        let mut watcher = Watcher { mailbox: self.clone(), number: None };
        poll_fn(move |context| {
            let Watcher { mailbox, number } = &mut watcher;
            let mut before = None;
            let seen = mailbox.state.with(|state| {
                let seen = check(&state.stage, state.closed.as_ref());
                if seen.is_none() {
                    before = state.watchers.watch(number, context.waker());
                }
                seen
            });
            // The drop of a waker may run any code: drop it without the lock.
            drop(before);
            seen.map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// Closes the connection. A client that nothing drives is over at once.
    pub(super) fn close(&self) {
        let is_idle = self.state.with(|state| {
            let is_idle = matches!(state.stage, Stage::Idle(_));
            if is_idle {
                state.stage = Stage::Closed(None);
            }
            is_idle
        });
        if is_idle {
            self.end(Closed::new(CloseCause::Requested));
        } else {
            self.command(ClientCommand::Close);
        }
    }

    /// Stores the end of the connection, and refuses the queued commands.
    pub(super) fn end(&self, closed: Closed) {
        let (work, watchers, callbacks, cause) = self.state.with(|state| {
            state.closed = Some(closed);
            let work = mem::take(&mut state.work);
            let watchers = state.watchers.take();
            // A callback may own a clone of this client: drop it to break the cycle.
            let callbacks = mem::take(&mut state.callbacks);
            (work, watchers, callbacks, state.stage.cause())
        });
        catch_panic(|| drop(callbacks));
        work.commands.into_iter().for_each(|command| refuse(command, &cause));
        watchers.for_each(Waker::wake);
    }

    /// A callback, or all of them. Drop it where a panic is caught: one that was replaced may have
    /// no other owner.
    pub(super) fn callback<F>(&self, choose: impl FnOnce(&Callbacks) -> F) -> F {
        self.state.with(|state| choose(&state.callbacks))
    }

    /// Changes the callbacks and the declared capabilities. Changes run one at a time: `change` may
    /// read the client, but must not change it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Callbacks, &mut ClientCapabilities)) {
        let (before, is_changed) = {
            let _guard = self.changing.lock();
            let (mut callbacks, mut capabilities) =
                self.state.with(|state| (state.callbacks.clone(), state.capabilities.clone()));
            change(&mut callbacks, &mut capabilities);
            self.state.with(|state| {
                let is_changed = state.capabilities != capabilities && state.closed.is_none();
                state.capabilities.clone_from(&capabilities);
                if state.closed.is_some() {
                    // A callback may own a clone of this client, which nothing would drop.
                    return (callbacks, false);
                }
                if is_changed {
                    let declare = |client: &mut Client, _| client.set_capabilities(capabilities);
                    state.work.commands.push(ClientCommand::MachineCall(Box::new(declare)));
                }
                (mem::replace(&mut state.callbacks, callbacks), is_changed)
            })
        };
        if is_changed {
            self.state.wake();
        }
        // The drop of a callback may run any code: drop them without the lock.
        drop(before);
    }

    /// Sets the source of the traces of calls; only the first one counts.
    pub(super) fn trace_with(&self, f: Box<Trace>) {
        let _ = self.trace.set(f);
    }

    /// The trace for a call that begins now.
    pub(super) fn trace(&self) -> Option<Box<TraceContext>> {
        let trace = self.trace.get()?();
        (!trace.is_empty()).then(|| Box::new(trace))
    }
}

impl Stage {
    /// The error for calls that can no longer be sent.
    fn cause(&self) -> CallError {
        match self {
            Self::Closed(Some(error)) => CallError::Connect(error.clone()),
            Self::Idle(_) | Self::Connecting | Self::Connected(_) | Self::Closed(None) => {
                CallError::Closed
            }
        }
    }
}

/// Fails a command with this error.
fn refuse(command: ClientCommand, cause: &CallError) {
    match command {
        ClientCommand::Start { slot, hooks, .. } => {
            slot.finish(Err(cause.clone()));
            catch_panic(|| drop(hooks));
        }
        ClientCommand::Subscribe { feed, .. } => feed.end(Err(cause.clone())),
        #[cfg(feature = "auth")]
        ClientCommand::Authorize { slot, .. } => slot.refuse(&cause.to_string()),
        #[cfg(feature = "auth")]
        ClientCommand::ForgetAuthorization => {}
        ClientCommand::MachineCall(_) | ClientCommand::Field { .. } | ClientCommand::Close => {}
    }
}
