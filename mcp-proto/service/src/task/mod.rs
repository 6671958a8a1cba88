//! Tool calls that continue as tasks: the extension `io.modelcontextprotocol/tasks`.
//!
//! In: calls of the tools that [`Registry::tasks`](crate::Registry::tasks) names, and requests
//! about tasks. Out: results, or tasks, which are kept in a store and run in spawned futures.
//!
//! | a call is | polled by | ends with |
//! |---|---|---|
//! | held ([`task_candidate`]) | the service of its request | an outcome, a cancellation; after its time a task is stored and the call is detached |
//! | detached ([`run`]) | a future that the [`TaskHost`] spawns | an outcome, a cancellation, the end of the TTL |
//! | waiting for input | nothing | `tasks/update`, which calls its handler again ([`resume`]), detached |
//!
//! Clients may subscribe to tasks: [`watch`] reports each state.
//!
//! In both cases the handler has its own mailbox, which its poller serves. So the handler can sleep
//! and report after its request is answered and its connection is gone.
//!
//! [`mcp_proto::server::task`] has the state machine of a task, a [`TaskStore`] keeps the records,
//! and [`TaskManager`] changes them by compare-and-swap.

mod current_store;
mod detached;
mod driven;
mod guarded_store;
mod host;
mod hosts;
mod manager;
mod memory;
mod methods;
mod resume;
mod run;
mod settings;
mod store;
mod task_candidate;
mod timeout;
mod unclaimed;
mod watch;
mod watched;
mod watched_store;

pub use host::TaskHost;
pub use manager::{NewTask, TaskError, TaskManager, Tasks};
pub use memory::MemoryStore;
pub use settings::TaskConfig;
pub use store::{StoreError, StoreFuture, TaskStore};
pub use watched::TaskWatcher;

pub(super) use hosts::HostGuard;
pub(super) use settings::ChosenSettings;
pub(super) use task_candidate::TaskCandidate;
pub(super) use unclaimed::abandon_task;
