//! Verdicts on a server that are stored and used the next time.

use mcp_proto::client::{Negotiation, Verdict};
use mcp_proto::{Era, EraPolicy};
use mcp_service::testing::Pair;
use serde_json::Value;

use crate::bench::{call, pair, said, text};

#[test]
fn a_stored_verdict_skips_the_probe() {
    for policy in [EraPolicy::ModernOnly, EraPolicy::LegacyOnly, EraPolicy::Auto] {
        let mut first = fresh(policy);
        assert_eq!(text(first.run(call(&first.client()))), "done");
        let (server, verdict) = (first.client().server().unwrap(), first.client().verdict());
        assert_eq!(said(&first, "server/discover"), 1);

        let stored = serde_json::to_string(&verdict).unwrap();
        let restored: Option<Verdict> = serde_json::from_str(&stored).unwrap();
        assert_eq!(restored, verdict);

        let mut second = fresh(policy).verdict(restored);
        // What a list says confirms it; a tool would be called after `server/discover`.
        second.run(second.client().list_tools()).unwrap();
        assert_eq!(text(second.run(call(&second.client()))), "done");
        assert_eq!(said(&second, "server/discover"), 0);
        assert_eq!(second.client().server(), Some(server), "it is known as well as before");
        assert_eq!(second.client().verdict(), verdict);
    }
}

#[test]
fn a_verdict_that_is_stale_is_replaced() {
    for (was, is) in [
        (EraPolicy::ModernOnly, EraPolicy::LegacyOnly),
        (EraPolicy::LegacyOnly, EraPolicy::ModernOnly),
    ] {
        let mut first = fresh(was);
        first.run(first.client().connected()).unwrap();
        let stale = first.client().verdict();
        let mut second = fresh(is).verdict(stale.clone());
        let client = second.client();
        assert_eq!(text(second.run(call(&client))), "done");
        let found = client.verdict();
        assert_ne!(found, stale);
        let mut third = fresh(is).verdict(found.clone());
        third.run(third.client().list_tools()).unwrap();
        assert_eq!(text(third.run(call(&third.client()))), "done");
        assert_eq!(third.client().verdict(), found);
        assert_eq!(said(&third, "server/discover"), 0);
    }
}

#[test]
fn a_client_of_one_era_believes_nothing_of_the_other() {
    let modern = fresh(EraPolicy::Auto);
    let verdict: Verdict = serde_json::from_str(r#"{"version":"2026-07-28"}"#).unwrap();
    let mut pair = modern.negotiation(Negotiation::Legacy).verdict(Some(verdict));
    let server = pair.run(pair.client().connected()).unwrap();
    assert_eq!(server.era(), Era::Legacy);
}

fn fresh(policy: EraPolicy) -> Pair {
    pair(Negotiation::Auto, |_: Value, _| async { "done" }).era_policy(policy)
}
