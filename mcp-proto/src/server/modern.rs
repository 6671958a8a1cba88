//! Requests of the modern era, which are self-contained.
//!
//! The steps, in order: envelope, version, headers (over HTTP), method, the name of a tool, its
//! scopes and arguments, param-headers (over HTTP), the rest of params, capacity. A request that
//! passes all steps opens the connection as modern, unless it is `server/discover`.
//!
//! [Specification: Overview](https://modelcontextprotocol.io/specification/2026-07-28/basic)

use alloc::borrow::Cow;
use alloc::boxed::Box;

use super::cacheable::Cacheable;
use super::call::{CallKind, Requester};
use super::context::Context;
use super::declaration::Declaration;
use super::dispatch::MessageSource;
use super::forward;
use super::input;
use super::inputs::Inputs;
use super::outcome::Input;
use super::sender::RequestSender;
use super::serve::{Answer, Caller, Served, Target};
use crate::error::{ProtocolError, ValidationStep};
use crate::headers::MirroredHeaders;
use crate::json::Raw;
use crate::message::{Member, Method, Params, Request, Subject};
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
    let mut sender = context.read_sender(params, source.last_sender)?;
    let declaration = context.declaration();
    let latest = ProtocolVersion::LATEST_MODERN.as_str();
    let claim = match params.raw(Member::MetaProtocolVersion) {
        Some(claim) if claim.is_spelled(latest) => Cow::Borrowed(latest),
        claim => claim.and_then(Raw::string).unwrap_or_default(),
    };
    if let Some(head) = source.head {
        head.check_version(&claim).map_err(ProtocolError::header(ValidationStep::Version))?;
    }
    let policy = source.policy.unwrap_or(served);
    sender.set_version(negotiate::modern_version(&claim, policy)?);
    if let Some(head) = source.head {
        check_standard(head, request)?;
    }
    if let Some(target) = forward::target(declaration, Era::Modern, policy, method, params)? {
        return Ok(Answer::Handler(target, requester(sender, Inputs::default(), None)));
    }
    if matches!(method, Method::Discover) {
        let stamp = declaration.cache_stamp(Cacheable::Discover).clone();
        return Ok(Answer::Result { stamp, result: declaration.discover(policy).clone() });
    }
    if matches!(method, Method::Listen) {
        return listen(declaration, params, sender);
    }
    declaration.check_capability(method)?;
    let capabilities = &sender.peer.capabilities;
    let caller = Caller { capabilities, peer: &|| sender.peer.clone() };
    match declaration.serve(Era::Modern, method, params, &caller, source.head)? {
        Served::Page(list, result) => {
            Ok(Answer::Result { stamp: declaration.cache_stamp(list).clone(), result })
        }
        Served::Result(result) => Ok(Answer::Result { stamp: declaration.stamp.clone(), result }),
        Served::Handler(target) => {
            let asks = target.handler.asks;
            let inputs = if asks { Inputs::of(capabilities) } else { Inputs::default() };
            // Other methods may define these members themselves.
            let takes_input = target.kind.takes_input();
            let input = if takes_input { input::read(params)? } else { None };
            Ok(Answer::Handler(target, requester(sender, inputs, input)))
        }
    }
}

fn listen(
    declaration: &Declaration,
    params: &Params,
    sender: RequestSender,
) -> Result<Answer, ProtocolError> {
    let found = declaration.looks_up_tasks(params, &sender.peer.capabilities)?;
    if let Some(handler) = found {
        let arguments = params.json().clone();
        let target = Target { handler, kind: CallKind::Subscription, arguments };
        return Ok(Answer::TaskSubscription(target, requester(sender, Inputs::default(), None)));
    }
    Ok(Answer::Subscription(declaration.has_filters().then_some(sender.peer)))
}

/// The requester that has sent a request.
fn requester(sender: RequestSender, inputs: Inputs, input: Option<Box<Input>>) -> Requester {
    let RequestSender { peer, log_level } = sender;
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
