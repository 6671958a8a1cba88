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
    /// The event that the request waits for, while the request is held.
    #[cfg(feature = "auth")]
    pub(super) held: Option<HeldFor>,
}

#[cfg(feature = "auth")]
impl Attempt {
    /// Returns whether the server has refused the last attempt for its scopes.
    pub(super) fn lacks_scopes(&self) -> bool {
        let is_of_scopes = |it: &Unauthorized| {
            it.status == 403 || it.token_param("error") == Some("insufficient_scope")
        };
        self.refusal.as_ref().is_some_and(is_of_scopes)
    }
}

/// The event that a held request waits for.
#[cfg(feature = "auth")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HeldFor {
    /// Credentials: a signature, or the end of the flow.
    Credentials,
    /// The end of the flow: the server has refused the request, and would refuse it again.
    EndOfFlow,
}
