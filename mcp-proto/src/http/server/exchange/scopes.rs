//! Check of the scopes of tools, before the tool runs.

use alloc::string::String;
use alloc::sync::Arc;
use core::cell::LazyCell;

use super::Exchange;
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::Incoming;
use crate::resource_server::{Claims, TokenRefusal};
use crate::server::{Declaration, Extensions, Peer, request_id};
use crate::version::ProtocolVersion;

impl Exchange {
    /// Refuses a message with 403 if it calls a tool whose scopes the token lacks. Returns whether
    /// the message was refused. `caller` makes the sender, for filters and errors.
    pub(super) fn lacks_scopes(
        &mut self,
        declaration: &Declaration,
        incoming: &Incoming,
        extensions: &Extensions,
        caller: impl FnOnce() -> Peer,
    ) -> bool {
        if !declaration.requires_scopes() {
            return false;
        }
        let caller = LazyCell::new(|| Arc::new(caller()));
        let limits = &self.config.server.limits;
        let required = declaration.required_scopes(incoming, limits, &|| caller.clone());
        let claims = extensions.get::<Claims>();
        let is_allowed = claims.is_some_and(|claims| claims.scopes.contains_all(&required));
        if required.is_empty() || is_allowed {
            return false;
        }
        let error = ProtocolError::InsufficientScope { scopes: required.to_param() };
        let refusal = TokenRefusal::insufficient_scope(required);
        let challenge = refusal.challenge(self.config.resource.as_deref());
        self.answer.challenge = challenge.map(String::into_boxed_str);
        self.answer.error(caller.version, request_id(incoming), &error);
        true
    }
}

/// The sender of a request that is not read yet, with the values of the HTTP request.
pub(super) fn sender(
    version: ProtocolVersion,
    principal: Option<&Arc<str>>,
    extensions: &Extensions,
) -> Peer {
    Peer {
        version,
        client_info: None,
        capabilities: Json::EMPTY_OBJECT,
        principal: principal.cloned(),
        extensions: extensions.clone(),
        is_http: true,
    }
}
