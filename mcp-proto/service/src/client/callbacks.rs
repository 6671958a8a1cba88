//! Callbacks of an application: functions that a client calls with what happens outside of calls.
//!
//! In: functions, each in place of the one before. Out: entries of [`Answers`](super::answers), which
//! the runner calls.

use alloc::sync::Arc;

use super::handle::Client;
use mcp_proto::Json;
use mcp_proto::client::{CallError, Change, ConnectError, Listing, Undelivered};
use mcp_proto::http::Unauthorized;
use mcp_proto::types::LoggingMessageNotificationParams;
use mcp_proto::{ProtocolError, headers::PlanError};

impl Client {
    /// Hears what is worth a log. A modern server sends nothing unless [`Client::set_log_level`] or
    /// [`Call::log_level`](super::Call::log_level) says from which level on.
    pub fn on_log(&self, f: impl Fn(&LoggingMessageNotificationParams) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.log = Some(Arc::new(f)));
    }

    /// Hears of every change, of a subscription or not: legacy servers tell of their lists
    /// unasked.
    pub fn on_change(&self, f: impl Fn(&Change) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.change = Some(Arc::new(f)));
    }

    /// Hears that the user is done with a URL, by its `elicitationId`; 2025-11-25 alone.
    pub fn on_elicitation_complete(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.elicitation_complete = Some(Arc::new(f)));
    }

    /// Hears notifications that the specification does not have: method and parameters.
    pub fn on_notification(&self, f: impl Fn(&str, &Json) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.notification = Some(Arc::new(f)));
    }

    /// Hears what the server did wrong that concerns no call.
    pub fn on_fault(&self, f: impl Fn(&ProtocolError) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.fault = Some(Arc::new(f)));
    }

    /// Hears that there is no connection any more, and why; see [`ClientEvent::Disconnected`]. The
    /// next call tries again, and [`Client::server`] is the last one that was known.
    ///
    /// [`ClientEvent::Disconnected`]: mcp_proto::client::ClientEvent::Disconnected
    pub fn on_disconnect(&self, f: impl Fn(&ConnectError) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.disconnected = Some(Arc::new(f)));
    }

    /// Sees the conversation, line by line, as
    /// [`ClientService::show_wire`](super::ClientService::show_wire) and, over HTTP,
    /// [`HttpClientService::show_wire`](super::HttpClientService::show_wire) show it, with secrets
    /// masked. It is said before the client is connected.
    pub fn on_wire(&self, f: impl Fn(&str) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.wire = Some(Arc::new(f)));
    }

    /// Calls `f` with the name of each tool that is left out of a list over HTTP, and why: its schema
    /// has headers that must not be.
    pub fn on_tool_rejected(&self, f: impl Fn(&str, &PlanError) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.tool_rejected = Some(Arc::new(f)));
    }

    /// Calls `f` with each entry of a typed list that is left out because it does not fit the
    /// schema. `f` gets the list, the index of the entry, and the reason. It runs where the list is
    /// awaited.
    pub fn on_entry_rejected(&self, f: impl Fn(Listing, usize, &str) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.entry_rejected = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` with each message without a response that the server has not accepted,
    /// and the reason. It is a notification, or an answer, which was sent again while its request
    /// lived.
    pub fn on_undelivered(&self, f: impl Fn(&Undelivered, &CallError) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.undelivered = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` when the server asks for credentials, other than for a call, which
    /// would fail with [`CallError::Unauthorized`]. The server refuses a stream for messages
    /// outside of calls, or an answer to one of its requests. [`Client::set_field`] with another
    /// token has it attempted again at once.
    pub fn on_unauthorized(&self, f: impl Fn(&Unauthorized) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.unauthorized = Some(Arc::new(f)));
    }

    /// Over HTTP, calls `f` when a legacy server has no stream for what it sends outside of calls:
    /// every subscription ends with this error, those to come as well.
    pub fn on_no_stream(&self, f: impl Fn(&CallError) + Send + Sync + 'static) {
        self.mailbox.change(|answers, _| answers.no_stream = Some(Arc::new(f)));
    }
}
