//! Programs that share a store: the lock of a record during a refresh.

use mcp_proto::auth::{Access, RefusalAdvice, SentRequest};
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
