//! State of a call that follows its task.
//!
//! In: the task from polls, failures of polls, inputs of the application. Out: the times of polls,
//! the parameters of `tasks/get` and `tasks/update`, the keys that are new.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::call_error::CallError;
use super::{FollowEvent, FollowInput};
use crate::error::{ErrorCode, ProtocolError};
use crate::json::Json;
use crate::json::write::{self, List};
use crate::time::{Duration, Instant};
use crate::types::{InputResponse, InputResponses, Task, TaskStatus};

/// The shortest and the longest interval between two polls.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

/// The first and the longest interval if the server names none.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST_DEFAULT: Duration = Duration::from_secs(10);

/// Time after the TTL of a task in which its server may still report its outcome.
const GRACE: Duration = Duration::from_secs(60);

/// The number of failed polls in a row after which -32603 ends the call.
const MAX_FAILURES: u32 = 5;

/// The maximum number of recorded input keys, and their bytes; a task with more is not followed.
const MAX_KEYS: usize = 256;
const MAX_KEY_BYTES: usize = 64 * 1024;

/// The longest status in words that is kept.
const MAX_MESSAGE_BYTES: usize = 1024;

/// The task of a call, and the times of its polls.
#[derive(Debug)]
pub(in super::super) struct FollowedTask {
    task_id: String,
    /// True if the server has made the task of this call, not of an earlier call.
    is_own: bool,
    /// The last state of the task that the client has seen.
    seen: Option<SeenTask>,
    /// The time at which the client first saw the task.
    since: Instant,
    /// The end of the call, independent of the task.
    latest: Instant,
    /// The current interval while the server names none.
    default_interval: Duration,
    /// The number of failed polls since the last answer.
    failures: u32,
    /// The time of the last answer.
    answered: Instant,
    /// The end of the time for which the server wants no request (`Retry-After`).
    refused_until: Instant,
    /// True if a subscription has reported the task since the poll in flight was sent.
    was_reported: bool,
    /// The keys that the application has been asked for.
    missing: BTreeSet<String>,
    /// The inputs that the application has given and the server has neither accepted nor refused.
    given: InputResponses,
    /// Inputs that the server has refused. An input that the next polls list is given once more:
    /// the server may have refused it because of another input, or may have shown an older state.
    refused: InputResponses,
    /// The error of the last refusal.
    refusal: Option<CallError>,
    /// The keys of inputs that were given once more.
    repeated: BTreeSet<String>,
    /// The keys of accepted inputs; the server may still list them for a while.
    accepted: BTreeSet<String>,
}

/// The part of a task that a client compares with the next state.
#[derive(Debug)]
struct SeenTask {
    status: TaskStatus,
    /// The status in words, if it is short. A longer text always counts as changed.
    message: Option<String>,
    ttl_ms: Option<u64>,
    poll_interval_ms: Option<u64>,
}

impl SeenTask {
    fn of(task: &Task) -> Self {
        let Task { status, status_message, ttl_ms, poll_interval_ms, .. } = task;
        let message = status_message.as_ref().filter(|text| text.len() <= MAX_MESSAGE_BYTES);
        Self {
            status: *status,
            message: message.cloned(),
            ttl_ms: *ttl_ms,
            poll_interval_ms: *poll_interval_ms,
        }
    }
}

impl FollowedTask {
    /// The task that the server has made of a call, which ends at `latest`.
    pub(in super::super) fn created(now: Instant, task: &Task, latest: Instant) -> Self {
        let seen = Some(SeenTask::of(task));
        Self { is_own: true, seen, ..Self::resumed(now, task.task_id.clone(), latest) }
    }

    /// The task of an earlier call, in a call that ends at `latest`.
    pub(in super::super) fn resumed(now: Instant, task_id: String, latest: Instant) -> Self {
        Self {
            task_id,
            is_own: false,
            seen: None,
            since: now,
            latest,
            default_interval: FIRST,
            failures: 0,
            answered: now,
            refused_until: now,
            was_reported: false,
            missing: BTreeSet::new(),
            given: InputResponses::new(),
            refused: InputResponses::new(),
            refusal: None,
            repeated: BTreeSet::new(),
            accepted: BTreeSet::new(),
        }
    }

    pub(in super::super) fn task_id(&self) -> &str {
        &self.task_id
    }

    /// Returns whether the task is cancelled with its call.
    pub(in super::super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Records the state of the task; returns whether it is new for the application.
    pub(in super::super) fn observe(&mut self, task: &Task) -> bool {
        self.failures = 0;
        if let Some(before) = &self.seen {
            let is_named = before.poll_interval_ms.or(task.poll_interval_ms).is_some();
            let longer = (self.default_interval * 3 / 2).min(LONGEST_DEFAULT);
            self.default_interval = if is_named { FIRST } else { longer };
        }
        let is_news = self.seen.as_ref().is_none_or(|before| {
            before.status != task.status || before.message != task.status_message
        });
        self.seen = Some(SeenTask::of(task));
        is_news
    }

    /// The end of the call, unless the task ends before: 60 s after its TTL, counted from when the
    /// client first saw the task.
    pub(in super::super) fn ends(&self) -> Instant {
        self.gives_up().min(self.latest)
    }

    /// Returns whether the TTL of the task has been over for 60 s.
    pub(in super::super) fn is_over(&self, now: Instant) -> bool {
        self.gives_up() <= now
    }

    fn gives_up(&self) -> Instant {
        let ttl = self.seen.as_ref().and_then(|task| task.ttl_ms);
        ttl.map_or(Instant::NEVER, |ttl| self.since + Duration::from_millis(ttl) + GRACE)
    }

    /// The time between two polls.
    pub(in super::super) fn interval(&self) -> Duration {
        let named = self.seen.as_ref().and_then(|task| task.poll_interval_ms);
        named.map_or(self.default_interval, |named| {
            Duration::from_millis(named).clamp(SHORTEST, LONGEST)
        })
    }

    /// Records that a poll was answered, and the task continues; returns the time until the next
    /// poll.
    pub(in super::super) fn record_answer(&mut self, now: Instant) -> Duration {
        self.answered = now;
        let was_reported = core::mem::take(&mut self.was_reported);
        if was_reported { SHORTEST } else { self.interval() }
    }

    /// Records that a subscription has reported the task; returns the time of the next poll, if no
    /// request is in flight.
    pub(in super::super) fn handle_report(
        &mut self,
        now: Instant,
        is_between_polls: bool,
    ) -> Option<Instant> {
        self.was_reported = !is_between_polls;
        is_between_polls.then(|| now.max(self.answered + SHORTEST).max(self.refused_until))
    }

    /// Returns whether the interval is so long that the first poll does not wait for it.
    pub(in super::super) fn is_slow(&self) -> bool {
        self.interval() > FIRST
    }

    /// The event for a request about the task that failed with this error, or had no answer.
    /// `gives` is true for `tasks/update`. A server that has never reported the task, or that
    /// repeats -32603, ends the call.
    pub(in super::super) fn event_of(&self, error: &CallError, gives: bool) -> FollowEvent {
        let is_internal = matches!(
            error,
            CallError::Error { error, .. } if error.code == ErrorCode::INTERNAL_ERROR
        );
        if is_internal && (self.seen.is_none() || self.failures >= MAX_FAILURES) {
            return FollowEvent::Refused;
        }
        let event = FollowEvent::of_error(error);
        if gives && event == FollowEvent::Unknown { FollowEvent::Rejected } else { event }
    }

    /// Records that the server wants no request for this time.
    pub(in super::super) fn refuse(&mut self, now: Instant, retry_after: Duration) {
        self.refused_until = now + retry_after.min(LONGEST);
    }

    /// The end of the time for which the server wants no request.
    pub(in super::super) fn refused_until(&self) -> Instant {
        self.refused_until
    }

    /// Records a failed poll; returns the time until the next poll.
    pub(in super::super) fn fail(&mut self, now: Instant) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let delay = self.interval().saturating_mul(2_u32.saturating_pow(self.failures));
        delay.min(LONGEST).max(self.refused_until.duration_since(now))
    }

    /// The state of the input; `needs_new_input` is true if the task needs new input.
    pub(in super::super) fn input(&self, needs_new_input: bool) -> FollowInput {
        match (needs_new_input, self.missing.is_empty(), self.given.is_empty()) {
            (true, _, _) => FollowInput::New,
            (false, false, _) => FollowInput::Pending,
            (false, true, false) => FollowInput::Complete,
            (false, true, true) => FollowInput::Nothing,
        }
    }

    /// Returns whether the application was not asked for the input with this key yet.
    pub(in super::super) fn is_new(&self, key: &str) -> bool {
        let has_answer = self.given.contains_key(key) || self.refused.contains_key(key);
        !has_answer && !self.missing.contains(key) && !self.accepted.contains(key)
    }

    /// Drops the missing keys that the task no longer lists. Given inputs are kept, so that the
    /// application is not asked again if the server has shown an older state.
    pub(in super::super) fn keep(&mut self, listed: impl Fn(&str) -> bool) {
        self.missing.retain(|key| listed(key));
    }

    /// Fails if there is no room to record more keys.
    pub(in super::super) fn admit<'a>(
        &'a self,
        keys: impl Iterator<Item = &'a String>,
    ) -> Result<(), ProtocolError> {
        let answered = self.given.keys().chain(self.refused.keys()).chain(&self.accepted);
        let known = self.missing.iter().chain(answered);
        let add = |(count, bytes): (usize, usize), key: &String| {
            (count.saturating_add(1), bytes.saturating_add(key.len()))
        };
        let (count, bytes) = known.chain(keys).fold((0, 0), add);
        if count > MAX_KEYS || bytes > MAX_KEY_BYTES {
            let expected = "a task that asks for at most 256 inputs, with keys of 64 KiB in all";
            return Err(ProtocolError::InvalidResult { expected });
        }
        Ok(())
    }

    /// Records that the application is asked for the missing keys; the other inputs are available
    /// at once.
    pub(in super::super) fn record_requested(
        &mut self,
        missing: BTreeSet<String>,
        given: InputResponses,
    ) {
        self.missing.extend(missing);
        self.given.extend(given);
    }

    /// Records an input of the application.
    pub(in super::super) fn give(&mut self, key: String, answer: Json) {
        if self.missing.remove(&key) {
            self.given.insert(key, InputResponse::from(answer));
        }
    }

    /// Records that the server has accepted the given inputs.
    pub(in super::super) fn accept(&mut self) {
        self.failures = 0;
        self.accepted.extend(core::mem::take(&mut self.given).into_keys());
    }

    /// Records that the server has refused the given inputs with this error.
    pub(in super::super) fn reject(&mut self, error: CallError) {
        self.refused.append(&mut self.given);
        if let CallError::Error { error, status } = error {
            self.refusal = Some(CallError::Error { error: error.limited(), status });
        }
    }

    /// Gives the refused inputs once more that the task still lists. Returns the last error if the
    /// server has refused one of them twice: the error was about an input then, and not about the
    /// task.
    pub(in super::super) fn repeat_refused(
        &mut self,
        listed: impl Fn(&str) -> bool,
    ) -> Option<CallError> {
        let refused = core::mem::take(&mut self.refused);
        let (needed, others): (InputResponses, _) =
            refused.into_iter().partition(|(key, _)| listed(key));
        self.refused = others;
        if needed.keys().any(|key| self.repeated.contains(key)) {
            return self.refusal.take();
        }
        self.repeated.extend(needed.keys().cloned());
        self.given.extend(needed);
        None
    }

    /// The parameters of `tasks/get`.
    pub(in super::super) fn params(&self) -> Json {
        about_task(&self.task_id)
    }

    /// The parameters of `tasks/update`.
    pub(in super::super) fn update_params(&self) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.text("taskId", &self.task_id);
        object.key("inputResponses");
        let mut responses = List::object(object.out());
        for (key, response) in &self.given {
            responses.member(key, response.json().as_bytes());
        }
        responses.end();
        object.end();
        Json::trusted(out)
    }
}

/// The parameters of `tasks/get` and `tasks/cancel`.
pub(in super::super) fn about_task(task_id: &str) -> Json {
    write::text_object("taskId", task_id)
}
