//! A call of a handler, within the span of its request and within its layers.
//!
//! In: a handler, its arguments and its context. Out: its future or outcome.

use super::Context;
use super::handler::Handler;
use super::handler_call::{HandlerArgs, HandlerCall};
use super::registry::Registry;
use super::trace::Span;
use mcp_proto::Instant;
use mcp_proto::server::HandlerId;

/// A call of a handler that is ready to be made.
pub(super) struct PreparedCall<'a> {
    pub(super) registry: &'a Registry,
    pub(super) handler: &'a Handler,
    pub(super) id: HandlerId,
    /// The time at which the request arrived.
    pub(super) received: Instant,
    /// True for a call with input that its client cannot repeat.
    pub(super) is_rerun: bool,
    pub(super) span: Span,
}

impl PreparedCall<'_> {
    /// Calls the handler. Its future was not polled.
    pub(super) fn run(self, given: HandlerArgs, context: Context) -> HandlerCall {
        let Self { registry, handler, id, received, is_rerun, span } = self;
        let layered = registry.layers.around(registry, &context.call.method, id, received);
        let checks = context.call.checks.clone();
        span.run(|| match layered {
            None => checks.call(handler, given, context),
            Some(layered) if is_rerun => layered.rerun().run(handler, checks, given, context),
            Some(layered) => layered.run(handler, checks, given, context),
        })
    }
}
