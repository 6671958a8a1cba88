//! Requests of the modern era, which are self-contained.
//!
//! The steps, in order: envelope, version, headers (over HTTP), method, the name of a tool and its
//! arguments, param-headers (over HTTP), the rest of params, capacity. A request that passes all
//! steps opens the connection as modern, unless it is `server/discover`.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

use alloc::borrow::Cow;
use alloc::boxed::Box;

use super::cacheable::Cacheable;
use super::call::{CallKind, Requester};
use super::context::Context;
use super::dispatch::MessageSource;
use super::forward;
use super::input;
use super::inputs::Inputs;
use super::outcome::Input;
use super::serve::{Answer, Caller, Served, Target};
use crate::error::{ProtocolError, ValidationStep};
use crate::headers::MirroredHeaders;
use crate::json::Raw;
use crate::message::{Member, Method, Params, Request, Subject};
use crate::meta::RequestMeta;
use crate::negotiate;
use crate::version::{Era, EraPolicy, ProtocolVersion};

/// Serves a modern request.
pub(super) fn serve(
    context: &mut Context,
    request: &Request,
    source: MessageSource<'_, '_>,
) -> Result<Answer, ProtocolError> {
    let served = context.config().era_policy;
    // `Sessions::Off` routes HTTP requests as modern, even if the machines serve only legacy.
    if served == EraPolicy::LegacyOnly {
        return Err(ProtocolError::ModernNotServed);
    }
    let Request { method, params, .. } = request;
    let meta = context.read_meta(params, source.last_meta)?;
    let (context, declaration) = (&*context, context.declaration());
    let latest = ProtocolVersion::LATEST_MODERN.as_str();
    let claim = match params.raw(Member::MetaProtocolVersion) {
        Some(claim) if claim.is_spelled(latest) => Cow::Borrowed(latest),
        claim => claim.and_then(Raw::string).unwrap_or_default(),
    };
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
        return listen(context, version, params, meta);
    }
    declaration.check_capability(method)?;
    let peer = || context.peer(version, meta.client_info.clone(), meta.client_capabilities.clone());
    let caller = Caller { capabilities: &meta.client_capabilities, peer: &peer };
    match declaration.serve(Era::Modern, method, params, &caller, source.head)? {
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

fn listen(
    context: &Context,
    version: ProtocolVersion,
    params: &Params,
    meta: RequestMeta,
) -> Result<Answer, ProtocolError> {
    let declaration = context.declaration();
    if let Some(handler) = declaration.looks_up_tasks(params, &meta.client_capabilities)? {
        let arguments = params.json().clone();
        let target = Target { handler, kind: CallKind::Subscription, arguments };
        let requester = requester(context, version, meta, Inputs::default(), None);
        return Ok(Answer::TaskSubscription(target, requester));
    }
    let RequestMeta { client_info, client_capabilities, .. } = meta;
    let peer = || context.peer(version, client_info, client_capabilities);
    Ok(Answer::Subscription(declaration.has_filters().then(peer)))
}

/// The sender of a request with this envelope.
fn requester(
    context: &Context,
    version: ProtocolVersion,
    meta: RequestMeta,
    inputs: Inputs,
    input: Option<Box<Input>>,
) -> Requester {
    let RequestMeta { client_info, client_capabilities, log_level, .. } = meta;
    let peer = context.peer(version, client_info, client_capabilities);
    Requester { peer, inputs, input, log_level }
}

/// Checks that `Mcp-Method` and `Mcp-Name` agree with the body.
fn check_standard(head: &MirroredHeaders<'_>, request: &Request) -> Result<(), ProtocolError> {
    let method = request.method.name();
    head.check_method(method).map_err(ProtocolError::header(ValidationStep::Headers))?;
    let name = match request.method.row().and_then(|row| row.subject) {
        None => return Ok(()),
        Some(Subject::Name) => request.params.raw(Member::Name),
        Some(Subject::Uri) => request.params.raw(Member::Uri),
        Some(Subject::TaskId) => request.params.raw(Member::TaskId),
    };
    if name.is_some_and(|name| head.name_equals_raw(name)) {
        return Ok(());
    }
    let name = name.and_then(Raw::string);
    head.check_name(method, name.as_deref()).map_err(ProtocolError::header(ValidationStep::Headers))
}
