//! State of a bridge's server: its era, its handshake and its capabilities.
//!
//! In: `Connected`, `NoStream` and `Closed` of the client. Out: the era of requests, the handshake
//! of a legacy server, and its capabilities.

use crate::client::{Client, ConnectError, ServerInfo};
use crate::json::Json;
use crate::message::ErrorData;
use crate::types::{LoggingLevel, ServerCapabilities, SubscriptionFilter};
use crate::version::Era;

/// State of the server.
#[derive(Debug, Default)]
pub(super) enum Upstream {
    /// There was no connection yet.
    #[default]
    Unknown,
    Known(KnownServer),
    /// The client is closed; holds the error for all requests.
    Closed(ErrorData),
}

/// A server that was connected to; its connection may be lost.
#[derive(Debug)]
pub(super) struct KnownServer {
    era: Era,
    offered: ServerCapabilities,
    /// Result of `initialize`, from a legacy server.
    initialized: Json,
    /// The `serverInfo` of that result.
    server_info: Option<Json>,
    /// False if a legacy server over HTTP has no stream for messages outside of calls.
    has_stream: bool,
    /// The log level that was last set, if the server is legacy.
    level: Option<LoggingLevel>,
}

impl Upstream {
    /// Records a connection.
    pub(super) fn connect(&mut self, server: ServerInfo) {
        let era = server.era();
        let ServerInfo { capabilities: offered, initialized, .. } = server;
        let initialized = initialized.map_or(Json::EMPTY_OBJECT, |json| *json);
        let server_info = initialized.raw().member("serverInfo");
        let server_info = server_info.map(|info| Json::trusted(info.0.to_vec()));
        let (has_stream, level) = (true, None);
        *self =
            Self::Known(KnownServer { era, offered, initialized, server_info, has_stream, level });
    }

    /// Records that the server cannot report changes: it has no stream for them.
    pub(super) fn lose_stream(&mut self) {
        if let Self::Known(known) = self {
            known.has_stream = false;
        }
    }

    /// Records the end of the client, and forgets the server. Returns the error for all requests.
    pub(super) fn close(&mut self, error: Option<&ConnectError>) -> ErrorData {
        let error = ErrorData::internal(match error {
            None => "the connection to the server has ended".into(),
            Some(error) => alloc::format!("there is no connection to the server: {error}"),
        });
        *self = Self::Closed(error.clone());
        error
    }

    fn known(&self) -> Option<&KnownServer> {
        if let Self::Known(known) = self { Some(known) } else { None }
    }

    /// Era of requests. Without a connection, the era of the lost connection.
    pub(super) fn era(&self, client: &Client) -> Option<Era> {
        client.era().or(self.known().map(|known| known.era))
    }

    pub(super) fn closed(&self) -> Option<&ErrorData> {
        if let Self::Closed(error) = self { Some(error) } else { None }
    }

    pub(super) fn initialized(&self) -> Json {
        self.known().map_or(Json::EMPTY_OBJECT, |known| known.initialized.clone())
    }

    /// The name and version of a legacy server.
    pub(super) fn server_info(&self) -> Option<&Json> {
        self.known().and_then(|known| known.server_info.as_ref())
    }

    /// Capabilities of the server, which reports no changes without a stream.
    pub(super) fn offered(&self) -> ServerCapabilities {
        match self.known() {
            Some(known) if known.has_stream => known.offered.clone(),
            Some(known) => known.offered.without_changes(),
            None => ServerCapabilities::default(),
        }
    }

    /// The lists whose changes the server reports.
    pub(super) fn offered_lists(&self) -> SubscriptionFilter {
        let all = SubscriptionFilter::new().tools_list_changed().prompts_list_changed();
        all.resources_list_changed().lists_offered_by(&self.offered())
    }

    /// Returns whether the log level of a legacy server must be set, so that it sends messages as
    /// verbose as this.
    pub(super) fn needs_level(&self, level: LoggingLevel) -> bool {
        let Self::Known(known) = self else { return false };
        known.offered.logging.is_some() && known.level.is_none_or(|told| level < told)
    }

    /// Records that this log level was set at the server.
    pub(super) fn set_level(&mut self, level: LoggingLevel) {
        if let Self::Known(known) = self {
            known.level = Some(level);
        }
    }
}
