//! Tokens that an authorization server has issued.
//!
//! In: scopes, keys and used tokens. Out: responses with tokens, and verdicts.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use mcp_proto::{Duration, Instant};
use serde_json::json;

use super::answer::AuthAnswer;

/// The issued tokens, and the settings of new ones.
#[derive(Debug)]
pub(super) struct IssuedTokens {
    pub(super) lifetime: Duration,
    pub(super) gives_refresh_tokens: bool,
    access: BTreeMap<String, AccessToken>,
    /// Refresh tokens with their scopes; `None` for a used one.
    refresh: BTreeMap<String, Option<String>>,
    serials: u64,
}

#[derive(Debug)]
struct AccessToken {
    scope: String,
    expires_at: Instant,
    /// The thumbprint of the key that it is bound to.
    key: Option<String>,
}

/// A grant for which tokens are issued.
pub(super) struct IssuedGrant {
    pub(super) scope: String,
    /// The thumbprint of the key to bind the tokens to.
    pub(super) key: Option<String>,
    /// True if there may be a refresh token.
    pub(super) may_refresh: bool,
}

impl IssuedTokens {
    pub(super) fn new() -> Self {
        Self {
            lifetime: Duration::from_secs(3600),
            gives_refresh_tokens: true,
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            serials: 0,
        }
    }

    /// A unique text.
    pub(super) fn text(&mut self, name: &str) -> String {
        self.serials += 1;
        format!("{name}-{}", self.serials)
    }

    pub(super) fn issue(&mut self, now: Instant, grant: IssuedGrant) -> AuthAnswer {
        let IssuedGrant { scope, key, may_refresh } = grant;
        let access_token = self.text("access");
        let token_type = if key.is_some() { "DPoP" } else { "Bearer" };
        let token = AccessToken { scope: scope.clone(), expires_at: now + self.lifetime, key };
        self.access.insert(access_token.clone(), token);
        let mut answer = json!({
            "access_token": access_token, "token_type": token_type,
            "expires_in": self.lifetime.as_secs(), "scope": scope,
        });
        if self.gives_refresh_tokens
            && may_refresh
            && let Some(members) = answer.as_object_mut()
        {
            let refresh_token = self.text("refresh");
            self.refresh.insert(refresh_token.clone(), Some(scope));
            members.insert("refresh_token".into(), refresh_token.into());
        }
        AuthAnswer::new(200, &answer.to_string())
    }

    /// Redeems a refresh token, once; returns its scopes. A second use revokes all tokens.
    pub(super) fn redeem(&mut self, refresh_token: &str) -> Option<String> {
        let scope = self.refresh.get_mut(refresh_token)?.take();
        if scope.is_none() {
            self.revoke();
        }
        scope
    }

    /// The scopes of a valid access token, whose key must be `key`.
    pub(super) fn check(&self, now: Instant, token: &str, key: Option<&str>) -> Option<&str> {
        let token = self.access.get(token)?;
        (now < token.expires_at && token.key.as_deref() == key).then_some(token.scope.as_str())
    }

    pub(super) fn expire(&mut self) {
        self.access.clear();
    }

    pub(super) fn revoke(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }
}
