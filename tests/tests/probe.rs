//! The table that decides which era a server belongs to, as a whole.
//!
//! Each row has a conversation in `tests/transcripts/client`; here every combination is walked, and
//! the rules that the table must keep are written down a second time, without looking at it.

use std::collections::BTreeSet;

use mcp_proto::client::Decision;
use mcp_proto::client::probe::{Failure, Move, ProbeOutcome, Step, TABLE};
use mcp_proto::decision_table::Column;
use mcp_tests::transcript::{self, Transcript};

#[test]
fn every_combination_has_a_row_and_every_row_decides_one() {
    let mut reached = BTreeSet::new();
    for case in all() {
        reached.insert(case.row().0);
    }
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), TABLE.rows().len(), "two rows have one name");
    assert_eq!(reached, names);
}

#[test]
fn every_row_decides_something_that_can_happen() {
    let mut reached = BTreeSet::new();
    for case in all().filter(|case| case.can_happen()) {
        reached.insert(case.row().0);
    }
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(reached, names);
}

#[test]
fn every_row_has_a_conversation() {
    let transcripts = transcript::all();
    let shown: BTreeSet<&str> = transcripts
        .iter()
        .filter(|transcript| transcript.plays_client())
        .flat_map(Transcript::comments)
        .filter_map(|comment| comment.strip_prefix("row: "))
        // The rows of other tables have the names of these before a slash.
        .filter(|name| !name.contains('/'))
        .collect();
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(shown, names, "the `# row:` comments of the transcripts, and the rows");
}

/// A conversation may negotiate twice and tell of the second time alone: so each row is told in one
/// of those that are about it.
#[test]
fn a_client_tells_the_rows_that_its_conversation_is_about() {
    let mut told = BTreeSet::new();
    for transcript in transcript::all() {
        let decisions = transcript.decisions();
        let is_own = |decision: &&Decision| decision.then != Move::HttpSseTransport;
        let own: Vec<_> = decisions.iter().filter(is_own).collect();
        assert!(own.len() <= Step::ALL.len(), "{}", transcript.name());
        for decision in &own {
            let either = [true, false].map(|falls_back| {
                TABLE
                    .find((decision.step, falls_back, decision.outcome))
                    .is_some_and(|row| (row.name, row.then) == (decision.row, decision.then))
            });
            assert!(either.contains(&true), "{}: {decision}", transcript.name());
            assert_ne!(decision.then, Move::Stay, "{}: {decision}", transcript.name());
        }
        let about: BTreeSet<&str> =
            transcript.comments().filter_map(|comment| comment.strip_prefix("row: ")).collect();
        let rows = own.iter().map(|decision| decision.row);
        told.extend(rows.filter(|row| about.contains(row)));
    }
    let moves = TABLE.rows().iter().filter(|row| row.then != Move::Stay);
    assert_eq!(told, moves.map(|row| row.name).collect());
}

/// Each step has a deadline, and what comes of it, silence at the latest, either ends the
/// negotiation or leads to another step. If no chain of steps comes back to one that it was at,
/// there are fewer moves than steps, and so every negotiation ends.
#[test]
fn t003_no_negotiation_comes_back_to_a_step() {
    for falls_back in [true, false] {
        for step in Step::ALL {
            let mut chains = vec![vec![*step]];
            while let Some(chain) = chains.pop() {
                for next in nexts(&chain, falls_back) {
                    assert!(!chain.contains(&next), "{chain:?} comes back to {next:?}");
                    chains.push([&*chain, &[next]].concat());
                }
            }
        }
    }
}

#[test]
fn t003_silence_and_the_end_always_lead_on() {
    for case in all() {
        if let ProbeOutcome::Silence | ProbeOutcome::Eof = case.outcome {
            assert_ne!(case.then(), Move::Stay, "{case:?}");
        }
        if case.outcome == ProbeOutcome::NoAnswer && case.step != Step::Unconfirmed {
            assert_ne!(case.then(), Move::Stay, "{case:?}");
        }
    }
}

#[test]
fn t002_no_status_that_says_nothing_of_the_era_decides_it() {
    for case in all() {
        if let ProbeOutcome::Unauthorized | ProbeOutcome::Unavailable | ProbeOutcome::NoAnswer =
            case.outcome
        {
            let ends = matches!(case.then(), Move::Fail(_));
            // A call on the strength of a stored verdict has its error, and nothing else happens.
            assert_eq!(ends, case.step != Step::Unconfirmed, "{case:?}");
            assert!(ends || case.then() == Move::Stay, "{case:?}");
        }
    }
}

#[test]
fn t004_a_server_is_opened_anew_twice_at_most() {
    for falls_back in [true, false] {
        for step in firsts(falls_back) {
            let reopenings = reopenings(step, falls_back);
            assert!(reopenings <= if falls_back { 2 } else { 0 }, "{step:?}: {reopenings}");
        }
    }
}

#[test]
fn a_modern_pinned_client_never_initializes_and_a_legacy_one_never_discovers() {
    for step in reachable(false, &[Step::Probe, Step::Unconfirmed]) {
        assert!(!initializes(step), "{step:?}");
    }
    for step in reachable(false, &[Step::Initialize]) {
        assert_eq!(step, Step::Initialize);
    }
    for case in all().filter(|case| case.step == Step::Initialize && !case.falls_back) {
        assert_ne!(case.then(), Move::Modern, "{case:?}");
    }
}

#[test]
fn t001_a_client_that_may_fall_back_does_so_for_any_error_to_the_probe() {
    for outcome in [ProbeOutcome::Error, ProbeOutcome::Malformed, ProbeOutcome::ListsLegacy] {
        let case = Case { step: Step::Probe, falls_back: true, outcome };
        assert_eq!(case.then(), Move::Send(Step::Fallback), "{case:?}");
    }
    let modern = Case { step: Step::Probe, falls_back: true, outcome: ProbeOutcome::Modern };
    assert_eq!(modern.then(), Move::Modern);
}

#[test]
fn no_error_makes_a_client_that_may_not_fall_back_legacy() {
    for case in all().filter(|case| !case.falls_back && discovers(case.step)) {
        if let Move::Send(next) | Move::Await(next) | Move::Reopen(next) = case.then() {
            let given_up = case.step == Step::Both && next == Step::Fallback;
            assert!(!initializes(next) || given_up, "{case:?}");
        }
    }
}

#[test]
fn an_era_is_found_by_a_result_of_that_era_alone() {
    for case in all() {
        match case.then() {
            Move::Legacy => assert_eq!(case.outcome, ProbeOutcome::Initialized, "{case:?}"),
            Move::Modern => assert!(
                matches!(
                    case.outcome,
                    ProbeOutcome::Modern | ProbeOutcome::InitializedModern | ProbeOutcome::Late
                ),
                "{case:?}"
            ),
            Move::UseHeld => assert_eq!(case.step, Step::Held, "{case:?}"),
            Move::HttpSseTransport => panic!("a row of another table: {case:?}"),
            Move::Send(_) | Move::Await(_) | Move::Reopen(_) | Move::Stay | Move::Fail(_) => {}
        }
    }
}

/// Whatever is known of the server is not asked for again, as long as the stream lives.
#[test]
fn second_hour_10_a_late_answer_to_the_probe_is_never_asked_for_again() {
    for case in all().filter(|case| case.step == Step::Held || case.outcome == ProbeOutcome::Late) {
        if let Move::Send(next) | Move::Await(next) = case.then() {
            assert!(!discovers(next), "{case:?}");
        }
    }
}

#[test]
fn failures_say_what_has_happened() {
    for case in all() {
        let Move::Fail(failure) = case.then() else { continue };
        let expected = match case.outcome {
            ProbeOutcome::Silence | ProbeOutcome::NoAnswer => Failure::TimedOut,
            ProbeOutcome::Eof => Failure::Closed,
            ProbeOutcome::Error | ProbeOutcome::Refused => Failure::Refused,
            ProbeOutcome::Malformed | ProbeOutcome::InitializeMalformed => Failure::Malformed,
            ProbeOutcome::Unauthorized => Failure::Unauthorized,
            ProbeOutcome::Unavailable => Failure::Unavailable,
            ProbeOutcome::Modern
            | ProbeOutcome::Untyped
            | ProbeOutcome::NotIdempotent
            | ProbeOutcome::ListsLegacy
            | ProbeOutcome::Disjoint
            | ProbeOutcome::Unsupported
            | ProbeOutcome::UnsupportedLegacy
            | ProbeOutcome::Late
            | ProbeOutcome::Initialized
            | ProbeOutcome::InitializedModern
            | ProbeOutcome::InitializedUnknown => Failure::NoCommonVersion,
        };
        assert_eq!(failure, expected, "{case:?}");
    }
}

/// All that the table is asked about.
#[derive(Clone, Copy, Debug)]
struct Case {
    step: Step,
    falls_back: bool,
    outcome: ProbeOutcome,
}

impl Case {
    #[expect(clippy::panic, reason = "it is what the tests are about")]
    fn row(self) -> (&'static str, Move) {
        let row = TABLE.find((self.step, self.falls_back, self.outcome));
        let row = row.unwrap_or_else(|| panic!("no row decides {self:?}"));
        (row.name, row.then)
    }

    fn then(self) -> Move {
        self.row().1
    }

    /// Returns whether a negotiation gets to this step, and whether what is out there can have this
    /// outcome.
    fn can_happen(self) -> bool {
        let firsts = firsts(self.falls_back);
        let is_reached = reachable(self.falls_back, &firsts).contains(&self.step);
        let can_come = match self.outcome {
            ProbeOutcome::Silence | ProbeOutcome::Eof => true,
            ProbeOutcome::Late => {
                matches!(self.step, Step::Silent | Step::Fallback | Step::Reprobe)
            }
            ProbeOutcome::Initialized
            | ProbeOutcome::InitializedModern
            | ProbeOutcome::InitializedUnknown
            | ProbeOutcome::Refused
            | ProbeOutcome::InitializeMalformed => {
                initializes(self.step) || self.step == Step::Both
            }
            ProbeOutcome::Untyped | ProbeOutcome::NotIdempotent => self.step == Step::Unconfirmed,
            // While an answer is held, a call may have one as well.
            ProbeOutcome::Modern => !initializes(self.step) || self.step == Step::Held,
            ProbeOutcome::Error => !initializes(self.step),
            ProbeOutcome::Unauthorized | ProbeOutcome::Unavailable | ProbeOutcome::NoAnswer => {
                self.step != Step::Unconfirmed
            }
            ProbeOutcome::ListsLegacy
            | ProbeOutcome::Disjoint
            | ProbeOutcome::Unsupported
            | ProbeOutcome::UnsupportedLegacy
            | ProbeOutcome::Malformed => discovers(self.step),
        };
        is_reached && can_come
    }
}

fn all() -> impl Iterator<Item = Case> {
    TABLE.cases().map(|((step, falls_back, outcome), _)| Case { step, falls_back, outcome })
}

/// Returns whether `server/discover` is out at this step.
fn discovers(step: Step) -> bool {
    matches!(step, Step::Probe | Step::Correct | Step::Reprobe | Step::Both)
}

/// Returns whether `initialize` alone is out.
fn initializes(step: Step) -> bool {
    !discovers(step) && step != Step::Unconfirmed
}

/// First steps of negotiations.
fn firsts(falls_back: bool) -> Vec<Step> {
    let pinned = [Step::Probe, Step::Unconfirmed, Step::Initialize];
    let auto = [Step::Probe, Step::Unconfirmed, Step::Stored];
    if falls_back { auto.to_vec() } else { pinned.to_vec() }
}

/// Steps that may follow the last step of a chain.
fn nexts(chain: &[Step], falls_back: bool) -> Vec<Step> {
    let mut nexts = Vec::new();
    for outcome in ProbeOutcome::ALL {
        let Some(step) = chain.last().copied() else { continue };
        if let Move::Send(next) | Move::Await(next) | Move::Reopen(next) =
            (Case { step, falls_back, outcome: *outcome }).then()
            && !nexts.contains(&next)
        {
            nexts.push(next);
        }
    }
    nexts
}

/// All steps that a negotiation gets to from these, and these.
fn reachable(falls_back: bool, firsts: &[Step]) -> Vec<Step> {
    let mut reached = firsts.to_vec();
    let mut at = 0;
    while let Some(step) = reached.get(at).copied() {
        at += 1;
        for next in nexts(&[step], falls_back) {
            if !reached.contains(&next) {
                reached.push(next);
            }
        }
    }
    reached
}

/// Largest number of reopened streams, from this step on.
fn reopenings(step: Step, falls_back: bool) -> usize {
    let outcomes = ProbeOutcome::ALL.iter();
    let counts =
        outcomes.map(|outcome| match (Case { step, falls_back, outcome: *outcome }).then() {
            Move::Reopen(next) => 1 + reopenings(next, falls_back),
            Move::Send(next) | Move::Await(next) => reopenings(next, falls_back),
            Move::Modern
            | Move::UseHeld
            | Move::Legacy
            | Move::HttpSseTransport
            | Move::Stay
            | Move::Fail(_) => 0,
        });
    counts.max().unwrap_or_default()
}
