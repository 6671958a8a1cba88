//! Interfaces to ask a user for consent.

use alloc::boxed::Box;
use alloc::string::String;
use std::io;

use mcp_proto::auth::ConsentPage;

use super::vault::AuthFuture;

/// Shows the page of an authorization server to a user, and receives the redirect at its end.
pub trait Consent: Send + Sync {
    /// Prepares for a redirect, before a client is registered and a page is shown.
    ///
    /// `redirect_uri` is [`Config::redirect_uri`](mcp_proto::auth::Config::redirect_uri). If its
    /// host is a loopback host and it has no port, choose one. `port` is the port of the stored
    /// registration, if there is one: use it again if it is free.
    fn prepare(
        &self,
        redirect_uri: &str,
        port: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>>;
}

/// A pending consent. Dropping it ends the wait for a redirect.
pub trait PendingConsent: Send {
    /// The redirect URI, with its port.
    fn redirect_uri(&self) -> String;

    /// Shows a page, and waits for the redirect: the whole URL, or its query. Ignore a redirect
    /// whose `state` is not that of the page.
    ///
    /// Fails with the reason why there is no consent.
    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>>;
}
