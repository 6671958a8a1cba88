//! The tables that decide what an answer over HTTP means to a client, and what follows when a
//! stream breaks, as a whole.
//!
//! Each row has a conversation in `tests/transcripts/http-client`; here every combination is
//! walked, and the rules that the tables must keep are written down a second time, without looking
//! at them.

#![expect(clippy::expect_used, reason = "a gap in a table ends the test")]

use std::collections::BTreeSet;

use mcp_proto::Duration;
use mcp_proto::http::client::answer::{self, Asked, Body, Class, Meaning};
use mcp_proto::http::client::resume::{self, Break, Kind, Resumption};
use mcp_tests::transcript;

#[test]
fn every_answer_has_a_row_and_every_row_decides_one() {
    let reached = answers().map(|answer| answer.row).collect();
    assert_eq!(names(answer::TABLE.rows().iter().map(|row| row.name)), reached);
}

#[test]
fn every_break_has_a_row_and_every_row_decides_one() {
    let reached = breaks().map(|case| case.row).collect();
    assert_eq!(names(resume::TABLE.rows().iter().map(|row| row.name)), reached);
}

#[test]
fn every_row_has_a_conversation() {
    let shown = |table| transcript::rows_of(table, |it| it.plays_client() && it.speaks_http());
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    let answers: BTreeSet<String> = owned(names(answer::TABLE.rows().iter().map(|row| row.name)));
    let breaks: BTreeSet<String> = owned(names(resume::TABLE.rows().iter().map(|row| row.name)));
    assert_eq!(shown("answer"), answers, "the `# row: answer/…` comments, and the rows");
    assert_eq!(shown("resume"), breaks, "the `# row: resume/…` comments, and the rows");
}

#[test]
fn every_status_has_a_class() {
    for status in 0..=u16::MAX {
        let expected = match status {
            401 | 403 => Class::Unauthorized,
            400 | 404 | 405 => Class::Absent,
            _ => match status / 100 {
                2 => Class::Success,
                3 => Class::Redirection,
                4 => Class::ClientError,
                _ => Class::ServerError,
            },
        };
        assert_eq!(Class::of(status), expected, "{status}");
    }
}

#[test]
fn every_status_breaks_a_stream_in_one_way() {
    for status in 0..=u16::MAX {
        let expected = match status {
            401 | 403 => Break::Unauthorized,
            404 => Break::NotFound,
            405 | 501 => Break::Unsupported,
            408 | 425 | 429 => Break::Unavailable,
            409 => Break::Conflict,
            _ => match status / 100 {
                2 => Break::NoEvents,
                3 | 4 => Break::Refused,
                _ => Break::Unavailable,
            },
        };
        assert_eq!(Break::of(status), expected, "{status}");
    }
}

#[test]
fn a_result_counts_where_the_status_says_that_there_is_one() {
    for answer in answers().filter(|answer| answer.body == Body::Result) {
        let counts = answer.meaning == Meaning::Body;
        assert_eq!(counts, answer.class == Class::Success, "{answer:?}");
    }
}

#[test]
fn t038_an_error_reaches_the_caller_whatever_the_status() {
    for answer in answers().filter(|answer| answer.asked == Asked::Call) {
        let expected = match (answer.body, answer.class) {
            (Body::Result | Body::Endpoint | Body::Nothing, _) => continue,
            // Who asks is what such a server wants to know.
            (Body::Unknown | Body::Error, Class::Unauthorized) => Meaning::Unauthorized,
            (Body::ModernError | Body::Unknown | Body::Error, _) => Meaning::Body,
        };
        assert_eq!(answer.meaning, expected, "{answer:?}");
    }
}

/// "The server speaks a modern version" by an error of its own, at any status; 401, 403, 5xx and
/// redirections say nothing of the era.
#[test]
fn t002_what_says_nothing_of_the_era_is_no_answer_to_the_probe() {
    for answer in answers().filter(|answer| answer.asked != Asked::Call) {
        let expected = match (answer.class, answer.body) {
            (_, Body::ModernError) => Meaning::Body,
            (Class::Unauthorized, _) => Meaning::Unauthorized,
            (Class::Redirection | Class::ServerError, _) => Meaning::Unavailable,
            _ if looks_for_old_transport(&answer) => Meaning::HttpSseTransport,
            (
                Class::Success | Class::Absent | Class::ClientError,
                Body::Nothing | Body::Endpoint,
            )
            | (Class::Absent | Class::ClientError, Body::Result) => Meaning::Status,
            (Class::Success | Class::Absent | Class::ClientError, _) => Meaning::Body,
        };
        assert_eq!(answer.meaning, expected, "{answer:?}");
    }
}

/// "400 Bad Request, 404 Not Found or 405 Method Not Allowed", without an error that a modern
/// server would send, and to `initialize` alone; or a stream that begins as that of such a server.
fn looks_for_old_transport(answer: &Answer) -> bool {
    let is_refused = answer.class == Class::Absent;
    let is_not_modern = matches!(answer.body, Body::Error | Body::Nothing);
    let is_stream = answer.class == Class::Success && answer.body == Body::Endpoint;
    let may = answer.asked == Asked::Initialize && answer.may_be_old;
    may && (is_refused && is_not_modern || is_stream)
}

#[test]
fn sse_e5_only_a_refused_initialize_leads_to_the_old_transport() {
    for answer in answers() {
        let leads = answer.meaning == Meaning::HttpSseTransport;
        assert_eq!(leads, looks_for_old_transport(&answer), "{answer:?}");
        if matches!(answer.class, Class::Unauthorized | Class::ServerError | Class::Redirection) {
            assert!(!leads, "{answer:?}");
        }
    }
}

#[test]
fn what_is_no_response_is_never_taken_for_one() {
    let is_none = |answer: &Answer| matches!(answer.body, Body::Nothing | Body::Endpoint);
    for answer in answers().filter(is_none) {
        assert_ne!(answer.meaning, Meaning::Body, "{answer:?}");
    }
}

/// A call is resumed from an id, and is never sent a second time.
#[test]
fn only_what_is_idempotent_is_attempted_again() {
    for case in breaks() {
        match case.then {
            Resumption::Resume => assert!(
                matches!(case.kind, Kind::Resumable | Kind::Opening | Kind::Listening),
                "{case:?}"
            ),
            Resumption::Restart | Resumption::Check | Resumption::Stop => {
                assert!(matches!(case.kind, Kind::Opening | Kind::Listening), "{case:?}");
            }
            Resumption::Lose => assert_eq!(case.kind, Kind::Listening, "{case:?}"),
            Resumption::Reopen => {
                assert!(matches!(case.kind, Kind::Subscribing | Kind::Subscription), "{case:?}");
            }
            Resumption::Resend => {
                assert!(matches!(case.kind, Kind::Answer | Kind::Beginning), "{case:?}");
            }
            Resumption::Authorize => assert_eq!(case.broke, Break::Unauthorized, "{case:?}"),
            Resumption::Fail => {
                assert!(!matches!(case.kind, Kind::Opening | Kind::Listening), "{case:?}");
            }
        }
    }
}

/// A GET ends for good by 405 and 501, and by nothing else; so does a subscription that was open.
#[test]
fn second_hour_03_only_405_and_501_stop_a_stream() {
    for case in breaks() {
        let is_stream = matches!(case.kind, Kind::Opening | Kind::Listening | Kind::Subscription);
        if is_stream {
            let stops = matches!(case.then, Resumption::Stop | Resumption::Fail);
            assert_eq!(stops, case.broke == Break::Unsupported, "{case:?}");
        }
    }
    for status in 0..=999 {
        let is_unsupported = Break::of(status) == Break::Unsupported;
        assert_eq!(is_unsupported, matches!(status, 405 | 501), "{status}");
    }
}

/// Neither a cut nor an overloaded server ends what the application wants.
#[test]
fn second_hour_03_an_outage_ends_nothing_but_calls_without_an_id() {
    let passing = [Break::Ended, Break::Cut, Break::Unavailable, Break::Conflict];
    for case in breaks().filter(|case| passing.contains(&case.broke)) {
        let ends = matches!(case.then, Resumption::Fail | Resumption::Stop);
        let expected = match case.kind {
            Kind::Call | Kind::Notification => true,
            Kind::Answer | Kind::Beginning => !case.may_try,
            Kind::Resumable
            | Kind::Subscribing
            | Kind::Subscription
            | Kind::Opening
            | Kind::Listening => false,
        };
        assert_eq!(ends, expected, "{case:?}");
    }
}

#[test]
fn t057_t058_the_back_off_doubles_up_to_its_end_and_jitter_only_adds() {
    let ms = Duration::from_millis;
    let seconds = [1, 2, 4, 8, 16, 32, 60, 60];
    for (tries, seconds) in (0..).zip(seconds) {
        assert_eq!(resume::delay(tries, None, 0), ms(seconds * 1000), "{tries}");
        assert_eq!(resume::delay(tries, None, 255), ms(seconds * 1250), "{tries}");
    }
    // A server that says more is waited for as long, and one that says less is not asked at once.
    assert_eq!(resume::delay(0, Some(ms(75_000)), 0), ms(75_000));
    assert_eq!(resume::delay(3, Some(ms(75_000)), 0), ms(75_000));
    assert_eq!(resume::delay(1, Some(ms(300)), 0), ms(600));
    assert_eq!(resume::delay(0, Some(ms(0)), 0), ms(100));
    let hour = ms(60 * 60 * 1000);
    for tries in [0, 31, 32, 33, u32::MAX] {
        for retry in [None, Some(ms(0)), Some(ms(u64::MAX)), Some(Duration::MAX)] {
            for random in 0..=255 {
                let delay = resume::delay(tries, retry, random);
                assert!(delay >= ms(100) && delay <= hour * 5 / 4, "{tries} {retry:?} {random}");
                assert!(delay >= retry.unwrap_or_default().min(hour), "{tries} {retry:?} {random}");
            }
        }
    }
}

/// An answer, and what the table makes of it.
#[derive(Clone, Copy, Debug)]
struct Answer {
    asked: Asked,
    class: Class,
    body: Body,
    may_be_old: bool,
    row: &'static str,
    meaning: Meaning,
}

fn answers() -> impl Iterator<Item = Answer> {
    answer::TABLE.cases().map(|((asked, class, body, may_be_old), row)| {
        let row = row.expect("a row for every answer");
        Answer { asked, class, body, may_be_old, row: row.name, meaning: row.then }
    })
}

/// An exchange that breaks, and what the table makes of it.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    broke: Break,
    may_try: bool,
    row: &'static str,
    then: Resumption,
}

fn breaks() -> impl Iterator<Item = Case> {
    resume::TABLE.cases().map(|((kind, broke, may_try), row)| {
        let row = row.expect("a row for every break");
        Case { kind, broke, may_try, row: row.name, then: row.then }
    })
}

/// The names of the rows of a table, each once.
fn names(rows: impl Iterator<Item = &'static str>) -> BTreeSet<&'static str> {
    let all: Vec<&str> = rows.collect();
    let names: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(names.len(), all.len(), "two rows have one name");
    names
}
