//! A task whose client does not know its id yet.
//!
//! In: a new task, and the end of its call. Out: the task, or its removal from the store.
//!
//! | In | then |
//! |---|---|
//! | the client gets the id | the task is claimed |
//! | the store refuses the record | nothing is stored |
//! | the call ends before, or is cancelled before its response is sent; the store fails or does not answer in time | the write may have succeeded: the task is cancelled, and its record expires at once |

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::host::TaskHost;
use super::manager::{MAX_RACES, NewTask, TaskError, TaskManager};
use super::store::StoreError;
use super::timeout::within;
use mcp_proto::Duration;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::types::Task;

/// The time for which a store keeps the record of a task that nobody knows.
const REMAINDER: Duration = Duration::from_millis(1);

/// A task whose client does not know its id yet. Dropping it removes the task, as far as it is
/// stored: nobody could read it, and until its TTL it would take the room of others.
pub(super) struct UnclaimedTask {
    manager: TaskManager,
    host: Arc<TaskHost>,
    id: TaskId,
    /// True if the store may have the record.
    may_exist: bool,
}

impl UnclaimedTask {
    /// Stores a new task, which `finish` completes.
    pub(super) async fn create(
        manager: &TaskManager,
        new: NewTask,
        finish: impl FnOnce(Record, Duration) -> Record,
    ) -> Result<(Self, Record), TaskError> {
        let host = manager.current_host().ok_or(TaskError::NoHost)?;
        let id = TaskId::from_bits(host.id());
        let mut unclaimed = Self { manager: manager.clone(), host, id, may_exist: true };
        let created = manager.create(&unclaimed.id, new, finish).await;
        unclaimed.may_exist = match &created {
            Ok(_) => true,
            Err(TaskError::Store(error)) => matches!(error, StoreError::Unavailable(_)),
            Err(_) => false,
        };
        Ok((unclaimed, created?))
    }

    /// The id, for the client.
    pub(super) fn claim(mut self) -> TaskId {
        self.may_exist = false;
        self.id.clone()
    }
}

/// Cancels and removes a task whose call was cancelled before its response was sent.
pub(crate) fn abandon_task(manager: &TaskManager, task: &Task) {
    let Some(host) = manager.current_host() else { return };
    let id = TaskId::from(task.task_id.clone());
    manager.cancel_running(&id);
    drop(UnclaimedTask { manager: manager.clone(), host, id, may_exist: true });
}

impl Drop for UnclaimedTask {
    fn drop(&mut self) {
        if self.may_exist {
            let (manager, host) = (self.manager.clone(), self.host.clone());
            let id = self.id.clone();
            self.host.spawn(Box::pin(async move {
                // On an error the record stays until its TTL.
                let _ = within(&mut *host.clock(), remove(&manager, &id)).await;
            }));
        }
    }
}

/// Cancels a task, and lets its record expire.
async fn remove(manager: &TaskManager, id: &TaskId) -> Result<(), TaskError> {
    for _ in 0..MAX_RACES {
        let (revision, mut record) = manager.read(id).await?;
        let now = manager.now();
        record.cancel(now);
        // The run of the task may write meanwhile.
        if manager.store().change(now, id, revision, record.to_bytes(), REMAINDER).await? {
            break;
        }
    }
    Ok(())
}
