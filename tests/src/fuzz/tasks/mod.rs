//! A task in a store that two processes and a client change at the same time, as a script says.
//!
//! In: bytes: steps. A change reads the record, and later writes it if nobody else has; the reply
//! of the store may be lost, so that the change is made again. Out: a panic if something is not as
//! the model has it:
//!
//! - a task ends once, and its status never leaves the end;
//! - an answer that the store has accepted reaches the handler, and the first one of a key counts;
//! - a handler is called again once for each round, with all answers of that round;
//! - a key of an input request is used once;
//! - a subscriber is told of states that there were, in order, up to the last one and no further.

#![expect(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "this is how a fuzz target says no"
)]

mod listener;
mod model;

use mcp_proto::server::InputRequired;
use mcp_proto::server::task::step::TaskStep;
use mcp_proto::server::task::{Record, TaskId};
use mcp_proto::types::{InputRequest, InputResponse, InputResponses};
use mcp_proto::{Bytes, Duration, ErrorData, Json};

use listener::TaskListener;
use model::TaskModel;

use super::script_bytes::ScriptBytes;

/// The most steps of a script.
const MAX_STEPS: usize = 128;

/// Time that the task may take.
const TTL: Duration = Duration::from_secs(100);

/// The keys of a handler, whose answers the client gives under the keys that it has seen.
const KEYS: [&str; 3] = ["a", "b", "c"];

/// Something that a process wants of the task.
#[derive(Clone, Debug)]
enum TaskChange {
    /// The handler of this run has ended with a result.
    Complete(u32, u8),
    Fail(u32),
    /// It asks for the keys with these bits.
    Ask(u32, u8),
    Report(u32, u8),
    /// The client answers the keys that it has seen, as far as their bits are set.
    Give(u8, u8),
    Cancel,
    /// Nothing; what the time has ended ends.
    Get,
    Renew,
}

/// A change that has read the record, and has not written it.
#[derive(Debug)]
struct PendingChange {
    change: TaskChange,
    now: Duration,
    revision: u64,
    record: Record,
}

/// The store, and those who change it.
struct TaskWorld {
    now: Duration,
    revision: u64,
    kept: Bytes,
    pending: Vec<PendingChange>,
    model: TaskModel,
    listener: TaskListener,
}

/// Plays a script.
///
/// # Panics
///
/// If a property does not hold.
pub fn tasks(data: &[u8]) {
    let mut bytes = ScriptBytes::new(data);
    let mut world = TaskWorld::new();
    for _ in 0..MAX_STEPS {
        if bytes.is_empty() {
            break;
        }
        world.step(&mut bytes);
    }
    while !world.pending.is_empty() {
        world.write(0, false);
    }
    world.listener.end();
}

impl TaskWorld {
    fn new() -> Self {
        let now = Duration::from_secs(1_800_000_000);
        let record = Record::new(now, &TaskId::from("t".to_owned()), TTL, TTL);
        let mut listener = TaskListener::new();
        listener.written(&record);
        let model = TaskModel::new(now + TTL);
        let kept = record.to_bytes();
        Self { now, revision: 0, kept, pending: Vec::new(), model, listener }
    }

    fn step(&mut self, bytes: &mut ScriptBytes<'_>) {
        let (kind, number) = (bytes.next(), bytes.next());
        let run = self.record().run().saturating_sub(u32::from(number & 1 != 0 && number > 192));
        let change = match kind % 16 {
            0 => TaskChange::Complete(run, number),
            1 => TaskChange::Fail(run),
            2 | 3 => TaskChange::Ask(run, 1 + number % 7),
            4 => TaskChange::Report(run, number % 4),
            5..=7 => TaskChange::Give(number % 128, kind / 16),
            8 => TaskChange::Cancel,
            9 => TaskChange::Get,
            10 => TaskChange::Renew,
            11 => {
                let jump = if number < 250 { u64::from(number) } else { 90_000 };
                self.now += Duration::from_millis(jump * 10);
                return;
            }
            12 => return self.listener.publish(usize::from(number)),
            13 => return self.listener.take(),
            _ => {
                let at = usize::from(number >> 1).checked_rem(self.pending.len());
                return at.map_or((), |at| self.write(at, number & 1 != 0));
            }
        };
        if self.pending.len() < 4 {
            let pending = self.read(change);
            self.pending.push(pending);
        }
    }

    fn record(&self) -> Record {
        Record::from_bytes(self.kept.clone()).expect("a record that was written")
    }

    fn read(&self, change: TaskChange) -> PendingChange {
        PendingChange { change, now: self.now, revision: self.revision, record: self.record() }
    }

    /// Writes a change, if nobody else has; if so, or if the reply is lost, it reads again.
    fn write(&mut self, at: usize, loses_reply: bool) {
        let PendingChange { change, now, revision, mut record } = self.pending.remove(at);
        let before = record.clone();
        let over = record.handle_timeout(now);
        let step = apply(&change, &mut record, now);
        let is_current = revision == self.revision;
        if (over, step) == (TaskStep::Ignore, TaskStep::Ignore) {
            assert!(record == before, "a change that changes nothing");
            if is_current {
                self.model.ignored(&change, now);
            }
            return;
        }
        if is_current {
            self.model.written(&change, now, &before, &record);
            self.kept = record.to_bytes();
            assert!(self.record() == record, "a record is read as it was written");
            self.revision += 1;
            self.listener.written(&record);
        }
        if !is_current || loses_reply {
            let again = self.read(change);
            self.pending.push(again);
        }
    }
}

/// Applies a change to a record that was read.
fn apply(change: &TaskChange, record: &mut Record, now: Duration) -> TaskStep {
    let run = record.run();
    match change {
        TaskChange::Complete(of, number) if *of == run => {
            record.complete(now, Json::encode(&serde_json::json!({"n": number})).expect("JSON"))
        }
        TaskChange::Fail(of) if *of == run => record.fail(now, ErrorData::internal("it fails")),
        TaskChange::Ask(of, bits) if *of == run => {
            let keys = KEYS.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
            let requests = keys.map(|(_, key)| ((*key).to_owned(), InputRequest::list_roots()));
            let mut required = InputRequired::new("a", InputRequest::list_roots());
            required.requests = requests.collect();
            record.ask(now, required)
        }
        TaskChange::Report(of, number) if *of == run => record.report(now, number.to_string()),
        TaskChange::Complete(..)
        | TaskChange::Fail(_)
        | TaskChange::Ask(..)
        | TaskChange::Report(..)
        | TaskChange::Get => TaskStep::Ignore,
        TaskChange::Give(bits, value) => record.give(now, responses(*bits, *value)),
        TaskChange::Cancel => record.cancel(now),
        TaskChange::Renew => record.renew(now + Duration::from_secs(20)),
    }
}

/// Answers to keys that clients may have seen, and to one that nobody has.
fn responses(bits: u8, value: u8) -> InputResponses {
    const SHOWN: [&str; 7] = ["a", "b", "c", "a-2", "b-2", "c-2", "nobody"];
    let keys = SHOWN.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
    let answer = InputResponse::from(Json::encode(&serde_json::json!({"v": value})).expect("JSON"));
    keys.map(|(_, key)| ((*key).to_owned(), answer.clone())).collect()
}
