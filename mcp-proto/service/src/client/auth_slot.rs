//! Result of a sign-in, shared by the future that waits for it and the service.

use core::task::{Poll, Waker};

use mcp_proto::auth::AuthError;

use crate::mailbox::Mailbox;

/// Result of a sign-in, shared by the future that waits for it and the service.
#[derive(Default)]
pub(super) struct AuthSlot(Mailbox<Option<Result<(), AuthError>>>);

impl AuthSlot {
    pub(super) fn finish(&self, result: Result<(), AuthError>) {
        self.0.update(|end| *end = Some(result));
    }

    /// Ends the sign-in with this reason.
    pub(super) fn refuse(&self, reason: &str) {
        self.finish(Err(AuthError::Consent { reason: reason.into() }));
    }

    /// The result; if there is none yet, `waker` is woken when there is.
    pub(super) fn poll(&self, waker: &Waker) -> Poll<Result<(), AuthError>> {
        self.0.poll(waker, Option::take)
    }
}
