//! What a handler tells the client while it works.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::Json;
use crate::json::write::List;
use crate::message::ProgressToken;
use crate::types::LoggingMessageNotificationParams;

/// What a handler tells the client while it works.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Notification {
    /// How far it has come; goes out only if the client asked for it.
    Progress(Progress),
    /// A log message; goes out only if the client asked for messages as severe as this. (A legacy
    /// client that never said so gets all.)
    Log(LoggingMessageNotificationParams),
    /// A notification that the specification does not have, such as one of an extension, or
    /// `notifications/elicitation/complete`, which clients of 2025-11-25 alone get.
    Other {
        /// Its method.
        method: String,
        /// Its parameters, an object.
        params: Json,
    },
}

/// How far a request has come.
///
/// [Specification: Progress](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress)
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// In units of the handler's choice; must increase with every notification of a request.
    pub progress: f64,
    /// The value that means done, if it is known.
    pub total: Option<f64>,
    /// One sentence for a human.
    pub message: Option<String>,
}

impl Progress {
    /// As far as `progress`, of nobody knows how much.
    pub fn new(progress: f64) -> Self {
        Self { progress, total: None, message: None }
    }

    /// Sets the value that means done.
    pub fn total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the sentence for a human.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The `ProgressNotificationParams`.
    pub(super) fn params(&self, token: &ProgressToken) -> Json {
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        object.member("progressToken", token.as_str().as_bytes());
        object.member("progress", number(self.progress).as_bytes());
        if let Some(total) = self.total.filter(|total| total.is_finite()) {
            object.member("total", number(total).as_bytes());
        }
        if let Some(message) = &self.message {
            object.text("message", message);
        }
        object.end();
        Json::trusted(out)
    }
}

impl From<f64> for Progress {
    fn from(progress: f64) -> Self {
        Self::new(progress)
    }
}

/// A finite number as JSON; whole ones without a fraction, as clients with integers expect.
fn number(value: f64) -> String {
    alloc::format!("{value}")
}

/// Whether the specification has this notification and gives it another way out.
pub(super) fn is_reserved(method: &str) -> bool {
    [
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ]
    .contains(&method)
}
