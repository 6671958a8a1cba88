//! The model of a task: what a change that was written must have done.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::Duration;
use mcp_proto::server::task::Record;
use mcp_proto::types::{InputResponses, TaskStatus};
use serde_json::Value;

use super::{KEYS, TaskChange, responses};

/// The most keys of input requests that a task has.
const MAX_KEYS: usize = 256;

/// The task as its changes must have made it, apart from its record.
pub(super) struct TaskModel {
    ends_at: Duration,
    lease: Option<Duration>,
    status: TaskStatus,
    /// The keys that are open, with those of the handler.
    open: BTreeMap<String, String>,
    used: BTreeSet<String>,
    /// The answers of this round, by the handler's keys.
    given: InputResponses,
    run: u32,
}

impl TaskModel {
    pub(super) fn new(ends_at: Duration) -> Self {
        Self {
            ends_at,
            lease: None,
            status: TaskStatus::Working,
            open: BTreeMap::new(),
            used: BTreeSet::new(),
            given: InputResponses::new(),
            run: 0,
        }
    }

    /// A change has read the present record, and has found that it changes nothing.
    pub(super) fn ignored(&mut self, change: &TaskChange, now: Duration) {
        let (status, given) = (self.status, self.given.len());
        let is_over = self.is_over(now);
        assert!(!is_over || status.is_terminal(), "the time of the task is over");
        if status.is_terminal() {
            return;
        }
        match change {
            TaskChange::Complete(run, _) | TaskChange::Fail(run) | TaskChange::Ask(run, _) => {
                assert!(*run != self.run, "{change:?} is lost");
            }
            TaskChange::Give(bits, value) => {
                let answers = responses(*bits, *value);
                assert!(!self.open.keys().any(|key| answers.contains_key(key)), "{change:?}");
                assert_eq!(given, self.given.len());
            }
            TaskChange::Cancel | TaskChange::Renew => panic!("{change:?} is lost"),
            TaskChange::Report(..) | TaskChange::Get => {}
        }
    }

    /// A change has turned the present record into this one.
    pub(super) fn written(
        &mut self,
        change: &TaskChange,
        now: Duration,
        before: &Record,
        record: &Record,
    ) {
        assert!(!self.status.is_terminal(), "{change:?} changes a task that has ended");
        assert_eq!(before.task().status, self.status);
        let detailed: Value = record.detailed().decode().expect("a task");
        if self.is_over(now) {
            self.status = TaskStatus::Failed;
        } else {
            self.change(change, now, &detailed);
        }
        assert_eq!(record.task().status, self.status, "{change:?}");
        assert_eq!(record.run(), self.run, "{change:?}");
        let shown = detailed["inputRequests"].as_object().cloned().unwrap_or_default();
        if self.status.is_terminal() {
            let content = ["result", "error"].map(|member| detailed.get(member).is_some());
            let expected =
                [TaskStatus::Completed, TaskStatus::Failed].map(|status| status == self.status);
            assert_eq!((content, shown.len()), (expected, 0), "{detailed}");
            return;
        }
        assert!(shown.keys().eq(self.open.keys()), "{detailed}");
        assert_eq!(record.input().responses, self.given, "answers of a round");
        let visible = before.detailed() != record.detailed();
        assert!(!visible || record.changes() > before.changes(), "a state without a number");
    }

    fn change(&mut self, change: &TaskChange, now: Duration, detailed: &Value) {
        match change {
            TaskChange::Complete(_, number) => {
                self.status = TaskStatus::Completed;
                assert_eq!(detailed["result"]["n"], *number);
            }
            TaskChange::Fail(_) => self.status = TaskStatus::Failed,
            TaskChange::Cancel => self.status = TaskStatus::Cancelled,
            TaskChange::Ask(_, bits) => self.ask(*bits, detailed),
            TaskChange::Give(bits, value) => {
                for (key, answer) in responses(*bits, *value) {
                    if let Some(key) = self.open.remove(&key) {
                        assert!(self.given.insert(key, answer).is_none(), "answered twice");
                    }
                }
                if self.open.is_empty() {
                    self.status = TaskStatus::Working;
                    self.run += 1;
                }
            }
            TaskChange::Renew => self.lease = Some(now + Duration::from_secs(20)),
            TaskChange::Report(_, number) => {
                assert_eq!(detailed["statusMessage"], number.to_string());
            }
            TaskChange::Get => panic!("a poll changes nothing"),
        }
    }

    /// The handler asks: each key is one that nobody has seen. A task with too many keys fails.
    fn ask(&mut self, bits: u8, detailed: &Value) {
        let asked = KEYS.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
        let asked: BTreeSet<&str> = asked.map(|(_, key)| *key).collect();
        if self.used.len() + asked.len() > MAX_KEYS {
            self.status = TaskStatus::Failed;
            return;
        }
        self.status = TaskStatus::InputRequired;
        self.lease = None;
        self.given.clear();
        self.open.clear();
        let shown = detailed["inputRequests"].as_object().expect("requests");
        for key in shown.keys() {
            assert!(self.used.insert(key.clone()), "{key} is used twice");
            let own = key.split('-').next().unwrap_or_default();
            self.open.insert(key.clone(), own.to_owned());
        }
        assert_eq!(self.open.values().map(String::as_str).collect::<BTreeSet<_>>(), asked);
    }

    /// Returns whether the TTL has passed, or the lease of a task that works.
    fn is_over(&self, now: Duration) -> bool {
        let works = self.status == TaskStatus::Working;
        self.ends_at <= now || works && self.lease.is_some_and(|lease| lease <= now)
    }
}
