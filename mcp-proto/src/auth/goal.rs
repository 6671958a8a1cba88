//! The aim of a flow, and a sign-in that the application has requested.
//!
//! A read of the store and a refresh are no sign-in. So a request that arrives meanwhile is queued
//! until a sign-in begins.
//!
//! | request | while | next |
//! |---|---|---|
//! | `Absent` | nothing is requested | `Queued`, `Running` |
//! | `Queued` | the store is read, or tokens are refreshed | `Running`, after the read or refresh, or with the sign-in of the flow |
//! | `Running` | the flow signs in | `Absent`, with a report |
//!
//! A request that joins another one has the same number. So each number has one report.

use alloc::string::String;
use core::mem;

use super::action::SignInId;
use super::binding::ChallengeSchemes;
use super::error::{AuthError, shown};
use super::scopes::Scopes;
use crate::url::Url;

/// The aim of a flow.
#[derive(Debug, Default)]
pub(super) struct AuthGoal {
    /// The scopes of the challenge or of the application, if there are any.
    pub(super) challenged: Option<Scopes>,
    /// The URL of metadata that the challenge names.
    pub(super) metadata_url: Option<String>,
    /// The schemes of the challenge, if there is one.
    pub(super) schemes: Option<ChallengeSchemes>,
    pub(super) kind: GoalKind,
    /// True if no refusal has begun the flow. The refusal of a request may name the metadata.
    pub(super) is_early: bool,
    /// The refresh of this flow that has failed, unless its refresh token is spent.
    pub(super) failed_refresh: Option<FailedRefresh>,
}

/// The tokens that meet an aim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum GoalKind {
    /// Tokens of an authorization.
    #[default]
    SignIn,
    /// The same, newer tokens in the store, or those of a refresh.
    Renewal,
    /// Tokens of an authorization for more scopes, or newer tokens in the store that have them.
    StepUp,
}

/// A failed refresh, which may succeed at another endpoint.
#[derive(Debug)]
pub(super) struct FailedRefresh {
    pub(super) endpoint: String,
    /// True if the endpoint did not answer. Such a failure does not concern a person.
    pub(super) is_unavailable: bool,
}

impl AuthGoal {
    /// A renewal of tokens that have expired, or are about to.
    pub(super) fn renewal() -> Self {
        Self { kind: GoalKind::Renewal, is_early: true, ..Self::default() }
    }

    /// True if newer tokens in the store, for which `requested` was requested, are sufficient.
    pub(super) fn is_met_by(&self, requested: &Scopes) -> bool {
        let has = |challenged: &Scopes| requested.contains_all(challenged);
        match self.kind {
            GoalKind::SignIn => false,
            GoalKind::Renewal => true,
            GoalKind::StepUp => self.challenged.as_ref().is_some_and(has),
        }
    }

    /// True if a refresh has failed at another endpoint than this one.
    pub(super) fn follows(&self, endpoint: &Url) -> bool {
        self.failed_refresh.as_ref().is_some_and(|it| it.endpoint != endpoint.as_str())
    }

    /// Fails if the endpoint of a refresh did not answer.
    pub(super) fn check_available(&self) -> Result<(), AuthError> {
        match &self.failed_refresh {
            Some(FailedRefresh { endpoint, is_unavailable: true }) => {
                Err(AuthError::Unavailable { url: shown(endpoint) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A sign-in with these scopes.
    pub(super) fn sign_in(scopes: Scopes) -> Self {
        let challenged = Some(scopes).filter(|scopes| !scopes.is_empty());
        Self { challenged, ..Self::default() }
    }
}

/// The request of the application to sign in.
#[derive(Debug, Default)]
pub(super) enum SignInRequest {
    #[default]
    Absent,
    Queued(SignInId, Scopes),
    Running(SignInId),
}

impl SignInRequest {
    /// The number of the request, if there is one.
    pub(super) fn id(&self) -> Option<SignInId> {
        match self {
            Self::Absent => None,
            Self::Queued(id, _) | Self::Running(id) => Some(*id),
        }
    }

    pub(super) fn is_queued(&self) -> bool {
        matches!(self, Self::Queued(..))
    }

    /// Queues a sign-in with these scopes, and those of an earlier queued request.
    pub(super) fn queue(&mut self, id: SignInId, scopes: &Scopes) {
        *self = match self {
            Self::Queued(id, earlier) => Self::Queued(*id, earlier.union(scopes)),
            Self::Absent | Self::Running(_) => Self::Queued(id, scopes.clone()),
        };
    }

    /// Starts a queued request as part of the sign-in of the current flow, which requests `wanted`.
    /// Returns the scopes of both.
    pub(super) fn start(&mut self, wanted: &Scopes) -> Option<Scopes> {
        let Self::Queued(id, scopes) = self else { return None };
        let scopes = wanted.union(scopes);
        *self = Self::Running(*id);
        Some(scopes)
    }

    /// Starts a queued request without a sign-in to join. Returns its goal.
    pub(super) fn start_alone(&mut self) -> Option<AuthGoal> {
        self.start(&Scopes::none()).map(AuthGoal::sign_in)
    }

    /// Ends the request. Returns its number, if there was one.
    pub(super) fn end(&mut self) -> Option<SignInId> {
        mem::take(self).id()
    }
}
