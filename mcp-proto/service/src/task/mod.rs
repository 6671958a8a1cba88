//! Calls of tools that go on as tasks: the extension `io.modelcontextprotocol/tasks`.
//!
//! In: calls of tools that [`Registry::tasks`](crate::Registry::tasks) names, and requests about tasks.
//! Out: results, or tasks that a store keeps and futures of their own run.
//!
//! | a call is | polled by | leaves by |
//! |---|---|---|
//! | held ([`held`]) | whoever serves its request | an outcome, a cancellation; once it takes too long, a task is stored, and then it is detached |
//! | detached ([`run`]) | a future that the [`TaskHost`] spawns | an outcome, a cancellation, the end of the TTL |
//! | waiting for input | nobody | `tasks/update`, which calls its handler again, detached |
//!
//! Clients may subscribe to tasks: [`watch`] tells them of each state.
//!
//! Either way a handler has a mailbox of its own, and whoever polls the handler serves that mailbox. So
//! it can sleep and report when its request is answered and its connection is gone.
//!
//! [`mcp_proto::server::task`] decides what becomes of a task; stores keep its records
//! ([`TaskStore`]), and [`TaskManager`] changes them by compare-and-swap.

mod detached;
mod driven;
mod held;
mod host;
mod manager;
mod memory;
mod methods;
mod run;
mod store;
mod watch;
mod watched;

pub use host::TaskHost;
pub use manager::{NewTask, TaskConfig, TaskError, TaskManager, Tasks};
pub use memory::MemoryStore;
pub use store::{StoreError, StoreFuture, TaskStore};
pub use watched::TaskWatcher;

pub(super) use held::Held;
