//! Keys that sign the tokens of scripts. They are made once for a process.

#![expect(clippy::expect_used, reason = "a key that cannot be made ends the run")]

use std::sync::LazyLock;

use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use serde_json::{Value, json};

use crate::base64;

/// A key pair, and its algorithm.
pub(super) struct TokenSigner {
    /// The name of the algorithm.
    pub(super) algorithm: &'static str,
    /// The public half, without a name and a purpose.
    pub(super) jwk: Value,
    key: EncodingKey,
    method: Algorithm,
}

/// Two keys of one algorithm, one of another, and one of an algorithm that is not allowed.
pub(super) static SIGNERS: LazyLock<[TokenSigner; 4]> =
    LazyLock::new(|| ["ES256", "ES256", "EdDSA", "ES384"].map(TokenSigner::new));

impl TokenSigner {
    fn new(algorithm: &'static str) -> Self {
        let (kind, method) = match algorithm {
            "EdDSA" => (&PKCS_ED25519, Algorithm::EdDSA),
            "ES384" => (&PKCS_ECDSA_P384_SHA384, Algorithm::ES384),
            _ => (&PKCS_ECDSA_P256_SHA256, Algorithm::ES256),
        };
        let pair = KeyPair::generate_for(kind).expect("a key");
        let (point, der) = (pair.public_key_raw(), pair.serialize_der());
        // The point of an elliptic curve begins with the byte 4.
        let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
        let (x, y) = (base64::encode(x), base64::encode(y));
        let (jwk, key) = match algorithm {
            "EdDSA" => (
                json!({"kty": "OKP", "crv": "Ed25519", "x": base64::encode(point)}),
                EncodingKey::from_ed_der(&der),
            ),
            "ES384" => (
                json!({"kty": "EC", "crv": "P-384", "x": x, "y": y}),
                EncodingKey::from_ec_der(&der),
            ),
            _ => (
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}),
                EncodingKey::from_ec_der(&der),
            ),
        };
        Self { algorithm, jwk, key, method }
    }

    /// The signature of a message, in Base64.
    pub(super) fn sign(&self, message: &str) -> String {
        crypto::sign(message.as_bytes(), &self.key, self.method).expect("a signature")
    }
}

/// A signature by HMAC with a public key, in Base64.
pub(super) fn sign_with_public_key(message: &str, jwk: &Value) -> String {
    let public = jwk.get("x").and_then(Value::as_str).unwrap_or_default();
    let key = EncodingKey::from_secret(public.as_bytes());
    crypto::sign(message.as_bytes(), &key, Algorithm::HS256).expect("a signature")
}
