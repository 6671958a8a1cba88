//! A verifier of JWTs, with keys and tokens that a script makes, beside an oracle that knows which
//! of them are good.
//!
//! In: bytes: the set of keys, then tokens. Out: a panic if the verifier panics, waits, or says
//! something else than the oracle. Of keys and tokens that are plain bytes of the script, none is
//! good.

mod oracle;
mod parts;
mod signers;

use std::future::ready;
use std::io;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_proto::frame::http1::Head;
use mcp_proto::resource_server::{ClaimRules, VerifiedToken, Verifier};
use mcp_service::JwtVerifier;
use serde_json::{Value, json};

use super::script_bytes::ScriptBytes;

/// The most tokens of a script.
const MAX_TOKENS: usize = 24;

const ISSUER: &str = "https://auth.example.com";
const SERVER: &str = "https://mcp.example.com/mcp";
const NOW: u64 = 1_800_000_000;

/// Plays a script.
pub fn jwt(data: &[u8]) {
    jwt_accepted(data);
}

/// Plays a script. Returns the number of tokens that were accepted.
pub fn jwt_accepted(data: &[u8]) -> usize {
    let mut bytes = ScriptBytes::new(data);
    let (set, known) = key_set(&mut bytes);
    let verifier = verifier(set);
    let mut accepted = 0;
    for _ in 0..MAX_TOKENS {
        if bytes.is_empty() {
            break;
        }
        accepted += usize::from(token(&verifier, known.as_deref(), &mut bytes));
    }
    accepted
}

/// A set of keys as it is fetched, and the keys in it; `None` if nobody knows what is in it.
fn key_set(bytes: &mut ScriptBytes<'_>) -> (Option<Vec<u8>>, Option<Vec<Value>>) {
    match bytes.next() % 8 {
        0..=5 => {
            let count = 1 + bytes.next() % 4;
            let keys: Vec<Value> = (0..count).map(|_| parts::jwk(bytes)).collect();
            let text = json!({"keys": keys}).to_string();
            (Some(text.into_bytes()), Some(keys))
        }
        6 => (None, Some(Vec::new())),
        _ => {
            let length = usize::from(bytes.next()) * 4;
            (Some(bytes.take(length).to_vec()), None)
        }
    }
}

fn verifier(set: Option<Vec<u8>>) -> JwtVerifier {
    let rules = ClaimRules::new(ISSUER, SERVER);
    let fetch = move || ready(set.clone().ok_or_else(|| io::Error::other("the issuer is away")));
    JwtVerifier::new(rules, fetch).clock(|| Duration::from_secs(NOW))
}

/// Verifies a token of the script. True if it is accepted.
fn token(verifier: &JwtVerifier, keys: Option<&[Value]>, bytes: &mut ScriptBytes<'_>) -> bool {
    if bytes.next() % 8 == 7 {
        let length = usize::from(bytes.next());
        let text = String::from_utf8_lossy(bytes.take(length)).into_owned();
        let verdict = verify(verifier, &text);
        assert!(keys.is_none() || verdict.is_err(), "plain bytes are a token: {text}");
        return false;
    }
    let token = parts::token(bytes);
    let verdict = verify(verifier, &token.text);
    // Of a set that is plain bytes nothing is known but that it has no key of the signers.
    let is_good = keys.is_some_and(|keys| oracle::is_good(&token, keys));
    assert_eq!(verdict.is_ok(), is_good, "{token:?} with {keys:?}: {verdict:?}");
    is_good
}

/// The verdict, which waits for nothing.
fn verify(verifier: &JwtVerifier, token: &str) -> VerifiedToken {
    let head = Head::new("POST", "/mcp");
    let mut verification = verifier.verify(token, &head);
    match verification.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(verdict) => verdict,
        #[expect(clippy::panic, reason = "this is how a fuzz target says no")]
        Poll::Pending => panic!("the verdict waits"),
    }
}
