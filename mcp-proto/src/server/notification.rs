//! What a handler tells the client while it works.

use alloc::borrow::Cow;
use alloc::string::String;

use super::call::Call;
use super::{Life, ReplyId, Server, ServerEvent};
use crate::error::UsageError;
use crate::json::Json;
use crate::message::{MethodRow, Outgoing};
use crate::progress::Progress;
use crate::time::Instant;
use crate::types::{LoggingLevel, LoggingMessageNotificationParams};
use crate::version::ProtocolVersion;

/// What a handler tells the client while it works.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Notification {
    /// How far it has come; goes out only if the client asked for it.
    Progress(Progress),
    /// A log message; goes out only if the client asked for messages as severe as this. (A legacy
    /// client that never said so gets all.)
    Log(LoggingMessageNotificationParams),
    /// So many notifications about the request were dropped before they came here. The client is
    /// told in a log message of the level `warning`, if it wants those and
    /// [`Registry::logging`](super::Registry::logging) is declared; the application is told by
    /// [`ServerEvent::MessagesLost`].
    Lost {
        /// How many.
        count: u64,
    },
    /// A notification that the specification does not have, such as one of an extension, or
    /// `notifications/elicitation/complete`, which clients of 2025-11-25 alone get.
    Other {
        /// Its method.
        method: String,
        /// Its parameters, an object.
        params: Json,
    },
}

impl Server {
    /// Tells the client about a request in flight. What the client did not ask for goes nowhere,
    /// and that is no error. It goes out with the next actions: a handler that keeps the driver
    /// from taking them reports nothing before it ends.
    ///
    /// A request that waits for input may be told of too, by the name that it had last.
    ///
    /// Fails with [`UsageError::Closed`], with [`UsageError::NotInFlight`] after the answer or a
    /// cancellation, with [`UsageError::NotJson`] or [`UsageError::NotAnObject`], with
    /// [`UsageError::ProgressNotIncreasing`], with [`UsageError::Undeclared`] for a log message
    /// without [`Registry::logging`](super::Registry::logging), and with
    /// [`UsageError::ReservedMethod`].
    pub fn notify(
        &mut self,
        _now: Instant,
        about: ReplyId,
        notification: Notification,
    ) -> Result<(), UsageError> {
        if self.life == Life::Closed {
            return Err(UsageError::Closed);
        }
        let (level, version) = (self.session_level(), self.session_version());
        if about.scope != self.context.scope() {
            return Err(UsageError::NotInFlight);
        }
        let logs = self.context.declaration().capabilities.logging.is_some();
        let call = if self.calls.get_mut(about.serial).is_some() {
            self.calls.get_mut(about.serial)
        } else {
            self.waiting(about.serial)
        };
        let call = call.ok_or(UsageError::NotInFlight)?;
        let stream = call.path.stream;
        let told = match notification {
            Notification::Progress(progress) => told_progress(call, &progress)?,
            Notification::Log(message) => {
                if !logs {
                    return Err(UsageError::Undeclared { capability: "logging" });
                }
                told_message(call.log_level.or(level), &message)?
            }
            Notification::Lost { count } => {
                let told = if logs { told_lost(call.log_level.or(level), count) } else { None };
                self.context.event(ServerEvent::MessagesLost { count });
                told
            }
            Notification::Other { method, params } => told_other(version, method, params)?,
        };
        if let Some((method, params)) = told {
            self.context.send(stream, Outgoing::Notification { method, params });
        }
        Ok(())
    }
}

/// The method and the parameters of what goes out, if anything does.
pub(super) type Told = Option<(Cow<'static, str>, Json)>;

fn told_progress(call: &mut Call, progress: &Progress) -> Result<Told, UsageError> {
    let increases = call.progress.is_none_or(|before| progress.progress > before);
    if !progress.progress.is_finite() || !increases {
        return Err(UsageError::ProgressNotIncreasing);
    }
    call.progress = Some(progress.progress);
    let token = call.token.as_ref();
    Ok(token.map(|token| ("notifications/progress".into(), progress.params(token))))
}

pub(super) fn told_message(
    least: Option<LoggingLevel>,
    message: &LoggingMessageNotificationParams,
) -> Result<Told, UsageError> {
    if least.is_none_or(|least| message.level < least) {
        return Ok(None);
    }
    match Json::encode(message) {
        Ok(params) => Ok(Some(("notifications/message".into(), params))),
        Err(_) => Err(UsageError::NotJson { name: "data".into() }),
    }
}

fn told_lost(least: Option<LoggingLevel>, count: u64) -> Told {
    let text = alloc::format!(
        "{count} notifications about this request were dropped: there were more than could be sent"
    );
    let data = Json::encode(&text).ok()?;
    told_message(least, &LoggingMessageNotificationParams::new(LoggingLevel::Warning, data)).ok()?
}

/// `version` is that of a legacy session.
pub(super) fn told_other(
    version: Option<ProtocolVersion>,
    method: String,
    params: Json,
) -> Result<Told, UsageError> {
    let completes = version.is_some_and(ProtocolVersion::has_elicitation_complete);
    if method == "notifications/elicitation/complete" && !completes {
        return Ok(None);
    }
    if MethodRow::named(&method).is_some_and(MethodRow::is_reserved_to_servers) {
        return Err(UsageError::ReservedMethod { method });
    }
    if !params.raw().is_object() {
        return Err(UsageError::NotAnObject { name: method });
    }
    Ok(Some((method.into(), params)))
}
