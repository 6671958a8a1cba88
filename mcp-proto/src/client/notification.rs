//! Meaning of the notifications of a server.
//!
//! In: a notification. Out: a [`Notice`], unless the notification is unreadable.

use alloc::borrow::Cow;

use super::calls;
use super::event::ClientEvent;
use crate::change::{Change, List, TaskUpdate};
use crate::json::{Json, Raw};
use crate::message::{Member, Method, Notification, Params, RequestId};
use crate::meta::SUBSCRIPTION_ID;
use crate::types::{
    ElicitationCompleteNotificationParams, ProgressNotificationParams, SubscriptionFilter,
};

/// The content of a notification.
#[derive(Debug)]
pub(super) enum Notice {
    Progress(ProgressNotificationParams),
    Changed {
        change: Change,
        /// The request number of the subscription that the change belongs to; `None` for a legacy
        /// server.
        listen: Option<u64>,
    },
    /// The request of a subscription is acknowledged.
    Acknowledged {
        /// The number of the request.
        listen: u64,
        /// The part that the server honours, if it is readable.
        honoured: Option<SubscriptionFilter>,
    },
    Cancelled(RequestId),
    /// An event for the application.
    Event(ClientEvent),
}

impl Notice {
    /// Reads a notification; `None` if the parameters do not match the method.
    pub(super) fn read(notification: &Notification) -> Option<Self> {
        let Notification { method, params, .. } = notification;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are an extension's")]
        let change = match method {
            Method::Progress => return params.json().decode_lossy().ok().map(Self::Progress),
            Method::LogMessage => {
                let message = params.json().decode_lossy().ok();
                return message.map(|message| Self::Event(ClientEvent::Log(message)));
            }
            Method::ToolsListChanged => Change::ListChanged(List::Tools),
            Method::PromptsListChanged => Change::ListChanged(List::Prompts),
            Method::ResourcesListChanged => Change::ListChanged(List::Resources),
            Method::ResourceUpdated => {
                let uri = params.raw(Member::Uri).and_then(Raw::string);
                Change::ResourceUpdated(uri.map(Cow::into_owned)?)
            }
            Method::TaskUpdated => {
                Change::TaskUpdated(TaskUpdate::new(params.json().detach(), 0, None)?.into())
            }
            Method::SubscriptionsAcknowledged => {
                let listen = listen_number(params)?;
                return Some(Self::Acknowledged { listen, honoured: honoured(params) });
            }
            Method::ElicitationComplete => {
                let params: ElicitationCompleteNotificationParams = params.json().decode().ok()?;
                let elicitation_id = params.elicitation_id;
                return Some(Self::Event(ClientEvent::ElicitationComplete { elicitation_id }));
            }
            Method::Cancelled => {
                let id = params.raw(Member::RequestId).and_then(RequestId::from_raw);
                return id.map(Self::Cancelled);
            }
            _ => {
                let method = method.name().into();
                let params = params.json().clone();
                return Some(Self::Event(ClientEvent::Notification { method, params }));
            }
        };
        Some(Self::Changed { change, listen: listen_number(params) })
    }
}

/// The request number of the subscription that a notification names.
fn listen_number(params: &Params) -> Option<u64> {
    let id = params.raw(Member::Meta)?.member(SUBSCRIPTION_ID)?;
    RequestId::from_raw(id).and_then(|id| calls::number(&id))
}

/// The part of a subscription that the server honours.
fn honoured(params: &Params) -> Option<SubscriptionFilter> {
    #[derive(serde::Deserialize)]
    struct Acknowledged {
        notifications: Json,
    }
    let Acknowledged { notifications } = params.json().decode().ok()?;
    // `serde` would also read a struct from an array.
    notifications.raw().is_object().then(|| notifications.decode().ok())?
}
