//! Sign-in at the wish of an application, and the report of it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::{Future, poll_fn};

use mcp_proto::auth::{AuthError, AuthState, Authorizer, Scopes};

use super::auth_slot::AuthSlot;
use super::client_mailbox::ClientCommand;
use super::handle::Client;

impl Client {
    /// Signs in now, before the server refuses anything, with these scopes beside the others; an empty
    /// text for none. Joins a sign-in that is under way.
    ///
    /// # Errors
    ///
    /// The reason why there are no tokens: [`AuthError::Consent`] if the client has no
    /// [`SignIn`](crate::auth::SignIn) or is closed.
    pub fn authorize(
        &self,
        scopes: &str,
    ) -> impl Future<Output = Result<(), AuthError>> + Send + use<> {
        let slot = Arc::<AuthSlot>::default();
        let scopes = Scopes::words(scopes);
        let verb = move |authorizer: &mut Authorizer, now| authorizer.authorize(now, &scopes);
        self.mailbox
            .command(ClientCommand::Authorizer { slot: slot.clone(), verb: Box::new(verb) });
        poll_fn(move |context| slot.poll(context.waker()))
    }

    /// Forgets the tokens and the registration of the client, here and in the vault. Requests that
    /// wait for a sign-in fail.
    pub fn forget_authorization(&self) {
        let verb = |authorizer: &mut Authorizer, _| authorizer.forget();
        self.mailbox
            .command(ClientCommand::Authorizer { slot: Arc::default(), verb: Box::new(verb) });
    }

    /// Calls `f` when a person is asked, when there are tokens, and when a sign-in has failed.
    pub fn on_authorization(&self, f: impl Fn(&AuthState) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.authorization = Some(Arc::new(f)));
    }
}
