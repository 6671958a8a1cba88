//! Requests of the modern era: every one says everything about itself.
//!
//! The rungs, in order: envelope, version, method, params, capacity. A request that passes all of
//! them opens the connection as modern, unless it is `server/discover`.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

use super::dispatch::tool_page;
use super::{Opening, Peer, Server};
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::message::{Member, Method, Outgoing, Request, RequestId};
use crate::meta::RequestMeta;
use crate::negotiate;
use crate::time::Instant;

impl Server {
    pub(super) fn modern_request(&mut self, now: Instant, request: Request) {
        let id = request.id.clone();
        match self.serve_modern(now, request) {
            Ok(Served::Discovery) => {}
            Ok(Served::Request) => {
                if let Opening::Undecided = self.opening {
                    self.opening = Opening::Modern;
                }
            }
            Err(error) => self.refuse(None, Some(id), &error),
        }
    }

    fn serve_modern(&mut self, now: Instant, request: Request) -> Result<Served, ProtocolError> {
        let meta = RequestMeta::read(&request.params)?;
        let claim = request.params.raw(Member::MetaProtocolVersion);
        let version = negotiate::modern_version(&claim.and_then(Raw::string).unwrap_or_default())?;
        match request.method {
            Method::Discover => {
                let result = self.declaration.discover().clone();
                self.modern_result(request.id, result);
                return Ok(Served::Discovery);
            }
            Method::ListTools if self.declaration.has_tools() => {
                let page = tool_page(&request.params, &self.declaration)?;
                self.modern_result(request.id, page);
            }
            Method::CallTool if self.declaration.has_tools() => {
                let peer = Peer {
                    version,
                    client_info: meta.client_info,
                    capabilities: meta.client_capabilities,
                };
                self.call_tool(now, request, peer, None)?;
            }
            Method::Initialize
            | Method::Ping
            | Method::ListTools
            | Method::CallTool
            | Method::Initialized
            | Method::Cancelled
            | Method::Progress
            | Method::Other(_) => {
                let method = request.method.name().into();
                return Err(ProtocolError::MethodNotFound { method });
            }
        }
        Ok(Served::Request)
    }

    /// Answers with a result that clients may cache.
    fn modern_result(&mut self, id: RequestId, result: Json) {
        let stamp = self.declaration.cacheable_stamp.clone();
        self.answer(None, Outgoing::Result { id, stamp, result });
    }
}

/// What a modern request was.
enum Served {
    /// `server/discover`, which pins nothing.
    Discovery,
    /// Any other.
    Request,
}
