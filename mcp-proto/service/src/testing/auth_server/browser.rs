//! A simulated browser for an authorization server, without a socket.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::future::{pending, ready};
use std::io;

use mcp_proto::auth::ConsentPage;

use super::answer::AuthAnswer;
use crate::auth::{AuthFuture, Consent, PendingConsent};

/// Visits a page; returns the response, or `None` if the person leaves.
type Visit = dyn Fn(&ConsentPage) -> Option<AuthAnswer> + Send + Sync;

/// A simulated browser.
pub(super) struct Browser(Arc<Visit>);

struct Tab {
    visit: Arc<Visit>,
    redirect_uri: String,
}

impl Browser {
    pub(super) fn new(
        visit: impl Fn(&ConsentPage) -> Option<AuthAnswer> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(visit))
    }
}

impl Consent for Browser {
    fn prepare(
        &self,
        redirect_uri: &str,
        _: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let tab = Tab { visit: self.0.clone(), redirect_uri: redirect_uri.into() };
        Box::pin(ready(Ok(Box::new(tab) as Box<dyn PendingConsent>)))
    }
}

impl PendingConsent for Tab {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        match (self.visit)(&page) {
            None => Box::pin(pending()),
            Some(answer) => Box::pin(ready(answer.location.ok_or(answer.body))),
        }
    }
}
