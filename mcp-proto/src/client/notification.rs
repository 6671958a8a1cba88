//! What a server tells by itself.

use alloc::borrow::Cow;

use super::calls;
use super::{Change, Client, ClientEvent, List};
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::message::{Member, Method, Notification, Params, RequestId};
use crate::meta::SUBSCRIPTION_ID;
use crate::progress::Progress;
use crate::time::Instant;
use crate::types::{ElicitationCompleteNotificationParams, ProgressNotificationParams};
use crate::version::Era;

impl Client {
    pub(super) fn notification(&mut self, now: Instant, notification: Notification) {
        let Notification { method, params, .. } = notification;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are an extension's")]
        let readable = match method {
            Method::Progress => self.progressed(now, &params),
            Method::LogMessage => {
                let message = params.json().decode().ok();
                message.map(|message| self.outbox.event(ClientEvent::Log(message)))
            }
            Method::ToolsListChanged => self.changed(Change::ListChanged(List::Tools), &params),
            Method::PromptsListChanged => self.changed(Change::ListChanged(List::Prompts), &params),
            Method::ResourcesListChanged => {
                self.changed(Change::ListChanged(List::Resources), &params)
            }
            Method::ResourceUpdated => {
                let uri = params.raw(Member::Uri).and_then(Raw::string).map(Cow::into_owned);
                uri.and_then(|uri| self.changed(Change::ResourceUpdated(uri), &params))
            }
            Method::SubscriptionsAcknowledged => self.subscription_acknowledged(&params),
            Method::ElicitationComplete => {
                let params: Option<ElicitationCompleteNotificationParams> =
                    params.json().decode().ok();
                params.map(|params| {
                    let elicitation_id = params.elicitation_id;
                    self.outbox.event(ClientEvent::ElicitationComplete { elicitation_id });
                })
            }
            Method::Cancelled => self.cancelled(now, &params),
            _ => {
                let method = method.name().into();
                let params = params.json().clone();
                self.outbox.event(ClientEvent::Notification { method, params });
                Some(())
            }
        };
        if readable.is_none() {
            let method = method.name().into();
            self.outbox.fault(ProtocolError::InvalidNotification { method });
        }
    }

    fn progressed(&mut self, now: Instant, params: &Params) -> Option<()> {
        let params: ProgressNotificationParams = params.json().decode().ok()?;
        let ProgressNotificationParams { progress_token, progress, total, message, .. } = params;
        let Some(number) = calls::number(&progress_token) else { return Some(()) };
        let call = self.calls.get_mut(number);
        // What comes after the response is of no interest, and may have been under way.
        let Some(call) = call.filter(|call| call.is_sent() && call.options.progress) else {
            return Some(());
        };
        // "The progress value MUST increase with each notification".
        if call.progress.is_some_and(|before| progress < before) {
            return None;
        }
        // A server that does not get any further does not get more time either.
        let increases = call.progress.is_none_or(|before| progress > before);
        if increases {
            call.progress = Some(progress);
        }
        let id = call.id;
        let restarts = increases && call.options.reset_on_progress;
        if restarts {
            self.calls.restart(now, number, &self.inputs);
        }
        self.doubt_anew(now);
        let progress = Progress { progress, total, message };
        self.outbox.event(ClientEvent::Progress { call: id, progress });
        Some(())
    }

    fn changed(&mut self, change: Change, params: &Params) -> Option<()> {
        if self.era() == Some(Era::Legacy) {
            self.subscriptions.changed_legacy(&change, &mut self.outbox);
            return Some(());
        }
        // "The server MUST NOT send notification types the client has not explicitly requested", and
        // the id of the subscription is what says where each belongs.
        let number = number(subscription_id(params)?)?;
        // What was under way when the subscription was ended is of no interest.
        if self.calls.is_abandoned(number) {
            return Some(());
        }
        let subscription = self.subscription(number)?;
        self.subscriptions.changed_modern(subscription, change, &mut self.outbox)
    }

    fn subscription_acknowledged(&mut self, params: &Params) -> Option<()> {
        #[derive(serde::Deserialize)]
        struct Acknowledged {
            notifications: Json,
        }
        let number = number(subscription_id(params)?)?;
        if self.calls.is_abandoned(number) {
            return Some(());
        }
        let Acknowledged { notifications } = params.json().decode().ok()?;
        // `serde` would take an array for a struct.
        let honoured = notifications.raw().is_object().then(|| notifications.decode().ok())??;
        self.acknowledged(number, honoured).then_some(())
    }

    fn cancelled(&mut self, now: Instant, params: &Params) -> Option<()> {
        let id = params.raw(Member::RequestId).and_then(RequestId::from_raw)?;
        if let Some(dropped) = self.inputs.drop_request(&id) {
            self.drop_input(dropped);
            self.calls.resume(now, &self.inputs);
        }
        // A modern server ends a subscription so, on a byte stream, after its result or without.
        let number = calls::number(&id).filter(|number| self.subscription(*number).is_some());
        if let Some(call) = number.and_then(|number| self.calls.remove(number)) {
            self.finish(now, call, Ok(Json::EMPTY_OBJECT));
        }
        Some(())
    }
}

/// The subscription that a notification says it belongs to.
fn subscription_id(params: &Params) -> Option<Raw<'_>> {
    params.raw(Member::Meta)?.member(SUBSCRIPTION_ID)
}

fn number(id: Raw<'_>) -> Option<u64> {
    RequestId::from_raw(id).and_then(|id| calls::number(&id))
}
