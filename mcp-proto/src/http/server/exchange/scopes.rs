//! Scopes of tools, checked before anything is executed.

use alloc::string::String;

use super::Exchange;
use crate::error::ProtocolError;
use crate::message::Incoming;
use crate::resource_server::{Claims, TokenRefusal};
use crate::server::{Declaration, Extensions, request_id};
use crate::version::ProtocolVersion;

impl Exchange {
    /// Refuses a message with 403 if a tool that it calls requires scopes that the token lacks.
    /// Returns whether it does.
    pub(super) fn lacks_scopes(
        &mut self,
        declaration: &Declaration,
        version: impl FnOnce() -> ProtocolVersion,
        incoming: &Incoming,
        extensions: &Extensions,
    ) -> bool {
        let required = declaration.required_scopes(incoming, &self.config.server.limits);
        let claims = extensions.get::<Claims>();
        let is_allowed = claims.is_some_and(|claims| claims.scopes.contains_all(&required));
        if required.is_empty() || is_allowed {
            return false;
        }
        let error = ProtocolError::InsufficientScope { scopes: required.to_param() };
        let refusal = TokenRefusal::insufficient_scope(required);
        let challenge = refusal.challenge(self.config.resource.as_deref());
        self.answer.challenge = challenge.map(String::into_boxed_str);
        self.answer.error(version(), request_id(incoming), &error);
        true
    }
}
