//! Programs that share a store: the lock of a record during a refresh, and records that another
//! program has removed or replaced.

use mcp_proto::Duration;
use mcp_proto::auth::{Access, AuthError, RefusalAdvice, SentRequest};
use mcp_proto::http::Unauthorized;

use super::grants::run_to_lock;
use super::world::{ISSUER, World};

/// A program that is signed in, and then begins a refresh because its token is refused.
fn refreshing() -> World {
    let mut world = World::new();
    world.request("x").unwrap();
    let Access::Ready(credentials) = world.access() else { unreachable!("it is signed in") };
    let mut sent = SentRequest::new("x");
    sent.token = Some(credentials.token);
    let refusal = Unauthorized::new(401, [&b"Bearer"[..]]);
    let advice = world.authorizer.handle_refusal(world.now, &refusal, &sent);
    assert_eq!(advice, RefusalAdvice::Wait);
    world
}

#[test]
fn tokens_of_another_issuer_are_not_adopted_under_the_lock() {
    let mut world = refreshing();
    let load = run_to_lock(&mut world);
    // Another program has followed the server to an issuer that this program has not found.
    let other = |text: &String| {
        let text = text.replace("access-1", "access-9");
        text.replace(&format!(r#""issuer":"{ISSUER}""#), r#""issuer":"https://b.example""#)
    };
    world.store.values_mut().for_each(|text| *text = other(text));
    assert!(world.store.values().any(|text| text.contains("b.example")));
    let reply = world.reply(load).unwrap();
    reply(&mut world.authorizer);
    world.run().unwrap();
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

/// A program whose token is about to expire, and which waits for the lock of another program.
fn waiting_for_the_lock() -> World {
    let mut world = World::new();
    world.request("x").unwrap();
    world.pass(3600 - 30);
    assert_eq!(world.access(), Access::Wait);
    run_to_lock(&mut world);
    world
}

/// Some servers revoke all tokens of a person if a refresh token is used twice.
#[test]
fn refresh_token_is_not_used_without_the_lock_while_the_access_token_is_valid() {
    let mut world = waiting_for_the_lock();
    let start = world.now;
    world.run().unwrap();
    assert_eq!(world.now, start + Duration::from_secs(10));
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code"]);
    // The next attempt waits for the lock, too.
    world.pass(1);
    assert_eq!(world.access(), Access::Wait);
    run_to_lock(&mut world);
    world.run().unwrap();
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code"]);
    // The lock is free.
    world.pass(2);
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

#[test]
fn tokens_that_are_stored_during_the_wait_for_the_lock_are_adopted() {
    let mut world = waiting_for_the_lock();
    world.store.values_mut().for_each(|text| {
        *text = text.replace("access-1", "access-9").replace("1800003600", "1800009999");
    });
    world.accepted = vec!["canary-access-9".into()];
    world.run().unwrap();
    world.request("x").unwrap();
    assert_eq!((world.grants(), world.sent), (vec!["authorization_code"], 3));
}

#[test]
fn expired_token_is_refreshed_without_the_lock_after_10_seconds() {
    let mut world = World::new();
    world.request("x").unwrap();
    world.pass(3600);
    assert_eq!(world.access(), Access::Wait);
    run_to_lock(&mut world);
    let start = world.now;
    world.run().unwrap();
    assert_eq!(world.now, start + Duration::from_secs(10));
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

/// The user has signed out with another program: `mcp logout`.
#[test]
fn tokens_whose_record_was_removed_are_not_refreshed() {
    let mut world = World::new();
    world.request("x").unwrap();
    // An early refresh, and one after a refusal.
    for (pages, is_refused) in [(2, false), (3, true)] {
        world.store.clear();
        if is_refused {
            world.accepted.clear();
        } else {
            world.pass(3600);
        }
        world.request("x").unwrap();
        assert_eq!(world.grants(), vec!["authorization_code"; pages]);
        assert_eq!((world.pages.len(), world.registrations.len()), (pages, pages));
    }
    // Without a person nothing is stored again.
    let mut world = world.restart_with(mcp_proto::auth::Config::unattended);
    world.request("x").unwrap();
    world.store.clear();
    world.pass(3600);
    for _ in 0..2 {
        assert!(matches!(world.request("x"), Err(AuthError::ConsentNeeded { .. })));
        assert!(world.store.is_empty(), "{:?}", world.store);
    }
    assert_eq!(world.grants(), ["authorization_code"; 3]);
}

/// The record goes between the read after a refusal and the lock.
#[test]
fn record_that_is_removed_before_the_lock_is_not_written_again() {
    let mut world = refreshing();
    let load = run_to_lock(&mut world);
    world.store.clear();
    let reply = world.reply(load).unwrap();
    reply(&mut world.authorizer);
    world.run().unwrap();
    assert_eq!(world.grants(), ["authorization_code"; 2]);
}

/// The next sign-in would show a page that does not know the client.
#[test]
fn forgotten_client_is_not_used_after_a_registration_that_has_failed() {
    let mut world = World::new();
    world.request("x").unwrap();
    world.pass(3600);
    world.token_answers.push_back((401, r#"{"error":"invalid_client"}"#.into()));
    world.registration = (503, String::new());
    assert!(matches!(world.request("x"), Err(AuthError::Registration { .. })));
    world.registration = (201, r#"{"client_id":"second"}"#.into());
    world.accepted.clear();
    world.request("x").unwrap();
    assert_eq!(world.pages.last().unwrap()["client_id"], "second");
    assert_eq!(world.registrations.len(), 3);
}

/// Two servers have tokens of one client, which their authorization server forgets.
#[test]
fn client_that_another_program_has_registered_again_is_used() {
    let mut world = World::new();
    world.request("x").unwrap();
    let stale = world.store.clone();
    world.registration = (201, r#"{"client_id":"second"}"#.into());
    let invalid = || (401, r#"{"error":"invalid_client"}"#.into());
    world.pass(3600);
    world.token_answers.push_back(invalid());
    world.request("x").unwrap();
    assert_eq!(world.registrations.len(), 2);
    // The other server's record has the forgotten client.
    let key = |key: &&String| key.starts_with("server:");
    let own = stale.keys().find(key).unwrap();
    world.store.insert(own.clone(), stale[own].clone());
    let mut world = world.restart();
    world.token_answers.push_back(invalid());
    world.request("x").unwrap();
    assert_eq!(world.registrations.len(), 2);
    assert_eq!(world.pages.last().unwrap()["client_id"], "second");
}
