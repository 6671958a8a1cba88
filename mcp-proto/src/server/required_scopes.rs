//! Scopes that the tools of a message require.
//!
//! In: a message or a batch. Out: the scopes of all tools that the message or batch calls. Over
//! HTTP an exchange calls this before it passes a message on. Input for a task does not name the
//! tool, so the handler of `tasks/update` checks it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::access::ListEntry;
use super::declaration::Declaration;
use super::event::Peer;
use crate::error::ProtocolError;
use crate::json::Raw;
use crate::limits::Limits;
use crate::message::{self, Incoming, Member, Message, Method};
use crate::meta::RequestMeta;
use crate::scopes::Scopes;

impl Declaration {
    /// Returns whether any tool requires scopes.
    pub(crate) fn requires_scopes(&self) -> bool {
        !self.tool_scopes.is_empty()
    }

    /// The tools that require scopes, by name.
    pub(crate) fn tools_with_scopes(&self) -> Vec<&str> {
        self.tool_scopes.keys().map(String::as_str).collect()
    }

    /// Scopes that a message requires; usually none.
    ///
    /// Tools that are hidden from `caller` require no scopes, because they are answered like
    /// unknown tools. The machine checks the scopes again, because a filter may see more of the
    /// caller there.
    pub(crate) fn required_scopes(
        &self,
        incoming: &Incoming,
        limits: &Limits,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Scopes {
        match incoming {
            Incoming::Message(message) => {
                self.scopes_of(message, caller).cloned().unwrap_or_default()
            }
            // A batch that is too long is refused later, and nothing of it is executed.
            Incoming::Batch(batch) => {
                let elements = batch.elements(limits.max_in_flight).unwrap_or_default();
                let parsed = elements.iter().map(|element| message::parse(element, limits));
                let parsed: Vec<Incoming> = parsed.filter_map(Result::ok).collect();
                let of_each = parsed.iter().filter_map(|element| match element {
                    Incoming::Message(message) => self.scopes_of(message, caller),
                    Incoming::Batch(_) => None,
                });
                of_each.fold(Scopes::none(), |all, scopes| all.union(scopes))
            }
        }
    }

    /// Checks the scopes of a tool that is not hidden from the caller. An exchange does not check
    /// the answers of a legacy client to requests for input, after which the tool runs again.
    ///
    /// Fails with [`ProtocolError::InsufficientScope`] over HTTP.
    pub(crate) fn check_scopes(
        &self,
        tool: &str,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Result<(), ProtocolError> {
        let Some(required) = self.tool_scopes.get(tool) else { return Ok(()) };
        let peer = caller();
        let has_all = peer.scopes().is_some_and(|scopes| scopes.contains_all(required));
        if !peer.is_http || has_all {
            return Ok(());
        }
        Err(ProtocolError::InsufficientScope { scopes: required.to_param() })
    }

    fn scopes_of(&self, message: &Message, caller: &dyn Fn() -> Arc<Peer>) -> Option<&Scopes> {
        let Message::Request(request) = message else { return None };
        if !matches!(request.method, Method::CallTool) {
            return None;
        }
        let name = request.params.raw(Member::Name).and_then(Raw::string)?;
        let scopes = self.tool_scopes.get(&*name)?;
        let peer = || match RequestMeta::read(&request.params) {
            Ok(RequestMeta { client_info, client_capabilities: capabilities, .. }) => {
                Arc::new(Peer { client_info, capabilities, ..Arc::unwrap_or_clone(caller()) })
            }
            Err(_) => caller(),
        };
        (!self.hides(|| ListEntry::tool(&*name), peer)).then_some(scopes)
    }
}

#[cfg(test)]
mod tests {
    use crate::json::Json;
    use crate::server::Registry;
    use crate::types::{Implementation, Tool};

    #[test]
    fn removed_requirement_leaves_nothing_to_check() {
        let mut registry = Registry::new(Implementation::new("a", "1"));
        let schema = Json::constant(r#"{"type":"object"}"#);
        registry.add_tool(Tool::new("t", schema), ()).unwrap();
        for (scopes, is_required) in [("", false), ("read", true), ("", false)] {
            registry.require_scopes("t", scopes).unwrap();
            assert_eq!(registry.declaration().requires_scopes(), is_required, "{scopes}");
        }
    }
}
