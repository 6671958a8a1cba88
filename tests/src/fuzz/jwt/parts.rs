//! Keys and tokens from bytes: good ones, and those of attackers.

use serde_json::{Value, json};

use super::super::script_bytes::ScriptBytes;
use super::signers::{SIGNERS, sign_with_public_key};
use super::{ISSUER, NOW, SERVER};
use crate::base64;

/// A token, and how it was made.
#[derive(Debug)]
pub(super) struct ScriptedToken {
    pub(super) text: String,
    pub(super) header: Value,
    pub(super) claims: Value,
    /// The key that has signed header and claims; `None` if they were changed then, or nobody has.
    pub(super) signer: Option<usize>,
}

/// A public key, with what a set says about it.
pub(super) fn jwk(bytes: &mut ScriptBytes<'_>) -> Value {
    let number = usize::from(bytes.next()) % SIGNERS.len();
    let mut jwk = SIGNERS.get(number).map(|signer| signer.jwk.clone()).unwrap_or_default();
    let ids = [json!("a"), json!("b"), Value::Null, json!(7)];
    set(&mut jwk, "kid", bytes.pick(&ids), &Value::Null);
    let uses = [Value::Null, Value::Null, json!("sig"), json!("enc"), json!(7), json!("")];
    set(&mut jwk, "use", bytes.pick(&uses), &Value::Null);
    let operations = [
        Value::Null,
        Value::Null,
        json!(["verify"]),
        json!(["sign", "verify"]),
        json!(["encrypt"]),
        json!([]),
        json!("verify"),
    ];
    set(&mut jwk, "key_ops", bytes.pick(&operations), &Value::Null);
    let algorithms = [
        Value::Null,
        Value::Null,
        json!("ES256"),
        json!("EdDSA"),
        json!("ES384"),
        json!("RS256"),
        json!("HS256"),
        json!("none"),
        json!(["ES256"]),
    ];
    set(&mut jwk, "alg", bytes.pick(&algorithms), &Value::Null);
    match bytes.next() % 16 {
        13 => set(&mut jwk, "kty", Some(&json!("oct")), &Value::Null),
        14 => set(&mut jwk, "crv", Some(&json!("P-521")), &Value::Null),
        15 => set(&mut jwk, "x", Some(&json!("AAAA")), &Value::Null),
        _ => {}
    }
    jwk
}

/// A token that somebody has signed, or pretends to have.
pub(super) fn token(bytes: &mut ScriptBytes<'_>) -> ScriptedToken {
    let number = usize::from(bytes.next()) % SIGNERS.len();
    let (header, claims) = (header(number, bytes), claims(bytes));
    let part = |value: &Value| base64::encode(value.to_string().as_bytes());
    let message = format!("{}.{}", part(&header), part(&claims));
    let Some(signer) = SIGNERS.get(number) else {
        return ScriptedToken { text: message, header, claims, signer: None };
    };
    let mut signature = signer.sign(&message);
    let mut signed_by = None;
    let text = match bytes.next() % 16 {
        0..=9 => {
            signed_by = Some(number);
            format!("{message}.{signature}")
        }
        10 => format!("{message}."),
        11 => format!("{message}.{}", sign_with_public_key(&message, &signer.jwk)),
        12 => {
            let other = json!({"iss": ISSUER, "aud": SERVER, "sub": "root", "exp": NOW + 1});
            let message = format!("{}.{}", part(&header), part(&other));
            format!("{message}.{signature}")
        }
        13 => {
            // The last symbol has bits that count for nothing.
            let place = usize::from(bytes.next()) % signature.len().saturating_sub(1).max(1);
            let symbol = if signature.get(place..=place) == Some("A") { "B" } else { "A" };
            signature.replace_range(place..=place, symbol);
            format!("{message}.{signature}")
        }
        14 => format!("{message}.{signature}.{signature}"),
        _ => format!("{message}.{signature}="),
    };
    ScriptedToken { text, header, claims, signer: signed_by }
}

fn header(number: usize, bytes: &mut ScriptBytes<'_>) -> Value {
    let own = SIGNERS.get(number).map_or("none", |signer| signer.algorithm);
    let mut header = json!({"alg": own});
    let algorithms = ["none", "HS256", "RS256", "ES256", "EdDSA", "ES384", "es256", ""];
    let choice = bytes.next();
    if choice % 4 == 3 {
        let other = algorithms.get(usize::from(choice / 4) % algorithms.len());
        set(&mut header, "alg", other.map(|name| json!(name)).as_ref(), &Value::Null);
    }
    let ids = [json!("a"), Value::Null, json!("b"), json!("c"), json!("")];
    set(&mut header, "kid", bytes.pick(&ids), &Value::Null);
    let types = [Value::Null, Value::Null, json!("JWT"), json!("at+jwt"), json!("dpop+jwt")];
    set(&mut header, "typ", bytes.pick(&types), &Value::Null);
    match bytes.next() % 16 {
        13 => set(&mut header, "crit", Some(&json!([])), &Value::Null),
        14 => set(&mut header, "crit", Some(&json!(["exp"])), &Value::Null),
        15 => set(&mut header, "jwk", SIGNERS.get(number).map(|it| &it.jwk), &Value::Null),
        _ => {}
    }
    header
}

fn claims(bytes: &mut ScriptBytes<'_>) -> Value {
    let mut claims = json!({});
    let issuers = [json!("https://evil.example"), json!("https://auth.example.com/"), Value::Null];
    set(&mut claims, "iss", pick(&issuers, bytes), &json!(ISSUER));
    let audiences = [
        json!([SERVER, "x"]),
        json!(["x"]),
        json!("https://mcp.example.com"),
        json!([]),
        json!({"a": SERVER}),
        Value::Null,
    ];
    set(&mut claims, "aud", pick(&audiences, bytes), &json!(SERVER));
    let ends = [
        json!(NOW - 60),
        json!(NOW - 59),
        json!(NOW),
        json!(0),
        json!(-1),
        json!(1e300),
        json!((NOW + 300).to_string()),
        Value::Null,
    ];
    set(&mut claims, "exp", pick(&ends, bytes), &json!(NOW + 300));
    let begins = [json!(NOW + 60), json!(NOW + 61), json!(0), json!("now"), json!(-1)];
    set(&mut claims, "nbf", pick(&begins, bytes), &Value::Null);
    let names = [json!(""), json!(7), Value::Null];
    set(&mut claims, "sub", pick(&names, bytes), &json!("alice"));
    claims
}

/// One of several, or nothing, which is the usual.
fn pick<'a>(all: &'a [Value], bytes: &mut ScriptBytes<'_>) -> Option<&'a Value> {
    let choice = bytes.next();
    let place = usize::from(choice / 4).checked_rem(all.len())?;
    all.get(place).filter(|_| choice % 4 == 3)
}

/// Sets a member to a value, or to the usual one; `null` leaves it out.
fn set(object: &mut Value, name: &str, value: Option<&Value>, usual: &Value) {
    let value = value.unwrap_or(usual);
    if let Some(members) = object.as_object_mut() {
        members.remove(name);
        if !value.is_null() {
            members.insert(name.into(), value.clone());
        }
    }
}
