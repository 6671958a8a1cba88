//! Futures that are dropped while another one for the same thing goes on: that one gets its result,
//! and its changes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mcp_proto::EraPolicy;
use mcp_proto::client::CallError;
use mcp_proto::server::Change;
use mcp_proto::types::SubscriptionFilter;
use mcp_service::Subscription;
use serde_json::json;

use crate::site::{Place, RESOURCE, Site, places};

/// More polls than either future needs.
const POLLS: usize = 10;

/// Polls two futures turn by turn, the second one from the poll `from` on. Drops the first one
/// after `polls` polls, ready or not; returns the result of the second one.
fn drop_beside<F: Future, G: Future>(
    site: &Site,
    (first, polls): (F, usize),
    (second, from): (G, usize),
) -> G::Output {
    let mut context = Context::from_waker(Waker::noop());
    let (mut first, mut second) = (Some(Box::pin(first)), Box::pin(second));
    let mut kept = None;
    for turn in 0..1_000 {
        if turn == polls {
            (first, kept) = (None, None);
        }
        if let Some(future) = &mut first
            && let Poll::Ready(output) = future.as_mut().poll(&mut context)
        {
            (first, kept) = (None, Some(output));
        }
        if turn >= from
            && let Poll::Ready(output) = second.as_mut().poll(&mut context)
        {
            drop((first, kept));
            return output;
        }
        if !site.world.turn() && turn > POLLS {
            site.world.advance();
        }
    }
    panic!("the second never ends:\n{}", site.wire());
}

fn everywhere(check: impl Fn(Place, usize, usize)) {
    for place in places() {
        let behind = place.behind(EraPolicy::LegacyOnly);
        for place in [place, place.undecided(), behind, place.behind(EraPolicy::ModernOnly)] {
            for polls in 0..POLLS {
                for from in 0..POLLS {
                    check(place, polls, from);
                }
            }
        }
    }
}

/// The next change, if there is one at this instant.
fn next(site: &Site, open: &mut Subscription) -> Option<Change> {
    site.settle();
    let mut changed = Box::pin(open.changed());
    let changed: Pin<&mut dyn Future<Output = Option<Change>>> = changed.as_mut();
    match changed.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(change) => change,
        Poll::Pending => None,
    }
}

#[test]
fn another_subscription_to_the_same_resource_goes_on() {
    everywhere(|place, polls, from| {
        let site = if place.is_decided() { Site::new(place) } else { Site::connecting(place) };
        let filter = || SubscriptionFilter::new().resource(RESOURCE);
        let first = (site.client.subscribe(filter()), polls);
        let second = (site.client.subscribe(filter()), from);
        let mut open = match drop_beside(&site, first, second) {
            Ok(open) => open,
            Err(error) => panic!("{place:?}, {polls}, {from}: {error}\n{}", site.wire()),
        };
        site.settle();
        assert_eq!(open.honoured().resource_subscriptions, [RESOURCE], "{}", site.wire());
        while next(&site, &mut open).is_some() {}
        let change = Change::ResourceUpdated(RESOURCE.into());
        site.catalog.publish(&change).unwrap();
        let seen = next(&site, &mut open);
        assert_eq!(seen, Some(change), "{place:?}, {polls}, {from}\n{}", site.wire());
        drop(open);
        site.settle();
        site.assert_unsubscribed();
        site.assert_works("echo");
    });
}

#[test]
fn another_call_goes_on() {
    everywhere(|place, polls, from| {
        let site = if place.is_decided() { Site::new(place) } else { Site::connecting(place) };
        let call = |text: &str| site.client.call_tool("steps", &json!({"text": text}));
        let called: Result<_, CallError> =
            drop_beside(&site, (call("first"), polls), (call("second"), from));
        let text = called.as_ref().ok().and_then(|called| called.content.first()?.as_text());
        assert_eq!(text, Some("second"), "{place:?}, {polls}, {from}: {called:?}\n{}", site.wire());
        site.assert_works("echo");
    });
}
