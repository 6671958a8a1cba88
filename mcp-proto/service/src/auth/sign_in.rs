//! Settings of a sign-in.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use mcp_proto::auth::{Authorizer, Config};
use mcp_proto::http::Url;

use super::consent::Consent;
use super::vault::Vault;

type Settings = dyn Fn(Config) -> Config + Send + Sync;

/// A client's way to get tokens. Clones share the vault.
#[derive(Clone)]
pub struct SignIn {
    pub(crate) vault: Arc<dyn Vault>,
    pub(crate) consent: Option<Arc<dyn Consent>>,
    settings: Option<Arc<Settings>>,
}

impl SignIn {
    /// Uses and refreshes the tokens in a vault. Without [`consent`](Self::consent) there is no person:
    /// where one is needed, requests fail.
    pub fn new(vault: impl Vault + 'static) -> Self {
        Self { vault: Arc::new(vault), consent: None, settings: None }
    }

    /// Sets the way to ask a person.
    pub fn consent(mut self, consent: impl Consent + 'static) -> Self {
        self.consent = Some(Arc::new(consent));
        self
    }

    /// Changes the settings for a server: clients, scopes, exceptions.
    pub fn settings(mut self, change: impl Fn(Config) -> Config + Send + Sync + 'static) -> Self {
        self.settings = Some(Arc::new(change));
        self
    }

    /// The authorizer of a client of a server.
    pub(crate) fn authorizer(
        &self,
        server: &Url,
        random: impl FnMut() -> [u8; 16] + Send + 'static,
    ) -> Authorizer {
        let config = Config::new(server.clone());
        let config = match &self.settings {
            Some(change) => change(config),
            None => config,
        };
        let config = if self.consent.is_none() { config.unattended() } else { config };
        Authorizer::new(config, Box::new(random))
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asks = self.consent.is_some();
        f.debug_struct("SignIn").field("asks", &asks).finish_non_exhaustive()
    }
}
