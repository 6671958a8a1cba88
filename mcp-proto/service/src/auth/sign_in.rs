//! Settings of a sign-in.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use std::io;

use mcp_proto::auth::{AuthAction, Authorizer, Config, Secret};
use mcp_proto::http::Url;
use mcp_proto::{Duration, Instant};

use super::consent::Consent;
use super::signer::Signer;
use super::vault::{AuthFuture, Vault};

type Settings = dyn Fn(Config) -> Config + Send + Sync;
type Subject = dyn Fn(String) -> AuthFuture<io::Result<Secret>> + Send + Sync;

/// Settings of a client's sign-in: its vault, consent and keys. Clones share the vault.
#[derive(Clone)]
pub struct SignIn {
    pub(crate) vault: Arc<dyn Vault>,
    pub(crate) consent: Option<Arc<dyn Consent>>,
    settings: Option<Arc<Settings>>,
    pub(crate) client_key: Option<Arc<dyn Signer>>,
    key_id: Option<String>,
    pub(crate) proof_key: Option<Arc<dyn Signer>>,
    pub(crate) subject: Option<Arc<Subject>>,
}

impl SignIn {
    /// A sign-in that uses and refreshes the tokens in a vault. Without [`consent`](Self::consent),
    /// requests that need the user's consent fail.
    pub fn new(vault: impl Vault + 'static) -> Self {
        Self {
            vault: Arc::new(vault),
            consent: None,
            settings: None,
            client_key: None,
            key_id: None,
            proof_key: None,
            subject: None,
        }
    }

    /// Sets the interface that asks the user.
    pub fn consent(mut self, consent: impl Consent + 'static) -> Self {
        self.consent = Some(Arc::new(consent));
        self
    }

    /// Sets a function that adjusts the [`Config`] of each server, such as its client and scopes.
    pub fn settings(mut self, change: impl Fn(Config) -> Config + Send + Sync + 'static) -> Self {
        self.settings = Some(Arc::new(change));
        self
    }

    /// Sets the key with which the client authenticates by `private_key_jwt`, and its key id, if
    /// any.
    pub fn client_key(mut self, key: impl Signer + 'static, key_id: Option<&str>) -> Self {
        self.client_key = Some(Arc::new(key));
        self.key_id = key_id.map(String::from);
        self
    }

    /// Sets the key to which tokens are bound if the server requires it ([RFC 9449]). The extension
    /// of MCP is a draft, and may change. Programs that share a vault must share the key: see
    /// `Es256Key::of_vault`.
    ///
    /// [RFC 9449]: https://www.rfc-editor.org/rfc/rfc9449
    pub fn proof_key(mut self, key: impl Signer + 'static) -> Self {
        self.proof_key = Some(Arc::new(key));
        self
    }

    /// Sets the function that returns the token to exchange: of the workload
    /// ([`Config::workload`]), or of the user's sign-in at the company ([`Config::enterprise`]).
    /// Each sign-in calls it with the issuer to which the token is sent: the authorization server,
    /// or the identity provider of the company. For an issuer that it does not know, the function
    /// must return an error, or a token that only this issuer accepts.
    pub fn subject<F>(mut self, give: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Secret>> + Send + 'static,
    {
        self.subject = Some(Arc::new(move |issuer| Box::pin(give(issuer))));
        self
    }

    /// Removes the stored tokens of a server, and the client that was registered for them. Returns
    /// false if no tokens are stored. A registration without tokens stays:
    /// [`Client::forget_authorization`](crate::Client::forget_authorization) removes it after the
    /// sign-in that has failed.
    ///
    /// # Errors
    ///
    /// The error of the vault.
    pub async fn forget(&self, server: &Url) -> io::Result<bool> {
        let mut authorizer = self.authorizer(server, || [0; 16]);
        let mut is_stored = false;
        // A request for access begins by loading the record; only that step is used.
        authorizer.access(Instant::ZERO, "POST", server);
        while let Some(action) = authorizer.poll_action() {
            if let AuthAction::Load { id, key, .. } = action {
                let record = self.vault.read(&key).await?;
                is_stored = record.is_some();
                let record = record.as_ref().map(Secret::expose);
                authorizer.handle_loaded(Instant::ZERO, id, Duration::ZERO, record);
            }
        }
        authorizer.forget();
        while let Some(action) = authorizer.poll_action() {
            if let AuthAction::Remove { key } = action {
                self.vault.remove(&key).await?;
            }
        }
        Ok(is_stored)
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
        let config = match &self.client_key {
            Some(_) => config.signs_assertions(self.key_id.as_deref()),
            None => config,
        };
        let config = match &self.proof_key {
            Some(key) => config.proof_key(key.public_key()),
            None => config,
        };
        Authorizer::new(config, Box::new(random))
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asks = self.consent.is_some();
        f.debug_struct("SignIn").field("asks", &asks).finish_non_exhaustive()
    }
}
