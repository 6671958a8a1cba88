//! Attempts to send a request: redirections, and refusals for lack of a token.

#[cfg(feature = "auth")]
use crate::auth::TokenId;
#[cfg(feature = "auth")]
use crate::challenge::Unauthorized;
#[cfg(feature = "auth")]
use crate::time::{Duration, Instant};
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
    /// The time at which the request got its proof, if it has one.
    #[cfg(feature = "auth")]
    pub(super) proved_at: Option<Instant>,
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

/// The time for which a proof can wait for a connection: some servers only accept it for 25 s.
#[cfg(feature = "auth")]
const MAX_PROOF_AGE: Duration = Duration::from_secs(5);

#[cfg(feature = "auth")]
impl Attempt {
    /// Returns whether the proof of the request is too old to be sent.
    pub(super) fn is_outdated(&self, now: Instant) -> bool {
        self.proved_at.is_some_and(|at| now.duration_since(at) >= MAX_PROOF_AGE)
    }

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
