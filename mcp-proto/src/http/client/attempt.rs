//! Attempts to send a request: redirections, and refusals for lack of a token.

#[cfg(feature = "auth")]
use crate::auth::TokenId;
#[cfg(feature = "auth")]
use crate::challenge::Unauthorized;
use crate::url::Url;

/// State of the attempts so far.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    /// Number of redirections.
    pub(super) redirects: u8,
    /// Target of a temporary redirection.
    pub(super) moved: Option<Url>,
    /// Token of the last attempt.
    #[cfg(feature = "auth")]
    pub(super) token: Option<TokenId>,
    /// Number of refused attempts.
    #[cfg(feature = "auth")]
    pub(super) refusals: u8,
    /// Number of refusals that required a nonce.
    #[cfg(feature = "auth")]
    pub(super) nonces: u8,
    /// The last refusal.
    #[cfg(feature = "auth")]
    pub(super) refusal: Option<Unauthorized>,
    /// True while the request waits for a token.
    #[cfg(feature = "auth")]
    pub(super) is_held: bool,
}
