//! Trait of the machines that send messages to sessions.

use mcp_proto::UsageError;
use mcp_proto::http::Endpoint;
use mcp_proto::server::{InputId, Notification, ReplyId, Server, SessionRef};
use mcp_proto::stdio::Connection;
use mcp_proto::types::InputRequest;
use mcp_proto::{Binding, Duration, Instant};

/// A machine with sessions of legacy clients. The default methods are for machines without
/// sessions.
pub trait SessionScope {
    /// Sends a notification that concerns no request.
    fn notify_session(
        &mut self,
        _now: Instant,
        _session: SessionRef,
        _notification: Notification,
    ) -> Result<(), UsageError> {
        Err(UsageError::NoServerRequests)
    }

    /// Requests input, about a request or none. Default timeout: `Limits::input_timeout`.
    fn request_input(
        &mut self,
        _now: Instant,
        _session: SessionRef,
        _about: Option<ReplyId>,
        _request: InputRequest,
        _timeout: Option<Duration>,
    ) -> Result<InputId, UsageError> {
        Err(UsageError::NoServerRequests)
    }

    /// Cancels a request for input.
    fn cancel_input(&mut self, _now: Instant, _input: InputId) -> Result<(), UsageError> {
        Err(UsageError::NoServerRequests)
    }

    /// Ends one of these sessions that is idle; returns the session.
    fn end_idle_session(&mut self, _now: Instant, _sessions: &[SessionRef]) -> Option<SessionRef> {
        None
    }
}

/// A stream has one peer: `session` is ignored.
impl SessionScope for Connection<Server> {
    fn notify_session(
        &mut self,
        now: Instant,
        _session: SessionRef,
        notification: Notification,
    ) -> Result<(), UsageError> {
        self.with(now, |server| server.notify_session(now, notification))
    }

    fn request_input(
        &mut self,
        now: Instant,
        _session: SessionRef,
        about: Option<ReplyId>,
        request: InputRequest,
        timeout: Option<Duration>,
    ) -> Result<InputId, UsageError> {
        let timeout = timeout.unwrap_or_else(|| self.machine().limits().input_timeout);
        self.with(now, |server| match about {
            Some(about) => server.request_input_about(now, about, request, timeout),
            None => server.request_input(now, request, timeout),
        })
    }

    fn cancel_input(&mut self, now: Instant, input: InputId) -> Result<(), UsageError> {
        self.with(now, |server| server.cancel_input(now, input))
    }
}

impl<W: Clone> SessionScope for Endpoint<W> {
    fn notify_session(
        &mut self,
        now: Instant,
        session: SessionRef,
        notification: Notification,
    ) -> Result<(), UsageError> {
        Self::notify_session(self, now, session, notification)
    }

    fn request_input(
        &mut self,
        now: Instant,
        session: SessionRef,
        about: Option<ReplyId>,
        request: InputRequest,
        timeout: Option<Duration>,
    ) -> Result<InputId, UsageError> {
        let timeout = timeout.unwrap_or_else(|| self.limits().input_timeout);
        match about {
            // The request of another client.
            Some(about) if about.scope() != session.scope() => Err(UsageError::NotInFlight),
            Some(about) => self.request_input_about(now, about, request, timeout),
            None => Self::request_input(self, now, session, request, timeout),
        }
    }

    fn cancel_input(&mut self, now: Instant, input: InputId) -> Result<(), UsageError> {
        Self::cancel_input(self, now, input)
    }

    fn end_idle_session(&mut self, now: Instant, sessions: &[SessionRef]) -> Option<SessionRef> {
        Self::end_idle_session(self, now, sessions)
    }
}
