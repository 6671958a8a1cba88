//! Keys that sign for a client.

use alloc::vec::Vec;
use std::io;

use mcp_proto::auth::ProofKey;

use super::vault::AuthFuture;

/// A key that signs by ES256: in memory, in a module for keys, or behind a service.
///
/// With the feature `sign`, `Es256Key` is one.
pub trait Signer: Send + Sync {
    /// The public half, for tokens that are bound to the key.
    fn public_key(&self) -> ProofKey;

    /// Signs bytes by ECDSA with P-256 and SHA-256. Returns the two numbers of the signature, 32 bytes
    /// each. A client waits for 30 s.
    fn sign(&self, input: &[u8]) -> AuthFuture<io::Result<Vec<u8>>>;
}
