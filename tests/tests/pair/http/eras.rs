//! Servers that are others when they are started anew: of another era, with or without sessions.

use mcp_proto::EraPolicy;
use mcp_proto::client::{Change, List, Negotiation};
use mcp_proto::http::Sessions;

use super::site::{SECOND, config, echo, echoing, filter, pair, take, text, updated};

const ALL: [(Sessions, EraPolicy); 6] = [
    (Sessions::Stateful, EraPolicy::Auto),
    (Sessions::Stateful, EraPolicy::LegacyOnly),
    (Sessions::Stateful, EraPolicy::ModernOnly),
    (Sessions::Stateless, EraPolicy::Auto),
    (Sessions::Stateless, EraPolicy::LegacyOnly),
    (Sessions::Off, EraPolicy::ModernOnly),
];

#[test]
fn second_hour_04_calls_recover_when_a_server_is_another_one() {
    for was in ALL {
        for is in ALL {
            let (pair, notes, _) = pair(Negotiation::Auto);
            let mut pair = pair.http_config(config(was.0, was.1));
            let client = pair.client();
            assert_eq!(echo(&mut pair, "before"), "before");
            pair.pass(5 * SECOND);
            pair.restart_as(config(is.0, is.1));
            for n in 0..3 {
                let what = format!("after {n}");
                let call = echoing(&client, &what);
                assert_eq!(text(pair.run(call)), what, "{was:?}, {is:?}\n{}", pair.wire());
            }
            assert_eq!(take(&notes), ["before", "after 0", "after 1", "after 2"]);
            pair.run(client.close());
            pair.pass(SECOND);
            assert_eq!((pair.sessions(), pair.connections()), (0, 0));
        }
    }
}

/// A server that changes again and again is followed, at most as often as the back-off allows.
#[test]
fn second_hour_04_a_server_that_changes_often_is_followed() {
    let (pair, ..) = pair(Negotiation::Auto);
    let mut pair = pair.http_config(config(ALL[1].0, ALL[1].1));
    let client = pair.client();
    for round in 0..10 {
        for (sessions, policy) in [ALL[2], ALL[4], ALL[1]] {
            let what = format!("{round} {policy:?}");
            let call = echoing(&client, &what);
            assert_eq!(text(pair.run(call)), what, "{}", pair.wire());
            pair.restart_as(config(sessions, policy));
        }
    }
}

#[test]
fn what_was_wanted_is_wanted_of_the_next_server() {
    for (was, is) in [(ALL[0], ALL[2]), (ALL[2], ALL[0]), (ALL[1], ALL[0]), (ALL[5], ALL[3])] {
        let (pair, _, catalog) = pair(Negotiation::Auto);
        let mut pair = pair.http_config(config(was.0, was.1));
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        pair.restart_as(config(is.0, is.1));
        pair.pass(5 * SECOND);
        assert_eq!(pair.run(subscription.changed()), Some(Change::ListChanged(List::Tools)));
        assert_eq!(pair.run(subscription.changed()), Some(updated()), "{was:?}, {is:?}");
        catalog.publish(&updated()).unwrap();
        assert_eq!(pair.run(subscription.changed()), Some(updated()), "{was:?}, {is:?}");
        assert_eq!(pair.starts(), 2);
    }
}
