//! In-memory key for ES256.
//!
//! In: PKCS#8, as PEM or as bytes, or a vault. Out: signatures, and the key as text for a vault.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::ready;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_proto::auth::{ProofKey, Secret};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

use super::signer::Signer;
use super::vault::{AuthFuture, Vault};

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// A private key of the curve P-256. Clones share the key. `Debug` shows the public half.
#[derive(Clone)]
pub struct Es256Key {
    pair: Arc<EcdsaKeyPair>,
    public: ProofKey,
}

impl Es256Key {
    /// Generates a key, which is not stored.
    ///
    /// # Errors
    ///
    /// The error of the system's randomness.
    pub fn generate() -> io::Result<Self> {
        Self::from_pkcs8(&new_key()?)
    }

    /// Reads a key in the format PKCS#8, as PEM (`BEGIN PRIVATE KEY`).
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if the text is no such key.
    pub fn from_pem(text: &str) -> io::Result<Self> {
        let body = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let body: String = body
            .map(|(body, _)| body.split_whitespace().collect())
            .ok_or_else(|| invalid("the text has no key in the format PKCS#8"))?;
        Self::from_pkcs8(&STANDARD.decode(body).map_err(|error| invalid(&error.to_string()))?)
    }

    /// Reads a key in the format PKCS#8, as bytes.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if the bytes are no such key.
    pub fn from_pkcs8(bytes: &[u8]) -> io::Result<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes, &random);
        let pair = pair.map_err(|error| invalid(&error.to_string()))?;
        // An uncompressed point begins with the byte 4.
        let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
        let (x, y) = point.split_at_checked(32).unwrap_or_default();
        let (Ok(x), Ok(y)) = (x.try_into(), y.try_into()) else {
            return Err(invalid("the key is not of the curve P-256"));
        };
        Ok(Self { pair: Arc::new(pair), public: ProofKey::es256(x, y) })
    }

    /// Reads the key with this name from a vault, or generates and stores one. Clients that share
    /// the tokens of a vault must also share the key that the tokens are bound to.
    ///
    /// # Errors
    ///
    /// The error of the vault or of the system's randomness, or [`io::ErrorKind::InvalidData`] if
    /// the record is no key.
    pub async fn of_vault(vault: &(impl Vault + ?Sized), name: &str) -> io::Result<Self> {
        let _lock = vault.lock(name).await?;
        if let Some(record) = vault.read(name).await? {
            return Self::from_pem(record.expose());
        }
        let bytes = new_key()?;
        let body = STANDARD.encode(&bytes);
        vault.write(name, &Secret::new(alloc::format!("{BEGIN}\n{body}\n{END}\n"))).await?;
        Self::from_pkcs8(&bytes)
    }
}

impl Signer for Es256Key {
    fn public_key(&self) -> ProofKey {
        self.public.clone()
    }

    fn sign(&self, input: &[u8]) -> AuthFuture<io::Result<Vec<u8>>> {
        let signature = self.pair.sign(&SystemRandom::new(), input);
        let signature = signature.map(|signature| signature.as_ref().to_vec());
        Box::pin(ready(signature.map_err(|_| io::Error::other("signing failed"))))
    }
}

impl fmt::Debug for Es256Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Es256Key").field(&self.public).finish()
    }
}

/// A new key in the format PKCS#8.
fn new_key() -> io::Result<Vec<u8>> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    let document = document.map_err(|_| io::Error::other("no key could be generated"))?;
    Ok(document.as_ref().to_vec())
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::MemoryVault;
    use core::task::{Context, Poll, Waker};
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut future = core::pin::pin!(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the future waits"),
        }
    }

    #[test]
    fn a_store_keeps_a_key_whose_signatures_are_good() {
        let vault = MemoryVault::new();
        let key = now(Es256Key::of_vault(&vault, "key")).unwrap();
        let again = now(Es256Key::of_vault(&vault, "key")).unwrap();
        assert_eq!(key.public_key(), again.public_key());
        assert_ne!(
            key.public_key(),
            now(Es256Key::of_vault(&vault, "other")).unwrap().public_key()
        );
        let signature = now(again.sign(b"input")).unwrap();
        let public = UnparsedPublicKey::new(
            &ECDSA_P256_SHA256_FIXED,
            key.pair.public_key().as_ref().to_vec(),
        );
        public.verify(b"input", &signature).unwrap();
        public.verify(b"other", &signature).unwrap_err();
    }

    #[test]
    fn a_key_shows_no_secret_and_others_are_refused() {
        let vault = MemoryVault::new();
        let key = now(Es256Key::of_vault(&vault, "key")).unwrap();
        let pem = now(vault.read("key")).unwrap().unwrap();
        let body = pem.expose().lines().nth(1).unwrap();
        let shown = alloc::format!("{key:?}");
        assert!(
            body.as_bytes()
                .windows(16)
                .all(|part| { !shown.as_bytes().windows(16).any(|other| other == part) })
        );
        for text in ["", BEGIN, "-----BEGIN EC PRIVATE KEY-----\nAA\n-----END EC PRIVATE KEY-----"]
        {
            let error = Es256Key::from_pem(text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{text}");
        }
        for text in ["", "AAAA", "!"] {
            Es256Key::from_pem(&alloc::format!("{BEGIN}\n{text}\n{END}")).unwrap_err();
        }
    }
}
