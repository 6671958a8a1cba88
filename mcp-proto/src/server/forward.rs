//! Requests, results and notifications that a server forwards without handling them itself.
//!
//! In: requests of a client, with any method; results, errors and notifications of another server.
//! Out: requests for one handler ([`Registry::forward`](super::Registry::forward)), and the
//! results. Results stay unchanged, except for the members that belong to one connection:
//!
//! | message | member | becomes |
//! |---|---|---|
//! | result of `initialize` | `protocolVersion` | the revision of the session |
//! | result of `server/discover` | `supportedVersions` | those that this server serves |
//! | result of `subscriptions/listen` | `_meta` | the id of the subscription at this client |
//! | notification about a subscription | the same in `_meta` | the same |
//! | `notifications/progress` | `progressToken` | the token of this client's request |
//!
//! The machine answers `ping`, and refuses methods that the client's era does not define.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::call::{Call, CallKind, Forward, ReplyPath};
use super::context::Context;
use super::declaration::Declaration;
use super::legacy::Session;
use super::serve::{Target, not_found};
use crate::error::{ErrorCode, ProtocolError, UsageError, ValidationStep};
use crate::json::write::{self, List};
use crate::json::{Json, Raw};
use crate::message::{ErrorData, Method, Outgoing, Params, RequestId};
use crate::meta::SUBSCRIPTION_ID;
use crate::negotiate;
use crate::types::LoggingLevel;
use crate::version::{Era, EraPolicy, ProtocolVersion};

/// The handler of a forwarded request; `None` if the server is not a forwarder.
///
/// Fails with [`ProtocolError::MethodNotFound`] if the era does not define the method.
pub(super) fn target(
    declaration: &Declaration,
    era: Era,
    policy: EraPolicy,
    method: &Method,
    params: &Params,
) -> Result<Option<Target>, ProtocolError> {
    let Some(handler) = declaration.forward else { return Ok(None) };
    // 2025-11-25 has tasks of its own, with these methods.
    let is_legacy_task =
        era == Era::Legacy && matches!(method, Method::GetTask | Method::CancelTask);
    if !is_legacy_task && method.row().is_some_and(|row| !row.is_in(era)) {
        return Err(not_found(method));
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are answered alike")]
    let forward = match method {
        Method::Initialize => Forward::Initialize,
        Method::Discover => Forward::Discover(policy),
        Method::Listen => Forward::Listen,
        _ => Forward::Other,
    };
    let arguments = params.json().clone();
    Ok(Some(Target { handler, kind: CallKind::Forwarded(forward), arguments }))
}

/// The response that carries the answer of another server.
pub(super) fn outgoing(
    id: RequestId,
    forward: Forward,
    made: Result<Json, ErrorData>,
    session: Option<ProtocolVersion>,
) -> Outgoing {
    let result = match made {
        Ok(result) => result,
        Err(error) => return Outgoing::Error { id: Some(id), error },
    };
    let result = match forward {
        Forward::Initialize => {
            let mut version = Vec::new();
            write::string(&mut version, session.unwrap_or(ProtocolVersion::LATEST_LEGACY).as_str());
            with_member(&result, "protocolVersion", &version)
        }
        Forward::Discover(policy) => {
            let mut versions = Vec::new();
            let mut list = List::array(&mut versions);
            for version in negotiate::listed(policy) {
                write::string(list.item(), version);
            }
            list.end();
            with_member(&result, "supportedVersions", &versions)
        }
        Forward::Listen => with_subscription(&result, &id),
        Forward::Other => result,
    };
    Outgoing::Result { id, stamp: Bytes::new(), result: result.into() }
}

/// Ends a request with the answer of its handler.
pub(super) fn end(context: &mut Context, kind: CallKind, path: ReplyPath, answer: Outgoing) {
    let is_subscription = kind == CallKind::Forwarded(Forward::Listen);
    if is_subscription && matches!(answer, Outgoing::Result { .. }) {
        return context.end_subscription(path, answer);
    }
    context.end_with_answer(path, step(kind, &answer), answer);
}

/// The step at which a handler or another server has refused a request; over HTTP it decides the
/// status.
///
/// | refused by | with | step |
/// |---|---|---|
/// | all | a missing capability | capability |
/// | another server, a handler for methods of any name | an unknown method | method |
/// | another server | a header mismatch | headers of parameters |
/// | all | another error | none |
fn step(kind: CallKind, answer: &Outgoing) -> Option<ValidationStep> {
    let Outgoing::Error { error, .. } = answer else { return None };
    match (kind, error.code) {
        (_, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY) => Some(ValidationStep::Capability),
        (CallKind::Forwarded(_) | CallKind::Other, ErrorCode::METHOD_NOT_FOUND) => {
            Some(ValidationStep::Method)
        }
        (CallKind::Forwarded(_), ErrorCode::HEADER_MISMATCH) => Some(ValidationStep::ParamHeaders),
        _ => None,
    }
}

/// The result that ends a forwarded subscription.
pub(super) fn end_of_subscription(id: &RequestId) -> Json {
    with_subscription(&Json::constant(r#"{"resultType":"complete"}"#), id)
}

/// Adapts a notification of another server about a request in flight; `None` if the client does not
/// want it.
pub(super) fn encode_for_request(
    call: &Call,
    session: Option<&Session>,
    method: String,
    params: Json,
) -> Result<Option<Outgoing>, UsageError> {
    if !params.raw().is_object() {
        return Err(UsageError::NotAnObject { name: method });
    }
    let params = match &*method {
        "notifications/progress" => match call.token() {
            None => return Ok(None),
            Some(token) => with_member(&params, "progressToken", token.as_bytes()),
        },
        _ if call.kind == CallKind::Forwarded(Forward::Listen) => {
            with_subscription(&params, &call.id)
        }
        _ => params,
    };
    let least = call.log_level.or(session.map(Session::log_level));
    filter_notification(least, session.map(Session::version), method, params)
}

/// Adapts a notification of another server that belongs to no request, for a legacy client.
pub(super) fn encode_for_session(
    session: &Session,
    method: String,
    params: Json,
) -> Result<Option<Outgoing>, UsageError> {
    if !session.is_initialized() && method != "notifications/message" {
        return Err(UsageError::NotInitialized);
    }
    if method == "notifications/progress" {
        return Err(UsageError::NotInFlight);
    }
    filter_notification(Some(session.log_level()), Some(session.version()), method, params)
}

/// The notification, if the client wants it. `version` is the revision of a legacy session.
fn filter_notification(
    least: Option<LoggingLevel>,
    version: Option<ProtocolVersion>,
    method: String,
    params: Json,
) -> Result<Option<Outgoing>, UsageError> {
    if !params.raw().is_object() {
        return Err(UsageError::NotAnObject { name: method });
    }
    let is_wanted = match &*method {
        "notifications/cancelled" => return Err(UsageError::ReservedMethod { method }),
        "notifications/message" => {
            let level = params.raw().member("level");
            let level =
                level.and_then(|level| serde_json::from_slice::<LoggingLevel>(level.0).ok());
            // A message with an unknown level is sent, since the level cannot be compared.
            least.is_some_and(|least| level.is_none_or(|level| level >= least))
        }
        "notifications/elicitation/complete" => {
            version.is_some_and(ProtocolVersion::has_elicitation_complete)
        }
        _ => true,
    };
    Ok(is_wanted.then(|| Outgoing::Notification { method: method.into(), params }))
}

/// The object with this member, which replaces an earlier one of this name or is added at the end.
fn with_member(object: &Json, name: &str, value: &[u8]) -> Json {
    let mut out = Vec::with_capacity(object.as_bytes().len() + name.len() + value.len() + 4);
    let mut list = List::object(&mut out);
    let mut found = false;
    object.raw().members(|key, old| {
        if key.string().as_deref() != Some(name) {
            list.copy(key, old);
        } else if !core::mem::replace(&mut found, true) {
            list.member(name, value);
        }
    });
    if !found {
        list.member(name, value);
    }
    list.end();
    Json::trusted(out)
}

/// The object with the id of a subscription in `_meta`.
fn with_subscription(object: &Json, id: &RequestId) -> Json {
    let meta = object.raw().member("_meta").filter(|meta| meta.is_object());
    let meta = meta.map_or(Json::EMPTY_OBJECT, |Raw(meta)| Json::trusted(meta.to_vec()));
    let meta = with_member(&meta, SUBSCRIPTION_ID, id.as_str().as_bytes());
    with_member(object, "_meta", meta.as_bytes())
}
