//! Error of a handler whose request lacks scopes.
//!
//! The response may have begun before a handler checks scopes, so a 403 is no longer possible: the
//! tool's result names the scopes. Scopes that do not depend on the arguments belong in
//! [`Registry::require_scopes`](crate::Registry::require_scopes).

use alloc::string::ToString;
use core::error::Error;
use core::fmt;

use mcp_proto::ErrorData;
use mcp_proto::resource_server::Scopes;
use mcp_proto::types::CallToolResult;

use crate::result::{Interrupt, IntoInterrupt, IntoToolError};

/// The token of a request lacks scopes that its handler needs.
///
/// A tool that fails with this error has a result with `isError` that names the scopes; other
/// methods are answered with -32603 and the same text.
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
            "the call needs a token with the scopes `{}`, but the token of the request lacks some; \
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

/// An error of the request, with the text, which the model does not see. A tool that fails with
/// [`MissingScopes`] itself, or with a box of it, has a result for the model.
impl From<MissingScopes> for Interrupt {
    fn from(missing: MissingScopes) -> Self {
        missing.into_interrupt()
    }
}
