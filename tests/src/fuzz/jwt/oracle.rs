//! The oracle: whether a token is good, by what a script has made it of.

use serde_json::Value;

use super::parts::ScriptedToken;
use super::signers::SIGNERS;
use super::{ISSUER, NOW, SERVER};

/// The seconds that clocks may differ.
const LEEWAY: f64 = 60.0;

/// The algorithms that are allowed.
const ALLOWED: [&str; 3] = ["RS256", "ES256", "EdDSA"];

/// True if a key of the set has signed the token, and may, and its claims are for this server.
pub(super) fn is_good(token: &ScriptedToken, keys: &[Value]) -> bool {
    let Some(signer) = token.signer.and_then(|number| SIGNERS.get(number)) else { return false };
    let header = |name: &str| token.header.get(name);
    let kid = header("kid").and_then(Value::as_str);
    let is_access_token = header("typ").is_none_or(|typ| typ != "dpop+jwt");
    if header("alg") != Some(&Value::from(signer.algorithm))
        || !ALLOWED.contains(&signer.algorithm)
        || header("crit").is_some()
        || !is_access_token
    {
        return false;
    }
    let own: Vec<&Value> = keys
        .iter()
        .filter(|jwk| algorithm(jwk) == Some(signer.algorithm))
        .filter(|jwk| kid.is_none() || jwk.get("kid").and_then(Value::as_str) == kid)
        .collect();
    // Which of several is meant cannot be known.
    let [jwk] = own.as_slice() else { return false };
    ["kty", "crv", "x", "y"].iter().all(|name| jwk.get(name) == signer.jwk.get(name))
        && are_good(&token.claims)
}

/// The one algorithm that a key verifies; `None` if it verifies nothing.
fn algorithm(jwk: &Value) -> Option<&'static str> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let usual = match (text("kty")?, text("crv")?) {
        ("EC", "P-256") => "ES256",
        ("EC", "P-384") => "ES384",
        ("OKP", "Ed25519") => "EdDSA",
        _ => return None,
    };
    let is_for_signatures = jwk.get("use").is_none_or(|it| it == "sig");
    let operations = jwk.get("key_ops").map(|it| it.as_array());
    let verifies =
        operations.is_none_or(|it| it.is_some_and(|it| it.contains(&Value::from("verify"))));
    let is_named = jwk.get("kid").is_none_or(Value::is_string);
    let is_of_algorithm = jwk.get("alg").is_none_or(|it| it == usual);
    (is_for_signatures && verifies && is_named && is_of_algorithm).then_some(usual)
}

fn are_good(claims: &Value) -> bool {
    let claim = |name: &str| claims.get(name);
    #[expect(clippy::cast_precision_loss, reason = "a time of our age is exact")]
    let now = NOW as f64;
    let is_time = |time: f64| (0.0..1e18).contains(&time);
    let is_ahead =
        claim("exp").and_then(Value::as_f64).is_some_and(|end| is_time(end) && now < end + LEEWAY);
    let has_begun = claim("nbf").is_none_or(|begin| {
        begin.as_f64().is_some_and(|begin| is_time(begin) && begin <= now + LEEWAY)
    });
    let is_for_us = claim("aud").is_some_and(|audience| {
        audience == SERVER
            || audience.as_array().is_some_and(|all| all.contains(&Value::from(SERVER)))
    });
    let has_subject = claim("sub").and_then(Value::as_str).is_some_and(|sub| !sub.is_empty());
    claim("iss") == Some(&Value::from(ISSUER)) && is_ahead && has_begun && is_for_us && has_subject
}
