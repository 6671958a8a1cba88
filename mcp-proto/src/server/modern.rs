//! Requests of the modern era: every one says everything about itself.
//!
//! The rungs, in order: envelope, version, headers (over HTTP), method, the name of a tool and its
//! arguments, param-headers (over HTTP), the rest of params, capacity. A request that passes all of
//! them opens the connection as modern, unless it is `server/discover`.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

use bytes::Bytes;

use super::call::Requester;
use super::dispatch::MessageSource;
use super::input;
use super::inputs::Inputs;
use super::serve::Served;
use super::{Cacheable, Opening, Peer, Server};
use crate::error::{ProtocolError, Rung};
use crate::headers::{self, Mirrored};
use crate::json::{Json, Raw};
use crate::message::{Member, Method, Outgoing, Request, RequestId, Subject};
use crate::meta::RequestMeta;
use crate::negotiate;
use crate::time::Instant;
use crate::version::{Era, EraPolicy};

impl Server {
    pub(super) fn modern_request(
        &mut self,
        now: Instant,
        request: Request,
        source: MessageSource<'_, '_>,
    ) {
        let id = request.id.clone();
        let discovers = matches!(request.method, Method::Discover);
        match self.serve_modern(now, request, source) {
            Err(error) => self.refuse(source.path, Some(id), &error),
            Ok(()) if discovers => {}
            Ok(()) => {
                if let Opening::Undecided = self.opening {
                    self.opening = Opening::Modern;
                }
            }
        }
    }

    fn serve_modern(
        &mut self,
        now: Instant,
        request: Request,
        source: MessageSource<'_, '_>,
    ) -> Result<(), ProtocolError> {
        // An endpoint without sessions counts as modern whatever its machines serve.
        if self.context.config().era_policy == EraPolicy::LegacyOnly {
            return Err(ProtocolError::ModernNotServed);
        }
        let meta = RequestMeta::read(&request.params)?;
        let claim = request.params.raw(Member::MetaProtocolVersion);
        let claim = claim.and_then(Raw::string).unwrap_or_default();
        if let Some(head) = source.head {
            head.check_version(&claim).map_err(ProtocolError::header(Rung::Version))?;
        }
        let policy = source.policy.unwrap_or(self.context.config().era_policy);
        let version = negotiate::modern_version(&claim, policy)?;
        if let Some(head) = source.head {
            check_standard(head, &request)?;
        }
        if matches!(request.method, Method::Discover) {
            let stamp = self.context.declaration().cache_stamp(Cacheable::Discover).clone();
            let result = self.context.declaration().discover(policy).clone();
            self.modern_result(request.id, stamp, result);
            return Ok(());
        }
        if matches!(request.method, Method::Listen) {
            return self.listen(request.id, &request.params);
        }
        self.context.declaration().check_capability(&request.method)?;
        match self.context.declaration().serve(
            Era::Modern,
            &request.method,
            &request.params,
            source.head,
        )? {
            Served::Page(list, page) => {
                let stamp = self.context.declaration().cache_stamp(list).clone();
                self.modern_result(request.id, stamp, page);
            }
            Served::Result(result) => {
                let stamp = self.context.declaration().stamp.clone();
                self.modern_result(request.id, stamp, result);
            }
            Served::Handler(target) => {
                let asks = target.handler.asks;
                let inputs =
                    if asks { Inputs::of(&meta.client_capabilities) } else { Inputs::default() };
                // The members of others that are called so are theirs.
                let takes_input = target.kind.takes_input();
                let input = if takes_input { input::read(&request.params)? } else { None };
                let requester = Requester {
                    inputs,
                    input,
                    log_level: meta.log_level,
                    peer: Peer {
                        version,
                        client_info: meta.client_info,
                        capabilities: meta.client_capabilities,
                        principal: self.context.principal().cloned(),
                    },
                };
                self.calls.start(
                    now,
                    &mut self.context,
                    request,
                    target,
                    requester,
                    source.path,
                )?;
            }
        }
        Ok(())
    }

    fn modern_result(&mut self, id: RequestId, stamp: Bytes, result: Json) {
        self.context.send(None, Outgoing::Result { id, stamp, result });
    }
}

/// `Mcp-Method` and `Mcp-Name` repeat what the body says.
fn check_standard(head: &Mirrored<'_>, request: &Request) -> Result<(), ProtocolError> {
    let method = request.method.name();
    head.check_method(method).map_err(ProtocolError::header(Rung::Headers))?;
    let name = match request.method.row().map(|row| row.subject) {
        Some(None) => return Ok(()),
        Some(Some(Subject::Name)) => request.params.raw(Member::Name),
        Some(Some(Subject::Uri)) => request.params.raw(Member::Uri),
        None => {
            let name = headers::name_in(method, request.params.json());
            let checked = head.check_name(method, name.as_deref());
            return checked.map_err(ProtocolError::header(Rung::Headers));
        }
    };
    if name.is_some_and(|name| head.repeats(name)) {
        return Ok(());
    }
    let name = name.and_then(Raw::string);
    head.check_name(method, name.as_deref()).map_err(ProtocolError::header(Rung::Headers))
}
