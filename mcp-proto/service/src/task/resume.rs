//! Another call of the handler of a task.
//!
//! In: the record of a task whose input is complete, and the request on whose behalf its handler
//! runs. Out: the handler, to be driven.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::ready;

use serde::Deserialize;

use super::driven::Driven;
use super::host::TaskHost;
use crate::cancel::Cancel;
use crate::checks::Checks;
use crate::context::CallContext;
use crate::handler_call::{HandlerArgs, HandlerCall};
use crate::input::Round;
use crate::panics::{catch_panic, panicked};
use crate::prepared_call::PreparedCall;
use crate::service_mailbox::ServiceMailbox;
use crate::trace::Span;
use crate::{Catalog, Context, Registry};
use mcp_proto::internals::offered_tool;
use mcp_proto::message::Method;
use mcp_proto::server::task::{Record, TaskCall};
use mcp_proto::server::{HandlerId, Outcome, Peer, ReplyId};
use mcp_proto::{ErrorData, Instant, Json, TraceContext};

/// The request on whose behalf the handler of a task runs: the call, or the last `tasks/update`.
#[derive(Clone)]
pub(super) struct TaskCaller {
    pub(super) catalog: Catalog,
    pub(super) peer: Arc<Peer>,
    pub(super) about: ReplyId,
    pub(super) trace: Option<Arc<TraceContext>>,
    /// The number of times since this request that the handler asked for nothing but another call.
    pub(super) repeats: usize,
}

impl TaskCaller {
    pub(super) fn of(context: &Context) -> Self {
        Self {
            catalog: context.catalog().clone(),
            peer: context.shared_peer(),
            about: context.about(),
            trace: context.call.trace.clone(),
            repeats: 0,
        }
    }
}

/// Calls the handler of a task again; `None` if the tool was removed or disabled, or is hidden from
/// the client.
pub(super) fn call_again(host: &TaskHost, record: &Record, caller: &TaskCaller) -> Option<Driven> {
    let call = record.call()?;
    let snapshot = caller.catalog.snapshot();
    let handler = offered_tool(&snapshot.declaration, &call.tool, &caller.peer)?;
    let clock = host.clock();
    let mailbox = Arc::new(ServiceMailbox::new(caller.catalog.clone()));
    let cancel = Cancel::new();
    let make = |call| Context::new(mailbox.clone(), cancel.clone(), caller.about, call);
    let again = (handler, call, record);
    let future = match call_handler(&snapshot.registry, again, clock.now(), make, caller)? {
        HandlerCall::Future(future) => future,
        HandlerCall::Done(outcome) => Box::pin(ready(outcome)),
    };
    Some(Driven::new(future, caller.peer.clone(), (mailbox, cancel), clock))
}

/// The error of a task whose handler cannot be called again.
pub(super) fn tool_is_gone() -> ErrorData {
    ErrorData::internal("the tool of the task has been removed")
}

/// Calls the handler of a task with the input of the client.
fn call_handler(
    registry: &Registry,
    (id, call, record): (HandlerId, &TaskCall, &Record),
    now: Instant,
    make: impl FnOnce(CallContext) -> Context,
    caller: &TaskCaller,
) -> Option<HandlerCall> {
    let handler = registry.handler(id)?.clone();
    let message = (&Method::CallTool, &call.params);
    let client = (&*caller.peer, caller.trace.as_deref());
    let prepared = PreparedCall {
        registry,
        handler: &handler,
        id,
        received: now,
        is_rerun: true,
        // The request has been answered with the task.
        span: Span::of_request(message, client, &|| None, caller.catalog.hook()),
    };
    let call_context = CallContext {
        method: Method::CallTool,
        checks: Checks::of(registry, id),
        peer: caller.peer.clone(),
        wants_progress: false,
        reports_status: true,
        may_be_task: false,
        log_level: None,
        round: Some(Arc::new(Round::new(record.input()))),
        trace: caller.trace.clone(),
        #[cfg(feature = "request-state")]
        params: id.asks().then(|| call.params.clone()),
    };
    let arguments: Option<CallArguments> = call.params.decode().ok();
    let given = HandlerArgs {
        params: call.params.clone(),
        arguments: arguments.and_then(|it| it.arguments).unwrap_or(Json::EMPTY_OBJECT),
    };
    let context = make(call_context);
    let started = catch_panic(|| prepared.run(given, context));
    Some(started.unwrap_or_else(|| HandlerCall::Done(Outcome::Error(panicked()))))
}

#[derive(Deserialize)]
struct CallArguments {
    arguments: Option<Json>,
}
