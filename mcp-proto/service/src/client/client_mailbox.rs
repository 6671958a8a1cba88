//! State that the handles of a client and its service share, behind a lock.
//!
//! Handles put commands in; the service takes them out in its turn, and puts in what is known of
//! the connection. The lock is held for the time of a push or a take, never across a poll.

use alloc::boxed::Box;
use alloc::string::String;
#[cfg(feature = "auth")]
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;
use std::sync::OnceLock;

use super::super::bridge::EventSink;
use super::super::lock::Lock;
use super::super::mailbox::Mailbox;
use super::answers::Answers;
use super::ask::Ask;
#[cfg(feature = "auth")]
use super::auth_slot::{AuthSlot, AuthorizerVerb};
use super::closed::Closed;
use super::feed::Feed;
use super::slot::Slot;
use mcp_proto::Instant;
use mcp_proto::ProtocolVersion;
use mcp_proto::TraceContext;
use mcp_proto::UsageError;
use mcp_proto::client::{
    CallError, CallOptions, Client, Config, ConnectError, Decision, InputId, Progress, ServerInfo,
    Verdict,
};
use mcp_proto::types::{ClientCapabilities, SubscriptionFilter, Task};

/// Command from a handle to the service.
pub(super) enum ClientCommand {
    Start {
        slot: Arc<Slot>,
        ask: Ask,
        options: CallOptions,
        hooks: Option<Box<CallHooks>>,
    },
    Subscribe {
        feed: Arc<Feed>,
        filter: SubscriptionFilter,
    },
    /// Another verb of the machine, whose result nobody waits for.
    Verb(Box<Verb>),
    /// Over HTTP only.
    Field {
        name: String,
        value: String,
    },
    /// Over HTTP only.
    #[cfg(feature = "auth")]
    Authorizer {
        slot: Arc<AuthSlot>,
        verb: Box<AuthorizerVerb>,
    },
    Close,
}

/// A verb of the machine, at a time.
pub(super) type Verb = dyn FnOnce(&mut Client, Instant) + Send;

/// The functions of an application that hear of one call.
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
    /// It is over, with an error if there has not been a connection.
    Closed(Option<ConnectError>),
}

pub(super) struct ClientMailbox {
    state: Mailbox<ClientMailboxState>,
    /// Held for as long as somebody changes what is declared.
    changing: Lock<()>,
    trace: OnceLock<Box<Trace>>,
    /// The taker of all events, in place of the application.
    sink: Option<Arc<dyn EventSink>>,
}

/// The trace that calls belong to.
pub(super) type Trace = dyn Fn() -> TraceContext + Send + Sync;

struct ClientMailboxState {
    stage: Stage,
    /// Decisions of the negotiation so far.
    decisions: Vec<Decision>,
    /// End of the connection, set once the service is gone: nobody takes commands any more.
    closed: Option<Closed>,
    work: ClientWork,
    answers: Answers,
    capabilities: ClientCapabilities,
    /// Wakers of the tasks that wait for another stage, or for the end.
    watchers: Vec<Waker>,
}

impl ClientMailbox {
    pub(super) fn new(config: Config, sink: Option<Arc<dyn EventSink>>) -> Self {
        let capabilities = config.capabilities.clone();
        let state = Mailbox::new(ClientMailboxState {
            stage: Stage::Idle(Box::new(config)),
            decisions: Vec::new(),
            closed: None,
            work: ClientWork::default(),
            answers: Answers::default(),
            capabilities,
            watchers: Vec::new(),
        });
        Self { state, changing: Lock::default(), trace: OnceLock::new(), sink }
    }

    /// The taker of all events, in place of the application.
    pub(super) fn sink(&self) -> Option<Arc<dyn EventSink>> {
        self.sink.clone()
    }

    /// A service is there; it may be only once.
    pub(super) fn connect(&self) -> Result<Config, UsageError> {
        self.state.look(|state| {
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

    /// Takes what has come in, and leaves `work`, which is empty, for more to come; false if there
    /// is nothing.
    pub(super) fn take_work(&self, work: &mut ClientWork) -> bool {
        self.state.look(|state| {
            if state.work.is_empty() {
                return false;
            }
            mem::swap(&mut state.work, work);
            true
        })
    }

    /// Ends the turn; what has come in meanwhile asks for another one.
    pub(super) fn end_turn(&self) {
        self.state.end_turn(|state| !state.work.is_empty());
    }

    /// Passes a command on. What comes after the end goes nowhere, and a call has its response at
    /// once.
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

    /// Passes a verb on, whose result nobody waits for.
    pub(super) fn apply(&self, verb: impl FnOnce(&mut Client, Instant) + Send + 'static) {
        self.command(ClientCommand::Verb(Box::new(verb)));
    }

    pub(super) fn ready(&self, input: InputId) {
        self.state.put(|state| {
            if state.closed.is_none() && !state.work.ready.contains(&input) {
                state.work.ready.push(input);
            }
            Some(())
        });
    }

    /// Why nobody can be asked any more.
    pub(super) fn cause(&self) -> CallError {
        self.state.look(|state| state.stage.cause())
    }

    /// The connection has come as far as this.
    pub(super) fn set_stage(&self, stage: Stage) {
        let watchers = self.state.look(|state| {
            state.stage = stage;
            mem::take(&mut state.watchers)
        });
        watchers.into_iter().for_each(Waker::wake);
    }

    /// The negotiation has come as far as this.
    pub(super) fn set_decisions(&self, decisions: &[Decision]) {
        self.state.look(|state| {
            state.decisions.clear();
            state.decisions.extend_from_slice(decisions);
        });
    }

    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.state.look(|state| state.decisions.clone())
    }

    pub(super) fn stage(&self) -> Stage {
        self.state.look(|state| state.stage.clone())
    }

    /// Version that the client and the server use, while they are connected.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.state.look(|state| match &state.stage {
            Stage::Connected(known) => Some(known.0.version),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        })
    }

    /// Returns the result of `look`. If that is `None`, `waker` is woken when the stage or the end
    /// changes.
    pub(super) fn watch<T>(
        &self,
        waker: &Waker,
        look: impl FnOnce(&Stage, Option<&Closed>) -> Option<T>,
    ) -> Option<T> {
        self.state.look(|state| {
            let seen = look(&state.stage, state.closed.as_ref());
            if seen.is_none() && !state.watchers.iter().any(|watcher| watcher.will_wake(waker)) {
                state.watchers.push(waker.clone());
            }
            seen
        })
    }

    /// The service is gone, and the connection has ended so.
    pub(super) fn end(&self, closed: Closed) {
        let (work, watchers, answers, cause) = self.state.look(|state| {
            state.closed = Some(closed);
            let work = mem::take(&mut state.work);
            let watchers = mem::take(&mut state.watchers);
            // A function may hold on to the client that it was given to.
            let answers = mem::take(&mut state.answers);
            (work, watchers, answers, state.stage.cause())
        });
        drop(answers);
        work.commands.into_iter().for_each(|command| refuse(command, &cause));
        watchers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn answers(&self) -> Answers {
        self.state.look(|state| state.answers.clone())
    }

    /// Changes what the client answers with, and what it declares. Changes wait for each other;
    /// `change` may look at the client, and must not change it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Answers, &mut ClientCapabilities)) {
        let (before, tells) = {
            let _alone = self.changing.lock();
            let (mut answers, mut capabilities) =
                self.state.look(|state| (state.answers.clone(), state.capabilities.clone()));
            change(&mut answers, &mut capabilities);
            self.state.look(|state| {
                let tells = state.capabilities != capabilities && state.closed.is_none();
                state.capabilities.clone_from(&capabilities);
                if tells {
                    let declare = |client: &mut Client, _| client.set_capabilities(capabilities);
                    state.work.commands.push(ClientCommand::Verb(Box::new(declare)));
                }
                (mem::replace(&mut state.answers, answers), tells)
            })
        };
        if tells {
            self.state.wake();
        }
        // Handlers may run anything when they are dropped.
        drop(before);
    }

    /// Whom to ask for the trace of a call; the first one stays.
    pub(super) fn trace_with(&self, f: Box<Trace>) {
        let _ = self.trace.set(f);
    }

    /// The trace that a call belongs to that begins here.
    pub(super) fn trace(&self) -> Option<Box<TraceContext>> {
        let trace = self.trace.get()?();
        (!trace.is_empty()).then(|| Box::new(trace))
    }
}

impl Stage {
    /// Why nobody can be asked any more.
    fn cause(&self) -> CallError {
        match self {
            Self::Closed(Some(error)) => CallError::Connect(error.clone()),
            Self::Idle(_) | Self::Connecting | Self::Connected(_) | Self::Closed(None) => {
                CallError::Closed
            }
        }
    }
}

/// There is nobody to ask, for this reason.
fn refuse(command: ClientCommand, cause: &CallError) {
    match command {
        ClientCommand::Start { slot, .. } => slot.finish(Err(cause.clone())),
        ClientCommand::Subscribe { feed, .. } => feed.end(Err(cause.clone())),
        #[cfg(feature = "auth")]
        ClientCommand::Authorizer { slot, .. } => slot.refuse(&cause.to_string()),
        ClientCommand::Verb(_) | ClientCommand::Field { .. } | ClientCommand::Close => {}
    }
}
