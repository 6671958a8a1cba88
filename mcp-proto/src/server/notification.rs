//! Notifications of an application, and their encoding for a client.
//!
//! In: a [`Notification`], and the client's wishes. Out: the message, if the client wants it, or
//! the error if it must not be sent.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

use super::call::{Call, CallProgress};
use super::forward;
use super::legacy::Session;
use crate::error::UsageError;
use crate::json::Json;
use crate::message::{MethodRow, Outgoing};
use crate::progress::Progress;
use crate::types::{LoggingLevel, LoggingMessageNotificationParams};
use crate::version::ProtocolVersion;

/// Notification to a client, about a request in flight or outside of any request.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Notification {
    /// Progress of the request; sent only if the client asked for it.
    Progress(Progress),
    /// A log message; sent only if the client asked for messages of this severity. (A legacy client
    /// that never set a level gets all messages.)
    Log(LoggingMessageNotificationParams),
    /// Notifications about the request were dropped before they reached the machine. The client
    /// gets a log message of the level `warning`, if it wants such messages and
    /// [`Registry::logging`](super::Registry::logging) is declared. The application gets
    /// [`ServerEvent::MessagesLost`](crate::server::ServerEvent::MessagesLost).
    Lost {
        /// The number of dropped notifications.
        count: u64,
    },
    /// A notification that the specification does not define, such as one of an extension, or
    /// `notifications/elicitation/complete`, which only clients of 2025-11-25 get.
    Other {
        /// The method.
        method: String,
        /// The parameters, an object.
        params: Json,
    },
    /// A notification of another server, unchanged except for two members. Progress gets the token
    /// of the request, and notifications about a `subscriptions/listen` get the id of the
    /// subscription. Log messages are sent only if the client asked for messages of this severity.
    /// All other notifications are sent, even if the specification does not define them.
    /// `notifications/cancelled` is refused.
    Forwarded {
        /// The method.
        method: String,
        /// The parameters, an object.
        params: Json,
    },
}

impl Notification {
    /// The message for the client about a request, if the client wants it. `session` is the session
    /// of a legacy client; `logs` is true if logging is declared.
    pub(super) fn encode_for_request(
        self,
        call: &mut Call,
        session: Option<&Session>,
        logs: bool,
    ) -> Result<Option<Outgoing>, UsageError> {
        let level = call.log_level.or(session.map(Session::log_level));
        match self {
            Self::Progress(progress) => encode_progress(call, &progress),
            Self::Log(_) if !logs => Err(UsageError::Undeclared { capability: "logging" }),
            Self::Log(message) => encode_log(level, &message),
            Self::Lost { count } => Ok(if logs { encode_lost(level, count) } else { None }),
            Self::Other { method, params } => {
                encode_other(session.map(Session::version), method, params)
            }
            Self::Forwarded { method, params } => {
                forward::encode_for_request(call, session, method, params)
            }
        }
    }

    /// The message for a legacy client about no request, if the client wants it.
    pub(super) fn encode_for_session(
        self,
        session: &Session,
        logs: bool,
    ) -> Result<Option<Outgoing>, UsageError> {
        match self {
            Self::Progress(_) | Self::Lost { .. } => Err(UsageError::NotInFlight),
            Self::Log(_) if !logs => Err(UsageError::Undeclared { capability: "logging" }),
            Self::Log(message) => encode_log(Some(session.log_level()), &message),
            Self::Other { .. } if !session.is_initialized() => Err(UsageError::NotInitialized),
            Self::Other { method, params } => encode_other(Some(session.version()), method, params),
            Self::Forwarded { method, params } => {
                forward::encode_for_session(session, method, params)
            }
        }
    }
}

fn encode_progress(call: &mut Call, progress: &Progress) -> Result<Option<Outgoing>, UsageError> {
    let increases = call.progress.as_ref().is_none_or(|sent| progress.progress > sent.last);
    if !progress.progress.is_finite() || !increases {
        return Err(UsageError::ProgressNotIncreasing);
    }
    let CallProgress { token, last, memory } =
        &mut **call.progress.get_or_insert_with(|| Box::new(CallProgress::new(None)));
    *last = progress.progress;
    Ok(token.as_ref().map(|token| {
        let params = progress.params(token, memory);
        notification("notifications/progress".into(), params)
    }))
}

fn encode_log(
    least: Option<LoggingLevel>,
    message: &LoggingMessageNotificationParams,
) -> Result<Option<Outgoing>, UsageError> {
    if least.is_none_or(|least| message.level < least) {
        return Ok(None);
    }
    match Json::encode(message) {
        Ok(params) => Ok(Some(notification("notifications/message".into(), params))),
        Err(_) => Err(UsageError::NotJson { name: "data".into() }),
    }
}

fn encode_lost(least: Option<LoggingLevel>, count: u64) -> Option<Outgoing> {
    let text = alloc::format!(
        "{count} notifications about this request were dropped: there were more than could be sent"
    );
    let data = Json::encode(&text).ok()?;
    encode_log(least, &LoggingMessageNotificationParams::new(LoggingLevel::Warning, data)).ok()?
}

/// The message, if the client's revision defines it. `version` is the revision of a legacy session.
fn encode_other(
    version: Option<ProtocolVersion>,
    method: String,
    params: Json,
) -> Result<Option<Outgoing>, UsageError> {
    let is_reserved = |row: &MethodRow| row.is_reserved_to_servers() || row.is_request();
    if MethodRow::named(&method).is_some_and(is_reserved) {
        return Err(UsageError::ReservedMethod { method });
    }
    if !params.raw().is_object() {
        return Err(UsageError::NotAnObject { name: method });
    }
    let completes = version.is_some_and(ProtocolVersion::has_elicitation_complete);
    if method == "notifications/elicitation/complete" && !completes {
        return Ok(None);
    }
    Ok(Some(notification(method.into(), params)))
}

fn notification(method: Cow<'static, str>, params: Json) -> Outgoing {
    Outgoing::Notification { method, params }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_the_specification_is_no_notification() {
        for method in ["sampling/createMessage", "roots/list", "tools/call"] {
            let refused = encode_other(None, method.into(), Json::EMPTY_OBJECT).map(drop);
            assert_eq!(refused, Err(UsageError::ReservedMethod { method: method.into() }));
        }
        assert!(encode_other(None, "custom/event".into(), Json::EMPTY_OBJECT).is_ok());
    }
}
