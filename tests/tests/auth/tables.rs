//! Every combination of each table has a row, and every row decides a combination.

use std::collections::BTreeSet;

use mcp_proto::auth::granted::{
    AccessTokenState, ClientOrigin, GrantAnswer, GrantRequest, GrantStep, StoredTokens,
};
use mcp_proto::auth::refusal::{RefusalChallenge, RefusalStep, SentToken};
use mcp_proto::auth::{
    binding, discovery_table, grant_kind, granted, redirect, refusal, registration,
};

macro_rules! covers {
    ($($test:ident $module:ident)*) => { $(
        #[test]
        fn $test() {
            let name = |(case, row): (_, Option<&mcp_proto::decision_table::Row<_, _>>)| {
                row.map_or_else(|| panic!("no row for {case:?}"), |row| row.name)
            };
            let reached: BTreeSet<_> = $module::TABLE.cases().map(name).collect();
            let rows: BTreeSet<_> = $module::TABLE.rows().iter().map(|row| row.name).collect();
            assert_eq!(reached, rows);
        }
    )* };
}

covers! {
    every_refusal_has_a_row refusal
    every_answer_with_metadata_has_a_row discovery_table
    every_client_has_a_row registration
    every_grant_has_a_row grant_kind
    every_binding_has_a_row binding
    every_redirect_has_a_row redirect
    every_answer_with_a_token_has_a_row granted
}

#[test]
fn no_code_is_redeemed_twice_and_no_given_client_is_registered() {
    for ((request, answer, client, _, _), row) in granted::TABLE.cases() {
        let next = row.unwrap().then;
        let refreshes = request == GrantRequest::Refresh;
        assert!(refreshes || next != GrantStep::Later);
        assert!(next != GrantStep::Reregister || client == ClientOrigin::Dynamic);
        assert_eq!(next == GrantStep::Ready, answer == GrantAnswer::Token);
    }
}

#[test]
fn a_key_is_never_ignored_and_never_made_up() {
    for ((schemes, required, has_key), row) in binding::TABLE.cases() {
        let asks = required || schemes == binding::ChallengeSchemes::ProofOnly;
        let expected = match (asks, has_key) {
            (true, true) => binding::BindingStep::Bind,
            (true, false) => binding::BindingStep::FailNoKey,
            (false, _) => binding::BindingStep::Bear,
        };
        assert_eq!(row.unwrap().then, expected);
    }
}

#[test]
fn only_codes_ask_a_person_and_only_if_there_is_one() {
    use grant_kind::GrantKind::{ClientCredentials, Code};
    for ((configured, person, codes), row) in grant_kind::TABLE.cases() {
        let prefers_person = configured == ClientCredentials && person && codes;
        assert_eq!(row.unwrap().then, if prefers_person { Code } else { configured });
    }
}

#[test]
fn tokens_that_somebody_can_use_are_kept() {
    for ((_, _, _, store, access), row) in granted::TABLE.cases() {
        let then = row.unwrap().then;
        if matches!(then, GrantStep::Reauthorize | GrantStep::ReauthorizeOrRetry) {
            assert_eq!((store, access), (StoredTokens::Same, AccessTokenState::Over));
        }
    }
}

#[test]
fn a_step_up_needs_a_token_a_new_scope_and_a_step_left() {
    for ((_, challenge, token, grows, left), row) in refusal::TABLE.cases() {
        if row.unwrap().then == RefusalStep::StepUp {
            assert!(grows && left && challenge == RefusalChallenge::InsufficientScope);
            assert!(!matches!(token, SentToken::Absent | SentToken::Older));
        }
    }
}
