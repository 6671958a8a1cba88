//! Server of a bridge, as far as it is known.
//!
//! In: `Connected` and `Closed` of the client. Out: the era that requests are for, the handshake of a
//! legacy server, what it offers.

use crate::client::{Client, ConnectError, ServerInfo};
use crate::json::Json;
use crate::message::ErrorData;
use crate::types::{LoggingLevel, ServerCapabilities};
use crate::version::Era;

/// The server, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    known: Option<KnownServer>,
    /// The error for all requests, once the client is closed.
    closed: Option<ErrorData>,
    /// The most verbose level that a legacy server was told.
    level: Option<LoggingLevel>,
}

#[derive(Debug)]
struct KnownServer {
    era: Era,
    offered: ServerCapabilities,
    /// Of a legacy server, the result of `initialize`.
    initialized: Json,
}

impl Upstream {
    /// Returns whether it was connected before.
    pub(super) fn connect(&mut self, server: ServerInfo) -> bool {
        let era = server.era();
        let ServerInfo { capabilities: offered, initialized, .. } = server;
        let initialized = initialized.map_or(Json::EMPTY_OBJECT, |json| *json);
        self.level = None;
        self.known.replace(KnownServer { era, offered, initialized }).is_some()
    }

    pub(super) fn close(&mut self, error: Option<&ConnectError>) -> ErrorData {
        let message = match error {
            None => "the connection to the server has ended".into(),
            Some(error) => alloc::format!("there is no connection to the server: {error}"),
        };
        self.closed.insert(ErrorData::internal(message)).clone()
    }

    /// The era that requests are for; after the loss of a connection the one before.
    pub(super) fn era(&self, client: &Client) -> Option<Era> {
        client.era().or(self.known.as_ref().map(|known| known.era))
    }

    pub(super) fn closed(&self) -> Option<&ErrorData> {
        self.closed.as_ref()
    }

    pub(super) fn initialized(&self) -> Json {
        self.known.as_ref().map_or(Json::EMPTY_OBJECT, |known| known.initialized.clone())
    }

    pub(super) fn offered(&self) -> ServerCapabilities {
        self.known.as_ref().map(|known| known.offered.clone()).unwrap_or_default()
    }

    /// Returns whether a legacy server has to be told that messages as verbose as this are wanted.
    pub(super) fn needs_level(&mut self, level: LoggingLevel) -> bool {
        let has_logging = self.known.as_ref().is_some_and(|known| known.offered.logging.is_some());
        let needs = has_logging && self.level.is_none_or(|told| level < told);
        if needs {
            self.level = Some(level);
        }
        needs
    }
}
