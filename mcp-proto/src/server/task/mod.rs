//! Tasks of the extension `io.modelcontextprotocol/tasks`: decisions, and the records that stores
//! keep.
//!
//! In: requests about tasks, and reports of handlers. Out: changed records, and answers. The driver
//! of the server reads a [`Record`] from a store, applies one event, and stores the record again.
//! The requests `tasks/get`, `tasks/update` and `tasks/cancel` go to handlers that are registered
//! under these names.
//!
//! | status | leaves by |
//! |---|---|
//! | working | a result, an error, a request for input, a cancellation, the end of the TTL or of the lease |
//! | `input_required` | the last missing input, and all but the last two of these |
//! | completed, failed, cancelled | never |
//!
//! [`step::TABLE`] defines the effect of an event on a task, and [`method::TABLE`] the answer to a
//! request about a task.
//!
//! [SEP-2663](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2663)

mod call;
mod id;
pub mod method;
mod record;
pub mod step;

pub use call::TaskCall;
pub use id::TaskId;
pub use record::Record;
