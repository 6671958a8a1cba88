//! The tables of tasks as a whole: every combination is walked, and the rules that they must keep
//! are written down a second time, without looking at them.

#![expect(clippy::unwrap_used, reason = "a gap in a table ends the test")]

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::server::task::method::{self, Lookup, TaskAnswer, TaskMethod};
use mcp_proto::server::task::step::{self, TaskEvent, TaskStep};
use mcp_proto::server::task::{Record, TaskCall, TaskId};
use mcp_proto::server::{Input, InputRequired};
use mcp_proto::types::{InputRequest, InputResponse, TaskStatus};
use mcp_proto::{Duration, ErrorData, Json};

const NOW: Duration = Duration::from_secs(1_800_000_000);
const TTL: Duration = Duration::from_secs(3600);

#[test]
fn every_event_has_a_row_and_every_row_decides_one() {
    let reached: BTreeSet<_> = step::TABLE.cases().map(|(_, row)| row.unwrap().name).collect();
    assert_eq!(reached, step::TABLE.rows().iter().map(|row| row.name).collect());
}

#[test]
fn every_request_has_a_row_and_every_row_decides_one() {
    let reached: BTreeSet<_> = method::TABLE.cases().map(|(_, row)| row.unwrap().name).collect();
    assert_eq!(reached, method::TABLE.rows().iter().map(|row| row.name).collect());
}

#[test]
fn a_task_that_has_ended_never_changes() {
    for ((status, event), row) in step::TABLE.cases() {
        let then = row.unwrap().then;
        if status.is_terminal() {
            assert_eq!(then, TaskStep::Ignore, "{status:?} {event:?}");
        }
        let ends = matches!(then, TaskStep::Become(status) if status.is_terminal());
        let may_end = matches!(
            event,
            TaskEvent::Result
                | TaskEvent::Error
                | TaskEvent::Cancel
                | TaskEvent::RunOut
                | TaskEvent::Abandoned
        );
        assert!(!ends || may_end, "{status:?} {event:?}");
        // "isError" is a result; only errors fail.
        if then == TaskStep::Become(TaskStatus::Completed) {
            assert_eq!(event, TaskEvent::Result);
        }
        if then == TaskStep::Resume {
            assert_eq!((status, event), (TaskStatus::InputRequired, TaskEvent::Given));
        }
    }
}

#[test]
fn nothing_is_told_of_the_task_of_another_principal() {
    for ((method, readable, lookup), row) in method::TABLE.cases() {
        let then = row.unwrap().then;
        if lookup == Lookup::Foreign {
            assert_eq!(then, method::answer(method, readable, Lookup::Unknown));
        }
        let shows = lookup == Lookup::Found && (readable || method != TaskMethod::Update);
        let acts = matches!(then, TaskAnswer::Show | TaskAnswer::Give | TaskAnswer::Cancel);
        assert_eq!(acts, shows, "{method:?} {readable} {lookup:?}");
    }
}

/// Every event in every status, on a record.
#[test]
fn a_record_obeys_the_table() {
    for ((status, event), row) in step::TABLE.cases() {
        let mut record = with_status(status);
        let before = record.clone();
        let then = apply(&mut record, event);
        // Answers to what is not open never get as far as the table, nor does a lease without end.
        let expected = match (event, row.unwrap().then) {
            (TaskEvent::Abandoned, _) if status == TaskStatus::InputRequired => TaskStep::Ignore,
            (_, then) => then,
        };
        assert_eq!(then, expected, "{status:?} {event:?}");
        match then {
            TaskStep::Become(status) => assert_eq!(record.task().status, status),
            TaskStep::Resume => assert_eq!(record.task().status, TaskStatus::Working),
            TaskStep::Change => assert_eq!(record.task().status, status),
            TaskStep::Ignore => assert_eq!(record, before),
        }
        let read = Record::from_bytes(record.to_bytes());
        assert_eq!(read, Some(record), "{status:?} {event:?}");
    }
}

#[test]
fn task_t08_keys_are_used_once_and_answers_count_once() {
    let mut record = record();
    assert_eq!(
        record.ask(NOW, asks(&["name", "size"])),
        TaskStep::Become(TaskStatus::InputRequired)
    );
    assert_eq!(keys(&record), ["name", "size"]);
    assert_eq!(record.give(NOW, given(&["nobody"])), TaskStep::Ignore);
    assert_eq!(record.give(NOW, given(&["name"])), TaskStep::Change);
    assert_eq!(keys(&record), ["size"]);
    assert_eq!(record.give(NOW, given(&["name"])), TaskStep::Ignore);
    assert_eq!(record.give(NOW, given(&["name", "size", "nobody"])), TaskStep::Resume);
    let Input { responses, .. } = record.input();
    assert_eq!(responses.keys().map(String::as_str).collect::<Vec<_>>(), ["name", "size"]);

    // The same keys again are others for the client, and the handler's own for the handler.
    record.ask(NOW, asks(&["name", "name-2"]));
    assert_eq!(keys(&record), ["name-2", "name-2-2"]);
    assert_eq!(record.give(NOW, given(&["name", "size"])), TaskStep::Ignore);
    assert_eq!(record.give(NOW, given(&["name-2", "name-2-2"])), TaskStep::Resume);
    let Input { responses, .. } = record.input();
    assert_eq!(responses.keys().map(String::as_str).collect::<Vec<_>>(), ["name", "name-2"]);

    // What is superseded is not open any more.
    record.ask(NOW, asks(&["old"]));
    record.ask(NOW, asks(&["new"]));
    assert_eq!(keys(&record), ["new"]);
    assert_eq!(record.give(NOW, given(&["old"])), TaskStep::Ignore);
}

#[test]
fn a_task_that_asks_for_ever_fails() {
    let mut record = record();
    for _ in 0..256 {
        assert_eq!(record.ask(NOW, asks(&["a"])), TaskStep::Become(TaskStatus::InputRequired));
    }
    assert_eq!(record.ask(NOW, asks(&["a"])), TaskStep::Become(TaskStatus::Failed));
    let mut record = self::record();
    let nothing = InputRequired::default().state("s");
    assert_eq!(record.ask(NOW, nothing), TaskStep::Become(TaskStatus::Failed));
}

#[test]
fn runs_are_counted() {
    let mut record = record();
    for run in 0..3 {
        assert_eq!(record.run(), run);
        let key = if run == 0 { String::from("a") } else { format!("a-{}", run + 1) };
        record.ask(NOW, asks(&["a"]));
        assert_eq!(record.give(NOW, given(&[&key])), TaskStep::Resume);
        record = Record::from_bytes(record.to_bytes()).unwrap();
    }
}

#[test]
fn whoever_runs_a_task_knows_only_the_end_of_its_time() {
    let mut record = record();
    record.renew(NOW + Duration::from_secs(60));
    let before = TTL.saturating_sub(Duration::from_secs(1));
    assert_eq!(record.handle_run_out(NOW + before), TaskStep::Ignore);
    let mut other = record.clone();
    assert_eq!(other.handle_timeout(NOW + before), TaskStep::Become(TaskStatus::Failed));
    assert_eq!(record.handle_run_out(NOW + TTL), TaskStep::Become(TaskStatus::Failed));
}

#[test]
fn an_ended_task_is_kept_for_five_minutes_and_says_so() {
    let mut record = Record::new(NOW, &TaskId::from_bits([1; 16]), Duration::from_secs(60), TTL);
    let end = NOW + Duration::from_secs(50);
    record.complete(end, Json::EMPTY_OBJECT);
    assert_eq!(record.task().ttl_ms, Some(350_000));
    assert!(!record.is_gone(end + Duration::from_secs(300)));
    assert!(record.is_gone(end + Duration::from_secs(360)));

    let mut record = self::record();
    record.complete(end, Json::EMPTY_OBJECT);
    assert_eq!(record.task().ttl_ms, Some(3_600_000));
}

#[test]
fn a_record_of_another_version_is_not_read() {
    let text = String::from_utf8(record().to_bytes().to_vec()).unwrap();
    assert!(Record::from_bytes(text.clone()).is_some());
    assert!(Record::from_bytes(text.replace(r#""version":1"#, r#""version":2"#)).is_none());
    assert!(Record::from_bytes("{}").is_none());
    assert!(Record::from_bytes("\"").is_none());
}

#[test]
fn task_t17_debug_shows_eight_characters_of_an_id() {
    let params = Json::parse(r#"{"password":"secret"}"#).unwrap();
    let call = TaskCall { tool: "t".into(), params };
    let record = record().called(call.clone(), None);
    let mut ended = record.clone();
    ended.complete(NOW, Json::parse(r#"{"key":"secret"}"#).unwrap());
    for shown in [format!("{call:?}"), format!("{record:?}"), format!("{ended:?}")] {
        assert!(!shown.contains("secret"), "{shown}");
    }
    assert!(format!("{ended:?}").contains("Completed"));
    let id = TaskId::from_bits([1; 16]);
    for shown in [format!("{record:?}"), format!("{id:?}"), format!("{:?}", record.task())] {
        assert!(shown.contains("AQEBAQEB…") && !shown.contains(id.as_str()), "{shown}");
    }
}

fn record() -> Record {
    Record::new(NOW, &TaskId::from_bits([1; 16]), TTL, Duration::from_secs(1))
}

/// A record of this status, whose lease and two input requests are open as far as they can be.
fn with_status(status: TaskStatus) -> Record {
    let mut record = record();
    record.renew(NOW + Duration::from_secs(60));
    match status {
        TaskStatus::InputRequired => record.ask(NOW, asks(&["a", "b"])),
        TaskStatus::Completed => record.complete(NOW, Json::EMPTY_OBJECT),
        TaskStatus::Failed => record.fail(NOW, ErrorData::internal("failed")),
        TaskStatus::Cancelled => record.cancel(NOW),
        TaskStatus::Working | _ => TaskStep::Ignore,
    };
    assert_eq!(record.task().status, status);
    record
}

fn apply(record: &mut Record, event: TaskEvent) -> TaskStep {
    match event {
        TaskEvent::Result => record.complete(NOW, Json::EMPTY_OBJECT),
        TaskEvent::Error => record.fail(NOW, ErrorData::internal("failed")),
        TaskEvent::Ask => record.ask(NOW, asks(&["c"])),
        TaskEvent::Message => record.report(NOW, "half".into()),
        TaskEvent::Given => record.give(NOW, given(&["a", "b"])),
        TaskEvent::GivenPart => record.give(NOW, given(&["b"])),
        TaskEvent::Cancel => record.cancel(NOW),
        TaskEvent::RunOut => record.handle_timeout(NOW + TTL),
        TaskEvent::Abandoned => record.handle_timeout(NOW + Duration::from_secs(60)),
    }
}

fn asks(keys: &[&str]) -> InputRequired {
    let all = keys.iter().map(|key| ((*key).to_owned(), InputRequest::list_roots()));
    let mut required = InputRequired::default();
    required.requests = all.collect();
    required
}

fn given(keys: &[&str]) -> BTreeMap<String, InputResponse> {
    keys.iter().map(|key| ((*key).to_owned(), Json::EMPTY_OBJECT.into())).collect()
}

fn keys(record: &Record) -> Vec<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Detailed {
        input_requests: BTreeMap<String, Json>,
    }
    let detailed: Detailed = record.detailed().decode().unwrap();
    detailed.input_requests.into_keys().collect()
}
