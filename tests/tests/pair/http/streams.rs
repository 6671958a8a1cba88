//! Streams across cuts: what is resumed has lost nothing and says nothing twice; what cannot be is
//! opened again.

use std::sync::Arc;

use mcp_proto::Instant;
use mcp_proto::client::{Change, List, Negotiation};
use mcp_proto::http::{Authorization, Config};
use mcp_proto::resource_server::Claims;
use mcp_proto::server::Extensions;
use mcp_service::testing::Network;

use super::site::{
    ERAS, MINUTE, SECOND, filter, hear, pair, said, sent, steps, take, text, updated, walking,
};

const LEGACY: Negotiation = Negotiation::Legacy;

#[test]
fn the_stream_of_a_call_is_resumed_as_often_as_it_is_cut() {
    for seed in 0..20 {
        let (pair, ..) = pair(LEGACY);
        let mut pair = pair.network(Network::rough()).seed(seed);
        let client = pair.client();
        let (mut walk, seen) = steps(walking(&client, 40, 500));
        assert!(pair.poll(&mut walk).is_pending());
        pair.pass(SECOND);
        while pair.now() < Instant::ZERO + 15 * SECOND {
            pair.cut();
            pair.pass(1700 * SECOND / 1000);
        }
        assert_eq!(text(pair.run(walk)), "40 steps", "{}", pair.wire());
        let wanted: Vec<f64> = (1..=40).map(f64::from).collect();
        assert_eq!(*seen.lock().unwrap(), wanted);
        assert_eq!(said(&pair, "tools/call"), 1);
        assert!(sent(&pair, "Last-Event-ID:") > 5);
    }
}

#[test]
fn what_a_server_says_by_itself_is_told_once_across_cuts() {
    for seed in 0..20 {
        let (pair, _, catalog) = pair(LEGACY);
        let mut pair = pair.network(Network::rough()).seed(seed);
        let client = pair.client();
        let heard = hear(&client);
        let _subscription = pair.run(client.subscribe(filter())).unwrap();
        pair.pass(SECOND);
        for n in 0..30 {
            catalog.publish(&updated()).unwrap();
            if n % 3 == 0 {
                pair.cut();
            }
            pair.pass(700 * SECOND / 1000);
        }
        pair.pass(5 * SECOND);
        assert_eq!(take(&heard).len(), 30, "{}", pair.wire());
        assert_eq!(pair.sessions(), 1);
    }
}

#[test]
fn what_waits_for_longer_than_it_is_kept_is_lost_and_said_so() {
    let (mut pair, _, catalog) = pair(LEGACY);
    let client = pair.client();
    let heard = hear(&client);
    let _subscription = pair.run(client.subscribe(filter())).unwrap();
    let (mut walk, seen) = steps(walking(&client, 600, 10));
    assert!(pair.poll(&mut walk).is_pending());
    pair.pass(SECOND);
    pair.refuse(10 * SECOND);
    pair.cut();
    let before = seen.lock().unwrap().len();
    for _ in 0..300 {
        catalog.publish(&updated()).unwrap();
        pair.pass(SECOND / 100);
    }
    // The default is to keep 256 events of a stream: the last progress, and the answer.
    assert!(pair.run(walk).is_ok(), "{}", pair.wire());
    let after = seen.lock().unwrap().len() - before;
    assert!((200..256).contains(&after), "{after} of 300 are kept");
    pair.pass(MINUTE);
    assert!(take(&heard).len() < 300);
    catalog.publish(&updated()).unwrap();
    pair.pass(SECOND);
    assert_eq!(take(&heard).len(), 1, "it goes on from there");
}

#[test]
fn a_subscription_is_opened_again() {
    for seed in 0..10 {
        let (pair, _, catalog) = pair(Negotiation::Auto);
        let mut pair = pair.network(Network::rough()).seed(seed);
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        for round in 1..=7 {
            pair.cut();
            pair.pass(2 * SECOND);
            assert_eq!(said(&pair, "subscriptions/listen"), 1 + round);
            // What was published meanwhile would have been sent nowhere.
            assert_eq!(pair.run(subscription.changed()), Some(Change::ListChanged(List::Tools)));
            assert_eq!(pair.run(subscription.changed()), Some(updated()));
            catalog.publish(&updated()).unwrap();
            assert_eq!(pair.run(subscription.changed()), Some(updated()));
        }
    }
}

#[test]
fn second_hour_03_an_outage_of_ten_minutes_ends_no_stream() {
    for negotiation in ERAS {
        let (mut pair, _, catalog) = pair(negotiation);
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        pair.refuse(10 * MINUTE);
        pair.cut();
        pair.pass(10 * MINUTE);
        assert_eq!(pair.connections(), 0);
        // The delay is a minute, and up to a quarter of it.
        pair.pass(75 * SECOND);
        assert_eq!(pair.connections(), 1);
        if negotiation != LEGACY {
            assert_eq!(pair.run(subscription.changed()), Some(Change::ListChanged(List::Tools)));
            assert_eq!(pair.run(subscription.changed()), Some(updated()));
        }
        catalog.publish(&updated()).unwrap();
        assert_eq!(pair.run(subscription.changed()), Some(updated()));
    }
}

#[test]
fn a_subscription_outlives_the_tokens_of_its_streams() {
    for negotiation in ERAS {
        let (pair, _, catalog) = pair(negotiation);
        let mut config = Config::default();
        config.authorize = Some(Arc::new(|_| {
            let mut claims = Claims::new("https://auth.example.com", "alice");
            claims.time_left = Some(10 * MINUTE);
            Authorization::AllowWith(claims.principal(), Extensions::default().with(claims))
        }));
        let mut pair = pair.http_config(config);
        let client = pair.client();
        let mut subscription = pair.run(client.subscribe(filter())).unwrap();
        for round in 1..=6 {
            catalog.publish(&updated()).unwrap();
            assert_eq!(pair.run(subscription.changed()), Some(updated()));
            let streams = || said(&pair, "subscriptions/listen") + sent(&pair, "GET ");
            assert_eq!(streams(), round);
            pair.pass(10 * MINUTE + 2 * SECOND);
            if negotiation != LEGACY {
                // What happens between two streams would have been sent nowhere.
                let listed = Change::ListChanged(List::Tools);
                assert_eq!(pair.run(subscription.changed()), Some(listed));
                assert_eq!(pair.run(subscription.changed()), Some(updated()));
            }
        }
    }
}
