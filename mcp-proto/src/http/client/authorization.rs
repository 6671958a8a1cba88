//! The authorizer of a client over HTTP, and its open request.
//!
//! In: the parts of answers. Out: `true` if a part belongs to the authorizer's request. The
//! authorizer gets each answer as a whole. Bodies are read up to the authorizer's limit.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::{ExchangeId, Request};
use crate::auth::{Authorizer, Fetch, FetchAnswer, FetchId, MAX_BODY_BYTES};
use crate::frame::http1::StatusHead;
use crate::time::Instant;

/// The field in which servers send nonces for proofs.
pub(super) const NONCE: &str = "DPoP-Nonce";

/// The authorizer, and its open request.
#[derive(Debug)]
pub(super) struct OwnAuthorizer {
    pub(super) authorizer: Authorizer,
    fetch: Option<OpenFetch>,
    /// True if the last flow has failed.
    pub(super) has_failed: bool,
    close: CloseState,
}

/// Progress of the close of the client. The answer to a POST in flight may replace the stored
/// refresh token, so the close waits for the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CloseState {
    Open,
    /// The client ends its session. The close may wait until this time.
    Begun(Instant),
    /// The close waits, until this time at most.
    Waiting(Instant),
    Over,
}

/// An open request of the authorizer, and the received part of its answer.
struct OpenFetch {
    exchange: ExchangeId,
    id: FetchId,
    is_post: bool,
    status: u16,
    location: Option<String>,
    nonce: Option<String>,
    /// The body, up to one byte more than the authorizer's limit.
    body: Vec<u8>,
}

impl OwnAuthorizer {
    pub(super) fn new(authorizer: Authorizer) -> Self {
        Self { authorizer, fetch: None, has_failed: false, close: CloseState::Open }
    }

    /// The next time at which to call [`handle_timeout`](Self::handle_timeout).
    pub(super) fn due(&self) -> Option<Instant> {
        let close = match self.close {
            CloseState::Waiting(until) => Some(until),
            CloseState::Open | CloseState::Begun(_) | CloseState::Over => None,
        };
        close.into_iter().chain(self.authorizer.poll_timeout()).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.authorizer.handle_timeout(now);
    }

    /// Begins the close of the client, which may wait for a POST until this time. From now on no
    /// page is shown.
    pub(super) fn begin_close(&mut self, until: Instant) {
        self.close = CloseState::Begun(until);
        self.authorizer.end_prompts();
    }

    /// Returns whether the close has to wait for the answer to a POST.
    pub(super) fn delays_close(&mut self, now: Instant) -> bool {
        let CloseState::Begun(until) = self.close else { return false };
        let waits = until > now && self.fetch.as_ref().is_some_and(|fetch| fetch.is_post);
        self.close = if waits { CloseState::Waiting(until) } else { CloseState::Over };
        waits
    }

    /// Returns whether the session has ended: the authorizer may send no other request.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.close, CloseState::Waiting(_) | CloseState::Over)
    }

    /// Returns true once, when the wait of the close is over.
    pub(super) fn take_close(&mut self, now: Instant) -> bool {
        let CloseState::Waiting(until) = self.close else { return false };
        let is_over = self.fetch.is_none() || until <= now;
        if is_over {
            self.close = CloseState::Over;
        }
        is_over
    }

    /// Handles the head of an answer; returns false if the exchange is not the authorizer's.
    pub(super) fn handle_head(&mut self, exchange: ExchangeId, head: &StatusHead) -> bool {
        let Some(fetch) = self.fetch.as_mut().filter(|fetch| fetch.exchange == exchange) else {
            return false;
        };
        if fetch.status == 0 && head.status() >= 200 {
            fetch.status = head.status();
            fetch.location = text(head, "Location");
            fetch.nonce = text(head, NONCE);
        }
        true
    }

    /// Handles a piece of a body; returns false if the exchange is not the authorizer's.
    pub(super) fn handle_body(&mut self, exchange: ExchangeId, data: &[u8]) -> bool {
        let Some(fetch) = self.fetch.as_mut().filter(|fetch| fetch.exchange == exchange) else {
            return false;
        };
        fetch.push(data);
        true
    }

    /// Handles the end of an answer, or its failure; returns false if the exchange is not the
    /// authorizer's.
    pub(super) fn handle_end(
        &mut self,
        now: Instant,
        exchange: ExchangeId,
        is_complete: bool,
    ) -> bool {
        let Some(fetch) = self.fetch.take_if(|fetch| fetch.exchange == exchange) else {
            return false;
        };
        if is_complete && fetch.status != 0 {
            let location = fetch.location.as_deref();
            let nonce = fetch.nonce.as_deref();
            let answer = FetchAnswer { status: fetch.status, location, nonce, body: &fetch.body };
            self.authorizer.handle_fetched(now, fetch.id, answer);
        } else {
            self.authorizer.handle_unfetched(now, fetch.id);
        }
        true
    }

    /// Records that a request of the authorizer is sent.
    pub(super) fn begin_fetch(&mut self, exchange: ExchangeId, fetch: &Fetch) {
        self.fetch = Some(OpenFetch::new(exchange, fetch));
    }

    /// Removes the open request, which is no longer needed, if there is one.
    pub(super) fn end_fetch(&mut self) -> Option<ExchangeId> {
        Some(self.fetch.take()?.exchange)
    }
}

/// The text of a field.
pub(super) fn text(head: &StatusHead, name: &str) -> Option<String> {
    let value = core::str::from_utf8(head.field(name)?).ok()?;
    Some(value.to_owned())
}

impl OpenFetch {
    fn new(exchange: ExchangeId, fetch: &Fetch) -> Self {
        let (id, is_post) = (fetch.id, fetch.method == "POST");
        Self { exchange, id, is_post, status: 0, location: None, nonce: None, body: Vec::new() }
    }

    fn push(&mut self, data: &[u8]) {
        let room = (MAX_BODY_BYTES + 1).saturating_sub(self.body.len());
        self.body.extend(data.iter().take(room));
    }
}

/// Hides the body, which contains tokens.
impl fmt::Debug for OpenFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exchange, status, .. } = self;
        f.debug_struct("OpenFetch").field("exchange", exchange).field("status", status).finish()
    }
}

/// A request for a driver to send. The `Debug` of such a request shows the body, which may contain
/// secrets.
impl From<&Fetch> for Request {
    fn from(fetch: &Fetch) -> Self {
        let fields = fetch.fields.iter();
        let fields = fields.map(|(name, value)| ((*name).into(), value.expose().to_owned().into()));
        Self {
            method: fetch.method,
            target: fetch.url.target().to_owned(),
            fields: fields.collect(),
            body: Bytes::copy_from_slice(fetch.body.expose().as_bytes()),
            is_idempotent: fetch.method == "GET",
        }
    }
}
