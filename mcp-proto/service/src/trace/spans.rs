//! Spans of requests and calls, and events for faults of peers.
//!
//! A handler is wrapped, so that it is called, polled and dropped in its span in any task. The
//! fields have the names of OpenTelemetry's conventions.
//!
//! [Conventions: Semantic conventions for MCP](https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md)

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::OnceLock;

use tracing::Level;
use tracing::field::Empty;

use super::super::Catalog;
use super::super::handler_call::{BoxFuture, HandlerCall};
use super::super::panics::catch_panic;
use mcp_proto::ErrorData;
use mcp_proto::ProtocolError;
use mcp_proto::ProtocolVersion;
use mcp_proto::TraceContext;
use mcp_proto::client::{CallError, CallId};
use mcp_proto::internals::raw;
use mcp_proto::message::Method;
use mcp_proto::server::{CancelCause, Outcome, Peer};
use mcp_proto::{Json, RequestId};

impl Catalog {
    /// Calls `f` with the span and the trace context of each request that has one, before the span
    /// is entered: with OpenTelemetry, to set the parent. Only the first function that is set
    /// counts.
    ///
    /// ```
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::{Catalog, Registry};
    /// # let registry = Registry::new(Implementation::new("traced", "1.0.0"));
    /// # fn set_parent(_: &tracing::Span, _: &str) {}
    /// let catalog = Catalog::from(registry);
    /// catalog.on_span(|span, trace| {
    ///     if let Some(traceparent) = trace.get("traceparent") {
    ///         set_parent(span, traceparent);
    ///     }
    /// });
    /// ```
    ///
    /// A request that a handler answers has a span `mcp.server`; with requests for input, one for
    /// each round, also in a task. Requests that the machine answers, such as lists, have none. A
    /// [`Call`](super::super::Call) has a span `mcp.client`. Both have the level info and the
    /// target `mcp_proto`. A handler is called, polled and dropped in its span, in any task. A
    /// fault of a peer is an event of the level warn. An error of a handler whose text the client
    /// does not get is an event of the level error.
    ///
    /// | field | content |
    /// |---|---|
    /// | `otel.name`, `otel.kind` | method and tool or prompt; `server` or `client` |
    /// | `mcp.method.name`, `gen_ai.tool.name`, `gen_ai.prompt.name`, `mcp.resource.uri` | the method; the tool, prompt or resource |
    /// | `gen_ai.operation.name` | `execute_tool`, for a call of a tool |
    /// | `mcp.protocol.version`, `jsonrpc.request.id` | the revision; the id of the request, unless it was cancelled or became a task before its handler began |
    /// | `error.type`, `otel.status_code` | the reason of a failure: the code, `tool_error`, `timeout`, `cancelled`, `panic`, …; `ERROR` |
    /// | `rpc.response.status_code` | the code of an error |
    /// | `mcp.input_required` | `true` if the handler requests input |
    /// | `traceparent`, `tracestate` | the trace context of the client |
    ///
    /// There is no `mcp.session.id`: the id of a session is a secret, which grants access. The
    /// names are those of OpenTelemetry's [conventions for MCP]. A panic of `f` is ignored.
    ///
    /// [conventions for MCP]: https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
    pub fn on_span(&self, f: impl Fn(&tracing::Span, &TraceContext) + Send + Sync + 'static) {
        let _ = self.hook().0.set(Box::new(f));
    }
}

/// Callback of the application for spans.
#[derive(Default)]
pub(in super::super) struct Hook(OnceLock<Box<OnSpan>>);

type OnSpan = dyn Fn(&tracing::Span, &TraceContext) + Send + Sync;

/// A span, and the `error.type` that is recorded if it ends without a response.
pub(in super::super) struct Span {
    span: tracing::Span,
    ends: Option<&'static str>,
}

macro_rules! open {
    ($name:literal, $kind:literal, $subject:ident, $trace:expr) => {{
        let trace: Option<&TraceContext> = $trace;
        tracing::info_span!(
            target: "mcp_proto",
            $name,
            otel.name = &*$subject.name(),
            otel.kind = $kind,
            otel.status_code = Empty,
            mcp.method.name = $subject.method,
            mcp.resource.uri = $subject.uri.as_deref(),
            mcp.protocol.version = Empty,
            mcp.input_required = Empty,
            gen_ai.operation.name = $subject.tool.is_some().then_some("execute_tool"),
            gen_ai.tool.name = $subject.tool.as_deref(),
            gen_ai.prompt.name = $subject.prompt.as_deref(),
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            error.type = Empty,
            traceparent = trace.and_then(|trace| trace.traceparent.as_deref()),
            tracestate = trace.and_then(|trace| trace.tracestate.as_deref()),
        )
    }};
}

impl Span {
    /// The span of a request that has a handler: its method, its parameters, and its client.
    pub(in super::super) fn of_request(
        (method, params): (&Method, &Json),
        (peer, trace): (&Peer, Option<&TraceContext>),
        id: &dyn Fn() -> Option<RequestId>,
        hook: &Hook,
    ) -> Self {
        if !tracing::span_enabled!(target: "mcp_proto", Level::INFO) {
            return Self::none();
        }
        let subject = SpanSubject::of(method.name(), Some(params));
        let span = open!("mcp.server", "server", subject, trace);
        if let Some(id) = id() {
            span.record("jsonrpc.request.id", id.as_str().trim_matches('"'));
        }
        span.record("mcp.protocol.version", peer.version.as_str());
        if let (Some(on_span), Some(trace)) = (hook.0.get(), trace) {
            catch_panic(|| on_span(&span, trace));
        }
        Self { span, ends: None }
    }

    /// Calls the handler of a request within its span, and wraps its future.
    pub(in super::super) fn run(mut self, call: impl FnOnce() -> HandlerCall) -> HandlerCall {
        if self.span.is_none() {
            return call();
        }
        self.ends = Some("panic");
        match self.within(call) {
            HandlerCall::Done(outcome) => {
                self.answered(&outcome);
                HandlerCall::Done(outcome)
            }
            HandlerCall::Future(future) => {
                self.ends = Some("cancelled");
                HandlerCall::Future(Box::pin(Traced { span: self, future: Some(future) }))
            }
        }
    }

    /// The span of a call that begins; `about` returns its method and its parameters.
    pub(in super::super) fn of_call<'a>(
        about: impl FnOnce() -> (&'a str, Option<&'a Json>),
    ) -> Self {
        if !tracing::span_enabled!(target: "mcp_proto", Level::INFO) {
            return Self::none();
        }
        let (method, params) = about();
        let subject = SpanSubject::of(method, params);
        Self { span: open!("mcp.client", "client", subject, None), ends: Some("cancelled") }
    }

    /// Records the response to a call; `about` returns its id, and the version of its server.
    pub(in super::super) fn responded(
        &mut self,
        about: impl FnOnce() -> (Option<CallId>, Option<ProtocolVersion>),
        result: &Result<Json, CallError>,
    ) {
        self.ends = None;
        if self.span.is_none() {
            return;
        }
        let (call, version) = about();
        if let Some(call) = call {
            self.span.record("jsonrpc.request.id", &*alloc::format!("{}", call.number()));
        }
        if let Some(version) = version {
            self.span.record("mcp.protocol.version", version.as_str());
        }
        match result {
            Ok(result) => self.completed(result),
            Err(CallError::Error { error, .. }) => self.refused(error),
            Err(error) => self.failed(error_type(error)),
        }
    }

    /// Calls `f` within the span.
    pub(in super::super) fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        self.span.in_scope(f)
    }

    fn none() -> Self {
        Self { span: tracing::Span::none(), ends: None }
    }

    fn answered(&mut self, outcome: &Outcome) {
        self.ends = None;
        match outcome {
            Outcome::Complete(result) => self.completed(result),
            Outcome::InputRequired(_) => {
                self.span.record("mcp.input_required", true);
            }
            Outcome::Error(error) => self.refused(error),
            _ => {}
        }
    }

    fn completed(&self, result: &Json) {
        if raw(result).member("isError").is_some_and(|value| value.0 == b"true") {
            self.failed("tool_error");
        }
    }

    fn refused(&self, error: &ErrorData) {
        let code = alloc::format!("{}", error.code.0);
        self.span.record("rpc.response.status_code", &*code);
        self.failed(&code);
    }

    fn failed(&self, error: &str) {
        self.span.record("error.type", error);
        self.span.record("otel.status_code", "ERROR");
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(error) = self.ends {
            self.failed(error);
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.span.fmt(f)
    }
}

/// The most characters of a reason in an event.
const MAX_REASON_CHARS: usize = 256;

/// A handler that is polled and dropped within the span of its request.
struct Traced {
    span: Span,
    future: Option<BoxFuture>,
}

impl Future for Traced {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let Self { span, future } = &mut *self;
        let Some(future) = future else { return Poll::Pending };
        span.ends = Some("panic");
        let polled = span.within(|| future.as_mut().poll(context));
        match &polled {
            Poll::Ready(outcome) => span.answered(outcome),
            Poll::Pending => span.ends = Some("cancelled"),
        }
        polled
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let future = self.future.take();
        self.span.within(|| drop(future));
    }
}

/// Method of a request, and the name or URI that it is about.
struct SpanSubject<'a> {
    method: &'a str,
    tool: Option<Cow<'a, str>>,
    prompt: Option<Cow<'a, str>>,
    uri: Option<Cow<'a, str>>,
}

impl<'a> SpanSubject<'a> {
    fn of(method: &'a str, params: Option<&'a Json>) -> Self {
        let of = |methods: &[&str], member| {
            params
                .filter(|_| methods.contains(&method))
                .and_then(|params| raw(params).member(member)?.string())
        };
        Self {
            method,
            tool: of(&["tools/call"], "name"),
            prompt: of(&["prompts/get"], "name"),
            uri: of(&["resources/read"], "uri"),
        }
    }

    fn name(&self) -> String {
        match self.tool.as_deref().or(self.prompt.as_deref()) {
            Some(target) => alloc::format!("{} {target}", self.method),
            None => self.method.into(),
        }
    }
}

/// The `error.type` of a call that has failed.
fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::Error { .. } => "error",
        CallError::Protocol(_) => "protocol",
        CallError::TimedOut => "timeout",
        CallError::Cancelled => "cancelled",
        CallError::InputRefused(_) => "input_refused",
        CallError::Connect(_) => "connect",
        CallError::Closed => "closed",
        CallError::Interrupted => "interrupted",
        CallError::Unauthorized(_) => "unauthorized",
        CallError::Http { .. } => "http",
        CallError::Connection(_) => "connection",
        CallError::SessionExpired => "session_expired",
        CallError::TaskGone { .. } => "task_gone",
        CallError::TaskLeft { .. } => "task_left",
        CallError::Header(_) => "header",
        CallError::Usage(_) => "usage",
        _ => "other",
    }
}

/// Reports a fault of a peer.
pub(in super::super) fn fault(error: &ProtocolError) {
    match error {
        // The session's revision counts, and the message is handled.
        ProtocolError::VersionDiffers { .. } => {
            tracing::warn!(target: "mcp_proto", %error, "a header of a client was ignored");
        }
        // These messages are the client's own.
        ProtocolError::LoggingNotDeclared | ProtocolError::TooManyInFlight { .. } => {
            tracing::warn!(target: "mcp_proto", %error, "a message to a server was not sent");
        }
        _ => tracing::warn!(target: "mcp_proto", %error, "a peer sent what was dropped"),
    }
}

/// Reports the reason for which a client has cancelled a request, if there is one, shortened. "Both
/// parties SHOULD log cancellation reasons for debugging."
pub(in super::super) fn cancelled(cause: &CancelCause) {
    let CancelCause::Client(Some(reason)) = cause else { return };
    let end = reason.char_indices().nth(MAX_REASON_CHARS).map_or(reason.len(), |(end, _)| end);
    let reason = reason.get(..end).unwrap_or_default();
    tracing::debug!(target: "mcp_proto", reason, "a client has cancelled a request");
}

/// Reports an alarm: a limit was reached, or a connection could not be accepted.
pub(in super::super) fn alarmed(alarm: &str) {
    tracing::warn!(target: "mcp_proto", "{alarm}");
}
