//! Watches of the tasks that clients subscribe to.
//!
//! In: subscriptions, the records that this process writes, and changes by other processes,
//! reported by a store. Out: [`Change::TaskUpdated`], to the servers whose clients subscribe.
//! Listeners order the states of a task and drop duplicates, so reports may arrive in any order.
//!
//! | In | then |
//! |---|---|
//! | a subscription | its tasks are looked up; those of its client are watched, and their states reported |
//! | this process has changed a task | its state is reported, if any task is watched or looked up |
//! | the store reports a watched task, its TTL or lease expires, or a change by this process has no known result | it is read, and its state reported |
//! | a watched task ends or is gone | its watch ends |
//! | the host of a watch drops it | another host runs it; without one, it ends |
//!
//! A task is watched until it ends, also if its listener is gone before. The number is limited by
//! [`TaskConfig::max_watched_tasks`](super::TaskConfig::max_watched_tasks).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::Poll;

use super::host::TaskHost;
use super::manager::{TaskError, TaskManager};
use super::timeout::within;
use super::watched::{ChangedFlag, WatchBegin};
use mcp_proto::Duration;
use mcp_proto::server::task::TaskId;

/// The pause before a failed read is retried.
const RETRY: Duration = Duration::from_secs(20);

/// The shortest interval of reads without a report of the store.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Looks up a task that a client of this principal subscribes to, watches it, and reports its
/// state; `false` if there is no such task, or too many are watched.
pub(super) async fn subscribe(
    manager: &TaskManager,
    host: &Arc<TaskHost>,
    id: &TaskId,
    owner: Option<&str>,
) -> bool {
    let Ok(record) = manager.get(id).await else { return false };
    if record.owner() != owner {
        return false;
    }
    let is_watched = record.task().status.is_terminal() || watch(manager, host, id);
    if is_watched {
        manager.watched().notify(id, &record, true);
    }
    is_watched
}

/// Watches a task that has not ended; `false` if there are too many.
fn watch(manager: &TaskManager, host: &Arc<TaskHost>, id: &TaskId) -> bool {
    match manager.watched().begin(id, manager.config().max_watched_tasks) {
        WatchBegin::Begun(changed) => {
            Watch::new(manager, host, id, changed).spawn();
            true
        }
        WatchBegin::Known => true,
        WatchBegin::Full => false,
    }
}

/// The watch of a task. Dropping it ends the watch, or moves it if its host has ended.
struct Watch {
    manager: TaskManager,
    host: Arc<TaskHost>,
    id: TaskId,
    changed: Arc<ChangedFlag>,
    /// True while it runs on its host.
    is_running: bool,
}

impl Watch {
    fn new(
        manager: &TaskManager,
        host: &Arc<TaskHost>,
        id: &TaskId,
        changed: Arc<ChangedFlag>,
    ) -> Self {
        let (manager, host, id) = (manager.clone(), host.clone(), id.clone());
        Self { manager, host, id, changed, is_running: false }
    }

    fn spawn(self) {
        let host = self.host.clone();
        host.spawn(Box::pin(self.run()));
    }

    async fn run(mut self) {
        self.is_running = true;
        self.run_to_end().await;
        self.is_running = false;
    }

    async fn run_to_end(&self) {
        let Self { manager, host, id, changed, .. } = self;
        let mut clock = host.clock();
        loop {
            let pause = match within(&mut *clock, manager.get(id)).await {
                Some(Ok(record)) => {
                    manager.watched().notify(id, &record, false);
                    if record.task().status.is_terminal() {
                        return;
                    }
                    record.due_at().saturating_sub(host.unix_time()).max(LEAST_PAUSE)
                }
                Some(Err(TaskError::Unknown)) => return,
                // The error may be temporary.
                Some(Err(_)) | None => RETRY,
            };
            let until = clock.now() + pause;
            poll_fn(|context| {
                let take = |changed: &mut bool| core::mem::take(changed).then_some(());
                match changed.poll(context.waker(), take) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => clock.poll_timer(context, until),
                }
            })
            .await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A watch that has not begun would find no host either.
        if self.is_running
            && let Some(host) = self.manager.host_except(&self.host)
        {
            return Self::new(&self.manager, &host, &self.id, self.changed.clone()).spawn();
        }
        self.manager.watched().end(&self.id, &self.changed);
    }
}

/// The tasks that a subscription names.
#[derive(serde::Deserialize)]
pub(super) struct SubscribedTasks {
    notifications: TaskFilter,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskFilter {
    task_ids: Vec<String>,
}

impl SubscribedTasks {
    pub(super) fn ids(self) -> impl Iterator<Item = TaskId> {
        self.notifications.task_ids.into_iter().map(TaskId::from)
    }
}
