//! Consent in a terminal: the user opens the page anywhere, and pastes the redirect.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, poll_fn, ready};
use std::io;

use mcp_proto::auth::{ConsentPage, Secret};
use mcp_proto::internals::redirect_params;

use super::consent::{Consent, PendingConsent};
use super::vault::AuthFuture;
use crate::lock::Lock;
use crate::mailbox::Mailbox;
use crate::runtime::unblock;

type Prompt = dyn Fn(&str) -> io::Result<String> + Send + Sync;

/// Consent for a terminal without a browser. The user opens the page on another machine. Its
/// redirect leads to an address that does not answer there; the user pastes that address.
///
/// Several sign-ins may wait for a line, also abandoned ones. A pasted address reaches the sign-in
/// that it belongs to, whichever has read the line.
#[derive(Clone)]
pub struct Paste(Arc<Pastes>);

/// The prompt, and the pages that wait for their redirects.
struct Pastes {
    prompt: Box<Prompt>,
    pages: Lock<Vec<Arc<AwaitedPage>>>,
}

/// A page that waits for its redirect.
struct AwaitedPage {
    redirect_uri: String,
    state: Secret,
    redirect: Mailbox<Option<String>>,
}

impl Paste {
    /// Asks with `prompt`, which shows a text and returns a line. It may block, and runs on a
    /// separate thread.
    pub fn new(prompt: impl Fn(&str) -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Pastes { prompt: Box::new(prompt), pages: Lock::default() }))
    }
}

impl Consent for Paste {
    fn prepare(
        &self,
        redirect_uri: &str,
        _: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let (redirect_uri, pastes) = (redirect_uri.into(), self.0.clone());
        let pending = PendingPaste { redirect_uri, pastes, page: None };
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
    pastes: Arc<Pastes>,
    page: Option<Arc<AwaitedPage>>,
}

impl PendingConsent for PendingPaste {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let (redirect_uri, state) = (page.redirect_uri, page.state);
        let awaited = AwaitedPage { redirect_uri, state, redirect: Mailbox::default() };
        let (awaited, pastes) = (Arc::new(awaited), self.pastes.clone());
        pastes.pages.lock().push(awaited.clone());
        self.page = Some(awaited.clone());
        let text = format!(
            "Open this page and sign in:\n\n  {}\n\nThen paste the whole address that the browser shows:",
            page.url
        );
        let own = awaited.clone();
        let mut prompted = Box::pin(unblock(move || pastes.prompt(text, &own)));
        Box::pin(poll_fn(move |context| {
            // A page has its redirect before its prompt ends without an error.
            let ended = prompted.as_mut().poll(context);
            let redirect = awaited.redirect.poll(context.waker(), Option::take);
            if redirect.is_ready() {
                return redirect.map(Ok);
            }
            ended.map(|ended| match ended {
                Ok(()) => Err("the sign-in has ended".to_string()),
                Err(error) => Err(error.to_string()),
            })
        }))
    }
}

impl AwaitedPage {
    /// Returns whether a text is the redirect: its address, or the query. The address of the page
    /// has the state too.
    fn is_redirect(&self, text: &str) -> bool {
        let params = redirect_params(&self.redirect_uri, text).unwrap_or_default();
        params.iter().any(|(name, value)| name == "state" && value == self.state.expose())
    }
}

impl Drop for PendingPaste {
    fn drop(&mut self) {
        if let Some(page) = &self.page {
            self.pastes.remove(page);
        }
    }
}

impl Pastes {
    /// Reads lines until the page has its redirect, or nobody waits for it. Fails with an empty
    /// line.
    fn prompt(&self, mut text: String, own: &Arc<AwaitedPage>) -> io::Result<()> {
        loop {
            let line = (self.prompt)(&text)?;
            let line = line.trim();
            if line.is_empty() {
                return Err(io::Error::other("nothing was pasted"));
            }
            let is_known = self.hand_over(line);
            if !self.pages.lock().iter().any(|page| Arc::ptr_eq(page, own)) {
                return Ok(());
            }
            if !is_known {
                text = "This is not the address of this sign-in. Paste it from `http` to its end:"
                    .to_string();
            }
        }
    }

    /// Hands a line over to the page that it is the redirect of; returns false if there is none.
    fn hand_over(&self, line: &str) -> bool {
        let pages = self.pages.lock();
        let page = pages.iter().find(|page| page.is_redirect(line)).cloned();
        drop(pages);
        let Some(page) = page else { return false };
        // In this order: the prompt of a page that is removed ends.
        page.redirect.update(|redirect| *redirect = Some(line.to_string()));
        self.remove(&page);
        true
    }

    fn remove(&self, page: &Arc<AwaitedPage>) {
        self.pages.lock().retain(|other| !Arc::ptr_eq(other, page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::task::Wake;
    use core::task::{Poll, Waker};
    use std::sync::mpsc::{Sender, channel};

    /// A waker that sends the number of pages that wait for their redirects.
    struct PageCounter {
        pastes: Arc<Pastes>,
        counts: Sender<usize>,
    }

    impl Wake for PageCounter {
        fn wake(self: Arc<Self>) {
            let _ = self.counts.send(self.pastes.pages.lock().len());
        }
    }

    /// The prompt of a page that is removed ends, and its future must find the redirect.
    #[test]
    fn page_is_removed_after_it_has_its_redirect() {
        let redirect_uri = "http://127.0.0.1/callback".to_string();
        let line = format!("{redirect_uri}?code=1&state=s");
        let state = Secret::new("s");
        let page = Arc::new(AwaitedPage { redirect_uri, state, redirect: Mailbox::default() });
        let Paste(pastes) = Paste::new(|_| Ok(String::new()));
        pastes.pages.lock().push(page.clone());
        let (counts, woken) = channel();
        let waker = Waker::from(Arc::new(PageCounter { pastes: pastes.clone(), counts }));
        assert!(page.redirect.poll(&waker, Option::take).is_pending());
        assert!(pastes.hand_over(&line));
        assert_eq!(woken.try_recv(), Ok(1));
        assert_eq!(page.redirect.poll(&waker, Option::take), Poll::Ready(line));
        assert!(pastes.pages.lock().is_empty());
    }
}
