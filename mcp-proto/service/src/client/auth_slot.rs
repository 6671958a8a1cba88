//! Meeting place of a sign-in and its end.

use core::task::{Poll, Waker};

use mcp_proto::Instant;
use mcp_proto::auth::{AuthError, Authorizer};

use crate::mailbox::Mailbox;

/// A verb of the authorizer, at a time.
pub(super) type AuthorizerVerb = dyn FnOnce(&mut Authorizer, Instant) + Send;

/// Meeting place of a sign-in and its end.
#[derive(Default)]
pub(super) struct AuthSlot(Mailbox<Option<Result<(), AuthError>>>);

impl AuthSlot {
    pub(super) fn finish(&self, result: Result<(), AuthError>) {
        self.0.put(|end| {
            *end = Some(result);
            Some(())
        });
    }

    /// The end for somebody who cannot be answered.
    pub(super) fn refuse(&self, reason: &str) {
        self.finish(Err(AuthError::Consent { reason: reason.into() }));
    }

    /// The end; if there is none yet, `waker` is woken then.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<(), AuthError>> {
        self.0.poll(waker, Option::take)
    }
}
