//! Signing keys of a client.

use alloc::vec::Vec;
use std::io;

use mcp_proto::auth::ProofKey;

use super::vault::AuthFuture;

/// A key that signs with ES256: in memory, in a hardware module, or behind a service.
///
/// With the feature `sign`, `Es256Key` implements it.
pub trait Signer: Send + Sync {
    /// The public half, for tokens that are bound to the key.
    fn public_key(&self) -> ProofKey;

    /// Signs bytes with ECDSA, P-256 and SHA-256. Returns `r` and `s` of the signature, 32 bytes
    /// each. The client waits for 30 s.
    fn sign(&self, input: &[u8]) -> AuthFuture<io::Result<Vec<u8>>>;
}
