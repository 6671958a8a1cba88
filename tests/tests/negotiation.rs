//! The table that decides which era a message belongs to, as a whole.
//!
//! Each row has a conversation in `tests/transcripts`; here every combination is walked, and the
//! rules that the table must keep are written down a second time, without looking at it: first
//! those of streams, then those of single HTTP requests, then those of both.

use std::collections::BTreeSet;

use mcp_proto::EraPolicy;
use mcp_proto::negotiate::{self, Claim, Kind, Opened, Refusal, Route, TABLE};
use mcp_tests::transcript::{self, Transcript};

#[test]
fn every_combination_has_a_row_and_every_row_decides_one() {
    let mut reached = BTreeSet::new();
    for ((opened, policy, kind, claim), row) in TABLE.cases() {
        let row = row.expect("every combination has a row");
        let indexed = negotiate::classify(opened, policy, kind, claim).expect("an indexed row");
        assert_eq!(indexed.name, row.name, "the index finds what the table says");
        reached.insert(row.name);
    }
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), TABLE.rows().len(), "two rows have one name");
    assert_eq!(reached, names);
}

#[test]
fn every_row_has_a_conversation() {
    let transcripts = transcript::all();
    let shown: BTreeSet<&str> = transcripts
        .iter()
        .filter(|transcript| !transcript.plays_client())
        .flat_map(Transcript::comments)
        .filter_map(|comment| comment.strip_prefix("row: "))
        .collect();
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(shown, names, "the `# row:` comments of the transcripts, and the rows");
}

#[test]
fn a_server_serves_no_era_that_its_policy_excludes() {
    for case in reachable() {
        match case.policy {
            EraPolicy::LegacyOnly => assert_ne!(case.route(), Route::Modern, "{case:?}"),
            EraPolicy::ModernOnly => assert_ne!(case.route(), Route::Legacy, "{case:?}"),
            EraPolicy::Auto => {}
        }
    }
}

#[test]
fn a_server_of_both_eras_serves_whatever_a_server_of_one_does() {
    // Over HTTP a server of one era takes what does not say its era for one of its own, and a
    // legacy server knows no fields of the modern era.
    let is_clear = |case: &Case| case.is_in_stream() && case.claim != Claim::Incomplete;
    for case in reachable().filter(|case| is_clear(case) && case.policy != EraPolicy::Auto) {
        if let Route::Modern | Route::Legacy = case.route() {
            let auto = Case { policy: EraPolicy::Auto, ..case };
            assert_eq!(auto.route(), case.route(), "{case:?}");
        }
    }
}

#[test]
fn t001_a_legacy_server_never_says_that_it_is_modern() {
    // -32022 would keep a client that probes from falling back to `initialize`.
    for case in reachable().filter(|case| case.policy == EraPolicy::LegacyOnly) {
        assert_ne!(case.route(), Route::Reject(Refusal::LegacyNotServed), "{case:?}");
        assert_ne!(case.route(), Route::Reject(Refusal::MissingMeta), "{case:?}");
    }
}

#[test]
fn what_claims_no_version_is_not_modern() {
    for case in streams().filter(|case| case.claim != Claim::Present) {
        let modern = case.kind == Kind::Notification && case.opened == Opened::Modern;
        assert_eq!(case.route() == Route::Modern, modern, "{case:?}");
    }
}

#[test]
fn a_request_that_claims_a_version_is_not_legacy() {
    for case in all().filter(|case| case.is_request() && case.claim == Claim::Present) {
        assert_ne!(case.route(), Route::Legacy, "{case:?}");
    }
}

#[test]
fn t105_what_is_no_request_is_never_answered() {
    for case in streams().filter(|case| matches!(case.kind, Kind::Notification | Kind::Response)) {
        assert!(!matches!(case.route(), Route::Reject(_)), "{case:?}");
    }
}

#[test]
fn every_request_is_served_or_answered() {
    for case in all().filter(|case| case.is_request()) {
        assert_ne!(case.route(), Route::Drop, "{case:?}");
    }
}

#[test]
fn t027_initialize_is_served_once_and_where_legacy_is() {
    for case in streams().filter(|case| case.kind == Kind::Initialize) {
        let served = case.opened == Opened::Undecided
            && case.policy != EraPolicy::ModernOnly
            && case.claim != Claim::Present;
        assert_eq!(case.route() == Route::Legacy, served, "{case:?}");
    }
}

#[test]
fn before_initialize_only_a_ping_is_served() {
    let undecided = |case: &Case| case.opened == Opened::Undecided && case.claim == Claim::Absent;
    for case in all().filter(undecided) {
        let opens = matches!(case.kind, Kind::Initialize | Kind::Ping);
        let legacy = opens && case.policy != EraPolicy::ModernOnly;
        assert_eq!(case.route() == Route::Legacy, legacy, "{case:?}");
    }
}

#[test]
fn batches_exist_in_one_revision() {
    for case in streams().filter(|case| case.kind == Kind::Batch) {
        let expected = if case.opened == Opened::LegacyWithBatches {
            Route::Legacy
        } else {
            Route::Reject(Refusal::UnexpectedBatch)
        };
        assert_eq!(case.route(), expected, "{case:?}");
    }
}

#[test]
fn t007_a_pipe_stays_in_the_era_that_it_was_opened_in() {
    for case in reachable() {
        let other = match case.opened {
            Opened::Undecided | Opened::Exchange | Opened::ModernExchange => continue,
            Opened::Modern => Route::Legacy,
            Opened::Legacy | Opened::LegacyWithBatches => Route::Modern,
        };
        assert_ne!(case.route(), other, "{case:?}");
    }
}

#[test]
fn the_revision_with_batches_is_like_the_others_otherwise() {
    let with_batches = |case: &Case| case.opened == Opened::LegacyWithBatches;
    for case in all().filter(with_batches).filter(|case| case.kind != Kind::Batch) {
        let other = Case { opened: Opened::Legacy, ..case };
        assert_eq!(case.row(), other.row(), "{case:?}");
    }
}

#[test]
fn over_http_a_request_that_claims_a_version_is_modern_wherever_that_is_served() {
    for case in exchanges().filter(|case| case.is_request() && case.claim == Claim::Present) {
        let expected = match case.policy {
            EraPolicy::LegacyOnly => Route::Reject(Refusal::ModernNotServed),
            EraPolicy::Auto | EraPolicy::ModernOnly => Route::Modern,
        };
        assert_eq!(case.route(), expected, "{case:?}");
    }
}

#[test]
fn over_http_initialize_without_a_claim_is_legacy_whatever_the_header() {
    let opens = |case: &Case| case.kind == Kind::Initialize && case.claim != Claim::Present;
    for case in exchanges().filter(opens) {
        let expected = match case.policy {
            EraPolicy::ModernOnly => Route::Reject(Refusal::LegacyNotServed),
            EraPolicy::Auto | EraPolicy::LegacyOnly => Route::Legacy,
        };
        assert_eq!(case.route(), expected, "{case:?}");
    }
}

#[test]
fn over_http_a_request_without_a_claim_goes_by_its_header() {
    for case in exchanges().filter(|case| case.is_plain() && case.claim == Claim::Absent) {
        let expected = match (case.opened, case.policy) {
            (_, EraPolicy::LegacyOnly) | (Opened::Exchange, EraPolicy::Auto) => Route::Legacy,
            _ => Route::Reject(Refusal::MissingMeta),
        };
        assert_eq!(case.route(), expected, "{case:?}");
    }
}

#[test]
fn second_hour_15_a_server_of_one_era_or_a_half_claim_names_the_missing_meta() {
    // "A request missing any required field is malformed; the server MUST reject it with JSON-RPC
    // error code -32602."
    let is_modern = |case: &Case| match case.policy {
        EraPolicy::ModernOnly => true,
        EraPolicy::Auto => case.claim == Claim::Incomplete,
        EraPolicy::LegacyOnly => false,
    };
    let is_open = |case: &Case| !matches!(case.opened, Opened::Legacy | Opened::LegacyWithBatches);
    let lacks = |case: &Case| case.is_plain() && case.claim != Claim::Present;
    for case in all().filter(|case| lacks(case) && is_open(case) && is_modern(case)) {
        assert_eq!(case.route(), Route::Reject(Refusal::MissingMeta), "{case:?}");
    }
}

#[test]
fn a_half_claim_changes_nothing_on_a_legacy_connection() {
    let is_legacy = |case: &Case| {
        case.policy == EraPolicy::LegacyOnly
            || matches!(case.opened, Opened::Legacy | Opened::LegacyWithBatches)
    };
    for case in all().filter(|case| is_legacy(case) && case.claim == Claim::Incomplete) {
        let other = Case { claim: Claim::Absent, ..case };
        assert_eq!(case.row(), other.row(), "{case:?}");
    }
}

#[test]
fn over_http_a_notification_is_of_the_era_that_it_names() {
    for case in exchanges().filter(|case| case.kind == Kind::Notification) {
        let names_modern = case.claim == Claim::Present || case.opened == Opened::ModernExchange;
        let modern = match case.policy {
            EraPolicy::LegacyOnly => false,
            EraPolicy::Auto => names_modern,
            EraPolicy::ModernOnly => true,
        };
        assert_eq!(case.route(), if modern { Route::Modern } else { Route::Legacy }, "{case:?}");
    }
}

#[test]
fn over_http_responses_and_batches_are_legacy_alone() {
    for (kind, refusal) in
        [(Kind::Response, Refusal::UnexpectedResponse), (Kind::Batch, Refusal::UnexpectedBatch)]
    {
        for case in exchanges().filter(|case| case.kind == kind) {
            let legacy = match case.policy {
                EraPolicy::LegacyOnly => true,
                EraPolicy::Auto => case.opened == Opened::Exchange,
                EraPolicy::ModernOnly => false,
            };
            let expected = if legacy { Route::Legacy } else { Route::Reject(refusal) };
            assert_eq!(case.route(), expected, "{case:?}");
        }
    }
}

#[test]
fn over_http_nothing_is_dropped() {
    // Every POST has an answer.
    for case in exchanges() {
        assert_ne!(case.route(), Route::Drop, "{case:?}");
    }
}

/// All that the table is asked about.
#[derive(Clone, Copy, Debug)]
struct Case {
    opened: Opened,
    policy: EraPolicy,
    kind: Kind,
    claim: Claim,
}

impl Case {
    #[expect(clippy::panic, reason = "it is what the tests are about")]
    fn row(self) -> (&'static str, Route) {
        let row = negotiate::classify(self.opened, self.policy, self.kind, self.claim);
        let row = row.unwrap_or_else(|| panic!("no row decides {self:?}"));
        (row.name, row.then)
    }

    fn route(self) -> Route {
        self.row().1
    }

    /// Returns whether it is of a stream of messages, and not a single HTTP request.
    fn is_in_stream(self) -> bool {
        !matches!(self.opened, Opened::Exchange | Opened::ModernExchange)
    }

    /// Returns whether it is a request that opens no session.
    fn is_plain(self) -> bool {
        matches!(self.kind, Kind::Ping | Kind::Request)
    }

    fn is_request(self) -> bool {
        matches!(self.kind, Kind::Initialize | Kind::Ping | Kind::Request)
    }
}

fn all() -> impl Iterator<Item = Case> {
    TABLE.cases().map(|((opened, policy, kind, claim), _)| Case { opened, policy, kind, claim })
}

/// Those of single HTTP requests.
fn exchanges() -> impl Iterator<Item = Case> {
    all().filter(|case| !case.is_in_stream())
}

/// Those of streams of messages.
fn streams() -> impl Iterator<Item = Case> {
    all().filter(|case| case.is_in_stream())
}

/// The cases that can occur: no connection is opened in an era that is not served.
fn reachable() -> impl Iterator<Item = Case> {
    all().filter(|case| match case.opened {
        Opened::Undecided | Opened::Exchange | Opened::ModernExchange => true,
        Opened::Modern => case.policy != EraPolicy::LegacyOnly,
        Opened::Legacy | Opened::LegacyWithBatches => case.policy != EraPolicy::ModernOnly,
    })
}
