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
}

/// An open request of the authorizer, and the received part of its answer.
struct OpenFetch {
    exchange: ExchangeId,
    id: FetchId,
    status: u16,
    location: Option<String>,
    nonce: Option<String>,
    /// The body, up to one byte more than the authorizer's limit.
    body: Vec<u8>,
}

impl OwnAuthorizer {
    pub(super) fn new(authorizer: Authorizer) -> Self {
        Self { authorizer, fetch: None, has_failed: false }
    }

    /// The next time at which to call [`handle_timeout`](Self::handle_timeout).
    pub(super) fn due(&self) -> Option<Instant> {
        self.authorizer.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.authorizer.handle_timeout(now);
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
    pub(super) fn begin_fetch(&mut self, exchange: ExchangeId, id: FetchId) {
        self.fetch = Some(OpenFetch::new(exchange, id));
    }

    /// Removes the open request, whose time is over, if there is one.
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
    fn new(exchange: ExchangeId, id: FetchId) -> Self {
        Self { exchange, id, status: 0, location: None, nonce: None, body: Vec::new() }
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
