//! The failure of a handler whose client lacks scopes.
//!
//! The answer may have begun when a handler finds out, so there is no 403 any more: a tool's result
//! says what is missing. Scopes that are known before belong to
//! [`Registry::require_scopes`](crate::Registry::require_scopes).

use alloc::string::ToString;
use core::error::Error;
use core::fmt;

use mcp_proto::ErrorData;
use mcp_proto::resource_server::Scopes;
use mcp_proto::types::CallToolResult;

use crate::result::{Interrupt, IntoInterrupt, IntoToolError};

/// A handler needs scopes that the token of its request lacks.
///
/// A tool that fails with it has a result with `isError` that names the scopes; another method
/// has -32603 with the same text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingScopes {
    scopes: Scopes,
}

impl MissingScopes {
    pub(crate) fn new(scopes: Scopes) -> Self {
        Self { scopes }
    }

    /// The scopes that the handler needs.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }
}

impl fmt::Display for MissingScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this needs a token with the scopes `{}`, and the token of the request lacks some; \
             sign in again and ask for them",
            self.scopes.to_param()
        )
    }
}

impl Error for MissingScopes {}

impl IntoToolError for MissingScopes {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self.to_string()))
    }
}

impl IntoInterrupt for MissingScopes {
    fn into_interrupt(self) -> Interrupt {
        ErrorData::internal(self.to_string()).into()
    }
}
