//! Methods of a client for its sign-in.

use alloc::sync::Arc;
use core::future::{Future, poll_fn};

use mcp_proto::auth::{AuthError, AuthState, Scopes};

use super::auth_slot::AuthSlot;
use super::client_mailbox::ClientCommand;
use super::handle::Client;

impl Client {
    /// Signs in now, before the server refuses a request. Adds `scopes`, separated by spaces, to
    /// those of the configuration; an empty string adds none. Joins a sign-in that is in progress.
    /// Waits for the end of a refresh, then signs in.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there are no tokens: [`AuthError::Consent`] if the client has no
    /// [`SignIn`](crate::auth::SignIn) or is closed.
    pub fn authorize(
        &self,
        scopes: &str,
    ) -> impl Future<Output = Result<(), AuthError>> + Send + use<> {
        let slot = Arc::<AuthSlot>::default();
        let scopes = Scopes::words(scopes);
        self.mailbox.command(ClientCommand::Authorize { slot: slot.clone(), scopes });
        poll_fn(move |context| slot.poll(context.waker()))
    }

    /// Deletes the tokens and the registration of the client, in memory and in the vault. Requests
    /// that wait for a sign-in fail.
    pub fn forget_authorization(&self) {
        self.mailbox.command(ClientCommand::ForgetAuthorization);
    }

    /// Calls `f` when the user is asked for consent, when there are tokens, and when a sign-in has
    /// failed.
    pub fn on_authorization(&self, f: impl Fn(&AuthState) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.authorization = Some(Arc::new(f)));
    }
}
