//! Stub without the feature `validate`.

use super::super::handler::Handler;
use super::super::handler_call::{HandlerArgs, HandlerCall};
use super::super::{Context, Interrupt, Registry};
use mcp_proto::server::HandlerId;
use mcp_proto::types::{InputRequests, InputResponses};

/// The checks of a call.
#[derive(Clone, Debug)]
pub(in super::super) struct Checks;

/// The checks of the forms that a handler requests.
pub(in super::super) struct Forms;

impl Checks {
    pub(in super::super) fn of(_registry: &Registry, _handler: HandlerId) -> Self {
        Self
    }

    pub(in super::super) fn call(
        self,
        handler: &Handler,
        given: HandlerArgs,
        context: Context,
    ) -> HandlerCall {
        handler.call(given, context)
    }

    pub(in super::super) fn forms(&self, _requests: &InputRequests) -> Forms {
        Forms
    }
}

impl Forms {
    pub(in super::super) fn check(
        self,
        _answers: &InputResponses,
        _context: &Context,
    ) -> Result<(), Interrupt> {
        Ok(())
    }
}
