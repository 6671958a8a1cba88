//! Consent in a terminal: the user opens the page anywhere, and pastes the redirect.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::future::ready;
use std::io;

use mcp_proto::auth::ConsentPage;

use super::consent::{Consent, PendingConsent};
use super::vault::AuthFuture;
use crate::runtime::unblock;

type Prompt = dyn Fn(&str) -> io::Result<String> + Send + Sync;

/// Consent for a terminal without a browser. The user opens the page on another machine. Its
/// redirect leads to an address that does not answer there; the user pastes that address.
#[derive(Clone)]
pub struct Paste(Arc<Prompt>);

impl Paste {
    /// Asks with `prompt`, which shows a text and returns a line. It may block, and runs on a
    /// separate thread.
    pub fn new(prompt: impl Fn(&str) -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(prompt))
    }
}

impl Consent for Paste {
    fn prepare(
        &self,
        redirect_uri: &str,
        _: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let pending = PendingPaste { redirect_uri: redirect_uri.into(), prompt: self.0.clone() };
        Box::pin(ready(Ok(Box::new(pending) as Box<dyn PendingConsent>)))
    }
}

impl fmt::Debug for Paste {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Paste")
    }
}

struct PendingPaste {
    redirect_uri: String,
    prompt: Arc<Prompt>,
}

impl PendingConsent for PendingPaste {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let prompt = self.prompt.clone();
        let pasted = unblock(move || {
            let mut text = format!(
                "Open this page and sign in:\n\n  {}\n\nThen paste the whole address that the browser shows:",
                page.url
            );
            loop {
                let line = prompt(&text)?;
                let line = line.trim();
                if line.is_empty() {
                    return Err(io::Error::other("nothing was pasted"));
                }
                if line.contains(page.state.expose()) {
                    return Ok(line.to_string());
                }
                text = "This is not the address of this sign-in. Paste it from `http` to its end:"
                    .to_string();
            }
        });
        Box::pin(async move { pasted.await.map_err(|error| error.to_string()) })
    }
}
