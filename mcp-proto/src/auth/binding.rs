//! Decision table for the binding of tokens to a key.
//!
//! In: the challenge, the server's metadata, and whether there is a key. Out: a [`BindingStep`].
//! `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! A server that also accepts bearer tokens gets a bearer token, unless its metadata requires bound
//! tokens.
//!
//! [RFC 9449, section 7.1](https://www.rfc-editor.org/rfc/rfc9449#section-7.1)

use super::config::Config;
use super::decisions::Decisions;
use super::error::{AuthError, shown};
use crate::challenge::Unauthorized;
use crate::decision_table::{Cells, Column, Set, Table, row};

/// The schemes of the challenges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChallengeSchemes {
    /// Only `DPoP`.
    ProofOnly,
    /// `Bearer`, neither scheme, or no challenge.
    #[default]
    Bearer,
}

/// The kind of the tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindingStep {
    /// Tokens that are bound to the key.
    Bind,
    /// Bearer tokens.
    Bear,
    /// Failure: there is no key.
    FailNoKey,
}

impl Column for ChallengeSchemes {
    const ALL: Set<Self> = &[Self::ProofOnly, Self::Bearer];
}

impl Cells for BindingStep {}

type BindingCase = (Set<ChallengeSchemes>, Set<bool>, Set<bool>);

const ANY: Set<bool> = bool::ALL;
const EITHER: Set<ChallengeSchemes> = ChallengeSchemes::ALL;
const PROOF: Set<ChallengeSchemes> = &[ChallengeSchemes::ProofOnly];
const BEARER: Set<ChallengeSchemes> = &[ChallengeSchemes::Bearer];

/// The table; the first row that matches decides.
pub const TABLE: Table<BindingCase, BindingStep> = Table::new(
    &["challenge", "metadata asks for it", "key", "tokens"],
    &[
        row("required", (EITHER, &[true], &[true]), BindingStep::Bind),
        row("challenged", (PROOF, &[false], &[true]), BindingStep::Bind),
        row("bearer", (BEARER, &[false], ANY), BindingStep::Bear),
        row("no-key", (EITHER, ANY, &[false]), BindingStep::FailNoKey),
    ],
);

impl ChallengeSchemes {
    /// The schemes of a refusal.
    pub(super) fn of(unauthorized: &Unauthorized) -> Self {
        match (unauthorized.bearer(), unauthorized.dpop()) {
            (None, Some(_)) => Self::ProofOnly,
            _ => Self::Bearer,
        }
    }
}

/// True if the table binds tokens to a key; fails if the client has no key. Records the row.
/// Without a challenge, the earlier tokens show the scheme that the server has asked for:
/// `is_bound` is true if they are bound.
pub(super) fn binds(
    challenge: Option<ChallengeSchemes>,
    is_required: bool,
    is_bound: bool,
    config: &Config,
    decisions: &mut Decisions,
) -> Result<bool, AuthError> {
    let own = if is_bound { ChallengeSchemes::ProofOnly } else { ChallengeSchemes::Bearer };
    let has_key = config.proof_key.is_some();
    let row = TABLE.find((challenge.unwrap_or(own), is_required, has_key));
    decisions.record("binding", row.map_or("gap", |row| row.name));
    match row.map(|row| row.then) {
        Some(BindingStep::Bind) => Ok(true),
        Some(BindingStep::Bear) => Ok(false),
        Some(BindingStep::FailNoKey) | None => {
            Err(AuthError::NoProofKey { server: shown(config.server.as_str()) })
        }
    }
}
