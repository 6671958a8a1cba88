//! The legacy era: `initialize`, its session, `ping`, log levels, subscriptions to resources,
//! batches, and requests to the client.
//!
//! In: a request that the table routes as legacy. Out: its answer, or the handler for it.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

mod content;
mod machine;
mod server_requests;
mod session;
mod wrap;

use alloc::boxed::Box;

use bytes::Bytes;

use super::call::Call;
use super::calls::Calls;
use super::context::{Context, ServerChannel};
use super::forward;
use super::lifecycle::Lifecycle;
use super::outcome::Input;
use super::serve::{Answer, Caller, Served, not_found, string};
use super::subscriptions::Subscriptions;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::{ErrorData, Member, Method, Request};
use crate::time::Instant;
use crate::url::has_scheme;
use crate::version::Era;

pub(super) use content::older_content;
pub(super) use server_requests::ServerRequests;
pub(super) use session::Session;
pub(crate) use wrap::{wrapped_content, wrapped_schema};

/// Returns whether the client has a session. Fails for a subscription without one: there is no
/// stream for the updates.
fn check_session(context: &Context, method: &Method) -> Result<bool, ProtocolError> {
    let has_session = context.channel() != ServerChannel::Exchange;
    if !has_session && matches!(method, Method::Subscribe | Method::Unsubscribe) {
        return Err(not_found(method));
    }
    Ok(has_session)
}

/// Serves a legacy request.
pub(super) fn serve(
    context: &Context,
    lifecycle: &mut Lifecycle,
    subscriptions: &mut Subscriptions,
    request: &Request,
) -> Result<Answer, ProtocolError> {
    let has_session = check_session(context, &request.method)?;
    if let Some(answer) = forward(context, lifecycle, request)? {
        return Ok(answer);
    }
    let (declaration, Request { method, params, .. }) = (context.declaration(), request);
    declaration.check_capability(method)?;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are of both eras, or of none")]
    let result = match method {
        Method::Initialize => {
            let session = Session::open(context, params)?;
            let result = declaration.initialize(session.version(), has_session);
            lifecycle.open_legacy(session);
            subscriptions.open_session();
            result
        }
        Method::Ping => Json::EMPTY_OBJECT,
        Method::SetLevel => {
            if let Some(session) = lifecycle.session_mut() {
                session.set_level(params)?;
            }
            Json::EMPTY_OBJECT
        }
        Method::Subscribe => {
            let uri = string(params, Member::Uri)?;
            // A resource may be created later, so a subscription to a missing resource is accepted.
            if !has_scheme(&uri) {
                return Err(ProtocolError::ResourceNotFound { uri: uri.into_owned() });
            }
            let session = lifecycle.session().filter(|_| declaration.has_filters());
            let peer = session.map(|session| session.peer(context));
            subscriptions.subscribe(&uri, peer, context.config())?;
            Json::EMPTY_OBJECT
        }
        Method::Unsubscribe => {
            subscriptions.unsubscribe(&string(params, Member::Uri)?);
            Json::EMPTY_OBJECT
        }
        _ => {
            let session = lifecycle.session().ok_or_else(|| not_found(method))?;
            let caller =
                Caller { capabilities: session.capabilities(), peer: &|| session.peer(context) };
            match declaration.serve(Era::Legacy, method, params, &caller, None)? {
                Served::Page(_, result) | Served::Result(result) => result,
                Served::Handler(target) => {
                    return Ok(Answer::Handler(target, session.requester(context, None)));
                }
            }
        }
    };
    Ok(Answer::Result { stamp: Bytes::new(), result })
}

/// Passes a request to the forwarding handler, if there is one.
fn forward(
    context: &Context,
    lifecycle: &mut Lifecycle,
    request: &Request,
) -> Result<Option<Answer>, ProtocolError> {
    let Request { method, params, .. } = request;
    let policy = context.config().era_policy;
    if matches!(method, Method::Ping) {
        return Ok(None);
    }
    let target = forward::target(context.declaration(), Era::Legacy, policy, method, params)?;
    let Some(target) = target else { return Ok(None) };
    if matches!(method, Method::Initialize) {
        lifecycle.start_legacy(Session::open(context, params)?);
    }
    let session = lifecycle.session_mut().ok_or_else(|| not_found(method))?;
    if matches!(method, Method::SetLevel) {
        session.set_level(params)?;
    }
    Ok(Some(Answer::Handler(target, session.requester(context, None))))
}

/// Passes a request to its handler again, without a message of the client in between: the handler
/// gets the values of the HTTP request that it has had before.
pub(super) fn serve_at_once(
    now: Instant,
    context: &mut Context,
    lifecycle: &Lifecycle,
    calls: &mut Calls,
    call: Call,
    input: Input,
) {
    let Some(retry) = &call.retry else { return };
    let current = context.extensions().clone();
    context.set_extensions(retry.extensions.clone());
    serve_again(now, context, lifecycle, calls, call, input);
    context.set_extensions(current);
}

/// Passes a request whose input is complete to its handler again, or to the handler that has
/// replaced it meanwhile. The scopes that count are those of the message with the input.
fn serve_again(
    now: Instant,
    context: &mut Context,
    lifecycle: &Lifecycle,
    calls: &mut Calls,
    mut call: Call,
    input: Input,
) {
    let (Some(session), Some(retry)) = (lifecycle.session(), &call.retry) else { return };
    let (method, params) = (&retry.method, &retry.params);
    let declaration = context.declaration();
    let caller = Caller { capabilities: session.capabilities(), peer: &|| session.peer(context) };
    let error = match declaration.serve(Era::Legacy, method, params, &caller, None) {
        Ok(Served::Handler(target)) => {
            let requester = session.requester(context, Some(Box::new(input)));
            if let Some(retry) = &mut call.retry {
                retry.extensions.clone_from(context.extensions());
            }
            return calls.restart(now, context, call, target, requester);
        }
        // The handler was removed meanwhile.
        Ok(Served::Page(..) | Served::Result(_)) => not_found(&retry.method),
        Err(error) => error,
    };
    let error = ErrorData::in_revision(&error, session.version());
    calls.fail(context, call, None, error);
}
