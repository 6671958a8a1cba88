//! The states of a flow.
//!
//! In: the current tokens. Out: whether the flow asks a server or a person, and for what. The flow
//! itself ([`AuthFlow`](super::auth_flow::AuthFlow)) moves from state to state.
//!
//! | state | waits for | next |
//! |---|---|---|
//! | `Idle` | a request | `Reading`, `Refreshing` |
//! | `Reading` | the stored tokens, at most 10 s | `Idle`, or `Discovering` if they cannot be used; for more scopes `SigningIn`, `Granting` |
//! | `Discovering` | metadata, 10 s for each document | `Refreshing`, `SigningIn`, `Granting`; `Idle` if only a challenge may name the metadata |
//! | `Refreshing` | the states of [`TokenRefresh`] | `Storing`; `Idle` without other tokens to store; `SigningIn`, `Granting` or `Discovering` if refused |
//! | `SigningIn` | the states of [`SignIn`] | `Storing` |
//! | `Granting` | the states of [`ServiceGrant`] | `Storing`; `Idle` with newer tokens of the store |
//! | `Storing` | the store, at most 10 s | `Idle` |
//!
//! A failure in any state leads to `Idle`. A queued sign-in begins with `Discovering`: at the end
//! of a flow, or in place of its failure. Then waiting requests wait for the sign-in.

use super::action::{FetchId, RecordId};
use super::current_tokens::{CurrentTokens, TokenSource};
use super::discovery::{DiscoveredServer, Discovery};
use super::goal::{AuthGoal, GoalKind};
use super::refresh::TokenRefresh;
use super::secret::Secret;
use super::service_grant::ServiceGrant;
use super::sign_in::SignIn;

/// The current step.
#[derive(Debug)]
pub(super) enum AuthStep {
    Idle,
    Reading { reading: RecordId, goal: Option<AuthGoal> },
    Discovering { fetch: FetchId, discovery: Discovery, goal: AuthGoal },
    Refreshing { refresh: TokenRefresh, goal: AuthGoal, server: Option<DiscoveredServer> },
    SigningIn(SignIn),
    Granting(ServiceGrant),
    Storing { write: RecordId, text: Secret },
}

impl AuthStep {
    /// True if an answer of a server or a person is pending, which may take minutes, or a step-up
    /// begins.
    pub(super) fn is_asking(&self) -> bool {
        match self {
            Self::Discovering { .. } | Self::SigningIn(_) => true,
            Self::Reading { goal, .. } => {
                goal.as_ref().is_some_and(|it| it.kind == GoalKind::StepUp)
            }
            Self::Idle | Self::Refreshing { .. } | Self::Granting(_) | Self::Storing { .. } => {
                false
            }
        }
    }

    /// True if the flow must end with new tokens: a read or a refresh is not sufficient. `tokens`
    /// are the current tokens.
    pub(super) fn is_signing_in(&self, tokens: Option<&CurrentTokens>) -> bool {
        let has_signed_in = |tokens: &CurrentTokens| tokens.source == TokenSource::Authorization;
        match self {
            Self::Idle | Self::Refreshing { .. } => false,
            Self::Reading { goal, .. } => {
                goal.as_ref().is_some_and(|it| it.kind == GoalKind::SignIn)
            }
            Self::Discovering { goal, .. } => goal.kind != GoalKind::Renewal && !goal.is_early,
            Self::SigningIn(_) | Self::Granting(_) => true,
            Self::Storing { .. } => tokens.is_some_and(has_signed_in),
        }
    }
}
