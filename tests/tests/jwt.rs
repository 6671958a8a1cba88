//! Tokens that are JWTs: confusions that an attacker may try (`s18`), and how often keys are
//! fetched.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failed test")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use mcp_proto::Limits;
use mcp_proto::frame::http1::Head;
use mcp_proto::resource_server::{ClaimRules, Verification, VerifiedToken, Verifier};
use mcp_service::{JwtAlgorithm, JwtVerifier};
use serde_json::{Value, json};

const ISSUER: &str = "https://auth.example.com";
const SERVER: &str = "https://mcp.example.com/mcp";
const NOW: u64 = 1_800_000_000;

#[test]
fn a_good_token_has_claims() {
    let world = World::new();
    for header in [
        json!({"alg": "ES256", "kid": "a"}),
        json!({"alg": "ES256", "kid": "a", "typ": "JWT"}),
        json!({"alg": "ES256", "kid": "a", "typ": "AT+jwt"}),
        json!({"alg": "ES256"}),
    ] {
        let claims = world.verify(&world.key.token(&header, &claims())).unwrap();
        assert_eq!(claims.principal().as_deref(), Some("https://auth.example.com alice"));
        assert_eq!(claims.scopes.to_param(), "files:read");
    }
}

/// Otherwise the system clock decides when a stream ends.
#[test]
fn time_that_a_token_has_left_follows_the_clock_of_its_verifier() {
    let world = World::new();
    let token = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &claims());
    for (seconds, left) in [(0, 300), (100, 200), (250, 0)] {
        world.pass(seconds);
        let claims = world.verify(&token).unwrap();
        assert_eq!(claims.time_left, Some(Duration::from_secs(left)));
    }
}

#[test]
fn auth_s18_jwt_confusion() {
    let world = World::new();
    let good = json!({"alg": "ES256", "kid": "a"});
    let with = |name: &str, value: Value| {
        let mut header = good.clone();
        header[name] = value;
        world.key.token(&header, &claims())
    };
    let unsigned = |header: &Value| format!("{}.{}.", part(header), part(&claims()));
    // HMAC with what everybody knows: the public key.
    let public = world.key.jwk()["x"].as_str().unwrap().to_owned();
    let secret = EncodingKey::from_secret(public.as_bytes());
    let hmac = |header: &Value| signed(header, &claims(), &secret, Algorithm::HS256);
    let stranger = Key::new("a");
    let expected = [
        (unsigned(&json!({"alg": "none"})), "the algorithm of the token is not allowed"),
        (
            unsigned(&json!({"alg": "None", "kid": "a"})),
            "the algorithm of the token is not allowed",
        ),
        (unsigned(&good), "the signature of the token is wrong"),
        (hmac(&json!({"alg": "HS256", "kid": "a"})), "the algorithm of the token is not allowed"),
        (hmac(&good), "the signature of the token is wrong"),
        (with("alg", json!("RS256")), "the token is signed with an unknown key"),
        (with("alg", json!("EdDSA")), "the token is signed with an unknown key"),
        (with("alg", json!("ES384")), "the algorithm of the token is not allowed"),
        (with("alg", json!(7)), "the token is no JWT"),
        (with("crit", json!(["exp"])), "the token has critical headers"),
        (with("crit", json!([])), "the token has critical headers"),
        (with("crit", Value::Null), "the token has critical headers"),
        (with("typ", json!("dpop+jwt")), "the token is no access token"),
        (with("kid", json!("b")), "the token is signed with an unknown key"),
        // Keys that the token brings along are not looked at.
        (
            stranger.token(&json!({"alg": "ES256", "kid": "b", "jwk": stranger.jwk()}), &claims()),
            "the token is signed with an unknown key",
        ),
        (stranger.token(&good, &claims()), "the signature of the token is wrong"),
        ("a.b".into(), "the token is no JWT"),
        ("..".into(), "the token is no JWT"),
        (format!("{}.x", world.key.token(&good, &claims())), "the token is no JWT"),
        ("a".repeat(20_000), "the token is no JWT"),
    ];
    for (token, reason) in expected {
        let refusal = world.verify(&token).unwrap_err();
        assert_eq!(refusal.status(), 401, "{token}");
        assert_eq!(refusal.to_string(), format!("401: {reason}"), "{token}");
    }
    // Two members of one name could be read in two ways.
    let header = r#"{"alg":"ES256","alg":"none","kid":"a"}"#;
    let token = format!("{}.{}.", URL_SAFE_NO_PAD.encode(header), part(&claims()));
    assert_eq!(world.verify(&token).unwrap_err().to_string(), "401: the token is no JWT");
}

#[test]
fn auth_s18_claims_are_checked_after_the_signature() {
    let world = World::new();
    let header = json!({"alg": "ES256", "kid": "a"});
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        world.verify(&world.key.token(&header, &claims)).unwrap_err().to_string()
    };
    assert_eq!(with("exp", json!(NOW - 61)), "401: the token has expired");
    assert_eq!(with("exp", Value::Null), "401: the token has no claims");
    assert_eq!(
        with("aud", json!("https://other.example")),
        "401: the token is not for this server"
    );
    assert_eq!(with("aud", Value::Null), "401: the token is not for this server");
    assert_eq!(with("iss", json!("https://evil.example")), "401: the token is of another issuer");
    let mut forever = claims();
    forever.as_object_mut().unwrap().remove("exp");
    let refusal = world.verify(&world.key.token(&header, &forever)).unwrap_err();
    assert_eq!(refusal.to_string(), "401: the token does not expire");
    // Nothing of a token is believed before its signature is.
    let token = world.key.token(&header, &claims());
    let (head, signature) = token.rsplit_once('.').unwrap();
    let (head, _) = head.split_once('.').unwrap();
    let forged = format!("{head}.{}.{signature}", part(&json!({"iss": ISSUER, "sub": "root"})));
    let refusal = world.verify(&forged).unwrap_err();
    assert_eq!(refusal.to_string(), "401: the signature of the token is wrong");
}

#[test]
fn auth_s18_keys_have_one_algorithm_and_one_purpose() {
    let key = Key::new("a");
    let header = json!({"alg": "ES256", "kid": "a"});
    for (member, value) in [
        ("use", json!("enc")),
        ("use", json!(7)),
        ("key_ops", json!(["encrypt"])),
        ("key_ops", json!("verify")),
        ("alg", json!(["ES256"])),
        ("alg", json!("HS256")),
        ("alg", json!("RS256")),
        ("kty", json!("oct")),
        ("crv", json!("P-521")),
        ("x", json!("AAAA")),
    ] {
        let mut jwk = key.jwk();
        jwk[member] = value;
        let world = World::with(key.clone(), vec![jwk]);
        assert!(world.verify(&key.token(&header, &claims())).is_err(), "{member}");
    }
    // Without an id, a token is not tried with one key after the other.
    let two = World::with(key.clone(), vec![key.jwk(), Key::new("b").jwk()]);
    assert!(two.verify(&key.token(&header, &claims())).is_ok());
    assert!(two.verify(&key.token(&json!({"alg": "ES256"}), &claims())).is_err());
}

#[test]
fn the_jwt_corpus_replays() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/jwt");
    let mut accepted = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        accepted += mcp_tests::fuzz::jwt_accepted(&std::fs::read(entry.unwrap().path()).unwrap());
    }
    assert!(accepted > 0);
}

/// Without a fuzzer: what a generator of numbers comes to.
#[test]
fn auth_s18_only_good_tokens_are_accepted_whatever_comes() {
    let (mut state, mut accepted) = (1_u64, 0);
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    for count in 0..3000_usize {
        // A zero is the usual choice: of many of them tokens are good.
        let zeros = [0, 128, 224][count % 3];
        let script: Vec<u8> = (0..160).map(|_| if next() < zeros { 0 } else { next() }).collect();
        accepted += mcp_tests::fuzz::jwt_accepted(&script);
    }
    assert!(accepted > 1000, "{accepted}");
}

/// The example of RFC 7515, A.2.
#[test]
fn rsa_signatures_are_verified() {
    const N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let world = World::with(Key::new("a"), vec![json!({"kty": "RSA", "n": N, "e": "AQAB"})]);
    // Its signature is good, and it is for somebody else.
    let refusal = world.verify(TOKEN).unwrap_err();
    assert_eq!(refusal.to_string(), "401: the token is of another issuer");
    let changed = TOKEN.replace("joe", "jim").replace(".eyJpc3Mi", ".eyJpc3Ni");
    let refusal = world.verify(&changed).unwrap_err();
    assert_eq!(refusal.to_string(), "401: the signature of the token is wrong");
}

/// A key of RSA that names no algorithm is for both.
#[test]
fn rsa_signatures_with_pss_are_verified() {
    const N: &str = "sv3gNZcC7CgsB0I3s9Z_bIlcU98PFvbjfImDtkzBCmbqht4YTm6sIYcW0mRDgMp7_ipjRAIYGx-Vq0lHrFapybJAJrv_GOxixX-SySMXzFATiz9AnniI4mD1YP8o-6iA6DE68Ewk8cuMKXXxM6-atXehfv5JMROpl2nisxv90v7Mis0JGdUN-62NgXPPmJ_GV2R1xj-73ShxJQafGuw09S3PwQLgkf43RmOr-111SWlV8exDTdiWCcC95cFjukAKYX9kEMnVhLlSqiISCCOq3owUqaFOKx32mHgy-Ot6fqFtp0D8M8GLxp4HYX11RsFCJkAAi3s1Vbj9lU2vzbEN3w";
    const TOKEN: &str = "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJqb2UifQ.aGON_oRTEoatHBf64ou9xj_cC-T_FLRAVJG2JtruDkVrmRGD7s3y7adGe21jPH5HUKogEPaOV-wH2s6qshcwU7_fW6exOG00zpydmQeSkZp0IWEoqhIwK8PZQ3C0_5Hqv4iGf-9bLhpcqvn8i7IKoZGm_Pbg4ChN1nlQrKIJwHjjU46ecVW3MKL38CJ5TrlZQ15Q2fz8z_jG4hZwKEkGm6egOu-Rjq0fjgfIgzPq5fg8hBDyrY5WtisLJECvRoJKWfjfbc8Uahp4ZdrOPazQH18eHmUAO7q0DM82r3DZTcQdVwFUwYw17kM8CYe2fnfCdxJa3s_67GgUda9JgCFs2A";
    let key = json!({"kty": "RSA", "n": N, "e": "AQAB"});
    let with = |member: &str, value: &str| {
        let mut key = key.clone();
        key[member] = json!(value);
        key
    };
    let of_another = "401: the token is of another issuer";
    for (jwk, expected) in [
        (key.clone(), of_another),
        (with("alg", "PS256"), of_another),
        (with("alg", "RS256"), "401: the token is signed with an unknown key"),
        (with("n", &N.replace('A', "B")), "401: the signature of the token is wrong"),
    ] {
        let mut world = World::with(Key::new("a"), vec![jwk]);
        world.verifier = world.verifier.algorithms(&[JwtAlgorithm::Ps256]);
        assert_eq!(world.verify(TOKEN).unwrap_err().to_string(), expected);
    }
}

/// [RFC 9864](https://www.rfc-editor.org/rfc/rfc9864) gives the algorithm a second name.
#[test]
fn signatures_with_ed25519_have_two_names() {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let signs = EncodingKey::from_ed_der(&pair.serialize_der());
    let x = URL_SAFE_NO_PAD.encode(pair.public_key_raw());
    for of_key in [None, Some("EdDSA"), Some("Ed25519")] {
        let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
        if let Some(alg) = of_key {
            jwk["alg"] = json!(alg);
        }
        let world = World::with(Key::new("a"), vec![jwk]);
        for alg in ["EdDSA", "Ed25519"] {
            let token = signed(&json!({"alg": alg}), &claims(), &signs, Algorithm::EdDSA);
            assert!(world.verify(&token).is_ok(), "{of_key:?} {alg}");
        }
    }
}

#[test]
fn auth_s18_keys_are_not_fetched_for_each_request() {
    let world = World::new();
    let good = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &claims());
    let unknown = |number: u64| {
        world.key.token(&json!({"alg": "ES256", "kid": number.to_string()}), &claims())
    };
    for number in 0..100 {
        assert!(world.verify(&good).is_ok());
        assert_eq!(world.verify(&unknown(number)).unwrap_err().status(), 401);
    }
    assert_eq!(world.fetches(), 1);
    // After a minute an unknown key is looked for again, once.
    world.pass(60);
    for number in 0..100 {
        assert!(world.verify(&unknown(number)).is_err());
    }
    assert_eq!(world.fetches(), 2);
    // After an hour the keys are looked at again.
    world.pass(3600);
    assert!(world.verify(&good).is_err(), "it has expired");
    assert_eq!(world.fetches(), 3);
}

#[test]
fn a_key_that_was_added_is_found_after_a_minute() {
    let world = World::new();
    let header = |id: &str| json!({"alg": "ES256", "kid": id});
    assert!(world.verify(&world.key.token(&header("a"), &claims())).is_ok());
    let added = Key::new("b");
    world.set.lock(vec![world.key.jwk(), added.jwk()]);
    assert!(world.verify(&added.token(&header("b"), &claims())).is_err());
    world.pass(60);
    assert!(world.verify(&added.token(&header("b"), &claims())).is_ok());
}

#[test]
fn keys_stay_in_use_while_they_cannot_be_fetched() {
    let world = World::new();
    let mut long = claims();
    long["exp"] = json!(NOW + 10_000);
    let token = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &long);
    world.set.fail();
    // Nobody is signed out because the issuer is away.
    assert_eq!(world.verify(&token).unwrap_err().status(), 503);
    assert_eq!(world.verify(&token).unwrap_err().status(), 503);
    assert_eq!(world.fetches(), 1);
    world.pass(5);
    world.set.lock(vec![world.key.jwk()]);
    assert!(world.verify(&token).is_ok());
    world.set.fail();
    world.pass(3600);
    assert!(world.verify(&token).is_ok());
    assert_eq!(world.fetches(), 3);
}

#[test]
fn known_key_is_used_although_its_source_does_not_answer() {
    let (world, token) = World::with_old_keys();
    world.set.hang();
    let mut context = Context::from_waker(Waker::noop());
    let mut first = world.start(&token);
    assert!(first.as_mut().poll(&mut context).is_pending());
    // Other tokens do not wait for the fetch.
    assert!(world.verify(&token).is_ok());
    let begun = Instant::now();
    let claims = loop {
        match first.as_mut().poll(&mut context) {
            Poll::Ready(claims) => break claims,
            Poll::Pending => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(claims.is_ok());
    let most = Limits::default().verify_timeout * 3 / 4;
    assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
    // The fetch has failed: the next one begins 5 s later.
    world.pass(4);
    assert!(world.verify(&token).is_ok());
    assert_eq!(world.fetches(), 2);
    world.pass(1);
    assert!(world.start(&token).as_mut().poll(&mut context).is_pending());
    assert_eq!(world.fetches(), 3);
}

#[test]
fn dropped_fetch_counts_as_a_failed_one_for_a_known_key() {
    let (world, token) = World::with_old_keys();
    world.set.hang();
    let mut context = Context::from_waker(Waker::noop());
    for fetches in 2..5 {
        assert!(world.start(&token).as_mut().poll(&mut context).is_pending());
        for _ in 0..100 {
            assert!(world.verify(&token).is_ok());
        }
        assert_eq!(world.fetches(), fetches);
        world.pass(5);
    }
}

#[test]
fn tokens_that_come_together_share_a_fetch() {
    let world = World::new();
    world.set.hold();
    let token = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &claims());
    let mut verifications = [(); 10].map(|()| world.start(&token));
    let mut context = Context::from_waker(Waker::noop());
    for verification in &mut verifications {
        assert!(verification.as_mut().poll(&mut context).is_pending());
    }
    // The one that fetches may be given up: its client is gone. The fetch continues.
    let [first, mut second, mut third, ..] = verifications;
    drop(first);
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(third.as_mut().poll(&mut context).is_pending());
    world.set.release();
    assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert!(matches!(third.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert_eq!(world.fetches(), 1);
}

#[test]
fn dropped_tokens_with_unknown_keys_share_a_fetch() {
    let world = World::new();
    world.set.hang();
    let unknown = |number: usize| {
        let header = json!({"alg": "ES256", "kid": format!("made up {number}")});
        world.key.token(&header, &claims())
    };
    let mut context = Context::from_waker(Waker::noop());
    for second in 0..20 {
        for number in 0..50 {
            let mut dropped = world.start(&unknown(number));
            assert!(dropped.as_mut().poll(&mut context).is_pending());
        }
        // The fetch of a token that is gone fails after 5 s.
        assert_eq!(world.fetches(), 1 + second / 5);
        world.pass(1);
    }
}

#[test]
fn fetch_of_a_dropped_token_ends_for_another_token() {
    let world = World::new();
    world.set.hold();
    let token = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &claims());
    let count = Arc::new(Wakes::default());
    let waker = Waker::from(count.clone());
    let mut first = world.start(&token);
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut context = Context::from_waker(&waker);
    let mut second = world.start(&token);
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    world.set.release();
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    assert!(world.verify(&token).is_ok());
    assert_eq!(world.fetches(), 1);
}

/// Nobody waits when the keys arrive.
#[test]
fn fetch_of_a_dropped_token_ends_for_a_later_token() {
    let world = World::new();
    world.set.hold();
    let header = |id: &str| json!({"alg": "ES256", "kid": id});
    let mut context = Context::from_waker(Waker::noop());
    for number in 0..50 {
        let unknown = world.key.token(&header(&format!("made up {number}")), &claims());
        assert!(world.start(&unknown).as_mut().poll(&mut context).is_pending());
    }
    world.set.release();
    assert!(world.verify(&world.key.token(&header("a"), &claims())).is_ok());
    assert_eq!(world.fetches(), 1);
}

/// Old keys are replaced although the token that started the fetch is gone.
#[test]
fn fetch_of_a_dropped_token_revokes_keys() {
    let (world, token) = World::with_old_keys();
    world.set.lock(vec![Key::new("b").jwk()]);
    world.set.hold();
    let mut context = Context::from_waker(Waker::noop());
    assert!(world.start(&token).as_mut().poll(&mut context).is_pending());
    assert!(world.verify(&token).is_ok());
    world.set.release();
    let refusal = world.verify(&token).unwrap_err();
    assert_eq!(refusal.to_string(), "401: the token is signed with an unknown key");
    assert_eq!(world.fetches(), 2);
}

/// A counting waker.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A key pair of the issuer.
#[derive(Clone)]
struct Key {
    id: &'static str,
    key: EncodingKey,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = rcgen::KeyPair::generate().unwrap();
        Self { id, key: EncodingKey::from_ec_der(&pair.serialize_der()) }
    }

    fn jwk(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(self.id);
        jwk
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, &self.key, Algorithm::ES256)
    }
}

/// An issuer's set of keys.
#[derive(Clone, Default)]
struct KeySet(Arc<std::sync::Mutex<Option<Vec<Value>>>>, Arc<AtomicBool>, Arc<HeldFetches>);

/// The wakers of fetches that are held; `None` if fetches are not held.
type HeldFetches = std::sync::Mutex<Option<Vec<Waker>>>;

impl KeySet {
    fn lock(&self, keys: Vec<Value>) {
        *self.0.lock().unwrap() = Some(keys);
    }

    fn fail(&self) {
        *self.0.lock().unwrap() = None;
    }

    /// Fetches do not end from now on.
    fn hang(&self) {
        self.1.store(true, Ordering::Relaxed);
    }

    /// Fetches do not end before [`KeySet::release`].
    fn hold(&self) {
        *self.2.lock().unwrap() = Some(Vec::new());
    }

    fn release(&self) {
        let held = self.2.lock().unwrap().take();
        held.into_iter().flatten().for_each(Waker::wake);
    }
}

/// A verifier, its issuer, and the time.
struct World {
    key: Key,
    set: KeySet,
    verifier: JwtVerifier,
    fetches: Arc<AtomicUsize>,
    now: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        let key = Key::new("a");
        let jwk = key.jwk();
        Self::with(key, vec![jwk])
    }

    fn with(key: Key, keys: Vec<Value>) -> Self {
        let set = KeySet::default();
        set.lock(keys);
        let (fetches, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(NOW)));
        let (source, counted, clock) = (set.clone(), fetches.clone(), now.clone());
        let verifier = JwtVerifier::new(ClaimRules::new(ISSUER, SERVER), move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let keys = source.0.lock().unwrap().clone();
            let hangs = source.1.load(Ordering::Relaxed);
            let held = source.2.clone();
            async move {
                std::future::poll_fn(|context| match &mut *held.lock().unwrap() {
                    Some(wakers) => {
                        wakers.push(context.waker().clone());
                        Poll::Pending
                    }
                    None => Poll::Ready(()),
                })
                .await;
                if hangs {
                    std::future::pending::<()>().await;
                }
                let keys = keys.ok_or_else(|| io::Error::other("the issuer is away"))?;
                Ok(json!({ "keys": keys }).to_string().into_bytes())
            }
        });
        let verifier = verifier
            .clock(move || Duration::from_secs(clock.load(Ordering::Relaxed)))
            .algorithms(&[JwtAlgorithm::Es256, JwtAlgorithm::Rs256, JwtAlgorithm::EdDsa]);
        Self { key, set, verifier, fetches, now }
    }

    /// A verifier with keys that are an hour old, and a good token.
    fn with_old_keys() -> (Self, String) {
        let world = Self::new();
        let mut long = claims();
        long["exp"] = json!(NOW + 10_000);
        let token = world.key.token(&json!({"alg": "ES256", "kid": "a"}), &long);
        assert!(world.verify(&token).is_ok());
        world.pass(3600);
        (world, token)
    }

    fn start(&self, token: &str) -> Verification {
        self.verifier.verify(token, &Head::new("POST", "/mcp"))
    }

    fn verify(&self, token: &str) -> VerifiedToken {
        let mut verification = self.start(token);
        match verification.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(verdict) => verdict,
            Poll::Pending => panic!("it waits"),
        }
    }

    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "alice", "aud": SERVER, "exp": NOW + 300, "scope": "files:read"})
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn signed(header: &Value, claims: &Value, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}
