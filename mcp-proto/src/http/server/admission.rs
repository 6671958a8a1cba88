//! A request of another HTTP stack that reads the head before the body.
//!
//! In: a head, then the pieces of the body. Out: an [`Exchange`], or the answer that refuses the
//! request. Drivers behind an HTTP stack use this to refuse a request before they read its body.
//!
//! | state | in | out |
//! |---|---|---|
//! | | a head that fails a step | the exchange that refuses it |
//! | | a head that passes | an admission |
//! | admission | a piece of the body | the status of the refusal, if it does not fit |
//! | admission | the end of the body | the exchange that answers |
//! | admission | a body that breaks off | the answer with a status |

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::net::IpAddr;

use bytes::{Buf, Bytes};

use super::admit::{Admitted, admit_with};
use super::proxies::client_address;
use super::refused::ImmediateAnswer;
use super::request::{ReceivedBody, counted};
use super::{Config, Exchange, RequestCache};
use crate::budget::{Account, SMALL};
use crate::frame::http1::{Head, HeadSource, ResponseHead};
use crate::limits::MAX_MESSAGE_BYTES;
use crate::resource_server::VerifiedToken;
use crate::server::{Declaration, Extensions};
use crate::time::Instant;

/// A request whose head passed every step, so that the server reads the body next.
///
/// ```
/// use mcp_proto::frame::http1::Head;
/// use mcp_proto::http::{Admission, Config};
/// use mcp_proto::server::Registry;
/// use mcp_proto::types::Implementation;
/// use mcp_proto::{Bytes, Instant};
/// use std::sync::Arc;
///
/// let registry = Registry::<()>::new(Implementation::new("greeter", "1.0.0"));
/// let config = Arc::new(Config::default());
/// let mut head = Head::new("POST", "/mcp");
/// head.push("Host", b"localhost");
/// head.push("Content-Type", b"application/json");
/// head.push("Accept", b"application/json, text/event-stream");
/// let mut admission = Admission::new(&config, head).map_err(|_| "the head is refused")?;
/// admission.add(Bytes::from_static(b"{}")).map_err(|_| "the body is too long")?;
/// let mut exchange = admission.answer(Instant::ZERO, &registry.declaration());
/// assert!(exchange.poll_action().is_some());
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
pub struct Admission(Box<AdmittedRequest>);

/// Boxed, since layers of another HTTP stack move an admission often.
#[derive(Debug)]
struct AdmittedRequest {
    config: Arc<Config>,
    head: Arc<Head>,
    admitted: Admitted,
    peer: Option<IpAddr>,
    body: ReceivedBody,
    /// The request's share of the server's budget.
    account: Account,
}

impl Admission {
    /// Checks the head of a request. Fails with the exchange that refuses the request; the body
    /// does not matter then.
    pub fn new(config: &Arc<Config>, head: Head) -> Result<Self, Box<Exchange>> {
        Self::with_verified(config, head, None)
    }

    /// Does the same as [`Admission::new`], with the result of [`Config::verification`], if the
    /// token of the request needs one.
    pub fn with_verified(
        config: &Arc<Config>,
        head: Head,
        verified: Option<VerifiedToken>,
    ) -> Result<Self, Box<Exchange>> {
        let admitted = admit_with(config, &head, verified);
        Self::admitted(config, Arc::new(head), admitted)
    }

    /// Does the same as [`Admission::new`], with parts of the last requests.
    pub(crate) fn cached(
        config: &Arc<Config>,
        source: impl HeadSource,
        cache: &mut RequestCache,
    ) -> Result<Self, Box<Exchange>> {
        let (head, admitted) = cache.admit_source(config, source);
        Self::admitted(config, head, admitted)
    }

    fn admitted(
        config: &Arc<Config>,
        head: Arc<Head>,
        admitted: Result<Admitted, Box<ImmediateAnswer>>,
    ) -> Result<Self, Box<Exchange>> {
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(answer) => return Err(Box::new(Exchange::immediate(config, answer))),
        };
        let mut account = config.server.account();
        let bytes = counted(&head);
        if bytes > 0 && account.admit(bytes).is_err() {
            let answer = admitted.refuse_full(config);
            return Err(Box::new(Exchange::immediate(config, answer)));
        }
        Ok(Self(Box::new(AdmittedRequest {
            config: config.clone(),
            head,
            admitted,
            peer: None,
            body: ReceivedBody::EMPTY,
            account,
        })))
    }

    /// Sets the address of the client. Limits per holder count by this address.
    pub fn set_peer(&mut self, peer: IpAddr) {
        self.0.peer = Some(peer);
    }

    /// Adds values for handlers to those of [`Config::authorize`]: for example values that a layer
    /// in front of the server has found. A value replaces an earlier one of the same type.
    /// [`Claims`](crate::resource_server::Claims) set the principal, if no principal is set yet.
    pub fn extend(&mut self, extensions: Extensions) {
        self.0.admitted.extend(extensions);
    }

    /// Adds the next bytes of the body.
    ///
    /// Fails with the status for [`Admission::refuse`](Self::refuse): 413 if the body is longer
    /// than `Limits::max_body_bytes`, 503 if the body does not fit into
    /// `Limits::max_endpoint_bytes`.
    pub fn add(&mut self, data: impl Buf) -> Result<(), u16> {
        let AdmittedRequest { config, head, body, account, .. } = &mut *self.0;
        let length = body.len().saturating_add(data.remaining());
        if length > config.server.limits.max_body_bytes {
            return Err(413);
        }
        let bytes = if length > SMALL { length } else { 0 };
        let bytes = bytes.saturating_add(counted(head));
        if bytes > 0 {
            if length > MAX_MESSAGE_BYTES {
                return Err(413);
            }
            if account.admit(bytes).is_err() {
                return Err(503);
            }
        }
        body.add(data);
        Ok(())
    }

    /// Returns the answer, head and body, to a request whose body the server does not accept. Use
    /// status 400 if the body breaks off, 408 if it is too slow, 413 if it is too long, and 503 if
    /// the server has no room for it.
    pub fn refuse(&self, status: u16) -> (ResponseHead, Bytes) {
        let AdmittedRequest { config, admitted, .. } = &*self.0;
        let full = || Exchange::refused_full(config, admitted).take_whole();
        match (status == 503).then(full).flatten() {
            Some((head, body)) => (head, body.unwrap_or_default()),
            None => (admitted.refuse(status), Bytes::new()),
        }
    }

    /// Returns the exchange that answers the request. Call this after the end of the body.
    pub fn answer(self, now: Instant, declaration: &Arc<Declaration>) -> Exchange {
        self.answer_cached(now, declaration, None, &mut RequestCache::default())
    }

    /// Does the same as [`Admission::answer`], with a body that the caller has read itself.
    pub fn answer_with(
        self,
        now: Instant,
        declaration: &Arc<Declaration>,
        body: &Bytes,
    ) -> Exchange {
        self.answer_cached(now, declaration, Some(body), &mut RequestCache::default())
    }

    /// Does the same as [`Admission::answer_with`], with parts of the last requests. Without `body`
    /// it is the one that was added.
    pub(crate) fn answer_cached(
        self,
        now: Instant,
        declaration: &Arc<Declaration>,
        body: Option<&Bytes>,
        cache: &mut RequestCache,
    ) -> Exchange {
        let AdmittedRequest { config, head, admitted, peer, body: added, account } = *self.0;
        // From here on the request is counted as one in flight.
        drop(account);
        let body = body.cloned().unwrap_or_else(|| added.into_bytes());
        let mut exchange =
            Exchange::admitted(now, declaration, &config, admitted, &head, &body, cache);
        if let Some(peer) = peer {
            exchange.set_peer(client_address(&config.trusted_proxies, peer, &head));
        }
        exchange
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a body that is not in memory.
    struct Huge;

    impl Buf for Huge {
        fn remaining(&self) -> usize {
            MAX_MESSAGE_BYTES + 1
        }

        fn chunk(&self) -> &[u8] {
            &[]
        }

        fn advance(&mut self, _: usize) {}
    }

    #[test]
    fn body_beyond_32_bits_is_too_long_whatever_its_limit() {
        let mut config = Config::default();
        config.server.limits.max_body_bytes = usize::MAX;
        let mut head = Head::new("POST", "/mcp");
        for (name, value) in [("Host", "localhost"), ("Content-Type", "application/json")] {
            head.push(name, value.as_bytes());
        }
        head.push("Accept", b"application/json, text/event-stream");
        let mut admission = Admission::new(&Arc::new(config), head).unwrap();
        assert_eq!(admission.add(Huge), Err(413));
    }
}
