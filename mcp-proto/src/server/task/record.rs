//! Record of a task in a store, and the effects of events on it.
//!
//! In: events of a handler, of `tasks/update` and `tasks/cancel`, and the time since the Unix
//! epoch. Out: the changed record, its JSON for the store, and the `DetailedTask` for clients. A
//! record is created when a call becomes a task, and contains everything that another process needs
//! to continue the task.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use core::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::TaskId;
use super::call::TaskCall;
use super::step::{TaskEvent, TaskStep, step};
use crate::change::TaskUpdate;
use crate::json::Json;
use crate::message::{ErrorData, Member};
use crate::server::input::task_input;
use crate::server::inputs::Inputs;
use crate::server::outcome::{Input, InputRequired};
use crate::time::{Duration, iso8601, millis};
use crate::types::{InputResponses, Task, TaskStatus, shown_id};

/// The version of the JSON of records. A record of another version is not read.
const VERSION: u32 = 1;

/// The most keys of input requests; with more keys the task fails.
const MAX_KEYS: usize = 256;

/// Time after the TTL in which clients still find the task, with the status failed.
const EXPIRY_GRACE: Duration = Duration::from_secs(60);

/// The shortest TTL after the end of a task, unless the TTL itself has ended it.
const MIN_RETENTION: Duration = Duration::from_secs(5 * 60);

/// Record of a task. [`Debug`](fmt::Debug) shows its status and 8 characters of its id.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    version: u32,
    task: Task,
    /// Milliseconds since the Unix epoch.
    created: u64,
    /// The principal that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The capabilities of the client that decide which input the task may ask for, if there is no
    /// call that declares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capabilities: Option<Json>,
    /// The call, if a handler of this server runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<TaskCall>,
    /// Number of times that the call was resumed.
    #[serde(default)]
    run: u32,
    /// State of the handler between two rounds of input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// The unanswered input requests, by the keys that clients see.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    open: BTreeMap<String, OpenRequest>,
    /// The answers of the current round, by the keys of the handler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    given: InputResponses,
    /// All keys that clients have ever seen.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    used: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData>,
    /// The time, in milliseconds since the Unix epoch, until which the process that runs the call
    /// holds its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<u64>,
    /// Number of the changes that clients can see.
    #[serde(default)]
    changes: u64,
}

/// An unanswered input request.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct OpenRequest {
    /// The handler's key.
    key: String,
    request: Json,
}

impl Record {
    /// A new task, created at `now`, with the status working.
    pub fn new(now: Duration, id: &TaskId, ttl: Duration, poll_interval: Duration) -> Self {
        let mut task = Task::new(id.as_str(), iso8601(now));
        task.ttl_ms = Some(millis(ttl));
        task.poll_interval_ms = Some(millis(poll_interval));
        Self {
            version: VERSION,
            task,
            created: millis(now),
            owner: None,
            capabilities: None,
            call: None,
            run: 0,
            state: None,
            open: BTreeMap::new(),
            given: InputResponses::new(),
            used: BTreeSet::new(),
            result: None,
            error: None,
            lease: None,
            changes: 0,
        }
    }

    /// Sets the principal that the task belongs to.
    pub fn owned_by(mut self, principal: Option<&str>) -> Self {
        self.owner = principal.map(String::from);
        self
    }

    /// Sets the `ClientCapabilities` of the request that became the task, for a task without
    /// [`Record::called`]. Only those that concern input are kept.
    pub fn for_client(mut self, capabilities: &Json) -> Self {
        let inputs = Inputs::of(capabilities);
        if inputs != Inputs::default() {
            self.capabilities = Json::encode(&inputs.capabilities()).ok();
        }
        self
    }

    /// Sets the call that a handler of this server runs; `input` is its input so far.
    pub fn called(mut self, call: TaskCall, input: Option<Input>) -> Self {
        self.call = Some(call);
        if let Some(Input { responses, state }) = input {
            (self.given, self.state) = (responses, state);
        }
        self
    }

    /// Reads the output of [`Record::to_bytes`]. Returns `None` if the text is not a record, or is
    /// a record of another version.
    pub fn from_bytes(text: impl Into<Bytes>) -> Option<Self> {
        let record: Self = Json::parse(text).ok()?.decode().ok()?;
        (record.version == VERSION).then_some(record)
    }

    /// The record as JSON, for a store.
    pub fn to_bytes(&self) -> Bytes {
        let json = Json::encode(self).unwrap_or(Json::EMPTY_OBJECT);
        Bytes::copy_from_slice(json.as_bytes())
    }

    /// The task as clients see it, without the data of its status.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The principal that the task belongs to.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The call, if a handler of this server runs it.
    pub fn call(&self) -> Option<&TaskCall> {
        self.call.as_ref()
    }

    /// Number of times that the call was resumed. Reports of an earlier run of its handler must be
    /// ignored.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// The input of the last round, with the handler's state.
    pub fn input(&self) -> Input {
        Input { responses: self.given.clone(), state: self.state.clone() }
    }

    /// The time, counted from `now`, for which a store keeps the record.
    pub fn expires_in(&self, now: Duration) -> Duration {
        self.ends_at().saturating_add(EXPIRY_GRACE).saturating_sub(now)
    }

    /// The end of the TTL, since the Unix epoch.
    pub fn ends_at(&self) -> Duration {
        Duration::from_millis(self.created.saturating_add(self.task.ttl_ms.unwrap_or(u64::MAX)))
    }

    /// Returns whether the record has expired, and only waits for its removal from the store.
    pub fn is_gone(&self, now: Duration) -> bool {
        self.expires_in(now).is_zero()
    }

    /// Ends the call with a result.
    pub fn complete(&mut self, now: Duration, result: Json) -> TaskStep {
        let step = self.apply(now, TaskEvent::Result);
        if step != TaskStep::Ignore {
            self.result = Some(result);
            self.task.status_message = None;
        }
        step
    }

    /// Ends the call with an error.
    pub fn fail(&mut self, now: Duration, error: ErrorData) -> TaskStep {
        self.end_with(now, TaskEvent::Error, error)
    }

    /// Checks that the client of the task has declared the capabilities for all this input; a
    /// "server MUST NOT send an `inputRequests` that the client has not declared support for".
    /// Returns the input for [`Record::ask`].
    ///
    /// Fails with -32021 if a capability is missing, and with -32603 if the messages of a sampling
    /// request have tool uses without results.
    pub fn check_input(&self, required: InputRequired) -> Result<InputRequired, ErrorData> {
        let declared = |call: &TaskCall| {
            let meta = call.params.raw().member("_meta")?;
            meta.member(Member::MetaClientCapabilities.name()).map(Inputs::of_raw)
        };
        let inputs = match &self.call {
            Some(call) => declared(call),
            None => self.capabilities.as_ref().map(Inputs::of),
        };
        task_input(inputs.unwrap_or_default(), required)
    }

    /// Handles an outcome that requires input. The new input requests replace the open ones. A key
    /// that was used before is replaced by another key. A task without requests, or with too many
    /// keys, fails.
    pub fn ask(&mut self, now: Duration, required: InputRequired) -> TaskStep {
        let InputRequired { requests, state } = required;
        if requests.is_empty() {
            let error = "the task asks for input without input requests";
            return self.fail(now, ErrorData::internal(error));
        }
        if self.used.len().saturating_add(requests.len()) > MAX_KEYS {
            let error = "the task asks for more input than a task may";
            return self.fail(now, ErrorData::internal(error));
        }
        let step = self.apply(now, TaskEvent::Ask);
        if step == TaskStep::Ignore {
            return step;
        }
        self.state = state;
        self.given.clear();
        self.open.clear();
        self.lease = None;
        for (key, request) in requests {
            let Ok(request) = Json::encode(&request) else { continue };
            let shown = self.unused(&key);
            self.used.insert(shown.clone());
            self.open.insert(shown, OpenRequest { key, request });
        }
        step
    }

    /// Handles an outcome that has only a state: no client is needed for the next round, so the
    /// call is resumed at once. Clients see no change.
    pub(crate) fn repeat(&mut self, state: String) -> TaskStep {
        if self.task.status != TaskStatus::Working {
            return TaskStep::Ignore;
        }
        self.state = Some(state);
        self.given.clear();
        self.run = self.run.wrapping_add(1);
        TaskStep::Resume
    }

    /// Sets the progress message of the call.
    pub fn report(&mut self, now: Duration, message: String) -> TaskStep {
        if self.task.status_message.as_ref() == Some(&message) {
            return TaskStep::Ignore;
        }
        let step = self.apply(now, TaskEvent::Message);
        if step != TaskStep::Ignore {
            self.task.status_message = Some(message);
        }
        step
    }

    /// The key of an answer without the type that its open request expects.
    pub fn misfit<'a>(&self, responses: &'a InputResponses) -> Option<&'a String> {
        responses.iter().find_map(|(key, answer)| {
            let open = self.open.get(key)?;
            (!answer.is_for(&open.request)).then_some(key)
        })
    }

    /// Handles the input of `tasks/update`. Answers to requests that are not open are ignored.
    pub fn give(&mut self, now: Duration, responses: InputResponses) -> TaskStep {
        let event = match self.open.keys().filter(|key| responses.contains_key(*key)).count() {
            0 => return TaskStep::Ignore,
            count if count == self.open.len() => TaskEvent::Given,
            _ => TaskEvent::GivenPart,
        };
        let step = self.apply(now, event);
        if step != TaskStep::Ignore {
            for (key, response) in responses {
                if let Some(open) = self.open.remove(&key) {
                    self.given.insert(open.key, response);
                }
            }
        }
        step
    }

    /// Handles `tasks/cancel`.
    pub fn cancel(&mut self, now: Duration) -> TaskStep {
        self.apply(now, TaskEvent::Cancel)
    }

    /// Fails an unfinished task if `now` is after its TTL. For the process that runs the handler:
    /// there the call is known to be running, even after the end of the lease.
    pub fn handle_run_out(&mut self, now: Duration) -> TaskStep {
        if self.ends_at() > now {
            return TaskStep::Ignore;
        }
        let error = ErrorData::internal("the time of the task is over");
        self.end_with(now, TaskEvent::RunOut, error)
    }

    /// Fails an unfinished task if `now` is after its TTL or its lease.
    pub fn handle_timeout(&mut self, now: Duration) -> TaskStep {
        if self.ends_at() <= now {
            return self.handle_run_out(now);
        }
        if self.lease.is_some_and(|lease| Duration::from_millis(lease) <= now) {
            let error = ErrorData::internal("the process that ran the task has ended");
            return self.end_with(now, TaskEvent::Abandoned, error);
        }
        TaskStep::Ignore
    }

    /// Extends the lease of the process that runs the call to `until`.
    pub fn renew(&mut self, until: Duration) -> TaskStep {
        if self.task.status.is_terminal() {
            return TaskStep::Ignore;
        }
        self.lease = Some(millis(until));
        TaskStep::Change
    }

    /// Number of the changes that clients can see.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The state of the task, for its subscribers.
    pub fn update(&self) -> Option<TaskUpdate> {
        TaskUpdate::new(self.detailed(), self.changes, self.owner())
    }

    /// The time, since the Unix epoch, at which [`Self::handle_timeout`] has an effect if no event
    /// occurs before. For an ended task it is the end of its TTL.
    pub fn due_at(&self) -> Duration {
        let lease = self.lease.filter(|_| self.task.status == TaskStatus::Working);
        lease.map_or(self.ends_at(), |lease| self.ends_at().min(Duration::from_millis(lease)))
    }

    /// The task with the data of its status: a `DetailedTask`.
    pub fn detailed(&self) -> Json {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Detailed<'a> {
            #[serde(flatten)]
            task: &'a Task,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            input_requests: BTreeMap<&'a str, &'a Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a ErrorData>,
        }
        let open = self.open.iter().map(|(key, open)| (key.as_str(), &open.request));
        let detailed = Detailed {
            task: &self.task,
            input_requests: open.collect(),
            result: self.result.as_ref(),
            error: self.error.as_ref(),
        };
        Json::encode(&detailed).unwrap_or(Json::EMPTY_OBJECT)
    }

    fn end_with(&mut self, now: Duration, event: TaskEvent, error: ErrorData) -> TaskStep {
        let step = self.apply(now, event);
        if step != TaskStep::Ignore {
            self.task.status_message = Some(error.message.to_string());
            self.error = Some(error);
        }
        step
    }

    fn apply(&mut self, now: Duration, event: TaskEvent) -> TaskStep {
        let step = step(self.task.status, event);
        match step {
            TaskStep::Become(status) => self.task.status = status,
            TaskStep::Resume => {
                self.task.status = TaskStatus::Working;
                self.run = self.run.wrapping_add(1);
            }
            TaskStep::Change => {}
            TaskStep::Ignore => return step,
        }
        self.task.last_updated_at = iso8601(now);
        self.changes = self.changes.saturating_add(1);
        if self.task.status.is_terminal() {
            self.end();
            if event != TaskEvent::RunOut {
                let kept = millis(now.saturating_add(MIN_RETENTION)).saturating_sub(self.created);
                self.task.ttl_ms = self.task.ttl_ms.map(|ttl| ttl.max(kept));
            }
        }
        step
    }

    /// Drops all data that only a running task needs.
    fn end(&mut self) {
        self.open.clear();
        self.given.clear();
        self.used.clear();
        (self.state, self.call, self.lease) = (None, None, None);
        self.capabilities = None;
    }

    /// Returns the key, or the first of `key-2`, `key-3` and so on that clients have not seen.
    fn unused(&self, key: &str) -> String {
        let names = (2..).map(|number| alloc::format!("{key}-{number}"));
        let mut names = core::iter::once(String::from(key)).chain(names);
        names.find(|name| !self.used.contains(name)).unwrap_or_default()
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("id", &shown_id(&self.task.task_id))
            .field("status", &self.task.status)
            .finish_non_exhaustive()
    }
}
