//! The client of a scripted bridge, on a byte stream or over HTTP.
//!
//! In: the commands of the bridge, the bytes or the answers of the server. Out: events, lines for
//! the server, open exchanges.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_proto::client::{self, Client, ClientEvent};
use mcp_proto::http;
use mcp_proto::http::client::{Action as HttpAction, ExchangeId, Request};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Binding, Bytes, Instant, Machine};

/// A client on its transport.
#[derive(Debug)]
pub(super) enum Up {
    Stream(Box<Connection<Client>>),
    Http {
        client: Box<http::Client>,
        /// The requests that the script has not looked at.
        open: VecDeque<(ExchangeId, Arc<Request>)>,
    },
}

/// An action for the harness.
#[derive(Debug)]
pub(super) enum UpAction {
    Send(Bytes),
    Event(Box<ClientEvent>),
    /// The action was carried out.
    Done,
}

impl Up {
    pub(super) fn stream(config: client::Config) -> Self {
        Self::Stream(Box::new(Connection::client(config)))
    }

    pub(super) fn http(config: http::client::Config) -> Self {
        let client = Box::new(http::Client::new(config, Box::new(|| [0; 16])));
        Self::Http { client, open: VecDeque::new() }
    }

    pub(super) fn handle_opened(&mut self, now: Instant) {
        match self {
            Self::Stream(up) => up.handle_opened(now),
            Self::Http { client, .. } => client.handle_opened(now),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Stream(up) => up.handle_timeout(now),
            Self::Http { client, .. } => client.handle_timeout(now),
        }
    }

    /// The server sends bytes, on a byte stream.
    pub(super) fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if let Self::Stream(up) = self {
            up.handle_bytes(now, Bytes::copy_from_slice(bytes));
        }
    }

    /// The byte stream ends.
    pub(super) fn handle_eof(&mut self, now: Instant) {
        if let Self::Stream(up) = self {
            up.handle_eof(now);
        }
    }

    pub(super) fn with<T>(&mut self, now: Instant, command: impl FnOnce(&mut Client) -> T) -> T {
        match self {
            Self::Stream(up) => up.with(now, command),
            Self::Http { client, .. } => client.with(now, command),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a script ignores all other actions")]
    pub(super) fn poll_action(&mut self, now: Instant) -> Option<UpAction> {
        match self {
            Self::Stream(up) => Some(match up.poll_action()? {
                Action::Transmit(bytes) => UpAction::Send(bytes),
                Action::Event(ClientEvent::Reopen) => {
                    up.handle_opened(now);
                    UpAction::Done
                }
                Action::Event(event) => UpAction::Event(Box::new(event)),
                Action::Close => UpAction::Done,
            }),
            Self::Http { client, open } => Some(match client.poll_action()? {
                HttpAction::Open { exchange, request } => {
                    open.push_back((exchange, request));
                    UpAction::Done
                }
                HttpAction::Event(event) => UpAction::Event(Box::new(event)),
                _ => UpAction::Done,
            }),
        }
    }
}
