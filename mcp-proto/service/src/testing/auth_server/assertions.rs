//! Assertions that an authorization server accepts: those of a company's identity provider, and
//! tokens of workloads.
//!
//! In: tokens of persons and workloads. Out: assertions, each valid once, and their scopes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use serde_json::json;

use super::super::form::Params;
use super::answer::AuthAnswer;

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The known tokens, and the assertions that were issued for them.
#[derive(Debug, Default)]
pub(super) struct Assertions {
    subjects: BTreeSet<String>,
    workloads: BTreeSet<String>,
    /// Assertions that were not used yet, with their scopes.
    issued: BTreeMap<String, String>,
}

impl Assertions {
    pub(super) fn add_subject(&mut self, token: &str) {
        self.subjects.insert(token.into());
    }

    pub(super) fn add_workload(&mut self, token: &str) {
        self.workloads.insert(token.into());
    }

    /// The token endpoint of the identity provider; issues `assertion`.
    pub(super) fn exchange(
        &mut self,
        params: &Params,
        (issuer, resource): (&str, &str),
        assertion: &str,
    ) -> AuthAnswer {
        let text = |name: &str| params.get(name).map_or("", String::as_str);
        let is_exchange =
            text("grant_type") == TOKEN_EXCHANGE && text("requested_token_type") == ID_JAG;
        if !is_exchange || text("audience") != issuer {
            return AuthAnswer::error("invalid_request");
        }
        if text("resource") != resource {
            return AuthAnswer::error("invalid_target");
        }
        if !self.subjects.contains(text("subject_token")) {
            return AuthAnswer::error("invalid_grant");
        }
        self.issued.insert(assertion.into(), text("scope").into());
        let answer = json!({
            "access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A",
        });
        AuthAnswer::new(200, &answer.to_string())
    }

    /// Redeems an assertion of the identity provider, once; returns its scopes.
    pub(super) fn redeem(&mut self, assertion: &str) -> Option<String> {
        self.issued.remove(assertion)
    }

    pub(super) fn has_workload(&self, token: &str) -> bool {
        self.workloads.contains(token)
    }
}
