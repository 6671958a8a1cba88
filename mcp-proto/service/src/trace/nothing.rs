//! Stubs of spans, without the feature `tracing`.

use super::super::handler_call::HandlerCall;
use mcp_proto::ProtocolError;
use mcp_proto::ProtocolVersion;
use mcp_proto::client::{CallError, CallId};
use mcp_proto::message::Method;
use mcp_proto::server::{CancelCause, Peer};
use mcp_proto::{Json, RequestId, TraceContext};

#[derive(Default)]
pub(in super::super) struct Hook(());

#[derive(Debug)]
pub(in super::super) struct Span;

#[expect(clippy::unused_self, reason = "the same methods as with the feature")]
impl Span {
    pub(in super::super) fn of_request(
        _called: (&Method, &Json),
        _caller: (&Peer, Option<&TraceContext>),
        _id: &dyn Fn() -> Option<RequestId>,
        _hook: &Hook,
    ) -> Self {
        Self
    }

    pub(in super::super) fn run(self, call: impl FnOnce() -> HandlerCall) -> HandlerCall {
        call()
    }

    pub(in super::super) fn of_call<'a>(
        _about: impl FnOnce() -> (&'a str, Option<&'a Json>),
    ) -> Self {
        Self
    }

    pub(in super::super) fn responded(
        &mut self,
        _about: impl FnOnce() -> (Option<CallId>, Option<ProtocolVersion>),
        _result: &Result<Json, CallError>,
    ) {
    }

    pub(in super::super) fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }
}

pub(in super::super) fn fault(_error: &ProtocolError) {}

pub(in super::super) fn cancelled(_cause: &CancelCause) {}

pub(in super::super) fn alarmed(_alarm: &str) {}
