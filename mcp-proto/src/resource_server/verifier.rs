//! The application's check of tokens.
//!
//! In: a token and the head of its request. Out: a future, which this crate returns and never
//! polls. `mcp-service` and the adapters poll it before the body of the request is read.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

use super::{Claims, TokenRefusal};
use crate::frame::http1::Head;

/// The result of a check: the claims of the token, or the refusal that the client gets.
pub type VerifiedToken = Result<Claims, TokenRefusal>;

/// The verification of one token, to be polled.
pub type Verification = Pin<Box<dyn Future<Output = VerifiedToken> + Send>>;

/// The check of tokens: by their signature and the keys of an issuer, by introspection, or in a
/// database.
///
/// A function from a token to a future implements this trait:
///
/// ```
/// use mcp_proto::http::Config;
/// use mcp_proto::resource_server::{Claims, ProtectedResource, TokenRefusal};
///
/// let mut config = Config::default();
/// let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")?;
/// config.protect(resource, |token: String| async move {
///     match token.as_str() {
///         "0123" => Ok(Claims::new("https://auth.example.com", "alice").with_scopes("files:read")),
///         _ => Err(TokenRefusal::invalid("the token is unknown")),
///     }
/// });
/// # Ok::<(), mcp_proto::http::UrlError>(())
/// ```
pub trait Verifier: Send + Sync {
    /// Starts to verify a token. `head` is the head of the request with the token.
    ///
    /// Dropping the future cancels the verification. A future that takes longer than
    /// [`Limits::verify_timeout`](crate::Limits::verify_timeout) is dropped, and the client gets
    /// 503. `mcp-service` answers a panic with 503 as well.
    fn verify(&self, token: &str, head: &Head) -> Verification;
}

impl<F, Fut> Verifier for F
where
    F: Fn(alloc::string::String) -> Fut + Send + Sync,
    Fut: Future<Output = VerifiedToken> + Send + 'static,
{
    fn verify(&self, token: &str, _head: &Head) -> Verification {
        Box::pin(self(token.into()))
    }
}
