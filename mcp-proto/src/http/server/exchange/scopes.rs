//! Check of the scopes of tools, before the tool runs.

use alloc::string::String;
use alloc::sync::Arc;

use super::Exchange;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::Incoming;
use crate::resource_server::{Claims, TokenRefusal};
use crate::server::{Declaration, Extensions, Peer, request_id};
use crate::version::ProtocolVersion;

impl Exchange {
    /// Refuses a message with 403 if it calls a tool whose scopes the token lacks. Returns whether
    /// the message was refused.
    pub(super) fn lacks_scopes(
        &mut self,
        declaration: &Declaration,
        version: impl FnOnce() -> ProtocolVersion,
        incoming: &Incoming,
        (principal, extensions): (Option<&Arc<str>>, &Extensions),
    ) -> bool {
        if !declaration.requires_scopes() {
            return false;
        }
        let version = version();
        let caller = || {
            Arc::new(Peer {
                version,
                client_info: None,
                capabilities: Json::EMPTY_OBJECT,
                principal: principal.cloned(),
                extensions: extensions.clone(),
                is_http: true,
            })
        };
        let required = declaration.required_scopes(incoming, &self.config.server.limits, &caller);
        let claims = extensions.get::<Claims>();
        let is_allowed = claims.is_some_and(|claims| claims.scopes.contains_all(&required));
        if required.is_empty() || is_allowed {
            return false;
        }
        let error = ProtocolError::InsufficientScope { scopes: required.to_param() };
        let refusal = TokenRefusal::insufficient_scope(required);
        let challenge = refusal.challenge(self.config.resource.as_deref());
        self.answer.challenge = challenge.map(String::into_boxed_str);
        self.answer.error(version, request_id(incoming), &error);
        true
    }
}
