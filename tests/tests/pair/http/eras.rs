//! Servers that are others when they are started anew: of another era, with or without sessions.

use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::http::Sessions;
use mcp_proto::{Era, EraPolicy};

use super::site::{SECOND, config, echo, echoing, filter, pair, updated};

const ALL: [(Sessions, EraPolicy); 6] = [
    (Sessions::Sessions, EraPolicy::Auto),
    (Sessions::Sessions, EraPolicy::LegacyOnly),
    (Sessions::Sessions, EraPolicy::ModernOnly),
    (Sessions::Stateless, EraPolicy::Auto),
    (Sessions::Stateless, EraPolicy::LegacyOnly),
    (Sessions::Off, EraPolicy::ModernOnly),
];

#[test]
fn a_server_that_is_another_one_is_spoken_to_as_before_if_it_understands() {
    for was in ALL {
        for is in ALL {
            let (pair, ..) = pair(Negotiation::Auto);
            let mut pair = pair.http_config(config(was.0, was.1));
            let client = pair.client();
            assert_eq!(echo(&mut pair, "before"), "before");
            let era = client.server().unwrap().era();
            pair.pass(5 * SECOND);
            pair.restart_as(config(is.0, is.1));
            // Whoever listens finds out that there is another session to be opened.
            pair.pass(5 * SECOND);
            let understands = match era {
                Era::Modern => is.1 != EraPolicy::LegacyOnly,
                Era::Legacy => {
                    is.1 != EraPolicy::ModernOnly
                        && (was.0 == Sessions::Sessions || is.0 == Sessions::Stateless)
                }
            };
            for _ in 0..3 {
                let call = echoing(&client, "after");
                match pair.run(call) {
                    Ok(_) => assert!(understands, "{was:?}, {is:?}"),
                    Err(CallError::Error { .. }) => assert!(!understands, "{was:?}, {is:?}"),
                    Err(other) => panic!("{was:?}, {is:?}: {other:?}"),
                }
            }
            pair.run(client.close());
            pair.pass(SECOND);
            assert_eq!((pair.sessions(), pair.connections()), (0, 0));
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
        catalog.publish(&updated()).unwrap();
        assert_eq!(pair.run(subscription.changed()), Some(updated()), "{was:?}, {is:?}");
        assert_eq!(pair.starts(), 2);
    }
}
