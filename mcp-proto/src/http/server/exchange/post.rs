//! The steps on the body of a POST: json, shape and era.
//!
//! In: a head that passed its steps, and a body. Out: the state of the exchange, or its answer.

use alloc::boxed::Box;
use alloc::sync::Arc;

use bytes::Bytes;

use super::super::config::Sessions;
use super::super::sessions::{RequestContext, SessionHeader};
use super::scopes::sender;
use super::wanted::Wanted;
use super::{Exchange, RequestCache, State};
use crate::frame::http1::Head;
use crate::headers::MirroredHeaders;
use crate::json::BYTE_ORDER_MARK;
use crate::message::{self, Incoming, Message};
use crate::negotiate::{self, Claim, Opened, Route};
use crate::server::{self, Declaration, MessageSource, Server, StreamId};
use crate::time::Instant;
use crate::version::{Era, ProtocolVersion};

impl Exchange {
    /// Runs the steps json, shape and era.
    pub(super) fn post(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        head: &Head,
        body: &Bytes,
        context: RequestContext,
        cache: &mut RequestCache,
    ) {
        let unmarked =
            body.starts_with(BYTE_ORDER_MARK).then(|| body.slice(BYTE_ORDER_MARK.len()..));
        let body = unmarked.as_ref().unwrap_or(body);
        let incoming = match cache.messages.read(body, &self.config.server.limits) {
            Ok(incoming) => incoming,
            Err(malformed) => {
                let id = malformed.id.filter(|_| malformed.answerable);
                return self.answer.error(
                    context.version.error_revision(context.session),
                    id,
                    &malformed.error,
                );
            }
        };
        let policy = self.config.policy();
        let opened =
            if context.version.is_modern() { Opened::ModernExchange } else { Opened::Exchange };
        let (kind, claim) = server::facts(&incoming);
        let claim = self.claim(claim, &incoming, &context);
        let row = negotiate::classify(opened, policy, kind, claim);
        match row.map_or(Route::Drop, |row| row.then) {
            Route::Drop => self.answer.accept(),
            Route::Modern => self.modern(now, declaration, head, incoming, context, cache),
            Route::Legacy if self.config.sessions == Sessions::Stateless => {
                self.stateless(now, declaration, &incoming, context);
            }
            Route::Legacy => self.want(Wanted::Post { context, incoming }),
            Route::Reject(refusal) => {
                let (id, error) = server::refusal(refusal, policy, incoming);
                self.answer.error(context.version.error_revision(context.session), id, &error);
            }
        }
    }

    /// The claim of a message. Beside a header that names a legacy revision, and agrees with the
    /// claim, it is none: some hosts send the per-request fields of the modern era in legacy
    /// sessions.
    fn claim(&self, claim: Claim, incoming: &Incoming, context: &RequestContext) -> Claim {
        if claim == Claim::Absent || context.version.is_modern() {
            return claim;
        }
        let Ok(Some(version)) = context.version.legacy() else { return claim };
        let is_legacy = self.config.sessions == Sessions::Stateless
            || matches!(context.session, SessionHeader::Id(_));
        match claim {
            Claim::Incomplete => Claim::Absent,
            Claim::Present if is_legacy && server::claims(incoming, version) => Claim::Absent,
            Claim::Present | Claim::Absent => claim,
        }
    }

    fn modern(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        head: &Head,
        incoming: Incoming,
        context: RequestContext,
        cache: &mut RequestCache,
    ) {
        let RequestContext { principal, extensions, .. } = context;
        let sender = || sender(ProtocolVersion::LATEST_MODERN, principal.as_ref(), &extensions);
        if self.lacks_scopes(declaration, &incoming, &extensions, sender) {
            return;
        }
        if let Incoming::Message(Message::Request(request)) = &incoming
            && matches!(request.method, message::Method::Listen)
        {
            let head = Box::new(head.clone());
            return self.want(Wanted::Listen { incoming, head, principal, extensions, peer: None });
        }
        if let Incoming::Message(Message::Notification(_)) = &incoming {
            self.answer.accept();
        }
        let config = self.config.server.share();
        let mut server = Box::new(Server::modern_exchange(declaration.clone(), config, principal));
        server.set_extensions(extensions);
        let mirrored = MirroredHeaders::of_raw(head.raw_fields());
        let source =
            MessageSource::modern(&mirrored, self.config.policy(), Some(&mut cache.last_sender));
        server.handle_message_from(now, &incoming, source);
        self.state = State::Alone(server);
    }

    /// Answers a legacy client's request that has no session.
    fn stateless(
        &mut self,
        now: Instant,
        declaration: &Arc<Declaration>,
        incoming: &Incoming,
        context: RequestContext,
    ) {
        self.answer.era = Era::Legacy;
        let version = match context.version.legacy() {
            // "the server SHOULD assume protocol version 2025-03-26"
            Ok(version) => version.unwrap_or(ProtocolVersion::V2025_03_26),
            Err(error) => {
                let id = server::request_id(incoming);
                return self.answer.error(ProtocolVersion::LATEST_LEGACY, id, &error);
            }
        };
        let sender = || sender(version, context.principal.as_ref(), &context.extensions);
        if self.lacks_scopes(declaration, incoming, &context.extensions, sender) {
            return;
        }
        if let Incoming::Message(Message::Notification(_) | Message::Response(_)) = incoming {
            self.answer.accept();
        }
        let config = self.config.server.share();
        let (declaration, principal) = (declaration.clone(), context.principal);
        let server = Server::legacy_exchange(declaration, config, principal, incoming, version);
        let mut server = Box::new(server);
        server.set_extensions(context.extensions);
        server.handle_message_from(now, incoming, MessageSource::legacy(Some(StreamId(1))));
        self.state = State::Alone(server);
    }
}
