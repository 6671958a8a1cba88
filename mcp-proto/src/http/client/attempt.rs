//! Attempts of a request that needs a token.

use crate::auth::TokenId;
use crate::challenge::Unauthorized;

/// The attempts of a request so far.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    /// The token of the last one.
    pub(super) token: Option<TokenId>,
    /// The number of refusals.
    pub(super) refusals: u8,
    /// The number of those that asked for a nonce.
    pub(super) nonces: u8,
    /// The last refusal.
    pub(super) refusal: Option<Unauthorized>,
    /// True while the request waits for a token.
    pub(super) is_held: bool,
}
