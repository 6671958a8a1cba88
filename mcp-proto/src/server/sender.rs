//! The sender of a modern request: the peer, from `_meta` and from the HTTP request.
//!
//! In: the parameters of a request, and what is known of its HTTP request. Out: a
//! [`RequestSender`], or the envelope error. A client describes itself in each request, mostly in
//! the same bytes: the senders of such requests share one [`Peer`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::event::Peer;
use super::extensions::Extensions;
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::{Member, Params};
use crate::meta::RequestMeta;
use crate::types::LoggingLevel;
use crate::version::ProtocolVersion;

/// The members of `_meta` that differ from request to request.
const VARYING: &[Member] = &[
    Member::MetaProgressToken,
    Member::MetaTraceparent,
    Member::MetaTracestate,
    Member::MetaBaggage,
];

/// The sender of a modern request.
#[derive(Clone, Debug)]
pub(super) struct RequestSender {
    /// The client; until the version of the request is known, of the latest version.
    pub(super) peer: Arc<Peer>,
    /// The least severe log messages that the client wants; `None` for no messages.
    pub(super) log_level: Option<LoggingLevel>,
}

/// The facts about a sender that the message does not have.
#[derive(Clone, Copy)]
pub(super) struct SenderFacts<'a> {
    pub(super) principal: Option<&'a Arc<str>>,
    pub(super) extensions: &'a Extensions,
    pub(super) is_http: bool,
}

/// The sender of the last requests of a stream or a connection.
///
/// Without it a call costs 1,600 instructions and three allocations more. Law: the sender is the
/// same whatever came before; see the test below.
#[derive(Debug, Default)]
pub(crate) struct LastSender {
    last: Option<KnownSender>,
    /// True if the last request had another sender than `last`.
    differed: bool,
}

#[derive(Debug)]
struct KnownSender {
    /// The text of the `_meta` that describes the sender.
    meta: Box<[u8]>,
    sender: RequestSender,
}

impl RequestSender {
    /// The sender without the values of the HTTP request, which may end with it, such as a permit.
    fn kept(&self) -> Self {
        let mut kept = self.clone();
        if !kept.peer.extensions.is_empty() {
            Arc::make_mut(&mut kept.peer).extensions = Extensions::default();
        }
        kept
    }

    /// Sets the version of the request.
    pub(super) fn set_version(&mut self, version: ProtocolVersion) {
        if self.peer.version != version {
            Arc::make_mut(&mut self.peer).version = version;
        }
    }
}

impl SenderFacts<'_> {
    fn is_of(self, peer: &Peer) -> bool {
        self.principal == peer.principal.as_ref()
            && *self.extensions == peer.extensions
            && self.is_http == peer.is_http
    }

    /// The sender, from the client's description of itself.
    pub(super) fn peer(
        self,
        version: ProtocolVersion,
        client_info: Option<Json>,
        capabilities: Json,
    ) -> Arc<Peer> {
        Arc::new(Peer {
            version,
            client_info,
            capabilities,
            principal: self.principal.cloned(),
            extensions: self.extensions.clone(),
            is_http: self.is_http,
        })
    }
}

impl LastSender {
    /// Reads the sender of a request. The result shares no memory with the message. The second
    /// description in a row that differs from the last one is kept for the next request, if it is
    /// not longer than `Limits::max_client_bytes`.
    pub(super) fn read(
        &mut self,
        params: &Params,
        facts: SenderFacts<'_>,
        limits: &Limits,
    ) -> Result<RequestSender, ProtocolError> {
        if let Some(KnownSender { meta, sender }) = &self.last
            && params.raw(Member::Meta).is_some_and(|raw| *raw.0 == **meta)
            && facts.is_of(&sender.peer)
        {
            self.differed = false;
            return Ok(sender.clone());
        }
        self.read_members(params, facts, limits)
    }

    /// The same, for a `_meta` that differs from the last one.
    fn read_members(
        &mut self,
        params: &Params,
        facts: SenderFacts<'_>,
        limits: &Limits,
    ) -> Result<RequestSender, ProtocolError> {
        let last = self.last.as_ref().map(|last| &last.sender.peer);
        let client = last.map(|peer| (&peer.capabilities, peer.client_info.as_ref()));
        let meta = RequestMeta::read_after(params, client)?;
        let RequestMeta { client_capabilities: capabilities, client_info: info, log_level } = meta;
        let is_client = client == Some((&capabilities, info.as_ref()));
        let shared = last.filter(|peer| is_client && facts.is_of(peer)).cloned();
        // Another request of the client has another `_meta` too.
        let is_known = is_client && (shared.is_none() || params.has_any(VARYING));
        let keeps = !is_known && self.differed;
        self.differed = !is_known && !keeps;
        let peer = shared.unwrap_or_else(|| {
            let version = ProtocolVersion::LATEST_MODERN;
            if is_client {
                facts.peer(version, info, capabilities)
            } else {
                facts.peer(version, info.map(|info| info.detach()), capabilities.detach())
            }
        });
        let sender = RequestSender { peer, log_level };
        if keeps {
            let meta = params.raw(Member::Meta);
            let meta = meta.filter(|meta| meta.0.len() <= limits.max_client_bytes);
            self.last =
                meta.map(|Raw(meta)| KnownSender { meta: meta.into(), sender: sender.kept() });
        }
        Ok(sender)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use bytes::Bytes;

    use super::*;
    use crate::message::{self, Incoming, Message};

    fn params(meta: &str) -> Params {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{{meta}}}}}}}"#
        );
        match message::parse(&Bytes::from(text), &Limits::default()) {
            Ok(Incoming::Message(Message::Request(request))) => request.params,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sender_is_read_as_if_the_request_were_the_first() {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let capabilities =
            |json| format!(r#","io.modelcontextprotocol/clientCapabilities":{json}"#);
        let info = |json| format!(r#","io.modelcontextprotocol/clientInfo":{json}"#);
        let level = |json| format!(r#","io.modelcontextprotocol/logLevel":{json}"#);
        let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(Limits::default().max_client_bytes));
        let metas = [
            format!("{version}{}", capabilities("{}")),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"a","version":"1"}"#)),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"b","version":"1"}"#)),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"b"}"#)),
            format!("{version}{}", info(r#"{"name":"a","version":"1"}"#)),
            format!("{version}{}", capabilities("[]")),
            format!("{version}{}{}", capabilities("{}"), level(r#""debug""#)),
            format!("{version}{}{}", capabilities("{}"), level(r#""loud""#)),
            format!("{version}{}", capabilities(&long)),
            format!(r#"{version}{},"progressToken":1"#, capabilities("{}")),
            format!(r#"{version}{},"progressToken":2"#, capabilities("{}")),
        ];
        let limits = &Limits::default();
        let none = Extensions::default();
        let with_value = Extensions::default().with(1_u32);
        let names = ["a", "b"].map(Arc::<str>::from);
        let all_facts = [(None, &none), (Some(&names[0]), &none), (Some(&names[1]), &with_value)];
        let all_facts = all_facts.map(|(principal, extensions)| SenderFacts {
            principal,
            extensions,
            is_http: true,
        });
        let mut last = LastSender::default();
        for first in &metas {
            for second in &metas {
                for (at, meta) in [first, second, second, first].into_iter().enumerate() {
                    for facts in [0, at, 2 - at / 2].map(|at| all_facts[at % all_facts.len()]) {
                        let params = params(meta);
                        let expected = LastSender::default().read(&params, facts, limits);
                        let read = last.read(&params, facts, limits);
                        assert_eq!(format!("{read:?}"), format!("{expected:?}"), "{meta}");
                    }
                }
            }
        }
    }

    #[test]
    fn description_of_a_client_is_copied_once() {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
        let extensions = &Extensions::default();
        let facts = SenderFacts { principal: None, extensions, is_http: false };
        let mut last = LastSender::default();
        let peers: alloc::vec::Vec<_> = core::iter::repeat_with(|| {
            let params = params(meta);
            let RequestSender { peer, .. } = last.read(&params, facts, &Limits::default()).unwrap();
            let text = params.json().as_bytes().as_ptr_range();
            assert!(!text.contains(&peer.capabilities.as_bytes().as_ptr()));
            peer
        })
        .take(4)
        .collect();
        let [first, second, rest @ ..] = &peers[..] else { panic!("{peers:?}") };
        assert!(!Arc::ptr_eq(first, second), "one request is not kept");
        assert!(rest.iter().all(|peer| Arc::ptr_eq(peer, second)), "{peers:?}");
    }

    #[test]
    fn values_of_a_request_are_not_kept() {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        let permit = Arc::new(());
        let mut last = LastSender::default();
        for _ in 0..4 {
            let extensions = &Extensions::default().with(permit.clone());
            let facts = SenderFacts { principal: None, extensions, is_http: true };
            let sender = last.read(&params(meta), facts, &Limits::default()).unwrap();
            assert!(sender.peer.get::<Arc<()>>().is_some());
        }
        assert_eq!(Arc::strong_count(&permit), 1);
    }
}
