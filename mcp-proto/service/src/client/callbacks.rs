//! Setters of the callbacks for events outside of calls.
//!
//! In: functions; each replaces the previous one. Out: entries of
//! [`Callbacks`](super::callback_set), which the runner calls.

use alloc::sync::Arc;

use super::handle::Client;
use mcp_proto::Json;
use mcp_proto::client::{CallError, Change, ConnectError, Listing, Undelivered};
use mcp_proto::http::Unauthorized;
use mcp_proto::types::LoggingMessageNotificationParams;
use mcp_proto::{ProtocolError, headers::PlanError};

impl Client {
    /// Calls `f` with each log message. A modern server sends none unless [`Client::set_log_level`]
    /// or [`Call::log_level`](super::Call::log_level) sets a level.
    pub fn on_log(&self, f: impl Fn(&LoggingMessageNotificationParams) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.log = Some(Arc::new(f)));
    }

    /// Calls `f` with every change, also without a subscription: legacy servers send changes of
    /// their lists unasked.
    pub fn on_change(&self, f: impl Fn(&Change) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.change = Some(Arc::new(f)));
    }

    /// Calls `f` with the `elicitationId` of a URL that the user has completed; 2025-11-25 only.
    /// The client does not check the id: ignore one that is unknown or was completed before.
    pub fn on_elicitation_complete(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.elicitation_complete = Some(Arc::new(f)));
    }

    /// Calls `f` with the method and the parameters of each notification that is not in the
    /// specification.
    pub fn on_notification(&self, f: impl Fn(&str, &Json) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.notification = Some(Arc::new(f)));
    }

    /// Calls `f` with each protocol error of the server. The call of an invalid response fails as
    /// well.
    pub fn on_fault(&self, f: impl Fn(&ProtocolError) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.fault = Some(Arc::new(f)));
    }

    /// Calls `f` with the reason when the connection is lost; see [`ClientEvent::Disconnected`].
    /// The next call connects again. Until then [`Client::server`] returns the last known server.
    ///
    /// [`ClientEvent::Disconnected`]: mcp_proto::client::ClientEvent::Disconnected
    pub fn on_disconnect(&self, f: impl Fn(&ConnectError) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.disconnected = Some(Arc::new(f)));
    }

    /// Calls `f` with each line of the conversation, as
    /// [`ClientService::show_wire`](super::ClientService::show_wire) and, over HTTP,
    /// [`HttpClientService::show_wire`](super::HttpClientService::show_wire) show it, with secrets
    /// masked. Set it before the client connects.
    pub fn on_wire(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.wire = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` with the name of each tool that is left out of a list because its
    /// schema has invalid header annotations, and the error.
    pub fn on_tool_rejected(&self, f: impl Fn(&str, &PlanError) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.tool_rejected = Some(Arc::new(f)));
    }

    /// Calls `f` with each entry of a typed list that is left out because it does not fit the
    /// schema. `f` gets the list, the index of the entry, and the reason. It runs where the list is
    /// awaited.
    pub fn on_entry_rejected(&self, f: impl Fn(Listing, usize, &str) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.entry_rejected = Some(Arc::new(f)));
    }

    /// Calls `f` with each message without a response that has not reached the server, and the
    /// error. It is a notification that waited for a connection that failed. Over HTTP it may also
    /// be a notification that the server did not accept, or an answer, which is resent before that
    /// while its request is open.
    pub fn on_undelivered(&self, f: impl Fn(&Undelivered, &CallError) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.undelivered = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` when the server requires credentials for a stream outside of calls, or
    /// for an answer to one of its requests. A call fails with [`CallError::Unauthorized`] instead.
    /// [`Client::set_field`] with another token retries at once.
    pub fn on_unauthorized(&self, f: impl Fn(&Unauthorized) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.unauthorized = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` when a legacy server has no stream for messages outside of calls: every
    /// subscription ends with this error, also later ones.
    pub fn on_no_stream(&self, f: impl Fn(&CallError) + Send + Sync + 'static) {
        self.mailbox.change(|callbacks, _| callbacks.no_stream = Some(Arc::new(f)));
    }
}
