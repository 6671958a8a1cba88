//! Keys of an issuer, which verify signatures.
//!
//! In: a JSON Web Key Set. Out: its usable keys, each with the algorithm that it names, or with
//! those of its kind. Keys for encryption, symmetric keys, keys of unknown kinds, and keys with a
//! member of a wrong type are left out.
//!
//! [RFC 7517, section 4](https://www.rfc-editor.org/rfc/rfc7517#section-4)

use alloc::string::String;
use alloc::vec::Vec;

use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use mcp_proto::{Bytes, Json};
use serde_json::Value;

use super::algorithm::JwtAlgorithm;
use super::token::Jwt;

/// The most keys of a set that are read.
const MAX_KEYS: usize = 64;

/// A public key, and the algorithms that it is for. Only a key of RSA may have two.
#[derive(Clone)]
pub(super) struct VerifyingKey {
    id: Option<String>,
    algorithms: &'static [JwtAlgorithm],
    key: DecodingKey,
}

impl VerifyingKey {
    /// The keys of a set; `None` if the text is no set.
    pub(super) fn read_set(text: &[u8]) -> Option<Vec<Self>> {
        // Editors on Windows begin a file with a byte order mark (RFC 8259, section 8.1).
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let set: Value = Json::parse(Bytes::copy_from_slice(text)).ok()?.decode().ok()?;
        let keys = set.get("keys")?.as_array()?;
        Some(keys.iter().take(MAX_KEYS).filter_map(Self::read).collect())
    }

    fn read(jwk: &Value) -> Option<Self> {
        let text = |name| jwk.get(name).and_then(Value::as_str);
        let is_text = |name| jwk.get(name).is_none_or(Value::is_string);
        if !["use", "alg", "kid"].into_iter().all(is_text) || !is_for_signatures(jwk) {
            return None;
        }
        let (of_kind, key): (&'static [JwtAlgorithm], _) = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let key = DecodingKey::from_rsa_components(text("n")?, text("e")?);
                (&[JwtAlgorithm::Rs256, JwtAlgorithm::Ps256], key)
            }
            ("EC", Some("P-256")) => {
                (&[JwtAlgorithm::Es256], DecodingKey::from_ec_components(text("x")?, text("y")?))
            }
            ("EC", Some("P-384")) => {
                (&[JwtAlgorithm::Es384], DecodingKey::from_ec_components(text("x")?, text("y")?))
            }
            ("OKP", Some("Ed25519")) => {
                (&[JwtAlgorithm::EdDsa], DecodingKey::from_ed_components(text("x")?))
            }
            _ => return None,
        };
        let algorithms = match text("alg") {
            None => of_kind,
            Some(name) => {
                let named = JwtAlgorithm::named(name)?;
                let at = of_kind.iter().position(|algorithm| *algorithm == named)?;
                of_kind.get(at..=at)?
            }
        };
        Some(Self { id: text("kid").map(String::from), algorithms, key: key.ok()? })
    }

    /// The key of a token: the one with its id, or without an id the only one of its algorithm.
    pub(super) fn of<'a>(keys: &'a [Self], token: &Jwt) -> Option<&'a Self> {
        let mut fitting = keys.iter().filter(|key| {
            key.algorithms.contains(&token.algorithm)
                && (token.key_id.is_none() || key.id == token.key_id)
        });
        let key = fitting.next()?;
        fitting.next().is_none().then_some(key)
    }

    /// Returns whether the signature of a token is made with this key, which must be for the
    /// token's algorithm.
    pub(super) fn verifies(&self, token: &Jwt) -> bool {
        let algorithm = match token.algorithm {
            JwtAlgorithm::Rs256 => Algorithm::RS256,
            JwtAlgorithm::Ps256 => Algorithm::PS256,
            JwtAlgorithm::Es256 => Algorithm::ES256,
            JwtAlgorithm::Es384 => Algorithm::ES384,
            JwtAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        let message = token.message.as_bytes();
        crypto::verify(&token.signature, message, &self.key, algorithm).unwrap_or(false)
    }
}

/// Returns whether a key may verify signatures: its use is that, or not restricted.
fn is_for_signatures(jwk: &Value) -> bool {
    let verifies = |operations: &Value| {
        let operations = operations.as_array();
        operations.is_some_and(|it| it.iter().any(|operation| operation == "verify"))
    };
    jwk.get("use").is_none_or(|purpose| purpose == "sig") && jwk.get("key_ops").is_none_or(verifies)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn key_set_may_begin_with_a_byte_order_mark() {
        let key = r#""crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;
        let set = format!(r#"{{"keys":[{{"kty":"OKP",{key}}}]}}"#);
        for mark in ["", "\u{feff}"] {
            let keys = VerifyingKey::read_set(format!("{mark}{set}").as_bytes());
            assert_eq!(keys.map(|keys| keys.len()), Some(1), "{mark:?}");
        }
        assert!(VerifyingKey::read_set(format!("\u{feff}\u{feff}{set}").as_bytes()).is_none());
    }
}
