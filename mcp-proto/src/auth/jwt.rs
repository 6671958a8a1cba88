//! JSON Web Tokens that this machine makes: assertions of a client, and proofs of a key.
//!
//! In: the parts of a token, then its signature by ES256. Out: the bytes to sign, then the token.
//! Each token has a unique `jti`, and is valid for one request.
//!
//! | token | header | claims |
//! |---|---|---|
//! | assertion | `alg`, `typ`, `kid` if the key has a name | `iss` and `sub` (the client), `aud` (the issuer), `jti`, `iat`, `exp` |
//! | proof | `typ`, `alg`, `jwk` | `jti`, `htm`, `htu`, `iat`, and `ath` and `nonce` if there are a token and a nonce |
//!
//! [RFC 7523, section 3](https://www.rfc-editor.org/rfc/rfc7523#section-3),
//! [RFC 9449, section 4](https://www.rfc-editor.org/rfc/rfc9449#section-4)

use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::secret::Secret;
use crate::time::Duration;
use crate::url::Url;

/// The lifetime of an assertion.
const LIFETIME: Duration = Duration::from_secs(120);

const ES256: &str = "ES256";

/// The length of a signature by ES256.
const SIGNATURE_BYTES: usize = 64;

/// The public half of a key for proofs: a point of the curve P-256.
///
/// [RFC 7518, section 6.2](https://www.rfc-editor.org/rfc/rfc7518#section-6.2)
#[derive(Clone, PartialEq, Eq)]
pub struct ProofKey {
    x: String,
    y: String,
}

/// The request that a proof authorizes.
pub(super) struct ProofTarget<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    /// The access token, if the request has one.
    pub(super) token: Option<&'a Secret>,
    pub(super) nonce: Option<&'a Secret>,
}

#[derive(Serialize)]
struct AssertionHeader<'a> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Serialize)]
struct AssertionClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: &'a str,
    iat: u64,
    exp: u64,
}

#[derive(Serialize)]
struct ProofHeader<'a> {
    typ: &'static str,
    alg: &'static str,
    jwk: PublicJwk<'a>,
}

/// The members have the order that a thumbprint requires (RFC 7638).
#[derive(Serialize)]
struct PublicJwk<'a> {
    crv: &'static str,
    kty: &'static str,
    x: &'a str,
    y: &'a str,
}

#[derive(Serialize)]
struct ProofClaims<'a> {
    jti: &'a str,
    htm: &'a str,
    htu: &'a str,
    iat: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
}

impl ProofKey {
    /// A key by its coordinates, 32 bytes each, big-endian.
    pub fn es256(x: [u8; 32], y: [u8; 32]) -> Self {
        Self { x: URL_SAFE_NO_PAD.encode(x), y: URL_SAFE_NO_PAD.encode(y) }
    }

    /// The hash that identifies the key.
    ///
    /// [RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)
    pub fn thumbprint(&self) -> String {
        let jwk = serde_json::to_string(&self.jwk()).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(Sha256::digest(jwk.as_bytes()))
    }

    fn jwk(&self) -> PublicJwk<'_> {
        PublicJwk { crv: "P-256", kty: "EC", x: &self.x, y: &self.y }
    }

    /// The bytes to sign for a proof.
    pub(super) fn proof(
        &self,
        target: &ProofTarget<'_>,
        unix: Duration,
        random: [u8; 16],
    ) -> Secret {
        let header = ProofHeader { typ: "dpop+jwt", alg: ES256, jwk: self.jwk() };
        let url = target.url.as_str().split(['?', '#']).next().unwrap_or_default();
        let hash = |token: &Secret| URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()));
        let claims = ProofClaims {
            jti: &URL_SAFE_NO_PAD.encode(random),
            htm: target.method,
            htu: url,
            iat: unix.as_secs(),
            ath: target.token.map(hash),
            nonce: target.nonce.map(Secret::expose),
        };
        input(&header, &claims)
    }
}

/// The bytes to sign for an assertion of a client, which is valid for two minutes.
pub(super) fn assertion(
    client: &str,
    audience: &str,
    key_id: Option<&str>,
    unix: Duration,
    random: [u8; 16],
) -> Secret {
    let header = AssertionHeader { alg: ES256, typ: "JWT", kid: key_id };
    let claims = AssertionClaims {
        iss: client,
        sub: client,
        aud: audience,
        jti: &URL_SAFE_NO_PAD.encode(random),
        iat: unix.as_secs(),
        exp: unix.saturating_add(LIFETIME).as_secs(),
    };
    input(&header, &claims)
}

/// The token: the signed bytes and their signature. `None` if the signature does not have the
/// length of ES256, 64 bytes.
pub(super) fn signed(input: &Secret, signature: &[u8]) -> Option<Secret> {
    let text = || alloc::format!("{}.{}", input.expose(), URL_SAFE_NO_PAD.encode(signature));
    (signature.len() == SIGNATURE_BYTES).then(|| Secret::new(text()))
}

fn input(header: &impl Serialize, claims: &impl Serialize) -> Secret {
    let part = |json: serde_json::Result<String>| URL_SAFE_NO_PAD.encode(json.unwrap_or_default());
    let (header, claims) = (serde_json::to_string(header), serde_json::to_string(claims));
    Secret::new(alloc::format!("{}.{}", part(header), part(claims)))
}

/// Shows the thumbprint.
impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProofKey({})", self.thumbprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &Secret) -> [String; 2] {
        let (header, claims) = input.expose().split_once('.').unwrap();
        [header, claims]
            .map(|part| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
    }

    #[test]
    fn assertion_names_the_issuer_and_expires() {
        let unix = Duration::from_secs(1_000);
        let [header, claims] =
            decoded(&assertion("c\"1", "https://a.example", None, unix, [0; 16]));
        assert_eq!(header, r#"{"alg":"ES256","typ":"JWT"}"#);
        let id = "AAAAAAAAAAAAAAAAAAAAAA";
        let expected = alloc::format!(
            r#"{{"iss":"c\"1","sub":"c\"1","aud":"https://a.example","jti":"{id}","iat":1000,"exp":1120}}"#
        );
        assert_eq!(claims, expected);
        let [header, _] = decoded(&assertion("c", "a", Some("k"), unix, [0; 16]));
        assert_eq!(header, r#"{"alg":"ES256","typ":"JWT","kid":"k"}"#);
    }

    #[test]
    fn a_proof_names_the_request_and_the_hash_of_the_token() {
        let key = ProofKey::es256([1; 32], [2; 32]);
        let url = Url::parse("https://s.example/mcp?team=7").unwrap();
        let (token, nonce) = (Secret::new("canary"), Secret::new("n"));
        let target =
            ProofTarget { method: "POST", url: &url, token: Some(&token), nonce: Some(&nonce) };
        let [header, claims] = decoded(&key.proof(&target, Duration::from_secs(7), [0; 16]));
        assert!(header.starts_with(
            r#"{"typ":"dpop+jwt","alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":"AQEB"#
        ));
        assert!(
            claims.contains(r#""htm":"POST","htu":"https://s.example/mcp","iat":7,"#),
            "{claims}"
        );
        assert!(claims.contains(r#""ath":""#) && claims.ends_with(r#""nonce":"n"}"#), "{claims}");
        assert!(!claims.contains("canary"));
        let target = ProofTarget { token: None, nonce: None, ..target };
        let [_, claims] = decoded(&key.proof(&target, Duration::ZERO, [0; 16]));
        assert!(!claims.contains("ath") && !claims.contains("nonce"), "{claims}");
    }

    #[test]
    fn a_signature_has_64_bytes() {
        let input = Secret::new("a.b");
        assert!(signed(&input, &[0; 64]).is_some_and(|it| it.expose().starts_with("a.b.AAAA")));
        for length in [0, 63, 65, 72] {
            assert_eq!(signed(&input, &alloc::vec![0; length]), None);
        }
    }
}
