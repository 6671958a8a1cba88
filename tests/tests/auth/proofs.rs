//! Requests with tokens that are bound to a key: each has a proof for its method and its URL.

use std::sync::Arc;

use mcp_proto::Duration;
use mcp_proto::auth::{
    Access, AuthAction, AuthError, AuthState, Authorizer, Config, ProofKey, RefusalAdvice, Scopes,
    SentRequest, SignId,
};
use mcp_proto::client::{CallError, CallId, Negotiation};
use mcp_proto::http::client::{Action, ExchangeId, Request};
use mcp_proto::http::{Unauthorized, Url};
use serde_json::Value;

use super::host::Host;
use super::world::{ISSUER, Person, RESOURCE_PLACE, SERVER, World};

#[test]
fn end_of_a_session_has_a_proof() {
    let mut host = host(Negotiation::Legacy);
    host.connect();
    host.close();
    assert!(host.is_closed);
    assert_eq!(host.log.last().unwrap(), "DELETE 200");
    assert_eq!(target(host.proofs.last().unwrap()), ("DELETE /mcp", "DELETE", SERVER));
}

#[test]
fn proof_has_the_time_of_the_driver_after_the_machine_has_slept() {
    let mut host = host(Negotiation::Auto);
    host.connect();
    // The monotonic clock has not moved.
    host.client.set_unix_time(host.world.now, Duration::from_secs(1_900_000_000));
    host.call("x");
    host.run();
    let (_, claims) = host.proofs.last().unwrap();
    assert_eq!(claims.as_ref().unwrap()["iat"], 1_900_000_000);
}

#[test]
fn proofs_leave_private_results_in_the_cache() {
    let mut host = host(Negotiation::Auto);
    host.connect();
    let lists = |host: &Host| host.log.iter().filter(|it| *it == "tools/list 200").count();
    host.list_tools();
    host.list_tools();
    host.call("x");
    host.run();
    host.list_tools();
    assert_eq!(lists(&host), 1);
    // Other tokens may be those of another person.
    host.client.with_authorizer(host.world.now, Authorizer::forget);
    host.run();
    host.list_tools();
    assert_eq!(lists(&host), 2);
}

#[test]
fn end_of_a_session_waits_two_seconds_for_a_signature() {
    let mut host = host(Negotiation::Legacy);
    host.connect();
    host.world.signs = false;
    host.close();
    assert!(!host.is_closed);
    let due = host.client.poll_timeout().unwrap();
    assert_eq!(due, host.world.now + Duration::from_secs(2));
    host.client.handle_timeout(due);
    host.run();
    assert!(host.is_closed);
    assert!(!host.log.iter().any(|line| line.starts_with("DELETE")), "{:?}", host.log);
}

#[test]
fn redirected_request_has_a_proof_of_its_own() {
    for status in [307, 308] {
        let mut host = host(Negotiation::Auto);
        host.connect();
        host.proofs.clear();
        host.redirects.insert("POST /mcp".into(), (status, "/b?team=7"));
        let call = host.call("x");
        host.run();
        assert!(host.result(call).unwrap().is_ok());
        let moved = ("POST /b?team=7", "POST", "https://s.example/b");
        let [first, second] = &host.proofs[..] else { panic!("{:?}", host.proofs) };
        assert_eq!((target(first), target(second)), (("POST /mcp", "POST", SERVER), moved));
        assert_ne!(claim(first, "jti"), claim(second, "jti"));
        // The answer that redirects has named a nonce.
        assert_eq!(claim(second, "nonce"), "moved");
        // A permanent redirection counts for later requests.
        host.call("x");
        host.run();
        let expected = if status == 308 { 3 } else { 4 };
        assert_eq!(host.proofs.len(), expected);
        assert_eq!(target(host.proofs.last().unwrap()), moved);
    }
}

#[test]
fn redirected_end_of_a_session_has_a_proof_of_its_own() {
    let mut host = host(Negotiation::Legacy);
    host.connect();
    host.redirects.insert("DELETE /mcp".into(), (307, "/b"));
    host.close();
    assert!(host.is_closed);
    let moved = ("DELETE /b", "DELETE", "https://s.example/b");
    assert_eq!(target(host.proofs.last().unwrap()), moved);
}

#[test]
fn redirections_in_a_circle_end() {
    let mut host = host(Negotiation::Auto);
    host.connect();
    host.proofs.clear();
    host.redirects.insert("POST /mcp".into(), (307, "/b"));
    host.redirects.insert("POST /b".into(), (307, "/mcp"));
    let call = host.call("x");
    host.run();
    assert!(host.result(call).unwrap().is_err());
    assert_eq!(host.proofs.len(), 6);
}

#[test]
fn proof_for_one_url_is_not_used_for_another() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    let url = |text| Url::parse(text).unwrap();
    let (one, other) = (url(SERVER), url("https://s.example/b"));
    let now = world.now;
    let ask = |it: &mut Authorizer, url: &Url| it.access(now, "POST", url);
    assert_eq!(ask(&mut world.authorizer, &one), Access::Wait);
    world.run().unwrap();
    assert_eq!(ask(&mut world.authorizer, &other), Access::Wait);
    assert!(matches!(ask(&mut world.authorizer, &one), Access::Ready(_)));
    // Nothing is for another origin.
    for text in ["http://s.example/mcp", "https://s.example:8443/mcp", "https://a.example/mcp"] {
        assert_eq!(ask(&mut world.authorizer, &url(text)), Access::None);
    }
}

#[test]
fn proof_that_is_ready_is_for_one_nonce_and_one_token_and_a_minute() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    let changes: [fn(&mut World); 3] = [
        |world| world.authorizer.handle_nonce("n"),
        |world| world.pass(60),
        |world| {
            world.authorizer.authorize(world.now, &Scopes::words("a"));
        },
    ];
    for change in changes {
        assert_eq!(world.access(), Access::Wait);
        world.run().unwrap();
        // The proof is ready, and nobody takes it.
        change(&mut world);
        world.run().unwrap();
        assert_eq!(world.access(), Access::Wait);
        world.run().unwrap();
        assert!(matches!(world.access(), Access::Ready(_)));
    }
}

/// Some servers accept a proof for no more than 25 s.
#[test]
fn proof_that_nobody_takes_is_for_a_few_seconds() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    for (pause, is_good) in [(4, true), (10, false)] {
        assert_eq!(world.access(), Access::Wait);
        world.run().unwrap();
        world.pass(pause);
        assert_eq!(matches!(world.access(), Access::Ready(_)), is_good, "{pause}");
        world.run().unwrap();
        world.pass(60);
    }
}

#[test]
fn proof_with_a_slow_signature_is_used_at_once() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    assert_eq!(world.access(), Access::Wait);
    let id = requested_signature(&mut world);
    world.pass(29);
    world.authorizer.handle_signed(world.now, id, Ok(&[7; 64]));
    assert!(matches!(world.access(), Access::Ready(_)));
}

/// The requests wait until no signature is pending.
#[test]
fn proofs_wait_for_slow_signatures_of_other_requests() {
    let (mut world, [first, second]) = two_requests();
    for (id, _) in [&first, &second] {
        world.pass(10);
        world.authorizer.handle_signed(world.now, *id, Ok(&[7; 64]));
    }
    for (_, url) in [&first, &second] {
        assert!(matches!(world.authorizer.access(world.now, "POST", url), Access::Ready(_)));
    }
}

#[test]
fn proof_is_dropped_if_the_signature_of_another_request_fails() {
    for fails in [true, false] {
        let (mut world, [(first, url), (second, _)]) = two_requests();
        world.authorizer.handle_signed(world.now, first, Ok(&[7; 64]));
        world.pass(29);
        if fails {
            world.authorizer.handle_signed(world.now, second, Err("busy".into()));
        } else {
            world.pass(1);
            world.authorizer.handle_timeout(world.now);
        }
        while world.authorizer.poll_action().is_some() {}
        assert_eq!(world.authorizer.access(world.now, "POST", &url), Access::Wait, "{fails}");
    }
}

/// A client with two requests that wait for their signatures.
fn two_requests() -> (World, [(SignId, Url); 2]) {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    let requests = [SERVER, "https://s.example/b"].map(|text| {
        let url = Url::parse(text).unwrap();
        assert_eq!(world.authorizer.access(world.now, "POST", &url), Access::Wait);
        (requested_signature(&mut world), url)
    });
    (world, requests)
}

#[test]
fn request_that_has_waited_for_a_connection_has_a_new_proof() {
    let mut host = host(Negotiation::Auto);
    host.connect();
    let (calls, open) = begin_calls(&mut host, 40);
    host.proofs.clear();
    host.world.pass(30);
    for (exchange, request) in &open {
        host.serve(*exchange, request);
    }
    host.run();
    assert!(calls.iter().all(|call| host.result(*call).unwrap().is_ok()));
    assert_eq!(host.proofs.len(), 40);
    for (_, claims) in host.proofs.iter().skip(open.len()) {
        assert_eq!(claims.as_ref().unwrap()["iat"], 1_800_000_030);
    }
}

/// The user signs out while the request waits, so that it needs no proof.
#[test]
fn request_that_has_waited_for_a_connection_has_its_time() {
    let mut host = host(Negotiation::Auto);
    host.connect();
    let (calls, open) = begin_calls(&mut host, 25);
    assert_eq!(open.len(), 24);
    host.world.pass(30);
    host.client.with_authorizer(host.world.now, Authorizer::forget);
    host.serve(open[0].0, &open[0].1);
    let actions = std::iter::from_fn(|| host.client.poll_action());
    assert!(actions.into_iter().any(|action| matches!(action, Action::Open { .. })));
    host.world.pass(60);
    host.client.handle_timeout(host.world.now);
    host.run();
    let late = calls.last().and_then(|call| host.result(*call));
    assert!(matches!(late, Some(Err(CallError::TimedOut))), "{late:?}");
}

/// Begins calls; returns the requests of those that have got a connection.
fn begin_calls(host: &mut Host, count: usize) -> (Vec<CallId>, Vec<(ExchangeId, Arc<Request>)>) {
    let calls = (0..count).map(|_| host.call("x")).collect();
    let mut open = Vec::new();
    while let Some(action) = host.client.poll_action() {
        let now = host.world.now;
        match action {
            Action::Open { exchange, request } => open.push((exchange, request)),
            Action::Authorize(action) => {
                if let Some(reply) = host.world.reply(action) {
                    host.client.with_authorizer(now, reply).unwrap();
                }
            }
            _ => {}
        }
    }
    (calls, open)
}

#[test]
fn signature_does_not_resend_a_request_that_waits_for_a_person() {
    let mut host = host(Negotiation::Auto);
    host.world.needs.insert("tools/call w".into(), "write".into());
    host.connect();
    host.world.person = Person::Pauses;
    let refused = host.call("w");
    host.run();
    assert_eq!(host.pages(), 2);
    // Other calls have signatures of their own meanwhile.
    for name in ["a", "b", "c", "d"] {
        let call = host.call(name);
        host.run();
        assert!(host.result(call).unwrap().is_ok(), "{:?}", host.log);
    }
    let count = |host: &Host, line: &str| host.log.iter().filter(|it| *it == line).count();
    assert_eq!((host.result(refused), count(&host, "tools/call w 403")), (None, 1));
    let state = host.world.pages[1]["state"].clone();
    let now = host.world.now;
    host.client.with_authorizer(now, |it| {
        it.handle_redirect(now, &format!("?code=1&state={state}"));
    });
    host.run();
    assert!(host.result(refused).unwrap().is_ok(), "{:?}", host.log);
    assert_eq!((count(&host, "tools/call w 403"), count(&host, "tools/call w 200")), (1, 1));
}

#[test]
fn request_that_lacks_a_nonce_is_repeated_while_a_person_is_asked() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    assert_eq!(world.access(), Access::Wait);
    world.run().unwrap();
    let Access::Ready(held) = world.access() else { panic!() };
    world.person = Person::Pauses;
    world.authorizer.authorize(world.now, &Scopes::words("a"));
    world.run().unwrap();
    let mut refuse = |challenge: &[u8], nonces| {
        let mut sent = SentRequest::new("x");
        (sent.token, sent.tries, sent.nonces) = (Some(held.token), nonces, nonces);
        let refusal = Unauthorized::new(401, [challenge]);
        world.authorizer.handle_nonce("n");
        world.authorizer.handle_refusal(world.now, &refusal, &sent)
    };
    assert_eq!(refuse(b"DPoP error=\"use_dpop_nonce\"", 0), RefusalAdvice::Repeat);
    // Other refusals, and a second nonce, wait for the person.
    assert_eq!(refuse(b"DPoP error=\"use_dpop_nonce\"", 1), RefusalAdvice::Wait);
    assert_eq!(refuse(b"DPoP error=\"invalid_token\"", 0), RefusalAdvice::Wait);
}

#[test]
fn missing_signature_of_a_request_does_not_end_a_sign_in() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    world.person = Person::Pauses;
    world.authorizer.authorize(world.now, &Scopes::words("a"));
    world.run().unwrap();
    assert_eq!(world.access(), Access::Wait);
    fail_signature(&mut world);
    assert_eq!(world.authorizer.poll_action(), None);
    let state = world.pages[1]["state"].clone();
    world.authorizer.handle_redirect(world.now, &format!("?code=1&state={state}"));
    world.run().unwrap();
    assert_eq!(world.authorized, [Ok(())]);
    // Without a flow the failure ends the wait.
    assert_eq!(world.access(), Access::Wait);
    fail_signature(&mut world);
    assert!(matches!(world.run(), Err(AuthError::Signature { .. })));
    world.request("x").unwrap();
}

#[test]
fn missing_signature_of_a_request_does_not_cost_a_refresh_token() {
    let mut world = World::with(bound);
    dpop(&mut world);
    world.request("x").unwrap();
    assert_eq!(world.access(), Access::Wait);
    let Some(AuthAction::Sign { id, .. }) = world.authorizer.poll_action() else { panic!() };
    world.pass(3600);
    assert_eq!(world.access(), Access::Wait);
    while let Some(action) = world.authorizer.poll_action() {
        if matches!(action, AuthAction::Fetch(_)) {
            world.authorizer.handle_signed(world.now, id, Err("busy".into()));
        }
        if let Some(reply) = world.reply(action) {
            reply(&mut world.authorizer);
        }
    }
    assert!(matches!(world.states.last(), Some(AuthState::Ready { .. })));
    world.request("x").unwrap();
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

#[test]
fn bearer_token_stays_one_until_a_bound_token_replaces_it() {
    let mut world = World::with(bound);
    world.request("x").unwrap();
    let body = format!(
        r#"{{"resource":"{SERVER}","authorization_servers":["{ISSUER}"],"dpop_bound_access_tokens_required":true}}"#
    );
    world.document(RESOURCE_PLACE, 200, &body);
    let is_bearer = |access: Access| match access {
        Access::Ready(it) => it.authorization.expose().starts_with("Bearer ") && it.proof.is_none(),
        Access::Wait | Access::None => false,
    };
    world.person = Person::Pauses;
    world.authorizer.authorize(world.now, &Scopes::none());
    world.run().unwrap();
    assert!(is_bearer(world.access()));
    world.authorizer.handle_refused_consent(world.now, "no".into());
    assert!(world.run().is_err());
    assert!(is_bearer(world.access()));
}

/// Fails the signature that is requested next.
fn fail_signature(world: &mut World) {
    let sign = requested_signature(world);
    world.authorizer.handle_signed(world.now, sign, Err("busy".into()));
}

/// The signature that is requested next.
fn requested_signature(world: &mut World) -> SignId {
    let id = |action| if let AuthAction::Sign { id, .. } = action { Some(id) } else { None };
    std::iter::from_fn(|| world.authorizer.poll_action()).find_map(id).unwrap()
}

/// A client whose server binds tokens to its key.
fn host(negotiation: Negotiation) -> Host {
    let mut host = Host::with(negotiation, bound);
    dpop(&mut host.world);
    host
}

fn bound(config: Config) -> Config {
    config.proof_key(ProofKey::es256([1; 32], [2; 32]))
}

fn dpop(world: &mut World) {
    world.challenge = "DPoP".into();
    world.token_members = r#","token_type":"DPoP","expires_in":3600"#.into();
}

/// A request, and the method and the URL that its proof is for.
fn target(proof @ (request, _): &(String, Option<Value>)) -> (&str, &str, &str) {
    (request, claim(proof, "htm"), claim(proof, "htu"))
}

/// A claim of the proof that a request must have.
fn claim<'a>((_, claims): &'a (String, Option<Value>), name: &str) -> &'a str {
    claims.as_ref().unwrap()[name].as_str().unwrap()
}
