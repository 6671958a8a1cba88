//! Notifications of a server for an application that forwards them.
//!
//! In: a notification, and the call whose HTTP response contains it. Out: an event with the
//! notification and the call that it is about. Progress restarts the timeout of its call, as usual.

use super::calls::{self, Calls};
use super::event::{CallId, ClientEvent};
use super::inputs::Inputs;
use super::outbox::Outbox;
use crate::error::ProtocolError;
use crate::json::Raw;
use crate::message::{Member, Method, Notification, RequestId};
use crate::meta::SUBSCRIPTION_ID;
use crate::time::Instant;
use crate::types::ProgressNotificationParams;

/// Forwards a notification; returns whether a call has progressed.
pub(super) fn notification(
    now: Instant,
    calls: &mut Calls,
    inputs: &Inputs,
    notification: Notification,
    origin: Option<CallId>,
    outbox: &mut Outbox,
) -> bool {
    let Notification { method, params, .. } = notification;
    let is_progress = matches!(method, Method::Progress);
    let call = if is_progress {
        let read = params.json().decode_lossy::<ProgressNotificationParams>().ok();
        match read.map(|read| calls.progressed(now, read, inputs)) {
            Some(Ok(Some((call, _)))) => Some(call),
            // The notification arrived after the response.
            Some(Ok(None)) => return false,
            Some(Err(_)) | None => {
                let method = method.name().into();
                outbox.fault(ProtocolError::InvalidNotification { method });
                return false;
            }
        }
    } else {
        let subscription = params.raw(Member::Meta).and_then(|meta| meta.member(SUBSCRIPTION_ID));
        match subscription.map(|id| listen(calls, id)) {
            None => origin,
            Some(Some(call)) => Some(call),
            // The subscription is over.
            Some(None) => return false,
        }
    };
    let (method, params) = (method.name().into(), params.json().clone());
    outbox.event(ClientEvent::Forwarded { call, method, params });
    is_progress
}

/// The call with this id, if it is in flight.
fn listen(calls: &Calls, id: Raw<'_>) -> Option<CallId> {
    let number = RequestId::from_raw(id).and_then(|id| calls::number(&id))?;
    calls.get(number).map(|call| call.id)
}
