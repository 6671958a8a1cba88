//! Checks of the proofs of keys that tokens are bound to.
//!
//! In: proofs of requests. Out: the thumbprint of the key, or an error code. Each proof is valid
//! once. Claims are checked, signatures are not: a server for tests needs no cryptography.
//!
//! [RFC 9449, section 4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3)

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The proofs that were received, and the nonce for the next one.
#[derive(Debug, Default)]
pub(super) struct ProofRules {
    /// True if tokens are bound to keys.
    pub(super) binds: bool,
    seen: BTreeSet<String>,
    /// The number of the nonce; 0 without nonces.
    nonce: u64,
}

/// The request of a proof.
pub(super) struct ProvenRequest<'a> {
    pub(super) method: &'a str,
    /// The URL without its query.
    pub(super) url: &'a str,
    /// The access token, at the protected server.
    pub(super) token: Option<&'a str>,
}

impl ProofRules {
    /// Requires a new nonce from now on.
    pub(super) fn renew_nonce(&mut self) {
        self.nonce += 1;
    }

    /// The nonce that proofs at the token endpoint need, if any.
    pub(super) fn nonce(&self) -> Option<String> {
        (self.nonce > 0).then(|| format!("nonce-{}", self.nonce))
    }

    /// Returns the thumbprint of the key of a proof. Fails with an error code.
    pub(super) fn check(
        &mut self,
        proof: Option<&str>,
        request: &ProvenRequest<'_>,
    ) -> Result<String, &'static str> {
        const WRONG: &str = "invalid_dpop_proof";
        let (header, claims) = proof.and_then(claims).ok_or(WRONG)?;
        let claim = |name: &str| claims.get(name).and_then(Value::as_str);
        let is_proof = header.get("typ").and_then(Value::as_str) == Some("dpop+jwt")
            && header.get("alg").and_then(Value::as_str) == Some("ES256");
        let hash = request.token.map(|token| URL_SAFE_NO_PAD.encode(Sha256::digest(token)));
        let is_of_request = claim("htm") == Some(request.method)
            && claim("htu") == Some(request.url)
            && claim("ath") == hash.as_deref();
        let id = claim("jti").unwrap_or_default();
        if !is_proof || !is_of_request || !self.seen.insert(id.to_string()) {
            return Err(WRONG);
        }
        if request.token.is_none() && claim("nonce") != self.nonce().as_deref() {
            return Err("use_dpop_nonce");
        }
        header.get("jwk").and_then(thumbprint).ok_or(WRONG)
    }
}

/// The header and the claims of a token; its signature is ignored.
pub(super) fn claims(token: &str) -> Option<(Value, Value)> {
    let mut parts = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let (header, claims, signature) = (parts.next()??, parts.next()??, parts.next()??);
    let is_complete = parts.next().is_none() && signature.len() == 64;
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    is_complete.then_some(())?;
    Some((read(&header)?, read(&claims)?))
}

/// The thumbprint of a key.
///
/// [RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)
fn thumbprint(jwk: &Value) -> Option<String> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let (x, y) = (text("x")?, text("y")?);
    if (text("kty"), text("crv"), jwk.get("d")) != (Some("EC"), Some("P-256"), None) {
        return None;
    }
    let names = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
    Some(URL_SAFE_NO_PAD.encode(Sha256::digest(names)))
}
