//! Checks of the calls of validated tools.
//!
//! In: the handler of a tool with its arguments; forms with their answers. Out: the outcome of the
//! handler, or an error in its place. Called where handlers are called, and where they request
//! input.
//!
//! | value | schema | if it does not fit |
//! |---|---|---|
//! | arguments | `inputSchema` | a result with `isError`; the handler is not called |
//! | structured content | `outputSchema` | -32603; a result with `isError` is not checked |
//! | content of a form | `requestedSchema` | -32602 for a modern client, -32603 for a legacy one |
//!
//! [Specification: Tools, Error Handling](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling)

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::handler::Handler;
use super::super::handler_call::{HandlerArgs, HandlerCall};
use super::super::result::tool_outcome;
use super::super::{Context, Interrupt, Registry};
use crate::schema::ToolSchemas;
use mcp_proto::Era;
use mcp_proto::ErrorData;
use mcp_proto::internals::{raw, trusted};
use mcp_proto::server::{HandlerId, Outcome};
use mcp_proto::types::{
    CallToolResult, ElicitRequestParams, InputRequest, InputRequests, InputResponses,
};

/// The checks of a call.
#[derive(Clone, Debug)]
pub(in super::super) struct Checks(Option<Arc<ToolSchemas>>);

impl Checks {
    /// The checks of the tool with this handler; none if the tool is not validated.
    pub(in super::super) fn of(registry: &Registry, handler: HandlerId) -> Self {
        Self(registry.validation.schemas(handler).cloned())
    }

    /// Calls the handler if the arguments fit, and checks its outcome.
    pub(in super::super) fn call(
        self,
        handler: &Handler,
        given: HandlerArgs,
        context: Context,
    ) -> HandlerCall {
        let Some(schemas) = self.0 else { return handler.call(given, context) };
        if let Err(misfits) = schemas.check_arguments(&given.arguments) {
            let text = alloc::format!("The arguments do not fit the input schema: {misfits}");
            return HandlerCall::Done(tool_outcome(Ok(CallToolResult::error(text))));
        }
        match handler.call(given, context) {
            HandlerCall::Done(outcome) => HandlerCall::Done(checked(&schemas, outcome)),
            HandlerCall::Future(future) => {
                HandlerCall::Future(Box::pin(async move { checked(&schemas, future.await) }))
            }
        }
    }

    /// The requests whose forms are to be checked.
    pub(in super::super) fn forms(&self, requests: &InputRequests) -> Forms {
        match self.0 {
            Some(_) => Forms(requests.clone()),
            None => Forms(InputRequests::new()),
        }
    }
}

/// Returns the outcome, or an error if its structured content does not fit.
fn checked(schemas: &ToolSchemas, outcome: Outcome) -> Outcome {
    let outcome = outcome.encoded();
    let Outcome::Complete(result) = outcome else { return outcome };
    let mut is_error = false;
    let mut content = None;
    raw(&result).members(|key, value| match &*key.string().unwrap_or_default() {
        "isError" => is_error = value.0 == b"true",
        "structuredContent" => content = Some(trusted(value.0.to_vec())),
        _ => {}
    });
    match schemas.check_content(is_error, content.as_ref()) {
        Ok(()) => Outcome::Complete(result),
        Err(misfits) => Outcome::Error(ErrorData::internal(alloc::format!(
            "the tool was called, and its structured content does not fit its output schema: \
             {misfits}"
        ))),
    }
}

/// The requests for input of a handler, to check the forms among them.
pub(in super::super) struct Forms(InputRequests);

impl Forms {
    /// Fails if the content of an answered form does not fit.
    pub(in super::super) fn check(
        self,
        answers: &InputResponses,
        context: &Context,
    ) -> Result<(), Interrupt> {
        for (key, request) in self.0 {
            let InputRequest::Elicit(ElicitRequestParams::Form(form)) = request else { continue };
            // An answer that is none of a form fails when it is decoded.
            let Some(Ok(answer)) = answers.get(&key).map(mcp_proto::types::InputResponse::elicit)
            else {
                continue;
            };
            if let Err(error) = form.check(&answer) {
                let message = alloc::format!("the input `{key}`: {error}");
                // A modern client has sent the input in its parameters.
                return Err(match context.peer().version.era() {
                    Era::Legacy => ErrorData::internal(message).into(),
                    Era::Modern => ErrorData::invalid_params(message).into(),
                });
            }
        }
        Ok(())
    }
}
