//! Step-ups of a client that shares its store with other programs, and whose servers fail.

use mcp_proto::auth::{AuthError, Scopes};

use super::world::{ISSUER, RESOURCE_PLACE, SERVER, World};

/// A server that needs the scope `b` for `write`, and another program's store.
fn signed_in() -> World {
    let mut world = World::new();
    world.challenge = r#"Bearer scope="a""#.into();
    world.needs.insert("write".into(), "b".into());
    world.request("read").unwrap();
    world
}

#[test]
fn scopes_that_another_process_has_got_need_no_person() {
    let world = signed_in();
    let mut world = step_up_elsewhere(world, "write");
    world.request("write").unwrap();
    assert_eq!((world.pages.len(), world.forms.len()), (2, 2));
}

#[test]
fn step_up_keeps_the_scopes_that_another_process_has_got() {
    let mut world = signed_in();
    world.needs.insert("delete".into(), "c".into());
    let mut world = step_up_elsewhere(world, "delete");
    world.request("write").unwrap();
    assert_eq!(world.pages[2]["scope"], "a c b");
}

/// The client has not asked for the metadata since its start.
#[test]
fn step_up_asks_the_metadata_that_a_challenge_has_named() {
    let place = "https://s.example/custom";
    let mut world = World::new();
    world.documents.remove(RESOURCE_PLACE);
    world.resource(place, SERVER, ISSUER);
    world.challenge = format!(r#"Bearer resource_metadata="{place}""#);
    world.needs.insert("write".into(), "b".into());
    world.request("read").unwrap();
    let mut world = world.restart();
    world.request("write").unwrap();
    assert_eq!(world.pages[1]["scope"], "b");
}

/// After three step-ups that have failed, only the application begins another one.
#[test]
fn error_of_an_operation_without_step_ups_names_the_remedy() {
    let mut world = signed_in();
    for _ in 0..3 {
        world.token_answers.push_back((503, String::new()));
        assert!(matches!(world.request("write"), Err(AuthError::Unavailable { .. })));
    }
    let error = world.request("write").unwrap_err();
    assert!(error.to_string().ends_with("then sign in with these scopes"), "{error}");
    world.authorizer.authorize(world.now, &Scopes::words("b"));
    world.run().unwrap();
    world.request("write").unwrap();
}

/// A program that has read the store before another program stepped up for `operation`.
fn step_up_elsewhere(mut world: World, operation: &str) -> World {
    let narrow = (world.store.clone(), world.accepted.clone());
    world.request(operation).unwrap();
    let wide = world.store.clone();
    world.store = narrow.0;
    world.accepted.extend(narrow.1);
    let mut world = world.restart();
    world.request("read").unwrap();
    world.store = wide;
    world
}
