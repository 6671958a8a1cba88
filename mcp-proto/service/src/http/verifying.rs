//! A token's pending verification.
//!
//! In: the future of a [`Verifier`](mcp_proto::resource_server::Verifier). Out: its result, with
//! the time that the token has left. Its waker wakes the connection's driver. A connection has at
//! most one.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::{Context, Poll, Waker};

use super::EndpointWaker;
use crate::io::unix_time;
use crate::panics::{CaughtFuture, catch_panic};
use mcp_proto::http::Head;
use mcp_proto::resource_server::{Claims, TokenRefusal, Verification, VerifiedToken, Verifier};

/// The verification of the token of a connection's request.
pub(super) struct Verifying {
    pub(super) number: u64,
    verification: Verification,
    waker: Waker,
}

impl Verifying {
    pub(super) fn new(number: u64, verification: Verification, visitor: &EndpointWaker) -> Self {
        let waker = Waker::from(Arc::new(VisitWaker(visitor.clone())));
        Self { number, verification, waker }
    }

    /// Returns the result, once.
    pub(super) fn poll(&mut self) -> Option<VerifiedToken> {
        let mut context = Context::from_waker(&self.waker);
        match self.verification.as_mut().poll(&mut context) {
            Poll::Ready(verified) => Some(verified),
            Poll::Pending => None,
        }
    }
}

/// Wakes the driver of a connection for a visit.
struct VisitWaker(EndpointWaker);

impl Wake for VisitWaker {
    fn wake(self: Arc<Self>) {
        self.0.request_visit(None);
    }
}

/// A verifier that refuses a token if the verifier of the application panics, and measures the time
/// that the token has left.
pub(super) struct GuardedVerifier(pub(super) Arc<dyn Verifier>);

impl Verifier for GuardedVerifier {
    fn verify(&self, token: &str, head: &Head) -> Verification {
        let verification = catch_panic(|| self.0.verify(token, head)).map(CaughtFuture::new);
        Box::pin(async move {
            let verified = match verification {
                Some(verification) => verification.await,
                None => None,
            };
            verified.unwrap_or_else(|| Err(TokenRefusal::unavailable())).map(with_time_left)
        })
    }
}

/// Sets the time that the token has left, unless the verifier has set it.
pub(super) fn with_time_left(mut claims: Claims) -> Claims {
    let left = claims.expires_at.map(|expires_at| expires_at.saturating_sub(unix_time()));
    claims.time_left = claims.time_left.or(left);
    claims
}
