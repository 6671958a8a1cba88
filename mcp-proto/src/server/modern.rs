//! Requests of the modern era: every one says everything about itself.
//!
//! The steps, in order: envelope, version, headers (over HTTP), method, the name of a tool and its
//! arguments, param-headers (over HTTP), the rest of params, capacity. A request that passes all of
//! them opens the connection as modern, unless it is `server/discover`.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

use alloc::boxed::Box;

use super::cacheable::Cacheable;
use super::call::Requester;
use super::context::Context;
use super::dispatch::MessageSource;
use super::event::Peer;
use super::forward;
use super::input;
use super::inputs::Inputs;
use super::outcome::Input;
use super::serve::{Answer, Served};
use crate::error::{ProtocolError, ValidationStep};
use crate::headers::{self, MirroredHeaders};
use crate::json::Raw;
use crate::message::{Member, Method, Request, Subject};
use crate::meta::RequestMeta;
use crate::negotiate;
use crate::version::{Era, EraPolicy, ProtocolVersion};

/// Serves a modern request.
pub(super) fn serve(
    context: &Context,
    request: &Request,
    source: MessageSource<'_, '_>,
) -> Result<Answer, ProtocolError> {
    let declaration = context.declaration();
    let served = context.config().era_policy;
    // An endpoint without sessions counts as modern whatever its machines serve.
    if served == EraPolicy::LegacyOnly {
        return Err(ProtocolError::ModernNotServed);
    }
    let Request { method, params, .. } = request;
    let meta = RequestMeta::read(params)?;
    let claim = params.raw(Member::MetaProtocolVersion);
    let claim = claim.and_then(Raw::string).unwrap_or_default();
    if let Some(head) = source.head {
        head.check_version(&claim).map_err(ProtocolError::header(ValidationStep::Version))?;
    }
    let policy = source.policy.unwrap_or(served);
    let version = negotiate::modern_version(&claim, policy)?;
    if let Some(head) = source.head {
        check_standard(head, request)?;
    }
    if let Some(target) = forward::target(declaration, Era::Modern, policy, method, params)? {
        return Ok(Answer::Handler(
            target,
            requester(context, version, meta, Inputs::default(), None),
        ));
    }
    if matches!(method, Method::Discover) {
        let stamp = declaration.cache_stamp(Cacheable::Discover).clone();
        return Ok(Answer::Result { stamp, result: declaration.discover(policy).clone() });
    }
    if matches!(method, Method::Listen) {
        return Ok(Answer::Subscription);
    }
    declaration.check_capability(method)?;
    match declaration.serve(Era::Modern, method, params, &meta.client_capabilities, source.head)? {
        Served::Page(list, result) => {
            Ok(Answer::Result { stamp: declaration.cache_stamp(list).clone(), result })
        }
        Served::Result(result) => Ok(Answer::Result { stamp: declaration.stamp.clone(), result }),
        Served::Handler(target) => {
            let asks = target.handler.asks;
            let inputs =
                if asks { Inputs::of(&meta.client_capabilities) } else { Inputs::default() };
            // Other methods may define these members themselves.
            let takes_input = target.kind.takes_input();
            let input = if takes_input { input::read(params)? } else { None };
            Ok(Answer::Handler(target, requester(context, version, meta, inputs, input)))
        }
    }
}

/// The sender of a request with this envelope.
fn requester(
    context: &Context,
    version: ProtocolVersion,
    meta: RequestMeta,
    inputs: Inputs,
    input: Option<Box<Input>>,
) -> Requester {
    let RequestMeta { client_info, client_capabilities: capabilities, log_level, .. } = meta;
    let principal = context.principal().cloned();
    let extensions = context.extensions().clone();
    let is_http = context.is_http();
    let peer = Peer { version, client_info, capabilities, principal, extensions, is_http };
    Requester { peer, inputs, input, log_level }
}

/// `Mcp-Method` and `Mcp-Name` repeat what the body says.
fn check_standard(head: &MirroredHeaders<'_>, request: &Request) -> Result<(), ProtocolError> {
    let method = request.method.name();
    head.check_method(method).map_err(ProtocolError::header(ValidationStep::Headers))?;
    let name = match request.method.row().map(|row| row.subject) {
        Some(None) => return Ok(()),
        Some(Some(Subject::Name)) => request.params.raw(Member::Name),
        Some(Some(Subject::Uri)) => request.params.raw(Member::Uri),
        None => {
            let name = headers::name_in(method, request.params.json());
            let checked = head.check_name(method, name.as_deref());
            return checked.map_err(ProtocolError::header(ValidationStep::Headers));
        }
    };
    if name.is_some_and(|name| head.repeats(name)) {
        return Ok(());
    }
    let name = name.and_then(Raw::string);
    head.check_name(method, name.as_deref()).map_err(ProtocolError::header(ValidationStep::Headers))
}
