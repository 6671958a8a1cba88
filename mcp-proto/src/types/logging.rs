use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// The severity of a log message, as in RFC 5424, least severe first.
///
/// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of RFC 5424")]
pub enum LoggingLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LoggingLevel {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "notice" => Self::Notice,
            "warning" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            "alert" => Self::Alert,
            "emergency" => Self::Emergency,
            _ => return None,
        })
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LoggingLevel {
    type Err = UnknownLoggingLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLoggingLevel> {
        Self::from_name(name).ok_or(UnknownLoggingLevel)
    }
}

/// Error of a text that is not the name of a [`LoggingLevel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLoggingLevel;

impl fmt::Display for UnknownLoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the level is unknown; use debug, info, notice, warning, error, critical, alert or \
             emergency",
        )
    }
}

impl core::error::Error for UnknownLoggingLevel {}

/// The parameters of `notifications/message`.
///
/// [Schema: `LoggingMessageNotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#loggingmessagenotificationparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// The severity.
    pub level: LoggingLevel,
    /// The part of the server that logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The content: a string, or any other JSON.
    pub data: Json,
    /// Metadata of the notification (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl LoggingMessageNotificationParams {
    /// A message without a logger.
    pub fn new(level: LoggingLevel, data: Json) -> Self {
        Self { level, logger: None, data, meta: None }
    }

    /// Sets the part of the server that logs.
    pub fn logger(mut self, logger: impl Into<String>) -> Self {
        self.logger = Some(logger.into());
        self
    }
}

/// The parameters of `logging/setLevel`; legacy.
///
/// [Schema: `SetLevelRequestParams`](https://modelcontextprotocol.io/specification/2025-11-25/schema#setlevelrequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The least severe level that the client wants to see.
    pub level: LoggingLevel,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}
